# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role decides where a change fails, and what it tells."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.tests.unit import role_variables

HOST = {"inventory_hostname": "gpu1", "groups": {"all": ["gpu1"]}}
WRITTEN = {"changed": True}
GOOD, OTHER = {"id": "1", "on_host": True}, {"id": "2", "on_host": False}


def of_role(name, **variables):
    return role_variables.of_role("server", name, **{"ansible_check_mode": False, **HOST, **variables})


def test_only_what_may_be_written_is_gone_back_from():
    refused = {"failed": True, "failure_class": "rule_violated", "changed": False}
    assert of_role("server_written_before_failure", server_unit_written=WRITTEN) is True
    assert of_role("server_written_before_failure", server_unit_written=refused) is False
    assert of_role("server_written_before_failure", server_converged=WRITTEN) is True
    assert of_role("server_written_before_failure", server_converged=WRITTEN, ansible_check_mode=True) is False
    assert of_role("server_written_before_failure") is False


@pytest.mark.parametrize(
    ("variables", "word"),
    [
        ({"ansible_check_mode": True}, "checked"),
        ({"server_unit_written": {"failed": True, "failure_class": "unknown_flag", "changed": False}}, "not_written"),
        ({"server_rollback": False}, "left"),
        # As -e and a survey of AWX hand it over.
        ({"server_rollback": "false"}, "left"),
        ({"server_rollback": "true", "server_keep_failed_install": "false"}, "restore"),
        ({"server_history_now": {"unreachable": True, "msg": "gone"}}, "unreachable"),
        ({"server_history_now": {"failed": False, "failure_class": "no_permission", "msg": "no"}}, "unread"),
        ({"server_history_now": {"configurations": [], "last_good": None}}, "remove"),
        (
            {
                "server_history_now": {"configurations": [], "last_good": None},
                "server_keep_failed_install": True,
            },
            "kept",
        ),
        ({"server_history_now": {"configurations": [GOOD, OTHER], "last_good": "1"}}, "same"),
        ({"server_history_now": {"configurations": [GOOD, OTHER], "last_good": "2"}}, "restore"),
        # What it had written belongs to the play that has the unit by now, also where that ends meanwhile.
        ({"server_change_failed": {"claimed": True}}, "claimed"),
    ],
)
def test_the_way_back(variables, word):
    given = {"server_unit_written": WRITTEN, "server_history_now": {"configurations": [OTHER], "last_good": "2"}}
    assert of_role("server_way_back_now", **{**given, **variables}) == word
    failed = {"task": "Wait", "failure_class": "crash_loop", "msg": "It died.", "log_tail": ["a", "b"]}
    told = of_role(
        "server_both_stories",
        **{**given, **variables, "server_change_failed": failed},
        server_way_back=word,
        server_way_back_taken="",
        server_diagnosed={"path": "/d.tar.gz"},
    )
    lines = told.splitlines()
    assert lines[:3] == ["Wait failed (crash_loop): It died.", "  | a", "  | b"]
    assert len(lines) == 5 and lines[3].endswith((".", "no", "gone")) and "/d.tar.gz" in lines[4]


@pytest.mark.parametrize(("result", "claimed"), [({"claimed_by": {"pid": 1}}, True), ({"msg": "It died."}, False)])
def test_a_refusal_in_favour_of_another_play_is_kept(result, claimed):
    kept = role_variables.read("server/tasks/fall_back.yml")[0]["ansible.builtin.set_fact"]["server_change_failed"]
    assert role_variables.rendered(kept["claimed"], ansible_failed_result=result) is claimed


@pytest.mark.parametrize(
    ("wait", "restored", "kept"),
    [
        ({"base_url": "https://gpu1:4201", "timeout": 5}, "http://127.0.0.1:4201", {"base_url": "https://gpu1:4201"}),
        # It listens elsewhere, and its model may be another one.
        ({"base_url": "https://gpu1:4202", "expected_model": "new"}, "http://127.0.0.1:4201", {}),
        ({"base_url": "https://gpu1:4202"}, None, {}),
        ({"ca_path": "/ca", "require_speculation": True, "api_key_file": "/new"}, None, {"ca_path": "/ca"}),
    ],
)
def test_of_the_wait_only_what_holds_for_another_configuration(wait, restored, kept):
    found = of_role("server_restore_wait", server_wait=wait, server_restored={"base_url": restored})
    assert {name: value for name, value in found.items() if name != "timeout"} == kept


@pytest.mark.parametrize(
    ("reason", "told"),
    [("would be restarted: settings changed", True), ("the running process is what the unit describes", False)],
)
def test_a_restart_is_needed_where_the_service_module_would_make_one(reason, told):
    assert bool(of_role("server_restart_reason", server_restart_needed={"reason": reason})) is told
    assert of_role("server_restart_reason", server_restart_needed={"skipped": True}) == ""


def test_what_is_asked_of_a_restored_server_holds_for_any_configuration_of_it():
    wait = {"timeout": 900, "degenerate_output": "ignore", "max_tokens": 8, "require_speculation": True, "model": "new"}
    assert of_role("server_restore_wait", server_wait=wait) == {"timeout": 900, "degenerate_output": "ignore"}
