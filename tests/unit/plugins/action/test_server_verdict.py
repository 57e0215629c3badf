# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every way in which a server differs from its inventory is told, and none hides another."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.action import server_verdict as action
from ansible_collections.llmops.sglang.plugins.module_utils._failure import FAILURE_CLASSES
from ansible_collections.llmops.sglang.plugins.modules import server_verdict as module
from ansible_collections.llmops.sglang.tests.unit import controller_task

SAME = {"changed": False, "flag_changes": {"added": {}, "removed": {}, "changed": {}}, "restart_required": False}
GENERATES = {"ok": True, "failure_class": None, "acceptance_length": 3.1}
PROVED = {"ok": True, "results": [{"title": "draft runner", "ok": True}]}


def info(state="active", pid=7, matches=True, lengths=(4.2,), conflicts=(), arguments=None, told="server", **evidence):
    return {
        "unit": {"state": state, "sub_state": "running", "main_pid": pid, "matches_unit": matches},
        "server": {
            "version": "0.5.15",
            "arguments": arguments or {"tp_size": 8, "model_path": "/m"},
            "arguments_from": told,
            "speculation": {"lifetime_accept_lengths": list(lengths)},
        },
        "conflicts": list(conflicts),
        "evidence": {"simulated_acceptance": False, **evidence},
    }


def conflict(subject, msg="they differ"):
    return {"subject": subject, "values": {}, "msg": msg}


@pytest.fixture
def judged(monkeypatch):
    def judge(check=False, **looks):
        args = {"name": "llm", "info": info(), "unit": SAME, "generation": GENERATES, "journal": PROVED, **looks}
        return controller_task.run(action, monkeypatch, args, check_mode=check)

    return judge


def subjects(result):
    assert not result.get("failed") or result["failure_class"] in FAILURE_CLASSES
    assert result["ok"] is not bool(result.get("failed"))
    return [item["subject"] for item in result["drift"]]


def test_options_and_results_are_the_documented_ones():
    options, always = controller_task.documented(module)
    assert options == action.ActionModule.SPEC
    assert always == set(action.ActionModule.NOTHING)


@pytest.mark.parametrize("check", [False, True])
def test_a_server_that_is_what_it_should_be(judged, check):
    result = judged(check, min_acceptance_length=4)
    assert result["ok"] and not result.get("failed") and not result["drift"] and not result["unchecked"]
    assert result["acceptance"] == {"length": 4.2, "source": "lifetime"} and not result["changed"]


def test_all_that_differs_is_told_at_once(judged):
    changes = {"added": {"tp_size": 8}, "removed": {"old": 1}, "changed": {"port": {"before": 1, "after": 2}}}
    mismatch = {"key": "draft_window_size", "expected": 2048, "actual": None}
    result = judged(
        unit={"changed": True, "flag_changes": changes},
        info=info(
            conflicts=[
                conflict("unit", "a restart is pending: x"),
                conflict("argument", "it runs with tp_size=4"),
                conflict("draft_window"),
                conflict("trained_window"),
                conflict("listener"),
            ],
            lengths=[4.5, 1.25],
        ),
        journal={
            "ok": False,
            "failure_class": "field_mismatch",
            "msg": "x",
            "results": [{"title": "runner", "ok": False, "mismatches": [mismatch], "missing": ["block_size"]}],
        },
        generation={"ok": False, "failure_class": "garbage_output", "msg": "It says a a a a."},
        min_acceptance_length=2.5,
    )
    assert subjects(result) == [
        "unit", "process", "server", "draft_window", "trained_window", "listener", "journal", "generation", "acceptance",
    ]  # fmt: skip
    for said in (
        "tp_size=8 is missing, old=1 is too much, port=1 should be 2",
        "process: a restart is pending: x",
        "runner: draft_window_size is None instead of 2048, block_size is missing",
        "It says a a a a",
        "the length is 1.25 (mean since the server started), and it must be at least 2.5",
    ):
        assert said in result["msg"], said
    assert result["failure_class"] == "foreign_listener"


def test_what_is_ignored_is_told_and_fails_nothing(judged):
    result = judged(info=info(conflicts=[conflict("trained_window")]), ignore=["trained_window"])
    assert result["ok"] and [item["subject"] for item in result["ignored"]] == ["trained_window"]


def test_in_check_mode_drift_is_told_and_only_what_would_be_refused_fails(judged):
    differs = {"unit": {"changed": True, "flag_changes": {"added": {"tp_size": 8}}}}
    told = judged(True, **differs)
    assert not told.get("failed") and not told["ok"] and [item["subject"] for item in told["drift"]] == ["unit"]
    assert "tp_size=8 is missing" in told["msg"] and "fails nothing" in told["msg"]
    refused = {"unit": {"failed": True, "msg": "No such flag.", "failure_class": "unknown_flag"}}
    assert judged(True, **refused)["failure_class"] == "unknown_flag"
    assert judged(True, info={"failed": True, "msg": "No manager.", "failure_class": "no_permission"}).get("failed")


def test_a_unit_that_is_missing(judged):
    gone = {
        "ok": False,
        "failure_class": "no_such_unit",
        "msg": "There is no unit 'llm.service': the closest is 'llm2'.",
    }
    result = judged(
        info=info("not-found", None, None), unit={"changed": True}, generation=gone, journal={"skipped": True}
    )
    assert subjects(result) == ["unit"] and "the closest is 'llm2'" in result["msg"]
    assert result["failure_class"] == "no_such_unit" and "nothing runs" in result["unchecked"][0]


@pytest.mark.parametrize(
    ("state", "failure_class"), [("inactive", "inactive"), ("failed", "bad_arguments"), ("activating", "crash_loop")]
)
def test_a_server_that_does_not_run_is_held_against_its_unit_all_the_same(judged, state, failure_class):
    result = judged(
        info=info(state, None, None),
        unit={"changed": True, "flag_changes": {"added": {"tp_size": 8}}},
        generation={"ok": False, "failure_class": failure_class, "msg": "It ended."},
        journal={"skipped": True},
        min_acceptance_length=2,
    )
    assert subjects(result) == ["unit", "process"] and result["failure_class"] == failure_class
    assert f"nothing runs: the unit is {state}" in result["msg"] and "It ended" in result["msg"]


def test_a_server_that_still_loads(judged):
    result = judged(
        info=info(told="command_line", lengths=()),
        generation={
            "ok": False,
            "failure_class": "connection_refused",
            "msg": "Nothing listened for 60 s: loads shards.",
        },
        min_acceptance_length=2,
    )
    assert subjects(result) == ["generation", "acceptance"] and result["failure_class"] == "connection_refused"
    assert "the length is unknown" in result["msg"] and "did not tell its arguments" in result["unchecked"][0]


def test_a_unit_that_the_inventory_could_not_have(judged):
    refused = {"failed": True, "failure_class": "unknown_flag", "msg": "No such flag.", "changed": False}
    assert subjects(judged(unit=refused)) == ["inventory"]
    assert "MODULE FAILURE" in judged(unit={"failed": True, "msg": "MODULE FAILURE"})["msg"]


def test_what_cannot_be_read_is_no_pass(judged):
    assert subjects(judged(info=info(matches=None))) == ["process"]
    assert subjects(judged(info={"msg": "no python"})) == ["host"]
    unread = {
        "ok": False,
        "failure_class": "no_permission",
        "msg": "The journal cannot be read.",
        "results": [{"ok": False}],
    }
    result = judged(journal=unread)
    assert subjects(result) == ["journal"] and "cannot be read" in result["msg"]


def test_without_an_interpreter_the_server_is_held_against_the_inventory_itself(judged):
    result = judged(unit={}, arguments={"tensor_parallel_size": 4, "tp_size": 4, "model_path": "/other", "new_flag": 1})
    assert subjects(result) == ["server", "server"]
    assert "the inventory asks for tp_size=4, and the server runs with 8" in result["msg"]
    assert "not compared" in result["unchecked"][0]
    assert subjects(judged(unit={"skipped": True}, arguments={"tp_size": 4})) == ["server"]
    same = judged(unit={"skipped": True}, arguments={"tp_size": "8", "model_path": "/m/"})
    assert same["ok"]


@pytest.mark.parametrize(
    ("lengths", "probe", "floor", "told", "source"),
    [
        ([3.0, 2.0], None, 2.5, ["acceptance"], "lifetime"),
        ([3.0], 1.0, 2.5, [], "lifetime"),
        ([], 2.0, 2.5, ["acceptance"], "probe"),
        ([], 2.6, 2.5, [], "probe"),
        ([], None, 2.5, ["acceptance"], None),
        ([], None, None, [], None),
    ],
)
def test_the_floor_is_held_against_the_best_that_is_known(judged, lengths, probe, floor, told, source):
    generation = {"ok": True, "acceptance_length": probe}
    result = judged(info=info(lengths=lengths), generation=generation, min_acceptance_length=floor)
    assert subjects(result) == told and result["acceptance"]["source"] == source


def test_an_acceptance_that_is_made_up_holds_no_floor(judged):
    assert subjects(judged(info=info(simulated_acceptance=True), min_acceptance_length=1)) == ["acceptance"]
    assert judged(info=info(simulated_acceptance=True))["ok"]


def test_in_check_mode_nothing_was_asked_and_that_is_said(judged):
    skipped = {"ok": None, "failure_class": None, "skipped_reason": "check mode: no request is sent"}
    result = judged(True, generation=skipped, journal={})
    assert result["ok"] and len(result["unchecked"]) == 2
