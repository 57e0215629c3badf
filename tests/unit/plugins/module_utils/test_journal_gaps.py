# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A user's own journal file, or that of a namespace, may lose the first rows of a service whose start is still there."""

from __future__ import annotations

import json
import types

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _journal_gaps
from ansible_collections.llmops.sglang.plugins.module_utils._invocation_log import InvocationLog
from ansible_collections.llmops.sglang.plugins.module_utils._journal_gaps import Place, first_rows_are_gone, place_of
from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import STARTED, STARTING, CommandRunner, Journal

NOW = "b" * 32
JOURNALD = "systemd-journald@llm.service"


def cursor(number, source="aa", monotonic=None, boot="cc"):
    return f"s={source};i={number:x};b={boot};m={number if monotonic is None else monotonic:x};t=2;x=3"


class Files:
    """The rows of a host as (cursor, more fields), in their order; journalctl's --cursor, --reverse, --field and matches."""

    def __init__(self, rows):
        self.rows, self.asked = rows, []

    def run_command(self, argv, environ_update):
        self.asked.append(argv)
        if "--field=_UID" in argv:
            return 0, "".join({f"{more['_UID']}\n" for dummy, more in self.rows if "_UID" in more}), ""
        wanted = dict(word.split("=", 1) for word in argv[3:] if word[0] != "-" and not word.startswith("_SYSTEMD_INV"))
        rows = [row for row in self.rows if all(row[1].get(key) == value for key, value in wanted.items())]
        for word in argv:
            if word.startswith("--cursor="):
                index = next(i for i, row in enumerate(self.rows) if row[0] == word[9:])
                kept = self.rows[: index + 1][::-1] if "--reverse" in argv else self.rows[index:]
                rows = [row for row in kept if row in rows]
        return 0, "".join(json.dumps({"__CURSOR": at, **more}) + "\n" for at, more in rows), ""

    def gone(self, first, own, owners=(), **where):
        log = InvocationLog("llm.service", NOW, first_cursor=first, first_own_cursor=own)
        return first_rows_are_gone(Journal(CommandRunner(self.run_command), **where), log, owners)


def test_the_place_of_a_row():
    assert place_of("s=f5;i=1f;b=5e;m=ff;t=6;x=c9") == Place("f5", 31, "5e", 255)
    assert place_of("c7") is place_of("") is None


@pytest.mark.parametrize(
    ("there", "gone"), [([30, 31, 32, 33, 34], False), ([30, 31, 33, 34], True), ([30, 34], True), ([29, 33, 34], True)]
)
def test_a_number_that_is_missing_is_a_row_that_was_removed(there, gone):
    # Each file has an id of its own, and one journald numbers the rows of all.
    files = Files([(cursor(n, "bb") if n == 34 else cursor(n), {"_UID": "1000"} if n == 34 else {}) for n in there])
    own = cursor(34, "bb")
    assert files.gone(cursor(30), own, owners=[1000]) is gone
    asked = next(argv for argv in files.asked if f"--cursor={own}" in argv)
    assert not [word for word in asked if word.startswith("_")]
    assert files.gone(cursor(30), own, directory="/exported") is gone, "nobody says there who owns which file"
    assert files.gone(cursor(30), own) is gone, "a start script may become another user"


def test_a_dynamic_user_has_no_file():
    files = Files([(cursor(30), {}), (cursor(34), {"_UID": "61200"})])
    assert not files.gone(cursor(30), cursor(34), directory="/exported")


@pytest.mark.parametrize(
    ("first", "last", "gone"),
    [
        ("", cursor(5), False),
        (cursor(5), cursor(6), False),
        (cursor(6), cursor(5), False),
        ("x", "y", False),
        (cursor(6), "", True),
    ],
)
def test_rows_that_stand_side_by_side_and_rows_that_are_not_there(first, last, gone):
    rows = [(at, {"_UID": "1000"} if at == last else {}) for at in sorted({first, last} - {""})]
    assert Files(rows).gone(first, last or first, owners=[1000]) is gone


def namespace(*numbers, start=50, more=()):
    """The system's row about the start at *start*, and the rows of a namespace ten ticks apart from 40 on, by their numbers."""
    system = [(cursor(7, "aa", start), {"MESSAGE_ID": STARTED, "UNIT": "llm.service", "_PID": "1"}), *more]
    own = [(cursor(n, "bb", 30 + 10 * n), {"_SYSTEMD_UNIT": JOURNALD if n < 3 else "llm.service"}) for n in numbers]
    return Files(sorted([*system, *own], key=lambda row: int(row[0].split("m=")[1].split(";")[0], 16)))


@pytest.mark.parametrize(
    ("numbers", "start", "gone"),
    [
        ([1, 2, 3, 4], 35, False),
        ([2, 3, 4], 35, True),
        ([1, 3, 4], 35, True),
        ([4], 35, True),
        ([1, 2, 3, 4], 55, False),
        ([2, 3, 4], 55, False),
        ([2, 4], 55, True),
    ],
    ids=[
        "new",
        "its first is gone",
        "one is gone",
        "all are gone",
        "older",
        "its first is gone before",
        "one is gone since",
    ],
)
def test_the_rows_of_a_namespace(numbers, start, gone):
    files = namespace(*numbers, start=start)
    assert files.gone(cursor(7, "aa", start), cursor(4, "bb", 70), namespace="llm") is gone
    assert any({"--namespace=llm", "--reverse"} <= set(argv) for argv in files.asked)
    assert namespace(*numbers, start=start).gone(cursor(7, "aa", start), cursor(4, "bb", 70), directory="/x") is gone


@pytest.mark.parametrize(("message_id", "gone"), [(STARTING, False), (STARTED, False), ("9d1aaa27", True), ("", True)])
def test_a_namespace_whose_journald_had_ended_has_lost_an_older_journal(message_id, gone):
    said = (cursor(8, "aa", 39), {"MESSAGE_ID": message_id, "UNIT": JOURNALD, "_PID": "1"})
    files = namespace(1, 2, 3, start=35, more=[said])
    assert files.gone(cursor(7, "aa", 35), cursor(3, "bb", 60), namespace="llm") is gone
    later = (cursor(8, "aa", 99), said[1])
    assert not namespace(1, 2, 3, start=35, more=[later]).gone(
        cursor(7, "aa", 35), cursor(3, "bb", 60), namespace="llm"
    )


def test_a_service_that_spoke_before_its_start_was_told():
    files = namespace(3, 4, start=99)
    assert not files.gone(cursor(7, "aa", 99), cursor(3, "bb", 60), namespace="llm")


def test_rows_of_another_boot_are_older():
    rows = [(cursor(3, "bb", 900, "dd"), {}), (cursor(7, "aa", 50), {}), (cursor(4, "bb", 60), {})]
    assert not Files(rows).gone(cursor(7, "aa", 50), cursor(4, "bb", 60), namespace="llm")


@pytest.mark.parametrize(
    ("user", "owner"),
    [("", None), ("0", None), ("999", None), ("1000", 1000), ("alice", 1001), ("nobody-at-all", None), ("65534", None)],
)
def test_whose_rows_go_where(user, owner, monkeypatch):
    def getpwnam(name):
        if name != "alice":
            raise KeyError(name)
        return types.SimpleNamespace(pw_uid=1001)

    monkeypatch.setattr(_journal_gaps.pwd, "getpwnam", getpwnam)
    assert _journal_gaps.owner_of_file(user) == owner
