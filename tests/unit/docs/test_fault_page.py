# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of faults is made by a program from what tests saw: here it is held to the tests that are there."""

from __future__ import annotations

import pathlib
import re
import sys

import fault_rows
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import fault_page

PAGE = fault_page.PAGE.read_text(encoding="utf-8")
ROW = re.compile(r"   \* - (?!Fault$)(.+)\n     - (.+)\n     - (.+)\n     - ``(.+)``\n")


def sections():
    titles = "|".join(re.escape(title) for title in fault_rows.AREAS.values())
    parts = re.split(rf"^({titles})\n-+\n", PAGE, flags=re.MULTILINE)
    return {title: ROW.findall(text) for title, text in zip(parts[1::2], parts[2::2])}


def test_the_page_has_the_faults_that_were_promised():
    rows = sections()
    assert list(rows) == list(fault_rows.AREAS.values()) and all(rows.values())
    programs = rows.pop(fault_rows.AREAS["programs"])
    assert sum(map(len, rows.values())) >= 80 and programs


def test_each_row_is_of_a_test_that_causes_it_and_each_such_test_has_one():
    of_page = {test for rows in sections().values() for *dummy, test in rows}
    there = {test.rpartition("/")[2] for test in fault_page.causing()}
    assert of_page == there


def test_what_a_test_says_by_name_stands_there():
    said = {fault_page.plain(word) for words in fault_page.causing().values() for word in words}
    faults = {words for rows in sections().values() for words, *dummy in rows}
    assert not said - faults


@pytest.mark.parametrize("text", ["a `b` *c* |d| e_ <f> \\", "two\n  lines"])
def test_a_message_is_shown_as_it_is(text):
    shown = re.sub(r"\\(.)", r"\1", fault_page.plain(text))
    assert shown == " ".join(text.split())


def test_nobody_is_named_and_no_path_of_a_machine():
    assert not re.search(r"/tmp/|/root/|/work/|/home/(?!operator)|t\d{4,}\.yml", PAGE)


def test_a_fault_that_nobody_was_told_of_is_no_row():
    fault_rows.begin()
    with pytest.raises(AssertionError, match="nobody was told"):
        fault_rows.fault("host", "silence")


@pytest.mark.parametrize(
    ("told", "row"),
    [
        ([("no_permission", "first"), (None, "second")], ("no_permission", "first")),
        ([("no_permission", "first"), (None, "Wait failed: first")], ("no_permission", "Wait failed: first")),
        ([("no_permission", "first"), ("gave_up", "second")], ("gave_up", "second")),
        ([(None, "first"), (None, "second")], ("", "second")),
    ],
)
def test_a_row_has_the_word_and_the_words_of_one_failure(told, row):
    fault_rows.begin()
    for failure_class, msg in told:
        fault_rows.told(failure_class, msg)
    fault_rows.fault("host", "something")
    fault_rows.told("gave_up", "stale")
    fault_rows.fault("host", "nothing", "All goes on.")
    with pytest.raises(AssertionError, match="nobody was told"):
        fault_rows.fault("host", "silence")
    rows = [(row["failure_class"], row["msg"]) for row in fault_rows._rows]
    assert rows == [row, ("", "All goes on.")]
    fault_rows.begin()
