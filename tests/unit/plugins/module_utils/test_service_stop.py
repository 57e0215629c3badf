# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a stop leaves behind: other holders of the port, processes, jobs in the way; and what is told of it."""

from __future__ import annotations

import os
import socket

import pytest
import service_by_verbs
from service_by_verbs import RUNNING, STOPPED, Host, verbs

from ansible_collections.llmops.sglang.plugins.module_utils import _service_state
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._ownership import Ownership
from ansible_collections.llmops.sglang.plugins.module_utils._port_holder import port_of

change = service_by_verbs.change


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


def test_a_port_that_another_service_held_all_along_is_not_waited_for(change, listener, monkeypatch):
    """The server never got it: it loaded, could not bind, and is stopped."""
    host = Host(RUNNING)
    serving(host, listener)
    monkeypatch.setattr(_service_state, "read_argv", lambda pid: host.words)
    owner = Ownership("no", os.getpid(), "other.service", "python -m other")
    monkeypatch.setattr(_service_state, "foreign_holder", lambda port, state: owner)
    assert change(host, "stopped")["stopped_cleanly"]
    assert host.now < 5


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
