# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The waiting loop with a clock of its own, over scripted hosts and servers."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._answer import Generation
from ansible_collections.llmops.sglang.plugins.module_utils._failure import FAILURE_CLASSES, Failure
from ansible_collections.llmops.sglang.plugins.module_utils._generation_probe import ProbeResult
from ansible_collections.llmops.sglang.plugins.module_utils._ownership import Ownership
from ansible_collections.llmops.sglang.plugins.module_utils._readiness import Readiness
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState
from ansible_collections.llmops.sglang.plugins.module_utils._wait_memory import WaitMemory
from ansible_collections.llmops.sglang.plugins.module_utils._wait_options import WaitOptions

X, Y = "0" * 31 + "a", "0" * 31 + "b"
OURS = Ownership("yes", 100, "sglang.service", "python -m sglang.launch_server")
THEIRS = Ownership("no", 77, "other.service", "python old.py")


def good(tokens=8, models=("m",), **more):
    generation = Generation(content="red", usage={"prompt_tokens": 10, "completion_tokens": tokens}, **more)
    return ProbeResult("generated", http=True, models=list(models), generation=generation)


def bad(outcome, failure_class, msg="said so", http=True, **more):
    return ProbeResult(outcome, failure_class, msg, http=http, **more)


def unit(active="active", sub="running", inv=Y, pid=100, restarts=0, load="loaded", started=0.0, **more):
    properties = {
        "LoadState": load,
        "ActiveState": active,
        "SubState": sub,
        "InvocationID": inv,
        "MainPID": str(pid),
        "NRestarts": str(restarts),
        "ExecMainStartTimestampMonotonic": str(int((1000 + started) * 1e6)),
        "ControlGroup": "/system.slice/sglang.service",
        **{name: str(value) for name, value in more.items()},
    }
    return UnitState("sglang.service", properties)


class World:
    """Host, server and clock at once. Each part is a value, or a function of the seconds since the wait began."""

    def __init__(self, **parts):
        self.now = 1000.0
        self.parts = {
            "unit": None,
            "sockets": ["socket"],
            "owner": OURS,
            "workers": {},
            "dead": {},
            "progress": ("", ""),
            "failure": None,
            "earlier_failure": None,
            "earlier_end": "",
            "answer": good(),
            "takes": 0.05,
            "health": "200",
            "identities": [("m",)],
            "tls": False,
            **parts,
        }
        self.probes, self.asked_at, self.most, self.under_way, self.health_looks = [], [], 0, [], 0
        self.words_per_token = 0.0

    def part(self, name):
        value = self.parts[name]
        return value(self.now - 1000) if callable(value) else value

    def clock(self):
        return self.now

    def sleep(self, seconds):
        assert 0 < seconds <= 0.1001
        self.now += seconds

    # The host.
    @property
    def has_unit(self):
        return self.parts["unit"] is not None

    def unit(self):
        return self.part("unit")

    def no_such_unit(self, state):
        return "no_such_unit", "There is no unit 'sglash.service': the closest is 'sglang.service'."

    def origin(self, state):
        return state.exec_main_start_monotonic_us / 1e6

    def process_started(self, state):
        return 0.0

    def workers(self, state, seen):
        return self.part("workers"), {pid: name for pid, name in self.part("dead").items() if pid in seen}

    def sockets(self):
        return self.part("sockets")

    def ownership(self, sockets, state):
        return self.part("owner")

    def nobody(self):
        return "Nothing listens on 127.0.0.1:30000."

    def where(self):
        return "10.0.0.5:30000"

    def refused(self):
        pass

    def earlier_failure(self, invocation_id):
        self.earlier = invocation_id
        return self.part("earlier_failure")

    def earlier_end(self, invocation_id):
        return self.part("earlier_end")

    def progress(self, state):
        return self.part("progress")

    def failure(self, state, final=False):
        return self.part("failure")

    # The server.
    def start(self, index, timeout, context=0, parallel=1):
        self.under_way = [handle for handle in self.under_way if handle.end > self.now]
        answer = self.part("answer")
        result = answer.pop(0) if isinstance(answer, list) else answer
        takes = self.part("takes")
        if takes > timeout:
            takes, result = timeout, bad("timeout", "generation_timeout", "no whole answer", http=False)
        handle = Script(self, self.now + takes, result)
        self.under_way.append(handle)
        self.most = max(self.most, len(self.under_way))
        self.probes.append((index, context, parallel))
        self.asked_at.append(self.now - 1000)
        return handle

    def start_health(self, path, timeout):
        self.health_looks += 1
        return Script(self, self.now + 0.01, self.part("health"))

    def identities(self):
        return self.part("identities")

    def speaks_tls(self):
        return self.part("tls")


class Script:
    """A handle whose result is there at *end*; waiting for it moves the clock."""

    def __init__(self, world, end, result):
        self.world, self.end, self.result = world, end, result

    def wait(self, seconds):
        self.world.now = min(self.world.now + seconds, max(self.end, self.world.now))
        return self.result if self.world.now >= self.end else None


def run(world, slice_seconds=1e9, **options):
    """The verdict, the memory and the seconds it took; slices pass their memory on as JSON would."""
    memory = WaitMemory(started=world.now, origin=world.now)
    options = WaitOptions(**{"timeout": 30.0, "request_timeout": 3.0, **options})
    while True:
        verdict = Readiness(options, memory, world, world, world.clock, world.sleep).run(slice_seconds)
        if verdict is not None:
            return verdict, memory, world.now - 1000
        memory = WaitMemory.load(memory.dump(), world.now)


def fails(world, failure_class, within=None, **options):
    verdict, memory, took = run(world, **options)
    assert verdict.failure_class == failure_class, verdict.msg
    assert failure_class in FAILURE_CLASSES and verdict.msg
    assert within is None or took <= within, took
    return verdict, memory, took


def test_ready_after_two_generations_with_different_prompts():
    world = World()
    verdict, memory, took = run(world)
    assert verdict.failure_class == "" and took < 1
    assert world.probes == [(0, 0, 1), (1, 0, 1)] and memory.attempts == 2 and memory.outcomes["generated"] == 2
    assert memory.stages["port_bound"] <= memory.stages["first_generation"] <= memory.stages["ready"]
    assert memory.answer["generated_from"] == "content" and memory.models == ["m"]


def test_c01_health_lies():
    world = World(takes=1e9)
    verdict, memory, took = fails(world, "generation_timeout", timeout=12.0, request_timeout=3.0)
    assert 12 <= took <= 16 and memory.attempts >= 3 and memory.outcomes["timeout"] == memory.attempts
    assert "was fine (200) and generation was not" in verdict.msg


@pytest.mark.parametrize("slice_seconds", [1e9, 1.5, 0.3])
def test_c02_late_generation(slice_seconds):
    world = World(answer=lambda t: good() if t >= 6 else bad("not_ready", "server_error", "503"))
    verdict, memory, took = run(world, slice_seconds)
    assert verdict.failure_class == "" and 6 <= took < 8 and memory.attempts > 1
    assert memory.outcomes["not_ready"] == memory.attempts - 2 and memory.last_error == "503"


def test_gaps_between_probes_are_at_most_a_fifth_of_the_time_elapsed():
    world = World(answer=bad("http_error", "server_error"))
    fails(world, "server_error", timeout=400.0)
    gaps = [(after - before, before) for before, after in zip(world.asked_at, world.asked_at[1:])]
    assert all(gap <= min(max(0.2 * (before + 0.1) + 0.2, 0.3), 10.2) for gap, before in gaps), gaps
    assert world.most == 1


def test_a_loading_server_that_says_so_on_its_health_route_gets_few_generations_and_is_seen_at_once():
    world = World(
        answer=lambda t: good() if t >= 355 else bad("not_ready", "server_error"),
        health=lambda t: "200" if t >= 355 else "503",
    )
    verdict, memory, took = run(world, timeout=1800.0)
    assert verdict.failure_class == "" and memory.attempts < 42 and took < 357


def test_c06_c07_a_wrong_model_ends_the_wait_at_the_first_probe():
    world = World(answer=bad("bad_answer", "wrong_model", "does not serve 'a'; available: ['b']"))
    verdict, memory, _took = fails(world, "wrong_model", within=1)
    assert memory.attempts == 1 and "'a'" in verdict.msg and "['b']" in verdict.msg


@pytest.mark.parametrize("failure_class", ["unauthorized", "route_not_found", "tls_mismatch", "bad_request"])
def test_what_no_waiting_mends_ends_the_wait(failure_class):
    _verdict, memory, _took = fails(World(answer=bad("http_error", failure_class)), failure_class, within=1)
    assert memory.attempts <= 2 and memory.outcomes["http_error"] == 1


def test_c08_another_process_answers():
    world = World(unit=unit(), owner=THEIRS)
    verdict, memory, _took = fails(world, "foreign_listener", within=5, previous_invocation_id=X)
    assert "77" in verdict.msg and "other.service" in verdict.msg and memory.attempts == 0
    assert memory.listener["owned"] == "no"


def test_c08_an_old_process_that_goes_is_waited_for():
    old = Ownership("no", 77, "", "python old.py", relic=True)
    world = World(
        unit=unit(),
        owner=lambda t: old if t < 6 else OURS,
        sockets=lambda t: ["old"] if t < 6 else [] if t < 8 else ["new"],
    )
    verdict, memory, took = run(world, previous_invocation_id=X)
    assert verdict.failure_class == "" and 8 <= took < 10 and memory.attempts == 2
    assert min(world.asked_at) >= 8


def test_c08_an_old_process_that_stays_is_told_at_the_deadline():
    old = Ownership("no", 77, "", "python old.py", relic=True)
    fails(World(unit=unit(), owner=old), "foreign_listener", timeout=10.0)


def test_c08_an_owner_that_cannot_be_read_is_no_pass():
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


def test_c09_not_restarted_though_it_generates():
    verdict, memory, _took = fails(World(unit=unit(inv=X)), "not_restarted", within=1, previous_invocation_id=X)
    assert memory.attempts == 0 and X in verdict.msg


def test_c09_a_restart_under_way_is_waited_for():
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


def loop(t):
    if t % 8 < 3:
        return unit(restarts=int(t // 8), inv=f"{int(t // 8):032x}", pid=100 + int(t))
    return unit(
        "activating",
        "auto-restart",
        restarts=int(t // 8),
        inv=f"{int(t // 8):032x}",
        pid=0,
        ExecMainStatus=3,
        ExecMainCode=1,
    )


def test_c11_crash_loop():
    world = World(unit=loop, sockets=[])
    verdict, memory, took = fails(world, "crash_loop", within=30, max_restarts=1, timeout=600.0)
    assert took >= 16 and "restarted 2 times" in verdict.msg and memory.attempts == 0


def test_c11_the_cause_may_stand_in_the_log_of_the_dead_one():
    world = World(unit=loop, sockets=[], earlier_failure=("out_of_memory", "Memory did not suffice."))
    verdict, _memory, _took = fails(world, "crash_loop", within=30, max_restarts=1, timeout=600.0)
    assert "Memory did not suffice." in verdict.msg and world.earlier == f"{1:032x}"


def test_c11_the_first_death_ends_a_wait_that_allows_no_restart():
    verdict, _memory, _took = fails(World(unit=loop, sockets=[]), "crash_loop", within=5, timeout=600.0)
    assert "exit status 3" in verdict.msg


@pytest.mark.parametrize(
    ("allowed", "finding", "ended", "failure_class"),
    [
        (0, None, "exit status 3", "crash_loop"),
        (0, None, "signal SIGKILL", "server_crashed"),
        (0, ("out_of_memory", "No memory."), "exit status 3", "out_of_memory"),
        (1, ("out_of_memory", "No memory."), "exit status 3", "crash_loop"),
        (1, None, "signal SIGKILL", "crash_loop"),
        (1, ("bad_arguments", "--foo"), "exit status 2", "bad_arguments"),
    ],
)
def test_a_restart_too_fast_to_be_seen_is_named_by_the_journal(allowed, finding, ended, failure_class):
    world = World(
        unit=lambda t: unit(restarts=int(t * 2), inv=f"{int(t * 2):032x}", pid=100 + int(t * 2)),
        sockets=[],
        earlier_failure=finding,
        earlier_end=ended,
    )
    verdict, _memory, _took = fails(world, failure_class, within=3, max_restarts=allowed)
    assert ended in verdict.msg and (finding is None or finding[1] in verdict.msg)


def test_a_death_by_signal_is_named():
    dead = unit("activating", "auto-restart", pid=0, ExecMainStatus=9, ExecMainCode=2)
    verdict, _memory, _took = fails(World(unit=dead, sockets=[]), "server_crashed", within=1)
    assert "SIGKILL" in verdict.msg


def test_c13_the_log_names_the_flag():
    failed = unit("failed", "failed", pid=0, Result="exit-code", ExecMainStatus=2, ExecMainCode=1)
    world = World(unit=failed, sockets=[], failure=("bad_arguments", "The server does not know the argument '--foo'."))
    verdict, _memory, _took = fails(world, "bad_arguments", within=1)
    assert "'--foo'" in verdict.msg and "usage" not in verdict.msg and "exit status 2" in verdict.msg


@pytest.mark.parametrize(
    ("state", "failure_class", "word"),
    [
        (unit(load="not-found", inv="", pid=0), "no_such_unit", "closest"),
        (unit("inactive", "dead", inv="", pid=0), "never_started", "never started"),
        (unit("inactive", "dead", pid=0), "inactive", "not running"),
        (
            unit("failed", "failed", pid=0, Result="exit-code", ExecMainStatus=1, ExecMainCode=1),
            "gave_up",
            "exit status 1",
        ),
        (unit("failed", "failed", pid=0, Result="start-limit-hit"), "gave_up", "start limit"),
        (unit("failed", "failed", pid=0, Result="exit-code", ExecMainStatus=203, ExecMainCode=1), "gave_up", "execute"),
        (
            unit("failed", "failed", pid=0, Result="signal", ExecMainStatus=11, ExecMainCode=2),
            "server_crashed",
            "SIGSEGV",
        ),
        (unit("failed", "failed", pid=0, Result="oom-kill"), "out_of_memory", "OOM"),
    ],
)
def test_what_the_unit_rules_out(state, failure_class, word):
    verdict, memory, _took = fails(World(unit=state, sockets=[]), failure_class, within=1)
    assert word in verdict.msg and memory.attempts == 0


@pytest.mark.parametrize(
    "state", [unit("activating", "start-pre", inv="", pid=0), unit("inactive", "dead", inv="", pid=0, Job=7)]
)
def test_a_unit_that_is_being_started_is_waited_for(state):
    world = World(unit=lambda t: state if t < 2 else unit(started=2))
    assert run(world)[0].failure_class == ""


@pytest.mark.parametrize(
    "failure_class", ["out_of_memory", "model_load_failed", "server_crashed", "bad_arguments", "port_in_use"]
)
def test_a_fatal_line_ends_the_wait_while_the_process_still_lives(failure_class):
    world = World(unit=unit(), sockets=[], failure=lambda t: (failure_class, "it said so") if t >= 5 else None)
    verdict, _memory, took = fails(world, failure_class, timeout=600.0)
    assert 5 <= took <= 7 and "it said so" in verdict.msg


def test_a_taken_port_is_told_with_its_holder():
    world = World(unit=unit(), owner=THEIRS, failure=lambda t: ("port_in_use", "Could not bind.") if t >= 1 else None)
    verdict, memory, _took = fails(world, "port_in_use", within=3)
    assert "process 77" in verdict.msg and memory.attempts == 0


def test_with_restarts_allowed_only_bad_arguments_end_the_wait():
    dying = World(unit=unit(), sockets=[], failure=("out_of_memory", "x"))
    fails(dying, "connection_refused", timeout=10.0, max_restarts=2)
    fails(World(unit=unit(), sockets=[], failure=("bad_arguments", "x")), "bad_arguments", within=2, max_restarts=2)


def test_a_killed_worker_is_told_while_the_port_still_accepts():
    world = World(
        unit=unit(),
        takes=1e9,
        workers={101: "sglang::schedul"},
        dead=lambda t: {101: "sglang::schedul"} if t >= 5 else {},
    )
    verdict, _memory, took = fails(world, "server_crashed", timeout=600.0, request_timeout=60.0)
    assert took <= 7 and "sglang::schedul" in verdict.msg and "101" in verdict.msg


def test_a_worker_that_ends_with_its_unit_is_no_crash():
    world = World(
        unit=lambda t: (
            unit() if t < 2 else unit("deactivating", "stop-sigterm") if t < 4 else unit(inv=X, pid=200, started=4)
        ),
        workers=lambda t: {101: "sglang::schedul"} if t < 2 else {},
        dead=lambda t: {101: "sglang::schedul"} if t >= 2 else {},
        sockets=lambda t: [] if t < 6 else ["socket"],
    )
    assert run(world)[0].failure_class == ""


def test_the_log_knows_better_than_the_missing_worker():
    world = World(
        unit=unit(),
        takes=1e9,
        workers={101: "sglang::detoken"},
        dead=lambda t: {101: "sglang::detoken"} if t >= 2 else {},
        failure=lambda t: ("server_crashed", "Subprocess detokenizer crashed.") if t >= 2.5 else None,
    )
    verdict, _memory, _took = fails(world, "server_crashed", within=5)
    assert "Subprocess" in verdict.msg


def test_c18_and_other_content_failures_last_until_the_deadline():
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


def test_c22_a_flaky_start():
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


def test_the_probe_follows_the_bound_port_within_a_tenth_of_a_second():
    world = World(unit=unit(), sockets=lambda t: ["socket"] if t >= 120 else [])
    verdict, memory, took = run(world, timeout=600.0)
    assert verdict.failure_class == "" and memory.attempts == 2
    assert 120 <= world.asked_at[0] < 120.2 and took < 120.5


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


def test_memory_of_a_host_that_was_started_anew_is_dropped():
    old = WaitMemory(started=5000.0, attempts=7).dump()
    assert WaitMemory.load(old, 100.0).attempts == 0 and WaitMemory.load(old, 6000.0).attempts == 7
    assert WaitMemory.load({**old, "unheard_of": 1}, 6000.0).attempts == 7


def test_a_failing_look_ends_the_wait_as_what_it_is():
    def denied(_t):
        raise Failure("no_permission", "systemctl show failed")

    fails(World(unit=denied), "no_permission", within=1)
