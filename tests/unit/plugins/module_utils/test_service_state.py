# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import socket

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _service_state
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._port_holder import port_of
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import Comparison
from ansible_collections.llmops.sglang.plugins.module_utils._service_state import ServiceChange, Timeouts
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState

RUNNING = {
    "LoadState": "loaded",
    "ActiveState": "active",
    "MainPID": "7",
    "InvocationID": "a" * 32,
    "ControlGroup": "/system.slice/sglang.service",
    "UnitFileState": "disabled",
}
STOPPED = {**RUNNING, "ActiveState": "inactive", "MainPID": "0", "Result": "success", "ControlGroup": ""}
FAILED = {**STOPPED, "ActiveState": "failed", "Result": "exit-code", "ExecMainStatus": "2"}
ABSENT = {"LoadState": "not-found", "ActiveState": "inactive"}


class Host:
    """A service manager whose unit follows the verbs; time passes with each sleep."""

    def __init__(self, properties, differences=(), started=None, stop_hangs=False):
        self.properties, self.started, self.stop_hangs = dict(properties), started, stop_hangs
        self.verbs, self.now, self.words, self.remembered = [], 0.0, [], []
        self.differences, self.complete = list(differences), True

    def show(self, name):
        return UnitState(name, dict(self.properties))

    def systemctl(self, verb, *dummy, **dummy2):
        self.verbs.append(verb)
        if verb == "stop" and not self.stop_hangs:
            self.properties.update(STOPPED)
        if verb == "stop" and self.stop_hangs:
            self.properties["ActiveState"] = "deactivating"
        if verb == "start":
            self.properties.update(self.started or {**RUNNING, "InvocationID": "b" * 32, "MainPID": "8"})
        return 0, "", ""

    def exec_start(self, name):
        return self.words

    def environment(self, name):
        return {}

    def daemon_reload(self):
        self.verbs.append("daemon-reload")
        self.properties["NeedDaemonReload"] = "no"

    def no_such_unit(self, state):
        return Failure("no_such_unit", f"There is no unit '{state.name}'.")

    def clock(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def change(monkeypatch, tmp_path):
    def make(host, wanted, check_mode=False, **options):
        def remember(dummy, state, began):
            host.remembered.append((state.invocation_id, began))

        monkeypatch.setattr(
            _service_state, "compare", lambda manager, state: Comparison(host.differences, host.complete)
        )
        monkeypatch.setattr(_service_state, "log_tail", lambda *a, **k: ["last words"])
        monkeypatch.setattr(_service_state, "remember_inputs", remember)
        it = ServiceChange(
            host,
            "sglang.service",
            Timeouts(5, 5),
            host.clock,
            host.sleep,
            reset_failed=options.get("reset_failed", True),
            check_mode=check_mode,
            cgroup_root=str(options.get("cgroup_root", tmp_path)),
        )
        host.change = it
        it.enable(options.get("enabled"))
        it.bring_to(wanted)
        return it.result()

    return make


def verbs(host):
    return [v for v in host.verbs if v != "reset-failed"]


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


def test_processes_that_outlive_the_stop_are_named(change, tmp_path):
    folder = tmp_path / "system.slice/sglang.service/child"
    folder.mkdir(parents=True)
    (folder / "cgroup.procs").write_text("4194305\n")
    host = Host(RUNNING)
    with pytest.raises(Failure) as raised:
        change(host, "restarted", cgroup_root=tmp_path)
    assert raised.value.failure_class == "stop_failed"
    assert "4194305" in raised.value.msg
    assert "start" not in host.verbs
    assert host.now >= 5


def test_a_stop_that_does_not_end_is_a_failure_at_its_deadline(change):
    host = Host(RUNNING, stop_hangs=True)
    with pytest.raises(Failure) as raised:
        change(host, "stopped")
    assert raised.value.failure_class == "stop_failed"
    assert raised.value.result["log_tail"] == ["last words"]
    assert 5 <= host.now < 6


@pytest.mark.parametrize(("status", "expected"), [("203", "unit_invalid"), ("2", "gave_up")])
def test_a_start_that_fails_at_once_says_why(change, status, expected):
    host = Host(STOPPED, started={**FAILED, "ExecMainStatus": status})
    with pytest.raises(Failure) as raised:
        change(host, "converged")
    assert raised.value.failure_class == expected
    assert f"exit status {status}" in raised.value.msg


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


def test_an_unclean_end_is_reported(change):
    host = Host(RUNNING, differences=["x"])
    host.systemctl_original = host.systemctl

    def killed(verb, *words, **options):
        answer = host.systemctl_original(verb, *words, **options)
        if verb == "stop":
            host.properties.update(ActiveState="failed", Result="signal")
        return answer

    host.systemctl = killed
    assert change(host, "converged")["stopped_cleanly"] is False


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


def test_a_kill_is_reported_with_its_signal(change):
    host = Host(RUNNING, differences=["x"])
    plain = host.systemctl

    def killed(verb, *words, **options):
        answer = plain(verb, *words, **options)
        if verb == "stop":
            host.properties.update(ActiveState="failed", Result="signal", ExecMainCode="2", ExecMainStatus="9")
        return answer

    host.systemctl = killed
    result = change(host, "converged")
    assert (result["stopped_cleanly"], result["stopped_by"]) == (False, "signal SIGKILL")
    assert "KillSignal=SIGINT" in host.change.warnings[0]


def test_a_clean_stop_is_no_remark(change):
    host = Host(RUNNING, differences=["x"])
    assert change(host, "converged")["stopped_by"] == "exit status 0"
    assert host.change.warnings == []


def test_a_stop_that_an_automatic_restart_overtook_is_repeated(change):
    """systemd dropped the stop: a new process runs, and no job is left."""
    host = Host(RUNNING)
    plain, overtaken = host.systemctl, iter([True, False])

    def systemctl(verb, *words, **options):
        answer = plain(verb, *words, **options)
        if verb == "stop" and next(overtaken):
            host.properties.update({**RUNNING, "InvocationID": "c" * 32, "MainPID": "9"})
        return answer

    host.systemctl = systemctl
    result = change(host, "stopped")
    assert verbs(host) == ["stop", "stop"]
    assert result["main_pid"] is None


def test_a_unit_that_will_not_stay_down_is_a_failure(change):
    host = Host(RUNNING)
    host.systemctl = lambda verb, *dummy, **dummy2: host.verbs.append(verb) or (0, "", "")
    with pytest.raises(Failure) as raised:
        change(host, "stopped")
    assert raised.value.failure_class == "stop_failed"


@pytest.mark.parametrize("said", ["Transaction for sglang.service/start is destructive", "Job for x canceled."])
def test_a_job_in_the_way_is_waited_for(change, said):
    host = Host(STOPPED)
    plain, refusals = host.systemctl, iter([True, True, False])

    def systemctl(verb, *words, **options):
        if verb == "start" and next(refusals):
            raise Failure("unit_invalid", f"systemctl start failed: {said}")
        return plain(verb, *words, **options)

    host.systemctl = systemctl
    assert change(host, "converged")["restarted"]
    assert host.now > 0


@pytest.mark.parametrize(("properties", "wanted"), [(RUNNING, "stopped"), (STOPPED, "started"), (RUNNING, "restarted")])
def test_a_refusal_tells_that_nothing_changed(change, properties, wanted):
    host = Host(properties)

    def refuse(verb, *dummy, **options):
        if not options.get("check", True):
            return 1, "", ""
        raise Failure("no_permission", f"systemctl {verb} is not allowed for this user.")

    host.systemctl = refuse
    with pytest.raises(Failure) as raised:
        change(host, wanted)
    assert raised.value.failure_class == "no_permission"
    assert raised.value.result["changed"] is False
    assert raised.value.result["invocation_id"] == "a" * 32


@pytest.fixture
def listener():
    """A socket of this test's own process: of no unit that a test names."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen()
        yield bound


def serving(host, listener):
    port = str(listener.getsockname()[1])
    host.words = ["/p/python", "-m", "sglang.launch_server", "--model-path", "/m", "--port", port]
    return port


@pytest.mark.parametrize(("state", "left"), [(RUNNING, True), (STOPPED, False)])
def test_a_port_that_another_process_holds_is_told_before_anything_is_stopped(change, listener, state, left):
    host = Host(state, differences=["x"])
    port = serving(host, listener)
    with pytest.raises(Failure) as raised:
        change(host, "converged")
    assert raised.value.failure_class == "port_in_use"
    assert f"port {port} " in raised.value.msg and f"process {os.getpid()}" in raised.value.msg
    assert ("left as it is" in raised.value.msg) is left
    assert verbs(host) == []
    assert change(host, "converged", check_mode=True)["changed"]


def test_a_free_port_is_no_hindrance(change, listener):
    host = Host(STOPPED)
    serving(host, listener)
    listener.close()
    assert change(host, "converged")["restarted"]


def test_a_socket_that_outlives_the_stop_is_waited_for_and_its_holder_named(change, listener, monkeypatch):
    """A process that left the unit's control group, as a container's does."""
    host = Host(RUNNING)
    port = serving(host, listener)
    monkeypatch.setattr(_service_state, "read_argv", lambda pid: host.words)
    monkeypatch.setattr(_service_state, "foreign_holder", lambda port, state: None)
    with pytest.raises(Failure) as raised:
        change(host, "restarted")
    assert raised.value.failure_class == "stop_failed"
    assert "its port is still held" in raised.value.msg and str(os.getpid()) in raised.value.msg
    assert verbs(host) == ["stop"] and host.now >= 5 and port


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["/bin/sleep", "5"], None),
        (["/bin/x", "--port", "7"], ("127.0.0.1", 7)),
        (["p", "-m", "sglang.launch_server"], ("127.0.0.1", 30000)),
        (["p", "-m", "sglang.launch_server", "--ho", "0.0.0.0", "--po=8"], ("0.0.0.0", 8)),
        (["sh", "-c", "p -m sglang.launch_server --port $(cat /x)"], None),
        (["docker", "run", "x", "python", "-m", "sglang.launch_server", "--port", "9"], None),
    ],
)
def test_the_port_is_known_only_of_a_server(words, expected):
    assert port_of(words) == expected
