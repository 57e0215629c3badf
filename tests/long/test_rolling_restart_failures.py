# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ways in which restart.yml ends early, behind a real router under constant load: none loses a request."""

from __future__ import annotations

import contextlib
import json
import threading
import urllib.request

import pytest
from deployed_server import wait_until
from fault_rows import fault
from load_client import LoadClient
from rolling_fleet import NAME, SIMULATOR, fleet_of

NAMES = ["host1", "host2", "host3"]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with contextlib.ExitStack() as stack:
        yield stack.enter_context(fleet_of(NAMES, tmp_path_factory))


@pytest.fixture
def serving(fleet):
    """The fleet, of which each server is in its router again at the end, whatever a test made of it."""
    yield fleet
    left = [host for host in NAMES if host not in fleet.in_service()]
    if left:
        again = fleet.restart(only=left)
        assert again.returncode == 0, again.said


def test_the_client_counts_what_a_restart_past_the_router_loses(serving):
    """Otherwise nothing lost would say nothing."""
    with LoadClient(serving.router.url, 6) as client:
        wait_until(lambda: client.whole.total() > 12, 900)
        serving.shell("host1", f"systemctl kill --signal=KILL {NAME}")
        wait_until(lambda: client.lost, 900)
    serving.shell("host1", f"systemctl restart {NAME}")
    assert serving.restart(only=["host1"]).returncode == 0


@pytest.mark.parametrize("serial", [1, 2])
def test_a_host_that_does_not_start_goes_back_and_the_restart_ends(serving, serial):
    """With two at a time the other one of the step is brought to its end."""
    before = serving.invocations()
    broken = {"server_environment": serving.environment("load:crash:missing_weights")}
    with serving.loaded(6):
        done = serving.restart(of={"host2": broken}, restart_serial=serial)
    assert done.returncode != 0
    assert "model_load_failed" in done.said or "crash_loop" in done.said or "gave_up" in done.said, done.said
    assert "was put back, and it generates again" in done.said, done.said
    assert "It is in its router again and serves as before." in done.said
    assert serving.restarted(before) == ["host1", "host2"]
    assert serving.in_service() == NAMES
    assert "SIM_FAULT" not in serving.shell("host2", f"systemctl cat {NAME}")
    fault("several", f"One of three servers does not start in a rolling restart, {serial} at a time")


def test_a_canary_that_fails_ends_it_before_any_other(serving):
    before = serving.invocations()
    broken = {"server_environment": serving.environment("load:crash:oom")}
    with serving.loaded(6):
        done = serving.restart(restart_canary="host3", restart_serial=3, **broken)
    assert done.returncode != 0 and "was put back, and it generates again" in done.said, done.said
    assert serving.restarted(before) == ["host3"]
    assert serving.in_service() == NAMES
    fault("several", "The canary of a rolling restart runs out of memory")


def test_one_that_cannot_go_back_is_left_cleanly_out(serving):
    """The configuration is what worked last, and the installed server is not."""
    before = serving.invocations()
    part = serving.shell("host2", f"find {SIMULATOR} -name scheduler_process.py")
    serving.shell("host2", f"mv {part} {part}-away")
    try:
        with serving.loaded(6):
            done = serving.restart()
    finally:
        serving.shell("host2", f"mv {part}-away {part}")
    assert done.returncode != 0
    assert "It is out of its router, which sends it nothing" in done.said, done.said
    assert serving.in_service() == [host for host in NAMES if host != "host2"]
    fault("several", "A server neither starts nor goes back in a rolling restart")
    assert serving.invocations()["host3"] == before["host3"]


def test_a_stream_that_never_ends_keeps_its_server_in_service(serving):
    before = serving.invocations()
    body = {"text": "Once", "stream": True, "sampling_params": {"max_new_tokens": 40000, "ignore_eos": True}}
    header = {"Content-Type": "application/json"}
    asked = urllib.request.Request(f"{serving.router.url}/generate", json.dumps(body).encode(), header)
    answer = urllib.request.urlopen(asked, timeout=300)
    events, ended = [], threading.Event()

    def read():
        with contextlib.suppress(OSError, ValueError, AttributeError):
            for line in answer:
                events.append(line)
        ended.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    wait_until(lambda: events)
    try:
        with serving.loaded(6):
            router = {**serving.vars["server_router"], "drain_timeout": 20}
            done = serving.restart(server_router=router)
        seen = len(events)
        wait_until(lambda: len(events) > seen)
        assert not ended.is_set()
    finally:
        answer.close()
    assert done.returncode != 0 and "did not end: 1" in done.said, done.said
    assert "It is in its router again and serves as before." in done.said, done.said
    assert serving.in_service() == NAMES
    # Those before it were restarted; it and those after it were not.
    changed = serving.restarted(before)
    assert changed == NAMES[: len(changed)] and len(changed) < len(NAMES)
    fault("several", "A stream never ends while its server is to leave the router")


@pytest.mark.parametrize(
    ("rule", "said"),
    [(3, "Without 'host1' only 2 of the 3 workers"), ("67%", "wants 3 (67% of 3)")],
    ids=["number", "percentage"],
)
def test_too_few_are_refused_before_anything_is_touched(serving, rule, said):
    before = serving.invocations()
    done = serving.restart(restart_min_available=rule)
    assert done.returncode != 0 and said in done.said, done.said
    fault("several", f"Too few servers would serve during a restart (restart_min_available: {rule})")
    assert serving.invocations() == before and serving.in_service() == NAMES


def test_without_its_router_nothing_is_touched(serving):
    before = serving.invocations()
    nobody = {**serving.vars["server_router"], "router_url": "http://127.0.0.1:9"}
    done = serving.restart(server_router=nobody)
    assert done.returncode != 0 and "'http://127.0.0.1:9' gave no answer" in done.said, done.said
    fault("several", "The router is not there when a restart is planned")
    assert serving.invocations() == before and serving.in_service() == NAMES


@pytest.mark.parametrize("task", ["Note that it is out", "Prove the new invocation", "Put it back into its router"])
def test_what_a_run_that_was_cut_off_left_out_is_first_in_the_next(serving, task):
    """Also by a rule that would not let a healthy one go meanwhile."""
    with serving.loaded(6):
        assert serving.restart(kill_at=task, restart_min_available=2).returncode == -9
        assert serving.in_service() == NAMES[1:]
        done = serving.restart(restart_min_available=2)
    assert done.returncode == 0, done.said
    assert "step 1: host1 (out of its router now)" in done.stdout
    fault(
        "several",
        f"A rolling restart is killed in '{task}'",
        "The next one begins with the server that is out of its router, and brings it back.",
    )
    assert serving.in_service() == NAMES


def test_a_review_tells_the_plan_and_the_costs_and_changes_nothing(serving):
    before = serving.invocations()
    files = serving.shell("host1", f"cat /etc/systemd/system/{NAME}.service; ls -lR --full-time /var/lib/llmops-sglang")
    other = {"server_args": {**serving.vars["server_args"], "max_running_requests": 9}}
    done = serving.restart("--check", "--diff", restart_min_available="33%", restart_serial=[1, 2], **other)
    assert done.returncode == 0, done.said
    assert "step 1: host1" in done.stdout and "step 2: host2, host3" in done.stdout, done.said
    # The stand-in starts faster than a wait for it, which so times no start.
    assert done.stdout.count("a restart follows, ") == 3, done.said
    assert "--max-running-requests 9" in done.stdout
    assert serving.invocations() == before and serving.in_service() == NAMES
    assert (
        serving.shell("host1", f"cat /etc/systemd/system/{NAME}.service; ls -lR --full-time /var/lib/llmops-sglang")
        == files
    )


def test_a_changed_unit_is_applied_and_proved_on_the_way(serving):
    other = {"server_args": {**serving.vars["server_args"], "max_running_requests": 9}}
    with serving.loaded(6):
        done = serving.restart(restart_min_available="66%", **other)
    assert done.returncode == 0, done.said
    for host in NAMES:
        assert "--max-running-requests 9" in serving.shell(host, f"systemctl cat {NAME}")
        asked = {"name": NAME, "state": "converged"}
        assert not serving.hosts.run_module(host, "llmops.sglang.server_service", asked, check=True)["changed"]
