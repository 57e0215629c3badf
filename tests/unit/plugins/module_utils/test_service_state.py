# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a unit is brought to the state that is asked for, and when it is left alone."""

from __future__ import annotations

import os
import socket

import pytest
import service_by_verbs
from service_by_verbs import ABSENT, FAILED, RUNNING, STOPPED, Host, verbs

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure

change = service_by_verbs.change


def test_a_process_that_is_what_the_unit_says_is_left_alone(change):
    host = Host(RUNNING)
    result = change(host, "converged")
    assert not result["changed"]
    assert verbs(host) == []
    assert result["previous_invocation_id"] == result["invocation_id"] == "a" * 32
    assert result["stopped_cleanly"] is None


def test_a_process_that_differs_is_restarted_though_no_file_changed(change):
    host = Host(RUNNING, differences=["settings of the unit changed"])
    result = change(host, "converged")
    assert result["changed"]
    assert verbs(host) == ["stop", "start"]
    assert result["reason"] == "restarted: settings of the unit changed"
    assert result["restarted"] is True
    assert (result["previous_invocation_id"], result["invocation_id"]) == ("a" * 32, "b" * 32)
    assert result["stopped_cleanly"] is True


def test_an_older_copy_is_reloaded_before_it_is_judged(change):
    host = Host({**RUNNING, "NeedDaemonReload": "yes"})
    assert not change(host, "converged")["changed"]
    assert verbs(host) == ["daemon-reload"]


@pytest.mark.parametrize("wanted", ["converged", "restarted", "started"])
@pytest.mark.parametrize("before", [STOPPED, FAILED])
def test_a_stopped_service_is_started_with_a_clean_slate(change, wanted, before):
    host = Host(before)
    assert change(host, wanted)["changed"]
    assert host.verbs == ["reset-failed", "start"]


def test_a_service_between_two_processes_gets_the_new_unit(change):
    host = Host({**RUNNING, "ActiveState": "activating", "SubState": "auto-restart", "MainPID": "0"})
    change(host, "converged")
    assert verbs(host) == ["stop", "start"]


@pytest.mark.parametrize(("state", "wanted"), [(RUNNING, "started"), (STOPPED, "stopped"), (FAILED, "stopped")])
def test_what_is_already_so_is_no_change(change, state, wanted):
    host = Host(state)
    assert not change(host, wanted)["changed"]
    assert verbs(host) == []


@pytest.mark.parametrize(
    ("kind", "wanted", "expected"),
    [
        ("oneshot", "converged", []),
        ("oneshot", "started", []),
        ("oneshot", "restarted", ["stop", "start"]),
        ("exec", "converged", ["stop", "start"]),
    ],
)
def test_an_active_unit_without_a_main_process_runs_only_where_its_command_was_to_end(change, kind, wanted, expected):
    host = Host({**RUNNING, "MainPID": "0", "Type": kind})
    result = change(host, wanted)
    assert (verbs(host), result["changed"], result["restarted"]) == (expected, bool(expected), bool(expected))
    assert expected or "nothing can be compared" in result["reason"]


def test_check_mode_predicts_and_touches_nothing(change):
    host = Host(RUNNING, differences=["x"])
    result = change(host, "converged", check_mode=True, enabled=True)
    assert result["changed"]
    assert host.verbs == []
    assert result["invocation_id"] == "a" * 32


def test_check_mode_on_a_fresh_host_is_a_change_and_no_failure(change):
    assert change(Host(ABSENT), "converged", check_mode=True)["changed"]
    assert not change(Host(ABSENT), "stopped", check_mode=True)["changed"]


def test_a_change_that_an_earlier_task_only_predicted_is_a_restart_in_check_mode_alone(change):
    for wanted, reason in (
        ("converged", "would be restarted"),
        ("restarted", "would be restarted"),
        ("started", "it runs"),
    ):
        result = change(Host(RUNNING), wanted, check_mode=True, unit_to_change=True)
        assert result["changed"] is (wanted != "started") and result["reason"].startswith(reason), result
        assert wanted == "started" or "an earlier task would change its unit" in result["reason"]
    assert "would be started" in change(Host(STOPPED), "converged", check_mode=True, unit_to_change=True)["reason"]
    assert not change(Host(RUNNING), "converged", unit_to_change=True)["changed"]
    masked = Host({**STOPPED, "LoadState": "masked"})
    assert "would be started" in change(masked, "converged", check_mode=True, unit_to_change=True)["reason"]


@pytest.mark.parametrize("state", [RUNNING, STOPPED])
@pytest.mark.parametrize(
    ("load_state", "expected"),
    [("masked", "unit_invalid"), ("bad-setting", "no_such_unit"), ("not-found", "no_such_unit")],
)
def test_what_cannot_be_started_again_is_not_stopped(change, load_state, expected, state):
    """A unit that was masked, broken or removed by hand shows as such only after the reload."""
    host = Host({**state, "NeedDaemonReload": "yes"}, differences=["x"])
    host.daemon_reload = lambda: host.properties.update(LoadState=load_state)
    with pytest.raises(Failure) as raised:
        change(host, "converged")
    assert raised.value.failure_class == expected
    assert not {"stop", "start"} & set(host.verbs)
    assert raised.value.result["previous_invocation_id"] == "a" * 32
    assert ("left as it is" in raised.value.msg) is (state is RUNNING)


def test_check_mode_tells_that_a_masked_unit_cannot_be_started(change):
    with pytest.raises(Failure, match="unmask"):
        change(Host({**STOPPED, "LoadState": "masked"}), "converged", check_mode=True)
    assert not change(Host({**RUNNING, "LoadState": "masked"}), "converged")["changed"]


def test_an_unknown_unit_is_a_failure(change):
    with pytest.raises(Failure) as raised:
        change(Host(ABSENT), "converged")
    assert raised.value.failure_class == "no_such_unit"


@pytest.mark.parametrize(("status", "expected"), [("203", "unit_invalid"), ("2", "gave_up")])
def test_a_start_that_fails_at_once_says_why(change, status, expected):
    host = Host(STOPPED, started={**FAILED, "ExecMainStatus": status})
    with pytest.raises(Failure) as raised:
        change(host, "converged")
    assert raised.value.failure_class == expected
    assert f"exit status {status}" in raised.value.msg


def test_a_start_that_fails_at_once_is_told_by_its_own_log(change):
    """As the wait would tell it, which may come too late for it."""
    host = Host(STOPPED, started={**FAILED, "ExecMainStatus": "2"})
    host.lines = ["launch_server.py: error: unrecognized arguments: --no-such-flag"]
    with pytest.raises(Failure) as raised:
        change(host, "converged")
    assert raised.value.failure_class == "bad_arguments"
    assert "exit status 2" in raised.value.msg and "--no-such-flag" in raised.value.msg


class TakenMeanwhile(Host):
    """Whose port another process takes after the look before the start."""

    def __init__(self, holder):
        super().__init__(STOPPED, started={**FAILED, "ExecMainStatus": "3"})
        self.holder, port = holder, holder.getsockname()[1]
        self.words = ["/p/python", "-m", "sglang.launch_server", "--model-path", "/m", "--port", str(port)]
        self.lines = [
            f"[Errno 98] error while attempting to bind on address ('0.0.0.0', {port}): address already in use"
        ]

    def systemctl(self, verb, *rest, **options):
        if verb == "start":
            self.holder.listen()
        return super().systemctl(verb, *rest, **options)


def test_a_start_whose_port_was_taken_meanwhile_is_told_with_its_holder(change):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        with pytest.raises(Failure) as raised:
            change(TakenMeanwhile(holder), "converged")
    assert raised.value.failure_class == "port_in_use"
    assert "could not bind its port" in raised.value.msg and f"held by process {os.getpid()}" in raised.value.msg


def test_a_start_that_the_start_limit_keeps_from_happening_is_told(change):
    with pytest.raises(Failure) as caught:
        change(Host(FAILED, started=FAILED), "converged", reset_failed=False)
    assert caught.value.failure_class == "gave_up"
    assert "start limit" in caught.value.msg
    assert caught.value.result["restarted"] is False


def test_a_start_job_that_does_not_end_is_told(change):
    host = Host(STOPPED, started={**RUNNING, "ActiveState": "activating", "Job": "17"})
    with pytest.raises(Failure, match="did not end within 5 s"):
        change(host, "converged")


@pytest.mark.parametrize(
    ("file_state", "enabled", "verb"),
    [
        ("disabled", True, ["enable"]),
        ("disabled", False, []),
        ("disabled", None, []),
        ("enabled", True, []),
        ("enabled", False, ["disable", "disable"]),
        # Enabled until the next boot only.
        ("enabled-runtime", True, ["enable"]),
        ("enabled-runtime", False, ["disable", "disable"]),
        ("static", True, []),
    ],
)
def test_enabling_is_a_change_of_its_own(change, file_state, enabled, verb):
    host = Host({**RUNNING, "UnitFileState": file_state})
    result = change(host, "converged", enabled=enabled)
    assert verbs(host) == verb
    assert result["changed"] is bool(verb)
    assert result["restarted"] is False


def test_where_there_is_none_it_is_null(change):
    host = Host({**STOPPED, "InvocationID": ""})
    result = change(host, "stopped")
    for key in ("previous_invocation_id", "invocation_id", "main_pid", "stopped_cleanly", "stopped_by"):
        assert result[key] is None, key


@pytest.mark.parametrize("check_mode", [True, False])
def test_what_a_process_began_with_is_kept_only_where_it_is_what_the_unit_says(change, check_mode):
    host = Host(RUNNING)
    change(host, "converged", check_mode=check_mode)
    assert host.remembered == ([] if check_mode else [("a" * 32, True)])
    host = Host(RUNNING)
    host.complete = False
    change(host, "converged", check_mode=check_mode)
    assert host.remembered == ([] if check_mode else [("a" * 32, False)])
    host = Host(RUNNING, differences=["x"])
    change(host, "converged", check_mode=check_mode)
    assert host.remembered == ([] if check_mode else [("b" * 32, True)])
    host = Host(RUNNING, differences=["x"])
    change(host, "started")
    assert host.remembered == []
