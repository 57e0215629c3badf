# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a wait looks and asks: the gaps between its probes, what makes it ask at once, and where a slice of it ends."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._readiness import Readiness
from ansible_collections.llmops.sglang.plugins.module_utils._wait_memory import WaitMemory
from ansible_collections.llmops.sglang.plugins.module_utils._wait_options import WaitOptions
from ansible_collections.llmops.sglang.tests.unit.wait_world import World, bad, fails, good, run, unit


@pytest.mark.parametrize("health", ["200", "503", "404"])
@pytest.mark.parametrize("slice_seconds", [1e9, 15.0])
def test_a_load_of_six_minutes_sees_few_generations_in_gaps_of_at_most_a_fifth_of_it(health, slice_seconds):
    world = World(answer=bad("not_ready", "server_error"), health=health)
    _verdict, memory, _took = run(world, slice_seconds, timeout=360.0)
    gaps = [(after - before, before) for before, after in zip(world.asked_at, world.asked_at[1:])]
    assert all(gap <= max(0.2 * before, 0.5) + 0.15 for gap, before in gaps), gaps
    assert all(gap <= 10.15 for gap, before in gaps if before < 100), gaps
    assert 20 < memory.attempts < 40 and world.most == 1


def test_a_load_of_six_minutes_takes_more_than_forty_probes_where_no_gap_is_longer_than_poll_interval():
    """Why the default of poll_interval gives way: with the longest gaps that both bounds allow it cannot be fewer."""
    now, sent = 0.0, 0
    while now < 360:
        now, sent = now + min(max(0.2 * now, 0.5), 10.0), sent + 1
    assert sent == 53


def test_only_a_server_that_is_loading_is_asked_less_often_than_the_default_says():
    world = World(answer=bad("bad_answer", "empty_output"))
    fails(world, "empty_output", timeout=400.0)
    assert max(after - before for before, after in zip(world.asked_at, world.asked_at[1:])) <= 10.15


@pytest.mark.parametrize("chosen", [2.0, 9.0, 12.0, 30.0])
def test_a_poll_interval_that_was_chosen_holds_in_the_longest_load(chosen):
    world = World(answer=bad("not_ready", "server_error"))
    fails(world, "server_error", timeout=400.0, poll_interval=chosen)
    gaps = [after - before for before, after in zip(world.asked_at, world.asked_at[1:])]
    assert chosen - 0.15 <= max(gaps) <= chosen + 0.15


@pytest.mark.parametrize("before", ["503", "404", "200"])
def test_a_change_of_the_health_route_triggers_a_probe_at_once(before):
    after = "200" if before != "200" else "204"
    world = World(
        answer=lambda t: good() if t >= 355 else bad("not_ready", "server_error"),
        health=lambda t: after if t >= 355 else before,
    )
    verdict, memory, took = run(world, timeout=1800.0)
    assert verdict.failure_class == "" and memory.attempts < 42
    assert took < (357 if before != "200" else 361)


def test_a_new_line_of_the_log_triggers_a_probe_at_once():
    world = World(
        unit=unit(),
        answer=lambda t: good() if t >= 355 else bad("not_ready", "server_error"),
        progress=lambda t: ("says that it is ready" if t >= 355 else "binding the port", ""),
    )
    verdict, memory, took = run(world, timeout=1800.0)
    assert verdict.failure_class == "" and memory.attempts < 42 and took < 357


def test_news_while_a_probe_is_under_way_are_not_lost():
    world = World(
        unit=unit(),
        answer=lambda t: good() if t >= 4 else bad("not_ready", "server_error"),
        takes=lambda t: 8.0 if t < 4 else 0.05,
        progress=lambda t: ("says that it is ready" if t >= 4 else "binding the port", ""),
    )
    verdict, _memory, took = run(world, request_timeout=10.0)
    assert verdict.failure_class == "" and 8 < took < 8.6 and world.asked_at[1] - 8 < 0.3


def test_the_probe_follows_the_bound_port_within_a_tenth_of_a_second():
    world = World(unit=unit(), sockets=lambda t: ["socket"] if t >= 120 else [])
    verdict, memory, took = run(world, timeout=600.0)
    assert verdict.failure_class == "" and memory.attempts == 2
    assert 120 <= world.asked_at[0] < 120.2 and took < 120.5


def test_the_health_route_is_not_asked_while_nothing_failed():
    world = World()
    run(world)
    assert world.health_looks == 0


def test_a_slice_ends_at_its_time_and_early_for_a_new_stage():
    memory = WaitMemory(started=1000.0, origin=1000.0)
    world = World(unit=unit(), sockets=[], progress=lambda t: ("loading weights", "") if t >= 4 else ("starting", ""))
    options = WaitOptions(timeout=100.0)
    assert Readiness(options, memory, world, world, world.clock, world.sleep).run(15.0) is None
    assert 2 <= world.now - 1000 < 3 and memory.stage == "starting"
    assert Readiness(options, memory, world, world, world.clock, world.sleep).run(15.0) is None
    assert 4 <= world.now - 1000 < 6 and memory.stage == "loading weights"
    assert Readiness(options, memory, world, world, world.clock, world.sleep).run(15.0) is None
    assert 19 <= world.now - 1000 < 22


@pytest.mark.parametrize(("usual", "ends"), [(None, 2), (3.0, 6), (4.9, 7.8), (5.1, 2), (60.0, 2)])
def test_news_wait_while_it_is_the_time_at_which_earlier_starts_were_ready(usual, ends):
    memory = WaitMemory(started=1000.0, origin=1000.0, expected_elapsed=usual)
    told = World(unit=unit(), sockets=[], progress=("loading weights", ""))
    readiness = Readiness(WaitOptions(timeout=100.0), memory, told, told, told.clock, told.sleep)
    assert readiness.run(15.0) is None and ends <= told.now - 1000 < ends + 1


def test_a_slice_does_not_end_for_a_percentage_or_just_before_the_port_is_bound():
    def said(seconds):
        return (f"loading weights {int(seconds * 5)} %" if seconds < 8 else "engine ready", "")

    memory = WaitMemory(started=1000.0, origin=1000.0, stage="loading weights 3 %")
    world = World(unit=unit(), sockets=[], progress=said)
    readiness = Readiness(WaitOptions(timeout=100.0), memory, world, world, world.clock, world.sleep)
    assert readiness.run(15.0) is None and 15 <= world.now - 1000 < 16


def test_a_slice_is_not_cut_while_a_probe_is_under_way():
    world = World(takes=40.0)
    verdict, memory, took = run(world, 15.0, timeout=600.0, request_timeout=60.0, successes=1)
    assert verdict.failure_class == "" and memory.attempts == 1 and 40 <= took < 41


def test_a_slice_does_not_outlive_its_limit_whatever_is_under_way():
    world, memory = World(takes=40.0), WaitMemory(started=1000.0, origin=1000.0)
    readiness = Readiness(WaitOptions(timeout=600.0), memory, world, world, world.clock, world.sleep)
    assert readiness.run(15.0, 5.0) is None and 5 <= world.now - 1000 < 5.2 and memory.attempts == 1
