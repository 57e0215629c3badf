# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans and plays a sweep: what is measured, what is not measured twice, and what a play that is killed leaves to the next."""

from __future__ import annotations

import json
import pathlib
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.action import sweep_plan, sweep_point
from ansible_collections.llmops.sglang.plugins.modules import sweep_plan as plan_module
from ansible_collections.llmops.sglang.plugins.modules import sweep_point as point_module
from ansible_collections.llmops.sglang.plugins.plugin_utils import _play_process, _sweep_progress
from ansible_collections.llmops.sglang.tests.unit import controller_task
from ansible_collections.llmops.sglang.tests.unit.benchmark_record import cell, distribution, record

MATRIX = {"contexts": [60, 1024], "concurrency": [1, 8], "max_tokens": 512}
SERVER = {"speculative": {"algorithm": "DFLASH", "draft_model_path": "/d", "draft_window_size": 2048}, "args": {}}


class Killed(Exception):
    """The play is killed."""


class Refused(Exception):
    """A task fails."""


class Play:
    """Plays of one sweep, by the steps of the role.

    *rejected* and *broken* have words of points that a rule rejects or that fail; *ends* is after how many steps the play is killed.
    """

    def __init__(self, folder, monkeypatch, rejected=(), broken=(), **options):
        self.folder, self.monkeypatch = folder, monkeypatch
        self.rejected, self.broken = rejected, broken
        self.options = {"sweep_dir": str(folder), "name": "s", "server": SERVER, "benchmark": {"matrix": MATRIX}}
        self.options.update(options)
        self.started, self.noted, self.steps_left = [], [], None
        self.version, self.drafter = "0.5.15", "aa"

    def _task(self, action, args, check_mode=False):
        if self.steps_left is not None:
            if self.steps_left == 0:
                raise Killed
            self.steps_left -= 1
        result = controller_task.run(action, self.monkeypatch, args, check_mode, "gpu1")
        if result.get("failed"):
            raise Refused(result["msg"])
        return result

    def plan(self, check_mode=False, **changed):
        options = {**self.options, **changed}
        points = self._task(sweep_plan, options)["points"]
        return self._task(sweep_plan, {**options, "checked": [self.checked(point) for point in points]}, check_mode)

    def checked(self, point):
        if any(word in point["name"] for word in self.rejected):
            return {"name": point["name"], "failure_class": "rule_violated", "msg": "The window is too small."}
        made = {}
        for part in ("speculative", "args"):
            made.update({**SERVER[part], **point["overrides"][part]})
        argv = ["python", *(f"--{name}={value}" for name, value in sorted(made.items()) if value is not None)]
        inputs = {"drafter": self.drafter, "model": "bb"}
        return {"name": point["name"], "argv": argv, "sglang_version": self.version, "inputs_sha256": inputs}

    def run(self, steps=None, max_failures=0, **changed):
        """One play; whether it came to its end."""
        self.steps_left, self.max_failures = steps, max_failures
        try:
            planned = self.plan(**changed)
            for dummy in range(planned["runs_left"]):
                self._run(planned)
        except Killed:
            return False
        finally:
            self.steps_left = None
        return True

    def _run(self, planned):
        begun = self._task(sweep_point, {"state": planned["state"], "event": "begun"})["run"]
        if begun is None:
            return
        self.started.append((begun["point"], begun["repeat"]))
        said = {"state": planned["state"], "point": begun["point"], "repeat": begun["repeat"]}
        if any(word in begun["point"] for word in self.broken):
            failed = {
                "failure_class": "out_of_memory",
                "msg": "No memory.",
                "max_failures": self.max_failures,
            }
            self._task(sweep_point, {**said, "event": "failed", **failed})
        else:
            path = self.write_record(begun["label"])
            self._task(sweep_point, {**said, "event": "measured", "record_path": path, "start_elapsed": 300.0})
        self.noted.append((begun["point"], begun["repeat"]))

    def write_record(self, label):
        folder = self.folder / "s" / "gpu1"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"20261129T201618Z_{len(list(folder.iterdir())):08x}.json"
        path.write_text(json.dumps(record(label=label)))
        return str(path)

    @property
    def state(self):
        return json.loads((self.folder / "s" / "gpu1" / "state.json").read_text())

    @property
    def became(self):
        return {point["name"]: point["status"] for point in self.state["points"]}


@pytest.fixture
def play(tmp_path, monkeypatch):
    def made(**options):
        return Play(tmp_path, monkeypatch, **options)

    return made


def grid(*sizes):
    return {"grid": {"block_size": list(sizes)}}


@pytest.mark.parametrize(("action", "module"), [(sweep_plan, plan_module), (sweep_point, point_module)])
def test_options_and_results_are_the_documented_ones(action, module):
    options, always = controller_task.documented(module)
    assert options == action.ActionModule.SPEC
    assert always == set(action.ActionModule.NOTHING)


def test_a_sweep_measures_each_point_once_and_a_second_play_nothing(play):
    sweep = play(**grid(4, 8, 16), rejected=["=4"], broken=["=16"])
    assert sweep.run()
    assert sweep.became == {
        "baseline-linear": "measured",
        "baseline-dflash": "measured",
        "block_size=4": "rejected",
        "block_size=8": "measured",
        "block_size=16": "failed",
    }
    assert sweep.run()
    assert len(sweep.started) == 4


def test_points_of_one_command_line_are_run_once(play):
    named = [{"name": "a", "args": {"x": 1}}, {"name": "b", "args": {"x": 1}}, {"name": "c", "environment": {"X": "1"}}]
    sweep = play(points=named, baselines=False)
    assert sweep.run()
    assert sweep.started == [("a", 1), ("c", 1)]
    twin = sweep.state["points"][1]
    assert (twin["same_as"], twin["status"], twin["runs"]) == ("a", "measured", [])


def test_repeats_are_interleaved_where_that_is_asked(play):
    sweep = play(**grid(4, 8), baselines=False, repeats=2, interleave=True)
    assert sweep.run()
    assert [(name[-1], repeat) for name, repeat in sweep.started] == [("4", 1), ("8", 1), ("4", 2), ("8", 2)]


def test_of_a_point_that_failed_no_repeat_is_tried(play):
    sweep = play(**grid(4, 8), baselines=False, repeats=3, broken=["=4"])
    assert sweep.run()
    assert len(sweep.started) == 4


def test_more_repeats_are_added_to_those_that_are_there(play):
    sweep = play(**grid(4, 8), baselines=False)
    assert sweep.run() and sweep.run(repeats=2)
    assert sorted(sweep.started) == [("block_size=4", 1), ("block_size=4", 2), ("block_size=8", 1), ("block_size=8", 2)]


def test_another_name_and_another_order_measure_nothing_again(play):
    sweep = play(**grid(4, 8))
    assert sweep.run()
    assert sweep.run(grid={}, points=[{"name": f"mine-{n}", "speculative": {"block_size": n}} for n in (8, 4)])
    assert len(sweep.started) == 4
    assert set(sweep.became.values()) == {"measured"}


def test_a_point_that_was_taken_out_and_comes_back_still_counts(play):
    sweep = play(**grid(4, 8), baselines=False)
    assert sweep.run() and sweep.run(**grid(4)) and sweep.run(**grid(4, 8))
    assert len(sweep.started) == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda sweep: setattr(sweep, "version", "0.5.16"), "the installed SGLang changed"),
        (lambda sweep: setattr(sweep, "drafter", "cc"), "the drafter changed"),
        (lambda sweep: sweep.options["benchmark"].update(matrix={"contexts": [60]}), "the settings of the benchmark"),
        (lambda sweep: sweep.options.update(server={**SERVER, "environment": {"A": "1"}}), "its environment changed"),
    ],
)
def test_what_was_measured_of_something_else_is_measured_again_and_told(play, change, said):
    sweep = play(**grid(4), baselines=False)
    assert sweep.run()
    sweep.options["benchmark"] = dict(sweep.options["benchmark"])
    change(sweep)
    assert said in sweep.plan()["measured_again"][0]
    assert sweep.run()
    assert len(sweep.started) == 2


def test_a_drafter_that_the_first_start_fetches_is_no_change(play):
    sweep = play(**grid(4), baselines=False)
    checked = sweep.checked
    sweep.checked = lambda point: {**checked(point), "inputs_sha256": {"model": "bb"}}
    assert sweep.run()
    sweep.checked = checked
    assert sweep.plan()["runs_left"] == 0


def test_how_the_lines_of_progress_are_shown_is_no_change(play):
    sweep = play(**grid(4), baselines=False)
    assert sweep.run()
    shown = {"matrix": {**MATRIX, "progress_interval": 1}}
    assert sweep.plan(benchmark=shown)["runs_left"] == 0


def test_a_point_whose_record_is_gone_is_measured_again(play):
    sweep = play(**grid(4), baselines=False)
    assert sweep.run()
    for path in pathlib.Path(sweep.folder).rglob("2026*.json"):
        path.unlink()
    assert "gone" in sweep.plan()["measured_again"][0]


def test_failed_points_are_tried_again_only_where_that_is_asked_or_their_server_lived(play):
    sweep = play(**grid(4, 8), baselines=False, broken=["=4"])
    assert sweep.run()
    assert sweep.plan()["runs_left"] == 0
    assert sweep.plan(retry_failed=True)["runs_left"] == 1
    said = {"state": sweep.plan(retry_failed=True)["state"], "point": "block_size=4", "stage": "benchmark"}
    spoilt = {"failure_class": "condition_not_met", "msg": "foreign_traffic"}
    result = controller_task.run(sweep_point, sweep.monkeypatch, {**said, "event": "failed", **spoilt})
    assert result["became"]["invalid"] == ["block_size=4"]
    assert sweep.plan()["runs_left"] == 1


def test_too_many_failures_in_a_row_stop_it_until_the_next_play(play):
    sweep = play(**grid(*range(4, 12)), baselines=False, broken=["="])
    assert sweep.run(max_failures=3)
    assert len(sweep.started) == 3
    assert sweep.state["stopped"]["why"] == "failures"
    assert sweep.run(max_failures=3)
    assert len(sweep.started) == 6


def test_no_run_is_begun_that_would_not_end_in_time(play, monkeypatch):
    sweep = play(**grid(4, 8), baselines=False)
    assert sweep.run()
    state = sweep.state
    for point in state["points"]:
        point["runs"][0]["elapsed"] = 500.0
    # A run and the way back, which takes a start of 300 s.
    assert _sweep_progress.out_of_time(state, 1000, 0, lambda: 199.0) is None
    assert "500" not in (_sweep_progress.out_of_time(state, 0, 0, lambda: 1e9) or "")
    assert "800 s" in _sweep_progress.out_of_time(state, 1000, 0, lambda: 201.0)
    for point in state["points"]:
        point["runs"] = []
    assert _sweep_progress.out_of_time(state, 1000, 0, lambda: 900.0) is None
    assert _sweep_progress.out_of_time(state, 1000, 0, lambda: 1001.0)


def test_a_budget_stops_at_the_end_of_a_run(play):
    sweep = play(**grid(4, 8, 16), baselines=False)
    began = time.monotonic() - 5000
    planned = sweep.plan()
    args = {"state": planned["state"], "event": "begun", "time_budget": 100, "began": began}
    result = controller_task.run(sweep_point, sweep.monkeypatch, args)
    assert result["run"] is None and result["stopped"]["why"] == "time"


def test_check_mode_plans_and_keeps_nothing(play):
    sweep = play(**grid(4, 8), rejected=["=4"])
    planned = sweep.plan(check_mode=True, usual_start=300)
    assert not list(sweep.folder.rglob("*"))
    text = "\n".join(planned["plan"])
    assert "block_size=4: rejected (rule_violated): The window is too small." in text
    assert "block_size=8: to be run" in text
    assert "3 runs of 3 points with 4 restarts" in text and "a start usually takes 5 min" in text
    assert "4 cells with" in text
    assert planned["restarts"] == 4


def test_the_duration_is_told_by_earlier_starts_and_measurements(play):
    sweep = play(**grid(4))
    folder = sweep.folder / "records"
    folder.mkdir()
    slow = [cell(c, n, 1, e2e_ms=distribution(2000.0)) for c in (60, 1024) for n in (1, 8)]
    (folder / "20261129T201618Z_x_00000001.json").write_text(json.dumps(record(slow)))
    alike = {"matrix": {"contexts": [60, 1024], "concurrency": [1, 8], "max_tokens": 256, "requests": 16, "warmup": 0}}
    planned = sweep.plan(usual_start=300, records=[str(folder)], benchmark=alike)
    # A request of half the tokens takes a second: twice 16 in a row, and twice 16 by eight at a time.
    assert planned["estimated_seconds"] == 3 * (300 + 2 * 16 + 2 * 2) + 300
    assert "3 runs of 3 points with 4 restarts, the way back among them, about 22 min" in planned["plan"][-1]
    assert sweep.plan(usual_start=300, records=[])["estimated_seconds"] is None
    assert (
        sweep.plan(usual_start=300, records=[str(folder)], benchmark=alike, time_budget=60)["estimated_seconds"] == 60
    )


@pytest.mark.parametrize(
    ("matrix", "said"),
    [(False, "measures its points"), ({"contexst": [60]}, "contexst"), ({"concurrency": [0]}, "at least 1")],
)
def test_a_matrix_that_would_be_refused_at_each_point_is_refused_before(play, matrix, said):
    with pytest.raises(Refused, match=said):
        play(**grid(4), benchmark={"matrix": matrix}).plan()


def test_where_all_points_are_rejected_nothing_is_planned(play):
    sweep = play(**grid(4, 8), rejected=["block"])
    with pytest.raises(Refused, match="All 2 points"):
        sweep.run()


def test_another_play_of_the_same_sweep_is_refused(play, monkeypatch):
    sweep = play(**grid(4))
    assert sweep.run(steps=3) is False
    mine = _play_process.this_play()
    monkeypatch.setattr(_play_process, "this_play", lambda: {**mine, "pid": 1})
    with pytest.raises(Refused, match="Another play"):
        sweep.run()
    monkeypatch.setattr(_play_process, "_started", lambda pid: "1" if pid == 1 else None)
    assert sweep.run()


def test_a_state_that_is_none_is_not_replaced(play):
    sweep = play(**grid(4))
    file = sweep.folder / "s" / "gpu1" / "state.json"
    file.parent.mkdir(parents=True)
    file.write_text("{")
    with pytest.raises(Refused, match="cannot be read"):
        sweep.run()
    assert file.read_text() == "{"


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".x", "a\nb"])
def test_a_name_that_would_lie_elsewhere_is_refused(play, name):
    with pytest.raises(Refused, match="cannot be that of a directory"):
        play(**grid(4), name=name).plan()


def test_a_record_of_another_run_is_not_taken_for_its_own(play):
    sweep = play(**grid(4), baselines=False)
    planned = sweep.plan()
    said = {"state": planned["state"], "point": "block_size=4", "record_path": sweep.write_record("s other")}
    result = controller_task.run(sweep_point, sweep.monkeypatch, {**said, "event": "measured"})
    assert result["failed"] and "not one of the point" in result["msg"]
    controller_task.run(sweep_point, sweep.monkeypatch, {**said, "event": "failed", "failure_class": "inactive"})
    assert sweep.state["points"][0]["runs"][0]["record_path"] is None


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.integers(0, 12), max_size=4),
    st.sets(st.integers(1, 5)),
    st.sets(st.integers(1, 5)),
    st.integers(1, 2),
    st.booleans(),
)
def test_however_a_sweep_is_killed_it_ends_as_one_that_is_not(
    tmp_path_factory, kills, rejected, broken, repeats, twist
):
    """Every run that was noted is made once, and nothing is lost."""
    words = {"rejected": [f"={n}" for n in rejected if n != 3], "broken": [f"={n}" for n in broken]}
    with pytest.MonkeyPatch.context() as monkeypatch:
        made = [
            Play(
                tmp_path_factory.mktemp("sweep"),
                monkeypatch,
                **grid(1, 2, 3, 4, 5),
                repeats=repeats,
                interleave=twist,
                **words,
            )
            for dummy in range(2)
        ]
        whole, killed = made
        assert whole.run()
        for steps in kills:
            killed.run(steps)
        assert killed.run()
    assert sorted(killed.noted) == sorted(whole.noted)
    assert len(set(killed.noted)) == len(killed.noted)
    # A run that was begun and not noted is begun again, at most once for each kill.
    assert len(killed.started) - len(killed.noted) <= len(kills)
    assert killed.became == whole.became
