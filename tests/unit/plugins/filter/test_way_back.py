# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is gone back from after a failure, and to what."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.filter.way_back import FilterModule, way_back
from ansible_collections.llmops.sglang.plugins.filter.written_before_failure import (
    FilterModule as WrittenFilterModule,
)
from ansible_collections.llmops.sglang.plugins.filter.written_before_failure import written_before_failure

REFUSED = {"failed": True, "failure_class": "rule_violated", "changed": False}
BEGUN = {"failed": True, "failure_class": "write_failed", "changed": True}
# ansible-core 2.19 and later say of each failure that its traceback cannot be had.
NO_TRACEBACK = {"exception": "(traceback unavailable)"}
GOOD, OTHER = {"id": "1", "on_host": True}, {"id": "2", "on_host": False}


@pytest.mark.parametrize(
    ("unit", "written"),
    [
        ({"changed": True}, True),
        # An earlier run wrote it and was killed.
        ({"changed": False}, True),
        (REFUSED, False),
        (BEGUN, True),
        ({**REFUSED, **NO_TRACEBACK}, False),
        ({**BEGUN, **NO_TRACEBACK}, True),
        ({"failed": True, "msg": "missing required arguments: name"}, False),
        ({"failed": True, "msg": "missing required arguments: name", **NO_TRACEBACK}, False),
        ({"failed": True, "msg": "MODULE FAILURE", "module_stderr": "Traceback"}, True),
        ({"failed": True, "msg": "MODULE FAILURE", "module_stderr": ""}, True),
        ({"failed": True, "msg": "Task failed: Module failed: boom", **NO_TRACEBACK}, True),
        ({"failed": True, "msg": "It said 'Task failed: Module failed'."}, False),
        (
            {"failed": True, "msg": "The action failed to execute in the expected time frame (5) and was terminated"},
            True,
        ),
        ({"failed": True, "msg": "Timed out after 5 second(s).", "timedout": {"period": 5}}, True),
    ],
    ids=str,
)
def test_a_unit_counts_as_written_unless_the_module_refused_before(unit, written):
    assert written_before_failure(unit) is written
    # What the service became is of no account then.
    assert written_before_failure(unit, {"changed": True}) is written
    assert written_before_failure(unit, check_mode=True) is False


@pytest.mark.parametrize(
    ("service", "written"),
    [({"changed": True}, True), ({"failed": True}, True), ({"skipped": True}, False), (None, False)],
    ids=["restarted", "failed", "skipped", "not reached"],
)
def test_a_unit_that_the_inventory_does_not_describe_is_gone_back_from_once_it_was_stopped(service, written):
    assert written_before_failure(None, service) is written
    assert written_before_failure(None, service, check_mode=True) is False


@pytest.mark.parametrize(
    ("history", "word"),
    [
        ({"unreachable": True, "msg": "gone"}, "unreachable"),
        ({"failed": False, "failure_class": "no_permission", "msg": "no"}, "unread"),
        ({}, "unread"),
        ({"configurations": [], "last_good": None}, "remove"),
        # What is kept and never worked is nothing to go back to.
        ({"configurations": [GOOD, OTHER], "last_good": None}, "remove"),
        ({"configurations": [GOOD, OTHER], "last_good": "1"}, "same"),
        ({"configurations": [GOOD, OTHER], "last_good": "2"}, "restore"),
    ],
    ids=str,
)
def test_the_way_back_is_what_is_kept_of_the_server(history, word):
    assert way_back(history, written=True) == word
    kept = way_back(history, written=True, keep_failed_install=True)
    assert kept == ("kept" if word == "remove" else word)


@pytest.mark.parametrize("history", [{"unreachable": True}, {"configurations": [OTHER], "last_good": "2"}], ids=str)
def test_what_forbids_a_way_back_comes_before_what_is_kept(history):
    assert way_back(history, written=True, rollback=False) == "left"
    assert way_back(history, written=False, rollback=False) == "not_written"
    assert way_back(history, written=False, check_mode=True, rollback=False) == "checked"


def test_both_filters_have_the_names_that_the_role_uses():
    assert FilterModule().filters() == {"way_back": way_back}
    assert WrittenFilterModule().filters() == {"written_before_failure": written_before_failure}
