# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The waiting loop with a clock of its own, over scripted hosts and servers."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._ownership import Ownership
from ansible_collections.llmops.sglang.plugins.module_utils._readiness import Readiness
from ansible_collections.llmops.sglang.plugins.module_utils._wait_memory import WaitMemory
from ansible_collections.llmops.sglang.plugins.module_utils._wait_options import WaitOptions
from ansible_collections.llmops.sglang.tests.unit.wait_world import (
    OURS,
    THEIRS,
    World,
    X,
    Y,
    bad,
    fails,
    good,
    run,
    unit,
)


def test_ready_after_two_generations_with_different_prompts():
    world = World()
    verdict, memory, took = run(world)
    assert verdict.failure_class == "" and took < 1
    assert world.probes == [(0, 0, 1), (1, 0, 1)] and memory.attempts == 2 and memory.outcomes["generated"] == 2
    assert memory.stages["port_bound"] <= memory.stages["first_generation"] <= memory.stages["ready"]
    assert memory.answer["generated_from"] == "content" and memory.models == ["m"]


def test_health_lies():
    world = World(takes=1e9)
    verdict, memory, took = fails(world, "generation_timeout", timeout=12.0, request_timeout=3.0)
    assert 12 <= took <= 16 and memory.attempts >= 3 and memory.outcomes["timeout"] == memory.attempts
    assert "was fine (200) and generation was not" in verdict.msg


@pytest.mark.parametrize("slice_seconds", [1e9, 1.5, 0.3])
def test_late_generation(slice_seconds):
    world = World(answer=lambda t: good() if t >= 6 else bad("not_ready", "server_error", "503"))
    verdict, memory, took = run(world, slice_seconds)
    assert verdict.failure_class == "" and 6 <= took < 8 and memory.attempts > 1
    assert memory.outcomes["not_ready"] == memory.attempts - 2 and memory.last_error == "503"


def test_a_wrong_model_ends_the_wait_at_the_first_probe():
    world = World(answer=bad("bad_answer", "wrong_model", "does not serve 'a'; available: ['b']"))
    verdict, memory, _took = fails(world, "wrong_model", within=1)
    assert memory.attempts == 1 and "'a'" in verdict.msg and "['b']" in verdict.msg


@pytest.mark.parametrize("failure_class", ["unauthorized", "route_not_found", "tls_mismatch", "bad_request"])
def test_what_no_waiting_mends_ends_the_wait(failure_class):
    _verdict, memory, _took = fails(World(answer=bad("http_error", failure_class)), failure_class, within=1)
    assert memory.attempts <= 2 and memory.outcomes["http_error"] == 1


def test_another_process_answers():
    world = World(unit=unit(), owner=THEIRS)
    verdict, memory, _took = fails(world, "foreign_listener", within=5, previous_invocation_id=X)
    assert "77" in verdict.msg and "other.service" in verdict.msg and memory.attempts == 0
    assert f"Port {world.port} of " in verdict.msg
    assert memory.listener["owned"] == "no"


def test_another_server_at_a_guessed_address_is_none_of_ours_while_the_unit_has_not_begun_its_own():
    """A script that takes its time on a host where another server has the default port."""
    world = World(unit=unit(), owner=lambda t: THEIRS if t < 20 else OURS)
    verdict, memory, took = run(world, guessed=True)
    assert verdict.failure_class == "" and 20 <= took < 22 and min(world.asked_at) >= 20
    fails(World(unit=unit(), owner=THEIRS), "foreign_listener", guessed=True, timeout=20.0)
    # Its log tells that the server is there, and no command line where it listens: then the default it is.
    begun = World(unit=unit(), owner=THEIRS, progress=lambda t: ("loading weights" if t >= 8 else "", ""))
    _verdict, _memory, took = fails(begun, "foreign_listener", guessed=True, slice_seconds=3.0)
    assert 8 <= took < 13


@pytest.mark.parametrize(
    ("owner", "failure_class"), [(THEIRS, "foreign_listener"), (Ownership("unknown"), "no_permission")]
)
def test_a_guess_says_nothing_of_a_server_that_wrote_its_first_line_since(owner, failure_class):
    """The script has executed the server, and only the next slice reads its command line, and with it the port."""
    world = World(unit=unit(), owner=owner, progress=lambda t: ("loading weights" if t >= 8 else "", ""))
    memory, options = WaitMemory(started=world.now, origin=world.now), WaitOptions(timeout=60.0, guessed=True)
    while not memory.log_stage:
        assert Readiness(options, memory, world, world, world.clock, world.sleep).run(3.0) is None
    verdict = Readiness(options, memory, world, world, world.clock, world.sleep).run(3.0)
    assert verdict is not None and verdict.failure_class == failure_class


def test_an_old_process_that_goes_is_waited_for():
    old = Ownership("no", 77, "", "python old.py", relic=True)
    world = World(
        unit=unit(),
        owner=lambda t: old if t < 6 else OURS,
        sockets=lambda t: ["old"] if t < 6 else [] if t < 8 else ["new"],
    )
    verdict, memory, took = run(world, previous_invocation_id=X)
    assert verdict.failure_class == "" and 8 <= took < 10 and memory.attempts == 2
    assert min(world.asked_at) >= 8


def test_an_old_process_that_cannot_be_read_while_it_goes_is_waited_for():
    old = Ownership("no", 77, "", "python old.py", relic=True)
    world = World(
        unit=unit(),
        owner=lambda t: old if t < 2.6 else Ownership("unknown") if t < 3.2 else OURS,
        sockets=lambda t: ["old"] if t < 3.2 else [] if t < 4 else ["new"],
    )
    verdict, memory, took = run(world, previous_invocation_id=X)
    assert verdict.failure_class == "" and 4 <= took < 5 and memory.attempts == 2


def test_an_old_process_that_stays_is_told_at_the_deadline():
    old = Ownership("no", 77, "", "python old.py", relic=True)
    fails(World(unit=unit(), owner=old), "foreign_listener", timeout=10.0)


def test_an_owner_that_cannot_be_read_is_no_pass():
    unknown = Ownership("unknown")
    verdict, memory, _took = fails(World(unit=unit(), owner=unknown), "no_permission", within=3)
    assert "become" in verdict.msg and memory.listener["owned"] == "unknown"
    verdict, memory, _took = run(World(unit=unit(), owner=unknown), require_owner=False)
    assert verdict.failure_class == "" and "unknown" in memory.warnings[0]


def test_two_owners_on_one_port_are_told():
    twins = Ownership("no", 77, several=True, others="77 (other.service), 100 (sglang.service)")
    verdict, memory, _took = fails(World(unit=unit(), owner=twins), "ambiguous_listener", within=5)
    assert "other.service" in verdict.msg and memory.attempts == 0


def test_without_a_unit_twins_are_told_by_what_they_serve():
    twins = Ownership("unknown", 77, several=True)
    fails(World(owner=twins, identities=[("a",), ("b",)]), "ambiguous_listener", within=1)
    assert run(World(owner=twins))[0].failure_class == ""
    answers = [good(models=["a"]), good(models=["b"]), good(models=["a"])]
    fails(World(sockets=None, answer=answers), "ambiguous_listener", within=2, successes=5)


def test_not_restarted_though_it_generates():
    verdict, memory, _took = fails(World(unit=unit(inv=X)), "not_restarted", within=1, previous_invocation_id=X)
    assert memory.attempts == 0 and X in verdict.msg


def test_a_restart_under_way_is_waited_for():
    world = World(
        unit=lambda t: (
            unit(inv=X, Job=5) if t < 3 else unit("deactivating", inv=X) if t < 5 else unit(inv=Y, started=5)
        ),
        sockets=lambda t: ["old"] if t < 4 else [] if t < 9 else ["new"],
        owner=lambda t: OURS,
    )
    verdict, memory, took = run(world, previous_invocation_id=X)
    assert verdict.failure_class == "" and 9 <= took < 11 and memory.invocation_id == Y
    assert 4 <= memory.stages["port_bound"] <= 4.7


def test_content_failures_last_until_the_deadline():
    for failure_class in (
        "reasoning_consumed_budget",
        "empty_output",
        "garbage_output",
        "condition_not_met",
        "no_speculation",
    ):
        _verdict, memory, took = fails(World(answer=bad("bad_answer", failure_class)), failure_class, timeout=5.0)
        assert took >= 5 and memory.attempts > 3


def test_a_probe_under_way_at_the_deadline_does_not_hide_why_the_others_failed():
    world = World(answer=bad("bad_answer", "no_speculation"), takes=2.0)
    fails(world, "no_speculation", timeout=5.0)
    fails(World(takes=9.0), "generation_timeout", timeout=5.0, request_timeout=60.0)


@pytest.mark.parametrize("late", [0.01, 0.3, 0.9, 1.4])
def test_a_probe_that_the_deadline_cuts_short_does_not_hide_why_the_others_failed(late):
    """However near to the deadline the last probe begins, on a machine that has become slow by then."""
    world = World(answer=bad("bad_answer", "no_speculation"), takes=lambda t: 0.1 if t < 6 - late else 50.0)
    verdict, memory, _took = fails(world, "no_speculation", timeout=6.0, request_timeout=60.0)
    assert memory.outcomes["bad_answer"] >= 3 and memory.outcomes["timeout"] <= 1
    assert ("at the deadline" in verdict.msg) == (memory.outcomes["timeout"] == 1)


def test_a_series_that_the_deadline_cuts_short_is_not_unstable():
    world = World(takes=lambda t: 0.1 if t < 0.1 else 50.0)
    verdict, memory, _took = fails(world, "generation_timeout", timeout=5.0, request_timeout=60.0)
    assert memory.streak == 1 and "1 of 2 consecutive generations" in verdict.msg and "no generation" not in verdict.msg


def test_a_server_that_has_gone_is_not_one_that_never_listened():
    world = World(answer=bad("http_error", "server_error"), sockets=lambda t: ["socket"] if t < 2 else [])
    verdict, _memory, _took = fails(world, "connection_refused", timeout=5.0)
    assert "nothing listens at the deadline" in verdict.msg and "Nothing listened" not in verdict.msg


def test_a_flaky_start():
    answers = [
        bad("reset", "generation_timeout", "reset", http=False, reset=True),
        bad("reset", "generation_timeout", "closed", http=False, reset=True),
        bad("http_error", "server_error", "502"),
        bad("bad_answer", "empty_output", "truncated"),
        good(),
    ]
    world = World(answer=answers, sockets=lambda t: [] if t < 0.5 else ["socket"])
    verdict, memory, _took = run(world, successes=1)
    assert verdict.failure_class == "" and memory.last_error == "truncated" and memory.attempts == 5
    wanted = {"reset": 2, "http_error": 1, "bad_answer": 1, "generated": 1}
    assert {name: count for name, count in memory.outcomes.items() if count and name != "refused"} == wanted
    assert memory.outcomes["refused"] >= 1


def test_nobody_listens():
    verdict, memory, took = fails(World(sockets=[]), "connection_refused", timeout=20.0)
    assert 20 <= took < 21 and memory.attempts == 0 and memory.outcomes["refused"] > 5
    assert "127.0.0.1:30000" in verdict.msg


@pytest.mark.parametrize("answer", [bad("timeout", "generation_timeout", http=False), good()])
def test_a_server_that_no_connection_reaches_is_not_one_that_listens(answer):
    """Packets that are lost, and a name that is not resolved: nothing shows that anybody is there."""
    world = World(sockets=None, answer=answer, takes=2.0 if answer.good is False else 90.0)
    world.reached = False
    verdict, _memory, _took = fails(world, "connection_refused", timeout=10.0)
    assert "No connection to 10.0.0.5:30000" in verdict.msg
    world.reached = True
    fails(World(sockets=None, answer=answer, takes=9.0), "generation_timeout", timeout=10.0)


def test_a_probe_that_does_not_end_by_itself_is_given_up():
    world = World()
    end, started = [], world.start

    def start(*args):
        handle = started(*args)
        handle.end = handle.end + 1e9 if not end else handle.end
        end.append(1)
        return handle

    world.start = start
    verdict, memory, took = run(world)
    assert verdict.failure_class == "" and memory.outcomes["timeout"] == 1 and 11 <= took < 14


def test_a_port_that_speaks_tls_is_told_after_three_resets():
    world = World(answer=bad("reset", "generation_timeout", "cut", http=False, reset=True), tls=True)
    _verdict, memory, _took = fails(world, "tls_mismatch", within=3)
    assert memory.attempts == 3


def test_unstable_is_judged_at_the_deadline():
    answers = [good() if i % 2 == 0 else bad("http_error", "server_error") for i in range(200)]
    verdict, _memory, took = fails(World(answer=answers), "unstable", timeout=10.0)
    assert took >= 10 and "2 consecutive" in verdict.msg


def test_a_generation_of_an_invocation_that_ended_meanwhile_does_not_count():
    world = World(
        unit=lambda t: unit(inv=X) if t < 3 else unit(inv=Y, pid=200, started=3),
        takes=lambda t: 4.0 if t < 3 else 0.05,
    )
    verdict, memory, took = run(world, request_timeout=10.0)
    assert verdict.failure_class == "" and memory.attempts == 3 and memory.outcomes["not_ready"] == 1
    assert memory.invocation_id == Y and took > 4


def test_two_generations_of_two_invocations_are_no_series():
    world = World(unit=lambda t: unit(inv=X) if t < 0.1 else unit(inv=Y, pid=200), takes=0.08)
    verdict, memory, _took = run(world)
    assert verdict.failure_class == "" and memory.invocation_id == Y and memory.attempts >= 3


def test_warmups_come_before_ready_and_are_named():
    world = World()
    verdict, memory, _took = run(world, warmup_contexts=[1024, 4096], warmup_concurrency=8)
    assert verdict.failure_class == ""
    assert world.probes == [(0, 0, 1), (1, 1024, 1), (2, 4096, 1), (3, 0, 8), (11, 0, 1)] and memory.attempts == 12
    assert [(one["kind"], one["size"]) for one in memory.warmups] == [
        ("context", 1024),
        ("context", 4096),
        ("concurrency", 8),
    ]
    assert memory.stages["warmup_context_4096"] <= memory.stages["warmup_concurrency_8"] <= memory.stages["ready"]


def test_a_warmup_that_the_server_refuses_is_told():
    verdict, _memory, _took = fails(
        World(answer=[good(), bad("http_error", "bad_request", "too long")]), "bad_request", warmup_contexts=[99999]
    )
    assert "99999" in verdict.msg


@pytest.mark.parametrize(
    "broken", [unit("failed", "failed", pid=0), unit(load="not-found", inv="", pid=0), unit(inv=X)]
)
def test_without_fail_fast_it_waits_on(broken):
    world = World(unit=lambda t: broken if t < 10 else unit(started=10), sockets=lambda t: [] if t < 12 else ["socket"])
    verdict, _memory, took = run(world, fail_fast=False, previous_invocation_id=X)
    assert verdict.failure_class == "" and 12 <= took < 14


def test_without_fail_fast_the_invocation_of_before_is_still_no_readiness():
    world = World(unit=lambda t: unit(inv=X) if t < 10 else unit(started=10))
    verdict, memory, took = run(world, fail_fast=False, previous_invocation_id=X)
    assert verdict.failure_class == "" and took >= 10 and memory.attempts == 2


def test_an_address_of_another_host_has_no_owner():
    verdict, _memory, _took = fails(World(unit=unit(), sockets=None), "no_permission", within=1)
    assert "10.0.0.5" in verdict.msg
    assert run(World(unit=unit(), sockets=None), require_owner=False)[0].failure_class == ""


def test_without_fail_fast_the_last_reason_is_told_at_the_deadline():
    _verdict, memory, took = fails(
        World(answer=bad("http_error", "unauthorized")), "unauthorized", fail_fast=False, timeout=20.0
    )
    assert took >= 20 and memory.attempts < 40


def test_memory_of_a_host_that_was_started_anew_is_dropped():
    old = WaitMemory(started=5000.0, attempts=7).dump()
    assert WaitMemory.load(old, 100.0).attempts == 0 and WaitMemory.load(old, 6000.0).attempts == 7
    assert WaitMemory.load({**old, "unheard_of": 1}, 6000.0).attempts == 7
    # A host that was started anew has forgotten the time, and the controller has not.
    assert WaitMemory.load({**old, "spent": 250.0}, 100.0).started == -150.0
    assert WaitMemory.load({"spent": 250.0}, 6000.0).started == 5750.0


def test_when_a_start_is_late():
    memory = WaitMemory(started=1050.0, origin=1000.0, from_start=True, expected_elapsed=60.0)
    assert memory.late_in(1100.0) == 20 and memory.late_in(1130.0) == -10
    memory.reach("ready", 1115.0)
    assert memory.late_in(1130.0) == 5, "it was ready in time"
    assert WaitMemory(from_start=True).late_in(1e6) is None
    assert WaitMemory(from_start=False, expected_elapsed=60.0).late_in(1e6) is None


@pytest.mark.parametrize("bound", [True, False])
def test_only_a_start_that_was_seen_to_begin_is_late(bound):
    world = World(unit=unit(started=-900), sockets=lambda t: ["socket"] if bound or t >= 2 else [])
    _verdict, memory, _took = run(world)
    memory.expected_elapsed = 60.0
    assert (memory.late_in(world.now) is None) == bound


def test_a_failing_look_ends_the_wait_as_what_it_is():
    def denied(_t):
        raise Failure("no_permission", "systemctl show failed")

    fails(World(unit=denied), "no_permission", within=1)
