# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ends a wait at once: the unit, its processes and its log rule out that it can end well."""

from __future__ import annotations

import os
import pty
import socket

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._wait_host import unread
from ansible_collections.llmops.sglang.tests.unit.wait_world import THEIRS, World, X, Y, bad, fails, good, run, unit


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


def test_crash_loop():
    world = World(unit=loop, sockets=[])
    verdict, memory, took = fails(world, "crash_loop", within=30, max_restarts=1, timeout=600.0)
    assert took >= 16 and "restarted 2 times" in verdict.msg and memory.attempts == 0


def test_the_cause_may_stand_in_the_log_of_the_dead_one():
    world = World(unit=loop, sockets=[], earlier_failure=("out_of_memory", "Memory did not suffice."))
    verdict, _memory, _took = fails(world, "crash_loop", within=30, max_restarts=1, timeout=600.0)
    assert "Memory did not suffice." in verdict.msg and world.earlier == f"{1:032x}"


def test_the_first_death_ends_a_wait_that_allows_no_restart():
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


@pytest.mark.parametrize(
    ("end", "failure_class"),
    [
        (unit("failed", "failed", pid=0, Result="exit-code", ExecMainStatus=7, ExecMainCode=1), "gave_up"),
        (unit("activating", "auto-restart", pid=0, ExecMainStatus=7, ExecMainCode=1), "crash_loop"),
        (unit("failed", "failed", pid=0, Result="signal", ExecMainStatus=11, ExecMainCode=2), "server_crashed"),
    ],
)
def test_an_unknown_death_quotes_the_last_line(end, failure_class):
    world = World(unit=lambda t: unit() if t < 2 else end, sockets=[], last_words="libfoo.so.7: no such thing")
    verdict, _memory, _took = fails(world, failure_class, within=4)
    assert verdict.msg.endswith(" Its last line: libfoo.so.7: no such thing")


def test_a_death_by_signal_is_named():
    dead = unit("activating", "auto-restart", pid=0, ExecMainStatus=9, ExecMainCode=2)
    verdict, _memory, _took = fails(World(unit=dead, sockets=[]), "server_crashed", within=1)
    assert "SIGKILL" in verdict.msg


def test_the_log_names_the_flag():
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


@pytest.mark.parametrize(
    ("state", "options"),
    [
        (unit(), {}),
        (loop, {}),
        (loop, {"max_restarts": 1}),
        (lambda t: unit(restarts=int(t), inv=f"{int(t):032x}", pid=100 + int(t)), {}),
        (unit("failed", "failed", pid=0, Result="exit-code", ExecMainStatus=3, ExecMainCode=1), {}),
        (unit(inv=Y), {"invocation_id": X}),
    ],
    ids=["alive", "dead", "dead again", "started anew", "given up", "followed by another"],
)
def test_the_holder_of_a_taken_port_is_told_in_whatever_moment_the_death_is_seen(state, options):
    finding = ("port_in_use", "Could not bind.")
    world = World(unit=state, owner=THEIRS, failure=finding, earlier_failure=finding, earlier_end="exit status 3")
    failure_class = "crash_loop" if options.get("max_restarts") else "port_in_use"
    verdict, _memory, _took = fails(world, failure_class, within=30, timeout=600.0, **options)
    assert "Could not bind. It is held by process 77" in verdict.msg


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


@pytest.mark.parametrize("fail_fast", [True, False])
@pytest.mark.parametrize("world", [{"unit": unit(), "sockets": []}, {"takes": 1e9}], ids=["no port", "probe under way"])
def test_a_wait_that_nobody_reads_ends(world, fail_fast):
    world = World(abandoned=lambda t: t >= 5, **world)
    _verdict, _memory, took = fails(
        world, "generation_timeout", timeout=600.0, request_timeout=60.0, fail_fast=fail_fast
    )
    assert took < 5.5


def both_ends(kind):
    if kind == "pipe":
        return os.pipe()
    pair = [end.detach() for end in socket.socketpair()] if kind == "socketpair" else pty.openpty()
    return tuple(pair)


@pytest.mark.parametrize("kind", ["pipe", "socketpair", "terminal"])
def test_whether_anybody_reads(kind):
    reader, writer = both_ends(kind)
    try:
        os.write(writer, b"x")
        assert not unread(writer)
        os.close(reader)
        assert unread(writer)
    finally:
        os.close(writer)


def test_a_file_is_no_cut_connection(tmp_path):
    with open(tmp_path / "out", "w", encoding="utf-8") as out, open(os.devnull, "w", encoding="utf-8") as nowhere:
        assert not unread(out.fileno()) and not unread(nowhere.fileno())


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


@pytest.mark.parametrize("timeout", [1.2, 1.9, 2.6, 3.3, 12.0])
def test_a_wait_that_goes_on_ends_with_what_its_unit_came_to(timeout):
    world = World(
        unit=unit("failed", "failed", pid=0, Result="exit-code", ExecMainCode=1, ExecMainStatus=3), sockets=[]
    )
    verdict, _memory, took = fails(world, "gave_up", fail_fast=False, timeout=timeout)
    assert took > timeout - 0.01 and "exit status 3" in verdict.msg


def test_who_answers_in_the_place_of_a_unit_may_be_meant_to():
    verdict, _memory, _took = fails(World(unit=unit(), owner=THEIRS), "foreign_listener", within=5)
    assert "stop it" in verdict.msg and "require_owner" in verdict.msg


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"warmup_contexts": [4096]}, "warm-up with 4096 prompt tokens"),
        ({"warmup_concurrency": 8}, "warm-up with 8 generations"),
    ],
)
def test_a_warm_up_that_fails_is_named(options, word):
    world = World()
    start = world.start

    def started(index, timeout, context=0, parallel=1):
        world.parts["answer"] = bad("http_error", "server_error", "boom") if context or parallel > 1 else good()
        return start(index, timeout, context, parallel)

    world.start = started
    verdict, _memory, _took = fails(world, "unstable", timeout=20.0, **options)
    assert word in verdict.msg and "boom" in verdict.msg
