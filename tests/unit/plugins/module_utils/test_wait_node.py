# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wait for a node that never generates: what counts as loaded, and what ends it."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._endpoint import from_argv, node_of_argv
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._wait_node import refuse_other_rank
from ansible_collections.llmops.sglang.tests.unit.wait_world import THEIRS, World, X, Y, fails, run, unit

ARGV = ["python", "-m", "sglang.launch_server", "--nnodes", "4", "--node-rank", "2", "--port", "30000"]


def after(seconds, before, later):
    return lambda t: later if t >= seconds else before


def test_a_node_is_loaded_when_its_own_process_answers_and_nothing_is_generated():
    world = World(unit=unit(), sockets=after(4, [], ["socket"]))
    verdict, memory, took = run(world, until="node")
    assert verdict.failure_class == "" and 4 <= took < 6
    assert (memory.attempts, memory.answer, world.probes) == (0, {}, [])
    assert memory.stages["ready"] is not None and memory.stages["first_generation"] is None
    assert memory.from_start and memory.stage == "ranks loaded"


def test_it_takes_slices():
    world = World(unit=unit(), sockets=after(9, [], ["socket"]), health=after(12, "503", "200"))
    verdict, _memory, took = run(world, slice_seconds=2.0, until="node")
    assert verdict.failure_class == "" and took >= 12


def test_another_process_on_its_port_is_not_the_node():
    fails(World(unit=unit(), owner=THEIRS), "foreign_listener", within=6, until="node")


def test_the_old_invocation_is_not_the_new_one():
    fails(World(unit=unit(inv=X)), "not_restarted", within=2, until="node", previous_invocation_id=X)


def test_a_node_that_dies_while_it_loads_is_told_at_once():
    dead = unit("failed", "failed", pid=0, ExecMainCode=2, ExecMainStatus=9)
    world = World(unit=after(3, unit(), dead), sockets=[], failure=("out_of_memory", "Memory did not suffice."))
    verdict, _memory, _took = fails(world, "out_of_memory", within=5, until="node")
    assert "Memory did not suffice." in verdict.msg


def test_a_node_that_waits_for_rank_0_says_so_at_its_deadline():
    world = World(unit=unit(), sockets=[], progress=("ranks connecting", "Init torch distributed begin."))
    verdict, _memory, _took = fails(world, "connection_refused", until="node", timeout=8.0)
    assert "ranks connecting" in verdict.msg


def test_a_process_that_changes_under_the_look_does_not_count():
    world = World(unit=after(0.005, unit(), unit("activating", "auto-restart", pid=0, restarts=1)))
    fails(world, "crash_loop", until="node")


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (ARGV, (2, 4)),
        (["python", "-m", "sglang.launch_server", "--nnodes=2", "--node-rank=1"], (1, 2)),
        (["python", "-m", "sglang.launch_server", "--nn", "2", "--node", "1"], (1, 2)),
        (["python", "-m", "sglang.launch_server"], (0, 1)),
        (["python", "-m", "sglang.launch_server", "--node-rank", "$RANK"], (0, 1)),
    ],
    ids=str,
)
def test_the_rank_of_a_command_line(argv, expected):
    assert node_of_argv(argv) == expected


def test_a_node_above_rank_0_serves_without_tls():
    tls = ["--ssl-certfile", "/c", "--ssl-keyfile", "/k"]
    assert from_argv([*ARGV, *tls]) == "http://127.0.0.1:30000"
    assert from_argv([*ARGV, *tls, "--node-rank", "0"]) == "https://127.0.0.1:30000"


def test_one_kind_of_node_is_not_taken_for_the_other():
    refuse_other_rank("kimi.service", "generation", 0, 2)
    refuse_other_rank("kimi.service", "node", 1, 2)
    refuse_other_rank("kimi.service", "node", None, 1)
    with pytest.raises(Failure) as caught:
        refuse_other_rank("kimi.service", "generation", 1, 2)
    assert caught.value.failure_class == "route_not_found" and "rank 1 of 2" in caught.value.msg
    with pytest.raises(Failure) as caught:
        refuse_other_rank("kimi.service", "node", 0, 2)
    assert caught.value.failure_class == "bad_request"


@pytest.mark.parametrize("until", ["node", "generation"])
def test_one_that_was_started_anew_before_the_wait_began_is_not_the_one_that_is_waited_for(until):
    """systemd restarts a rank after ten seconds, and the new process may wait for the others without end."""
    world = World(
        unit=unit(inv=Y, restarts=1),
        sockets=[],
        earlier_failure=("out_of_memory", "Memory did not suffice."),
        earlier_end="signal SIGKILL",
    )
    verdict, memory, _took = fails(world, "out_of_memory", within=1, until=until, invocation_id=X, timeout=600.0)
    assert "started anew" in verdict.msg and "signal SIGKILL" in verdict.msg and "Memory" in verdict.msg
    assert memory.invocation_id == X and world.earlier == X


def test_a_death_without_a_known_cause_is_a_restart_all_the_same():
    fails(World(unit=unit(inv=Y), sockets=[]), "crash_loop", within=1, invocation_id=X)


def test_the_invocation_that_is_waited_for_may_come_up():
    assert run(World(unit=unit(inv=Y)), invocation_id=Y)[0].failure_class == ""
    assert run(World(unit=unit(inv=Y)), invocation_id=X, max_restarts=1)[0].failure_class == ""
