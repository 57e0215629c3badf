# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action plugin over scripted slices: what it hands on, shows, retries and returns."""

from __future__ import annotations

import threading
import time
import types

import pytest
from ansible.errors import AnsibleConnectionFailure

from ansible_collections.llmops.sglang.plugins.action import wait_for_generation as action
from ansible_collections.llmops.sglang.plugins.module_utils._readiness import Readiness
from ansible_collections.llmops.sglang.plugins.module_utils._wait_memory import WaitMemory
from ansible_collections.llmops.sglang.plugins.module_utils._wait_options import WaitOptions
from ansible_collections.llmops.sglang.plugins.plugin_utils import _progress
from ansible_collections.llmops.sglang.tests.unit.wait_world import World, X, bad, unit


class Shown:
    def __init__(self):
        self.lines, self.colours = [], []

    def display(self, line, color=None, **_kwargs):
        self.lines.append(line)
        self.colours.append(color)


def waiting(stage, state=1, detail="", **more):
    return {
        "changed": False,
        "slice_state": {"n": state},
        "progress": {"phase": stage.split(" 3")[0], "stage": stage, "detail": detail, **more},
    }


READY = {
    "ok": True,
    "changed": False,
    "elapsed": 1.0,
    "progress": {"phase": "ready", "stage": "ready", "detail": "", "expected": 30.0},
}
FAILED = {"ok": False, "failed": True, "elapsed": 1.0, "msg": "no", "progress": {"stage": "loading", "detail": ""}}


@pytest.fixture
def run(monkeypatch):
    shown = Shown()
    monkeypatch.setattr(_progress, "Display", lambda: shown)
    monkeypatch.setattr(action, "RECONNECT_PAUSE", 0.01)

    def call(slices, args=None, no_log=False, check=False, delegate_to=None, connection=None, timeout=0, reached=True):
        sent = []
        slices = list(slices)

        class Scripted(action.ActionModule):
            def _low_level_execute_command(self, cmd, **_kwargs):
                if not reached:
                    raise AnsibleConnectionFailure("no route")

            def _execute_module(self, module_name=None, module_args=None, task_vars=None, **_kwargs):
                sent.append((module_name, module_args))
                said = slices.pop(0)
                if isinstance(said, Exception):
                    raise said
                return said() if callable(said) else dict(said)

        task = types.SimpleNamespace(
            args={"name": "sglang", **(args or {})},
            no_log=no_log,
            check_mode=check,
            delegate_to=delegate_to,
            async_val=0,
            timeout=timeout,
            diff=False,
        )
        connection = connection or types.SimpleNamespace()
        connection._shell = types.SimpleNamespace(tmpdir="/nowhere")
        plugin = Scripted(task, connection, types.SimpleNamespace(check_mode=check), None, None, None)
        return plugin.run(None, {"inventory_hostname": "gpu1"}), sent, shown.lines

    call.shown = shown
    return call


def test_slices_share_their_memory_and_the_result_is_the_last(run):
    result, sent, lines = run([waiting("loading weights 34 %", 1, expected=300), waiting("listening", 2), READY])
    first, *others = [args.get("slice_state") for _name, args in sent]
    assert first is None and [state["n"] for state in others] == [1, 2]
    assert 0 <= others[0]["spent"] <= others[1]["spent"]
    assert all(args["slice_seconds"] == 15 and name == "llmops.sglang.wait_for_generation" for name, args in sent)
    assert result["ok"] is True and "progress" not in result and "slice_state" not in result
    assert [line.partition("] ")[2] for line in lines] == [
        "gpu1 sglang: loading weights 34 % (usually ready at about 300 s)",
        "gpu1 sglang: listening",
        "gpu1 sglang: ready",
    ]


def test_a_start_that_takes_twice_as_long_as_usual_is_spoken_of():
    progress = {"stage": "loading weights", "detail": "Load weight begin.", "expected": 30.0, "late_in": -10.0}
    assert action.describe(progress) == "loading weights: Load weight begin. (more than twice the usual 30 s)"
    assert action.describe({**progress, "late_in": None}).endswith("(usually ready at about 30 s)")
    assert action.describe({}) == ""


LATE = "gpu1 sglang: warning: this start takes more than twice the usual 30 s of its configuration"


def test_a_start_beyond_twice_the_usual_is_warned_of_while_its_slice_runs(run, monkeypatch):
    before, begun = [], threading.Event()

    class Timer(threading.Timer):
        """One whose time comes within the slice, however slow the machine is."""

        def run(self):
            assert self.interval == 0.2
            begun.wait()
            self.function(*self.args)

    monkeypatch.setattr(_progress.threading, "Timer", Timer)

    def slow():
        before.extend(run.shown.lines)
        begun.set()
        while not any("warning" in line for line in run.shown.lines):
            time.sleep(0.01)
        return waiting("listening", 2, expected=30.0, late_in=-0.5)

    slices = [waiting("loading weights", 1, expected=30.0, late_in=0.2), slow, READY]
    _result, _sent, lines = run(slices)
    assert not any("warning" in line for line in before)
    warned = [number for number, line in enumerate(lines) if "warning" in line]
    assert len(warned) == 1 and lines[warned[0]].endswith(LATE), lines
    assert run.shown.colours[warned[0]] and run.shown.colours[0] is None


def test_a_start_that_is_late_already_is_warned_of_once(run):
    slices = [waiting("loading weights", n, expected=30.0, late_in=-10.0 * n) for n in (1, 2, 3)]
    _result, _sent, lines = run([*slices, READY])
    assert [line for line in lines if line.endswith(LATE)] and sum("warning" in line for line in lines) == 1


def test_a_start_that_was_in_time_is_not_warned_of_afterwards(run):
    slices = [waiting("listening", late_in=3600.0, expected=1800.0), READY]
    _result, _sent, lines = run(slices)
    assert not any("warning" in line for line in lines)
    assert not [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]


@pytest.mark.parametrize("options", [{"args": {"progress_interval": 0}}, {"no_log": True}])
def test_where_nothing_is_shown_no_warning_is_either(run, options):
    _result, _sent, lines = run([waiting("loading", 1, expected=30.0, late_in=-1.0), READY], **options)
    assert lines == []


def test_an_unchanged_stage_is_not_repeated_before_its_time(run):
    _result, _sent, lines = run([waiting("starting"), waiting("starting"), waiting("starting"), READY])
    assert len(lines) == 2


def test_a_percentage_alone_is_no_new_stage(run):
    _result, _sent, lines = run([waiting("loading 31 %"), waiting("loading 35 %"), waiting("loading 39 %"), READY])
    assert len(lines) == 2 and "31 %" in lines[0]


def test_a_slice_that_takes_long_is_spoken_of_meanwhile(run):
    def slow():
        while len(run.shown.lines) < 3:
            time.sleep(0.01)
        return dict(READY)

    _result, _sent, lines = run([waiting("listening"), slow], {"progress_interval": 0.2})
    assert len(lines) >= 4 and all("listening" in line for line in lines[:-1]) and "ready" in lines[-1]


@pytest.mark.parametrize("options", [{"args": {"progress_interval": 0}}, {"no_log": True}])
def test_silence(run, options):
    result, sent, lines = run([waiting("starting"), READY], **options)
    assert lines == [] and result["ok"] is True
    assert sent[0][1]["slice_seconds"] == (60 if "args" in options else 15)


def test_slices_are_not_shorter_than_their_start_is_worth(run):
    _result, sent, _lines = run([READY], {"progress_interval": 1})
    assert sent[0][1]["slice_seconds"] == 3


def test_no_slice_outlives_the_timeout_of_the_task(run):
    _result, sent, _lines = run([waiting("starting"), READY], timeout=6)
    assert all(5 < args["slice_limit"] <= 7 for _name, args in sent)
    _result, sent, _lines = run([READY])
    assert "slice_limit" not in sent[0][1]


def test_a_failure_is_handed_on_as_it_is(run):
    result, _sent, lines = run([waiting("starting"), FAILED])
    assert result["failed"] and result["msg"] == "no" and "progress" not in result and len(lines) == 1


def test_check_mode_runs_the_module_once_without_slices(run):
    _result, sent, lines = run([{"ok": None, "changed": False}], check=True)
    assert sent == [("llmops.sglang.wait_for_generation", {"name": "sglang"})] and lines == []


def test_what_the_user_puts_into_the_internal_options_is_dropped(run):
    _result, sent, _lines = run([READY], {"slice_state": {"n": 9}, "slice_seconds": 1, "slice_limit": 1})
    assert sent[0][1] == {"name": "sglang", "slice_state": None, "slice_seconds": 15}


def test_a_lost_connection_is_tried_again_with_what_was_known(run):
    resets = []
    connection = types.SimpleNamespace(reset=lambda: resets.append(1))
    slices = [waiting("starting", 5), AnsibleConnectionFailure("gone"), AnsibleConnectionFailure("gone"), READY]
    result, sent, lines = run(slices, connection=connection)
    assert result["ok"] is True and len(resets) == 2 and sent[-1][1]["slice_state"]["n"] == 5
    assert any("connection lost" in line for line in lines)


def test_a_connection_that_never_worked_is_the_callers_affair(run):
    with pytest.raises(AnsibleConnectionFailure):
        run([READY], reached=False)


def test_a_connection_that_stays_away_ends_at_the_deadline(run):
    with pytest.raises(AnsibleConnectionFailure):
        run([waiting("starting")] + [AnsibleConnectionFailure("gone")] * 1000, {"timeout": 0.1})


def test_the_line_names_host_and_delegate(run):
    _result, _sent, lines = run([READY], delegate_to="localhost")
    assert "gpu1 -> localhost sglang: ready" in lines[0]


def test_the_internal_options_are_not_in_the_shown_invocation(run):
    said = {**READY, "invocation": {"module_args": {"name": "sglang", "slice_state": {}, "slice_seconds": 15}}}
    result, _sent, _lines = run([said])
    assert result["invocation"]["module_args"] == {"name": "sglang"}


@pytest.mark.parametrize("odd", ["soon", None, [], {}])
def test_odd_numbers_are_left_to_the_module(run, odd):
    result, _sent, _lines = run([FAILED], {"timeout": odd, "progress_interval": odd})
    assert result["failed"]


def test_the_module_is_refused_in_the_background():
    assert action.ActionModule._supports_async is False and action.ActionModule._supports_check_mode is True


def test_a_connection_that_breaks_in_the_first_slice_is_tried_again(run):
    connection = types.SimpleNamespace(reset=lambda: None)
    result, sent, lines = run([AnsibleConnectionFailure("gone"), READY], connection=connection)
    assert result["ok"] is True and len(sent) == 2 and list(sent[1][1]["slice_state"]) == ["spent"]
    assert any("connection lost" in line for line in lines)


DEATHS = [
    (unit("failed", "failed", pid=0, Result="signal", ExecMainStatus=9, ExecMainCode=2), "server_crashed", 0),
    (unit("failed", "failed", pid=0, Result="exit-code", ExecMainStatus=3, ExecMainCode=1), "gave_up", 0),
    (unit("inactive", "dead", pid=0, ExecMainStatus=15, ExecMainCode=2), "inactive", 0),
    (unit("activating", "auto-restart", pid=0, ExecMainStatus=3, ExecMainCode=1), "crash_loop", 0),
    (unit(restarts=1, inv=X, pid=300, started=21), "crash_loop", 0),
    # What the kernel and the log say of a child is worth a moment.
    ("worker", "server_crashed", 0.5),
]


@pytest.mark.parametrize(("death", "failure_class", "most"), DEATHS)
@pytest.mark.parametrize("bound", [True, False])
def test_a_death_between_two_slices_is_told_as_soon_as_the_next_one_begins(run, death, failure_class, most, bound):
    """It happens when the slice has returned, and a second passes before the next one looks."""
    dead = []
    world = World(
        unit=lambda t: death if dead and death != "worker" else unit(),
        sockets=["socket"] if bound else [],
        answer=bad("not_ready", "server_error"),
        workers={101: "scheduler_0"},
        dead=lambda t: {101: "scheduler_0"} if dead and death == "worker" else {},
    )
    slices, began = [None], []

    def one_slice():
        memory = WaitMemory.load(slices[-1], world.now) if slices[-1] else WaitMemory(started=1000.0, origin=1000.0)
        began.append(world.now)
        options = WaitOptions(timeout=600.0)
        verdict = Readiness(options, memory, world, world, world.clock, world.sleep).run(15.0)
        if verdict is not None:
            return {**FAILED, "failure_class": verdict.failure_class, "msg": verdict.msg}
        slices.append(memory.dump())
        dead.append(world.now)
        world.now += 1.0
        return {**waiting("listening"), "slice_state": memory.dump()}

    result, sent, _lines = run([one_slice, one_slice])
    assert len(sent) == 2 and result["failure_class"] == failure_class, result
    assert world.now - began[1] <= most and world.now - dead[0] <= 1.0 + most < 2
