# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What needs root and what a user who may read the journal can do: each module both ways, on one server.

The words are those of the table in docs' page of security.
"""

from __future__ import annotations

import pytest
from deployed_server import KEYS, NAME, DeployedServer
from fault_rows import fault

OBSERVER, STRANGER = "observer", "stranger"
URL = "http://127.0.0.1:4311"
KEY = {"api_key": KEYS[0]}
SMALL = {"contexts": [60], "concurrency": [1], "requests": 1, "warmup": 0, "max_tokens": 8}


@pytest.fixture(scope="module")
def server(hosts, tmp_path_factory):
    made = DeployedServer(hosts, tmp_path_factory.mktemp("privilege"))
    if made.files():
        made.deploy(server_state="absent")
    made.deploy(server_user="nobody")
    made.shell(
        f"useradd --create-home {OBSERVER}; usermod --append --groups systemd-journal {OBSERVER}; useradd -m {STRANGER}"
    )
    return made


def said(server, user, module, **options):
    """The word of the failure of a module for a user, or nothing."""
    args = {"name": NAME, **options} if "router" not in module else options
    result = server.hosts.run_module("host1", f"llmops.sglang.{module}", args, user=user)
    assert "Traceback" not in str(result)
    assert not result["failed"] or result["failure_class"], result
    return result["failure_class"] if result["failed"] else ""


@pytest.mark.parametrize(
    ("module", "options", "plain"),
    [
        ("journal_assert", {"preset": "dflash", "preset_fields": {"draft_window_size": 2048}}, ""),
        ("server_info", KEY, ""),
        ("server_diagnosis", KEY, ""),
        ("server_history", {}, "no_permission"),
        ("server_history", {"state": "recorded"}, "no_permission"),
        (
            "server_unit",
            {"python": "/opt/change-sim/bin/python", "args": {"model_path": "m"}, "sglang_version": "0.5.15"},
            "unit_invalid",
        ),
        ("server_service", {"state": "converged"}, "no_permission"),
        ("server_service", {"state": "restarted"}, "no_permission"),
        ("wait_for_generation", {**KEY, "timeout": 60}, "no_permission"),
        ("wait_for_generation", {**KEY, "timeout": 60, "require_owner": False}, ""),
        ("benchmark_matrix", {**KEY, **SMALL, "results_dir": "/tmp/{user}"}, "no_permission"),
        ("benchmark_matrix", {**KEY, **SMALL, "results_dir": "/tmp/{user}", "require_evidence": False}, ""),
        ("coding_eval", {**KEY, "task_names": ["fib"], "results_dir": "/tmp/{user}"}, ""),
        ("router_info", {"router_url": "http://127.0.0.1:9"}, "router_failed"),
    ],
)
def test_each_module_both_ways(server, module, options, plain):
    found = []
    for user in (OBSERVER, None):
        asked = {
            key: value.replace("{user}", user or "root") if key == "results_dir" else value
            for key, value in options.items()
        }
        found.append(said(server, user, module, **asked))
    assert found == [plain, plain if module == "router_info" else ""]


def test_the_journal_needs_the_group_and_nothing_else(server):
    asked = {"must_not_match": ["nothing"]}
    assert said(server, OBSERVER, "journal_assert", **asked) == ""
    assert said(server, STRANGER, "journal_assert", **asked) == "no_permission"
    fault("host", "A user without the group systemd-journal asks whether an error is absent")


def test_a_playbook_that_changes_is_refused_before_it_changes(server):
    before, invocation = server.files(), server.invocation()
    changed = {"server_args": {**server.vars["server_args"], "max_running_requests": 3}}
    done = server.run(**changed, server_user="nobody", ansible_user=OBSERVER)
    assert done.returncode != 0 and "no_permission" in done.said and "Traceback" not in done.said, done.said
    fault("host", "A plain user deploys a server of the system")
    assert (server.files(), server.invocation()) == (before, invocation)


def test_a_verification_by_a_plain_user_tells_what_it_could_not_check(server):
    # Other tests write another unit, without keys.
    server.deploy(server_user="nobody")
    done = server.run("verify", server_user="nobody", ansible_user=OBSERVER)
    assert done.returncode != 0 and "Traceback" not in done.said, done.said
    for told in (
        "cannot be read (Permission denied)",
        "could not be read: look as root",
        "use become, or set require_owner",
    ):
        assert told in done.said, done.said
    fault("host", "A plain user verifies a server")
