# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One server over two real hosts: changes, deaths and ways back, in which both ranks are one server."""

from __future__ import annotations

import re

import pytest
from deployed_server import wait_until
from fault_rows import fault
from nodes_server import NAME, NodesServer

FAULT = "draft:crash:oom"


@pytest.fixture(scope="module")
def server(hosts, tmp_path_factory):
    made = NodesServer(hosts, tmp_path_factory.mktemp("nodes"))
    yield made
    made.take_away()


@pytest.fixture
def deployed(server):
    """The server of the inventory on both hosts, whatever the test before left."""
    server.deploy()
    assert server.generates()
    return server


def in_line(server, host):
    asked = {"name": NAME, "state": "converged"}
    return not server.hosts.run_module(host, "llmops.sglang.server_service", asked, check=True)["changed"]


def check_order(server):
    """Of the last restart: rank 0 went first, whose end may be rank 1's as well, and both were down before either started."""
    names = [f"{moment}TimestampMonotonic" for moment in ("ActiveExit", "InactiveEnter", "InactiveExit")]
    shown = [server.show(host, *names) for host in ("host1", "host2")]
    stopping, down, started = ([int(of_host[name]) for of_host in shown] for name in names)
    assert stopping[0] <= stopping[1], stopping
    assert max(down) <= min(started), (down, started)


def test_nothing_is_done_twice_and_one_node_s_change_restarts_both(deployed):
    before = deployed.invocations()
    again = deployed.deploy()
    assert re.findall(r"changed=(\d+)", again.stdout) == ["0", "0"]
    assert deployed.invocations() == before
    since = deployed.on("host2", "date '+%F %T'")
    changed = deployed.run(hosts={"host2": {"server_environment": deployed.environment(NCCL_DEBUG="WARN")}})
    assert changed.returncode == 0, changed.said
    assert set(deployed.invocations()).isdisjoint(before)
    check_order(deployed)
    # Rank 0 ended its requests and by itself.
    ended = deployed.on("host1", f"journalctl -o cat _SYSTEMD_INVOCATION_ID={before[0]}")
    assert "Application shutdown complete" in ended and "Scheduler hit an exception" not in ended
    assert (
        deployed.on("host1", f"journalctl -o cat -u {NAME} --since '{since}' | grep -c 'Main process exited' || true")
        == "0"
    )
    assert deployed.generates()


def test_a_restart_takes_both(deployed):
    before = deployed.invocations()
    done = deployed.run("restart")
    assert done.returncode == 0, done.said
    assert set(deployed.invocations()).isdisjoint(before)
    check_order(deployed)
    assert deployed.generates() and in_line(deployed, "host1") and in_line(deployed, "host2")


def test_a_rank_that_dies_is_named_at_once_and_both_go_back(deployed):
    before = {
        host: deployed.show(host, "ExecStart")["ExecStart"].partition("; ignore")[0] for host in ("host1", "host2")
    }
    worse = {
        "host1": {"server_environment": deployed.environment(SIM_PEER_LOSS="hang")},
        "host2": {"server_environment": deployed.environment(FAULT, SIM_PEER_LOSS="hang")},
    }
    # Rank 0 alone would hang until this is over.
    args = {**deployed.vars["server_args"], "max_running_requests": 4}
    failed = deployed.run(hosts=worse, server_args=args, server_wait={"timeout": 3000, "progress_interval": 1})
    assert failed.returncode != 0
    assert "Rank 1 of this server, on 'host2', failed, so that rank 0 is not waited for any longer" in failed.said
    assert "CUDA out of memory" in failed.said
    assert failed.said.count("was put back, and it") >= 2
    fault("several", "Rank 1 of a server over two hosts runs out of memory, and rank 0 hangs")
    after = {
        host: deployed.show(host, "ExecStart")["ExecStart"].partition("; ignore")[0] for host in ("host1", "host2")
    }
    assert after == before
    assert deployed.generates() and in_line(deployed, "host1") and in_line(deployed, "host2")


def test_a_node_that_is_refused_keeps_the_others_from_being_restarted(deployed):
    before = deployed.invocations()
    wrong = {"host2": {"server_args": {**deployed.vars["server_args"], "dp_size": 2}}}
    refused = deployed.run(hosts=wrong)
    assert refused.returncode != 0
    assert "requires DP attention where dp_size is above 1" in refused.said
    assert "Nothing more is done to rank 0 of" in refused.said and "'host2': " in refused.said
    fault("several", "One node of a server is refused before the write")
    assert deployed.invocations() == before and deployed.generates()


def test_a_play_without_all_of_its_hosts_changes_nothing(deployed):
    before = deployed.invocations()
    partial = deployed.run(
        "", "--limit", "host1", server_args={**deployed.vars["server_args"], "max_running_requests": 4}
    )
    assert partial.returncode != 0
    assert "'host2': it failed before, is lost, or is no part of this play" in partial.said
    fault("several", "A play has only one of the two hosts of a server")
    assert deployed.invocations() == before and deployed.generates()
    assert in_line(deployed, "host1")


def test_a_lost_rank_is_drift_and_the_next_run_mends_it(deployed):
    deployed.on("host2", f"systemctl kill --kill-whom=all -s KILL {NAME}; systemctl stop {NAME}")
    wait_until(lambda: deployed.show("host1", "NRestarts")["NRestarts"] != "0", timeout=300)
    told = deployed.run("verify", verify_timeout=5)
    assert told.returncode != 0
    assert re.search(r"host2.*\n?.*process: nothing runs", told.said) or "nothing runs" in told.said
    fault("several", "Rank 1 was killed")
    mended = deployed.deploy()
    assert "host2 sglang-nodes: ranks loaded" in mended.said
    assert deployed.generates() and deployed.run("verify").returncode == 0


def test_both_roll_back_together(deployed):
    changed = deployed.run(server_args={**deployed.vars["server_args"], "max_running_requests": 4})
    assert changed.returncode == 0, changed.said
    back = deployed.run("rollback")
    assert back.returncode == 0, back.said
    for host in ("host1", "host2"):
        assert "--max-running-requests" not in deployed.show(host, "ExecStart")["ExecStart"]
        assert in_line(deployed, host)
    assert deployed.generates()


def test_a_sweep_is_refused_and_only_rank_0_is_measured(deployed):
    before = deployed.invocations()
    swept = deployed.run(
        "sweep", sweep_name="n", sweep_points=[{"name": "a"}], sweep_dir=str(deployed.folder / "sweeps")
    )
    assert swept.returncode != 0 and "runs on several hosts" in swept.said
    matrix = {"contexts": [60], "concurrency": [1], "max_tokens": 16, "requests": 2, "warmup": 1}
    records = {"benchmark_results_dir": str(deployed.folder / "records"), "benchmark_coding": False}
    measured = deployed.run("benchmark", benchmark_matrix=matrix, **records)
    assert measured.returncode == 0, measured.said
    assert [path.name for path in (deployed.folder / "records").iterdir()] == ["host1"]
    assert deployed.invocations() == before
