# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A user's own journal file may lose the first rows of a service whose start is still there."""

from __future__ import annotations

import json
import types

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _user_journal
from ansible_collections.llmops.sglang.plugins.module_utils._journal import InvocationLog
from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import CommandRunner, Journal


def cursor(number):
    return f"s=aa;i={number:x};b=cc;m=1;t=2;x=3"


@pytest.mark.parametrize(
    ("there", "gone"),
    [
        ([30, 31, 32, 33, 34], False),
        ([30, 31, 33, 34], True),
        ([30, 34], True),
        ([30, 33, 31, 32, 34, 35], False),
    ],
)
def test_a_number_that_is_missing_is_a_row_that_was_removed(there, gone):
    asked = []

    def run_command(argv, environ_update):
        asked.append(argv)
        return 0, "".join(json.dumps({"__CURSOR": cursor(number)}) + "\n" for number in there), ""

    log = InvocationLog("llm.service", "b" * 32, first_cursor=cursor(30), first_service_cursor=cursor(34))
    assert _user_journal.first_rows_are_gone(Journal(CommandRunner(run_command)), log) is gone
    assert f"--cursor={cursor(30)}" in asked[0] and not [word for word in asked[0] if word.startswith("_")]


@pytest.mark.parametrize(
    ("first", "last"), [("", cursor(5)), (cursor(5), cursor(6)), (cursor(6), cursor(5)), ("x", "y")]
)
def test_where_no_row_can_be_missing(first, last):
    journal = Journal(CommandRunner(lambda argv, environ_update: (0, "", "")))
    log = InvocationLog("llm.service", "b" * 32, first_cursor=first, first_service_cursor=last)
    assert not _user_journal.first_rows_are_gone(journal, log)


@pytest.mark.parametrize(
    ("user", "own"),
    [("", False), ("0", False), ("999", False), ("1000", True), ("alice", True), ("nobody-at-all", False)],
)
def test_whose_rows_go_where(user, own, monkeypatch):
    def getpwnam(name):
        if name != "alice":
            raise KeyError(name)
        return types.SimpleNamespace(pw_uid=1001)

    monkeypatch.setattr(_user_journal.pwd, "getpwnam", getpwnam)
    assert _user_journal.has_a_file_of_its_own(user) is own
