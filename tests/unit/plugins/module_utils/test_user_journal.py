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
        numbers = [34] if "_UID=1000" in argv else there
        return 0, "".join(json.dumps({"__CURSOR": cursor(number)}) + "\n" for number in numbers), ""

    log = InvocationLog("llm.service", "b" * 32, first_cursor=cursor(30))
    assert _user_journal.first_rows_are_gone(Journal(CommandRunner(run_command)), log, 1000) is gone
    assert f"--cursor={cursor(30)}" in asked[1] and not [word for word in asked[1] if word.startswith("_")]


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
    out = json.dumps({"__CURSOR": last}) + "\n" if last else ""
    journal = Journal(CommandRunner(lambda argv, environ_update: (0, out, "")))
    log = InvocationLog("llm.service", "b" * 32, first_cursor=first)
    assert _user_journal.first_rows_are_gone(journal, log, 1000) is gone


@pytest.mark.parametrize(
    ("user", "owner"),
    [("", None), ("0", None), ("999", None), ("1000", 1000), ("alice", 1001), ("nobody-at-all", None)],
)
def test_whose_rows_go_where(user, owner, monkeypatch):
    def getpwnam(name):
        if name != "alice":
            raise KeyError(name)
        return types.SimpleNamespace(pw_uid=1001)

    monkeypatch.setattr(_user_journal.pwd, "getpwnam", getpwnam)
    assert _user_journal.owner_of_file(user) == owner
