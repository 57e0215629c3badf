# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exported journals that lack a file: the numbers of their rows tell."""

from __future__ import annotations

import itertools

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _journal_numbers
from ansible_collections.llmops.sglang.plugins.module_utils._journal_gaps import place_of
from ansible_collections.llmops.sglang.tests.unit.journal_host import NOW, OLD, UNIT, Host

BOOT = "d" * 32
SYSTEM, USER, NAMESPACE = "aa", "bb", "ee"
ASKED = {"directory": "/exported", "invocation": NOW, "must_not_match": ["nothing"]}


def cursor(file, number, time):
    return f"s={file};i={number:x};b={BOOT};m={time:x};t=2;x=3"


class Export:
    """Rows by their file and number, in the order of time; the service's start is the first, and it speaks from *file*."""

    def __init__(self, rows, speaks=USER):
        self.host = Host()
        # The journal does not begin with the start.
        self.host.row("of others", __CURSOR=cursor(SYSTEM, rows[0][1] - 1, 49), __MONOTONIC_TIMESTAMP="49")
        spoken = 0
        for time, (file, number) in enumerate(rows, 50):
            at = {"__CURSOR": cursor(file, number, time), "__MONOTONIC_TIMESTAMP": str(time)}
            if time == 50:
                self.host.start(**at)
            elif file == speaks:
                spoken += 1
                self.host.say(f"words {spoken}", _UID="1500" if file == USER else "0", **at)
            else:
                self.host.row("of others", _SYSTEMD_UNIT="other.service", **at)

    def ask(self, **more):
        return self.host.ask(**{**ASKED, **more})


def rows(*parts):
    return list(itertools.chain(*parts))


def of(file, *numbers):
    return [(file, number) for number in numbers]


@pytest.mark.parametrize("invocation", [NOW, "any"])
@pytest.mark.parametrize(
    ("written", "whole"),
    [
        (rows(of(SYSTEM, 7), of(USER, 8, 9), of(SYSTEM, 10), of(USER, 11)), True),
        (rows(of(SYSTEM, 7), of(USER, 8), of(SYSTEM, 10), of(USER, 11)), False),
        (rows(of(SYSTEM, 7), of(USER, 8, 9), of(SYSTEM, 10, 12), of(USER, 13)), False),
        (rows(of(SYSTEM, 7), of(USER, 8, 9), of(SYSTEM, 10), of(USER, 12)), False),
        (rows(of(SYSTEM, 7), of(USER, 8, 9, 10)), True),
        (rows(of(SYSTEM, 7), of(USER, 8, 10)), False),
    ],
    ids=["whole", "of its user", "of somebody", "of the system, last", "one after the other", "in the middle"],
)
def test_a_number_that_is_missing(written, whole, invocation):
    result = Export(written).ask(invocation=invocation)
    assert result["ok"] is whole, result["msg"]
    if not whole:
        assert result["failure_class"] == "log_truncated" and "all files of the host" in result["msg"]


def test_a_user_s_file_that_is_missing_altogether():
    """Only the rows of root's ExecStartPre= and the manager's are there; others go on to write."""
    export = Export(rows(of(SYSTEM, 7, 8), of("cc", 9, 12), of(SYSTEM, 13)), speaks="cc")
    assert export.ask()["failure_class"] == "log_truncated"


@pytest.mark.parametrize(("numbers", "whole"), [((1, 2, 3, 4), True), ((1, 2, 4, 5), False)])
def test_the_numbers_of_a_namespace_are_its_own(numbers, whole):
    own = of(NAMESPACE, *numbers)
    written = rows(of(SYSTEM, 7), own[:1], of(SYSTEM, 8), own[1:], of(SYSTEM, 9))
    assert Export(written, speaks=NAMESPACE).ask()["ok"] is whole


def test_rows_of_the_same_microsecond_come_in_any_order():
    export = Export(rows(of(SYSTEM, 7), of(USER, 8), of("cc", 10), of(SYSTEM, 9, 11)))
    assert not export.ask()["ok"]
    for row in export.host.rows[3:5]:
        row.update(__MONOTONIC_TIMESTAMP="52")
        row["__CURSOR"] = row["__CURSOR"].replace("m=35", "m=34")
    assert export.ask()["ok"]


def test_what_is_missing_after_a_younger_invocation_began_is_not_of_this_one():
    export = Export(rows(of(SYSTEM, 7), of(USER, 8)))
    export.host.start("c" * 32, __CURSOR=cursor(SYSTEM, 9, 60))
    export.host.row("of others", __CURSOR=cursor(SYSTEM, 30, 61))
    assert export.ask()["ok"]
    assert not export.ask(invocation="c" * 32)["ok"]


def header(file, head, tail, entries, name="", machine="1" * 32):
    return (
        f"File path: /exported/{name or file}.journal\nFile ID: {name or file}0\nMachine ID: {machine}\nBoot ID: {BOOT}\n"
        f"Sequential number ID: {file}\nHead sequential number: {head} (1)\nTail sequential number: {tail} (f)\n"
        f"Entry objects: {entries}\n\n"
    )


@pytest.mark.parametrize(
    ("headers", "looked"),
    [
        (header(SYSTEM, 1, 10, 7) + header(USER, 3, 9, 3), False),
        (header(SYSTEM, 1, 10, 7) * 2 + header(USER, 3, 9, 3), False),
        (header(SYSTEM, 1, 10, 7) + header(USER, 3, 9, 3) + header("cc", 1, 4, 3), False),
        (header(SYSTEM, 1, 10, 7) + header(USER, 3, 9, 2), True),
        (header(SYSTEM, 1, 10, 7) + header("cc", 3, 9, 3), True),
        (header(SYSTEM, 1, 10, 7) + header(USER, 3, 9, 3, machine="2" * 32), True),
        (header(SYSTEM, 1, 10, 10), True),
        ("", True),
    ],
    ids=["all there", "twice", "an older one", "fewer", "another", "two hosts", "without its own", "nothing told"],
)
def test_rows_are_looked_at_only_where_they_are_fewer_than_their_numbers(headers, looked):
    export = Export(rows(of(SYSTEM, 7), of(USER, 8, 9), of(SYSTEM, 10)))
    export.host.headers = headers
    assert export.ask()["ok"]
    assert any("--output-fields=_PID" in argv for argv in export.host.commands) is looked


def test_what_is_no_journal_s_own_cursor_tells_nothing():
    host = Host()
    for invocation in (OLD, NOW):
        host.start(invocation)
        host.say("words", invocation=invocation)
    assert host.ask(**ASKED)["ok"] and host.ask(**{**ASKED, "invocation": OLD})["ok"]
    assert UNIT in host.ask(**ASKED)["msg"]


@pytest.mark.parametrize("number", ["\u00b2", "9" * 5000, "1"], ids=["superscript", "long", "no machine"])
def test_a_header_that_is_not_whole_proves_nothing(number):
    place = place_of("s=aa;i=1;b=b;m=1")
    text = f"File ID: aa\nSequential number ID: bb\nHead sequential number: {number}\nTail sequential number: 1\nEntry objects: 1\n"
    assert _journal_numbers._are_counted(text, place, place) is False
