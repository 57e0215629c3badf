# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The matrix: its cells, its slices, its resumption, its record."""

from __future__ import annotations

import gzip
import json
import os
import types

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _matrix
from ansible_collections.llmops.sglang.plugins.module_utils._benchmark_record import PartialRecord
from ansible_collections.llmops.sglang.plugins.module_utils._cell_run import CellSettings
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._load_connection import endpoint
from ansible_collections.llmops.sglang.plugins.module_utils._matrix import Matrix, MatrixPlan
from ansible_collections.llmops.sglang.plugins.module_utils._record_file import write_atomically
from ansible_collections.llmops.sglang.plugins.module_utils._server_side import ServerSide

BEFORE = {"invocation_id": "a" * 32, "n_restarts": 0}


class Bench:
    """A matrix whose cells are made up by ``measure`` instead of measured."""

    def __init__(self, directory, monkeypatch):
        self.directory = str(directory)
        self.now = dict(BEFORE)
        self.side = ServerSide(endpoint("http://127.0.0.1:1", None, {}))
        self.measured = []
        self.invalid = set()
        self.engine = None
        self.time = 0.0
        monkeypatch.setattr(_matrix.CellRunner, "measure", self.measure)

    def measure(self, plan):
        self.time += 10
        self.measured.append((plan.context, plan.concurrency, plan.run))
        bad = self.measured[-1] in self.invalid
        cell_id = f"{len(self.measured):x}"
        numbers = {"mean": 12.3456, "min": 1.0, "max": 99.0, "n": 8, "p50": None, "p90": None, "p99": None}
        cell = {
            "cell_id": cell_id,
            "context": plan.context,
            "concurrency": plan.concurrency,
            "run": plan.run,
            "valid": not bad,
            "reasons": ["errors"] if bad else [],
            "output_tokens_per_second": 100.0 + plan.run,
            "requests_per_second": 1.5,
            "acceptance_length": 4.0,
            "acceptance_source": "counters",
            "acceptance_floor_held": None,
            "errors": {"http_500": 3} if bad else {},
            "error_samples": {"http_500": "x" * 200} if bad else {},
            "evidence_before": dict(self.now),
            "evidence_after": dict(self.now),
            **{name: dict(numbers) for name in ("ttft_ms", "tpot_ms", "chunk_gap_ms", "e2e_ms")},
        }
        return cell, [{"cell_id": cell_id, "index": n} for n in range(3)]

    def run(self, resume=True, run_id=None, slice_seconds=None, **plan):
        made = MatrixPlan(**{"contexts": [60, 1024], "concurrency": [1, 8], "label": "a/b c", **plan})
        matrix = Matrix(
            made, self.side, self.directory, lambda: dict(self.now), clock=lambda: self.time, engine=self.engine
        )
        return matrix.run(resume, run_id, slice_seconds)

    def partials(self):
        return [name for name in os.listdir(self.directory) if name.startswith(".partial")]


class Interrupted(Exception):
    pass


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.setattr(_matrix, "PromptText", lambda *words: None)
    return Bench(tmp_path / "results", monkeypatch)


def interrupt_after(bench, count, **plan):
    """Run until COUNT cells are measured, then die."""
    real = bench.measure

    def measure(plan):
        if len(bench.measured) == count:
            raise Interrupted
        return real(plan)

    _matrix.CellRunner.measure = lambda dummy, plan: measure(plan)
    with pytest.raises(Interrupted):
        bench.run(**plan)
    _matrix.CellRunner.measure = lambda dummy, plan: real(plan)


@pytest.mark.parametrize(
    ("profile", "runs", "requests", "warmup"),
    [
        ("quick", 1, {1: 8, 8: 16, 32: 64}, {1: 1, 8: 8}),
        ("standard", 3, {1: 5, 8: 40}, {1: 8, 8: 8, 32: 32}),
        ("long", 5, {1: 10, 8: 80}, {1: 8}),
    ],
)
def test_profiles(profile, runs, requests, warmup):
    cells = MatrixPlan([60], [1, 8, 32], profile).cells()
    assert {cell.run for cell in cells} == set(range(1, runs + 1))
    first = {cell.concurrency: cell for cell in cells if cell.run == 1}
    assert {streams: first[streams].requests for streams in requests} == requests
    assert {streams: first[streams].warmup for streams in warmup} == warmup


def test_runs_are_outermost_and_options_win():
    cells = MatrixPlan([60, 1024], [1], "standard", requests=7, repeats=2, warmup=0).cells()
    assert [(cell.run, cell.context) for cell in cells] == [(1, 60), (1, 1024), (2, 60), (2, 1024)]
    assert {(cell.requests, cell.warmup) for cell in cells} == {(7, 0)}


def test_an_open_loop_has_one_cell_a_context():
    cells = MatrixPlan([60, 1024], [1, 8], settings=CellSettings(load_model="open", rate=2.0)).cells()
    assert [(cell.context, cell.concurrency) for cell in cells] == [(60, None), (1024, None)]


def test_a_whole_matrix_becomes_a_record(bench):
    result = bench.run()
    assert (result["ok"], result["complete"], result["cells_done"], result["resumed_cells"]) == (True, True, 4, 0)
    with open(result["record_path"]) as handle:
        record = json.load(handle)
    assert (record["schema_version"], record["label"], len(record["cells"])) == (1, "a/b c", 4)
    assert record["engine"] == {"name": "builtin", "version": None, "client": None, "caveats": []}
    assert (record["client"]["same_host"], record["client"]["keep_alive"]) == (True, True)
    assert record["evidence_before"] == record["evidence_after"] == result["evidence_after"] == BEFORE
    assert "a-b-c" in os.path.basename(result["record_path"])
    with gzip.open(os.path.join(bench.directory, record["raw_requests"]), "rt") as handle:
        assert len([json.loads(line) for line in handle]) == 12
    with open(result["record_path"][:-5] + ".md") as handle:
        assert handle.read() == result["markdown"]
    assert bench.partials() == []


def test_the_table_has_a_row_for_each_cell_and_the_median_of_its_valid_runs(bench):
    bench.invalid = {(60, 1, 3)}
    result = bench.run(profile="standard", concurrency=[1])
    rows = [line for line in result["markdown"].splitlines() if line.startswith(("| 60 ", "| 1024 "))]
    assert rows[0].startswith("| 60 | 1 | 2/3 | 101.5 |") and rows[0].endswith("| errors |")
    assert rows[1].startswith("| 1024 | 1 | 3/3 | 102.0 |") and rows[1].endswith("| - |")
    assert result["ok"] is False


def test_an_interrupted_matrix_goes_on_where_it_stopped(bench):
    interrupt_after(bench, 3)
    result = bench.run()
    assert len(bench.measured) == 4
    assert (result["resumed_cells"], result["cells_done"], result["ok"]) == (3, 4, True)
    with gzip.open(result["record_path"][:-5] + ".jsonl.gz", "rt") as handle:
        assert len(handle.readlines()) == 12


@pytest.mark.parametrize(
    "change",
    [
        {"resume": False},
        {"label": "other"},
        {"settings": CellSettings(max_tokens=9)},
        {"identity": {"name": "other.service"}},
    ],
)
def test_another_question_starts_over(bench, change):
    interrupt_after(bench, 3)
    assert bench.run(**change)["resumed_cells"] == 0
    assert len(bench.measured) == 7


def test_another_process_starts_over(bench):
    interrupt_after(bench, 3)
    bench.now["invocation_id"] = "b" * 32
    result = bench.run()
    assert (result["resumed_cells"], len(bench.measured)) == (0, 7)
    assert result["evidence_before"]["invocation_id"] == "b" * 32


def test_where_nobody_tells_the_process_nothing_is_taken_up(bench):
    """Two starts of a server look alike from afar, whatever they were started with."""
    bench.now["invocation_id"] = None
    interrupt_after(bench, 3)
    assert (bench.run()["resumed_cells"], len(bench.measured)) == (0, 7)


def test_slices_go_on_where_nobody_tells_the_process(bench):
    bench.now["invocation_id"] = None
    part = bench.run(slice_seconds=1)
    assert bench.run(run_id=part["run_id"])["cells_done"] == 4 == len(bench.measured)


@pytest.mark.parametrize("engine", [{"name": "guidellm", "version": "0.8.2"}, {"name": "guidellm", "version": "0.8.1"}])
def test_cells_of_another_release_of_the_client_are_not_taken_up(bench, engine):
    bench.engine = types.SimpleNamespace(described={"name": "guidellm", "version": "0.8.1"})
    interrupt_after(bench, 3)
    bench.engine = types.SimpleNamespace(described=engine)
    assert bench.run()["resumed_cells"] == (3 if engine["version"] == "0.8.1" else 0)


def test_the_very_same_matrix_is_not_measured_twice_at_once(bench):
    """Each would take up the other's cells, and put its own among them."""
    real, refused = bench.measure, []

    def measure(dummy, plan):
        if not refused:
            refused.append(None)
            with pytest.raises(Failure) as caught:
                bench.run()
            refused[0] = caught.value
        return real(plan)

    _matrix.CellRunner.measure = measure
    assert bench.run()["cells_done"] == 4
    assert refused[0].failure_class == "condition_not_met" and "another run" in refused[0].msg
    assert bench.partials() == []


def test_a_restart_between_two_cells_is_told_once(bench):
    """Each cell is whole, and together they are of two processes."""
    part = bench.run(slice_seconds=1)
    bench.now["invocation_id"] = "b" * 32
    done = bench.run(run_id=part["run_id"])
    assert [cell["valid"] for cell in done["cells"]] == [True, False, True, True]
    assert done["cells"][1]["reasons"] == ["evidence_changed"]
    assert done["ok"] is False


def test_a_restart_before_the_first_cell_is_told(bench, monkeypatch):
    measure = bench.measure

    def restarted(dummy, plan):
        bench.now["invocation_id"] = "b" * 32
        return measure(plan)

    monkeypatch.setattr(_matrix.CellRunner, "measure", restarted)
    done = bench.run()
    assert [cell["valid"] for cell in done["cells"]] == [False, True, True, True]


def test_cells_of_a_process_that_is_gone_are_not_taken_up(bench):
    part = bench.run(slice_seconds=1)
    bench.now["invocation_id"] = "b" * 32
    part = bench.run(run_id=part["run_id"], slice_seconds=15)
    assert (part["complete"], part["cells_done"]) == (False, 3)
    again = bench.run()
    invocations = {cell["evidence_after"]["invocation_id"] for cell in bench_cells(bench, again)}
    assert invocations == {"b" * 32}
    assert again["ok"] is True


def bench_cells(bench, result):
    with open(result["record_path"], encoding="utf-8") as handle:
        return json.load(handle)["cells"]


def test_invalid_cells_are_measured_again_when_resumed(bench):
    bench.invalid = {(60, 8, 1)}
    interrupt_after(bench, 3)
    bench.invalid = set()
    result = bench.run()
    assert (result["resumed_cells"], result["ok"]) == (2, True)
    assert bench.measured[3:] == [(60, 8, 1), (1024, 8, 1)]


def test_a_client_elsewhere_is_told(bench):
    bench.side = ServerSide(endpoint("http://192.0.2.1:1", None, {}))
    with open(bench.run()["record_path"]) as handle:
        assert json.load(handle)["client"]["same_host"] is False


@pytest.mark.parametrize("invalid", [set(), {(60, 8, 1)}])
def test_a_finished_matrix_is_measured_anew(bench, invalid):
    """Its record is there; what made a cell of it invalid may have touched the others, and all figures are of one time."""
    bench.invalid = invalid
    assert bench.run()["resumed_cells"] == bench.run()["resumed_cells"] == 0
    assert len(bench.measured) == 8


def test_slices_are_parts_of_one_run(bench):
    bench.invalid = {(60, 1, 1)}
    first = bench.run(slice_seconds=15)
    assert (first["complete"], first["cells_done"], len(first["new_cells"]), first["record_path"]) == (
        False,
        2,
        2,
        None,
    )
    assert first["next_cell"] == "context 1024, concurrency 1, run 1"
    bench.now["n_restarts"] = 1  # a change between cells concerns only the cell that sees it
    second = bench.run(slice_seconds=15, run_id=first["run_id"], resume=False)
    assert (second["complete"], second["cells_done"], second["resumed_cells"], second["ok"]) == (True, 4, 0, False)
    assert second["run_id"] == first["run_id"]


def test_a_broken_partial_record_is_no_reason_to_fail(bench):
    interrupt_after(bench, 2)
    [path] = [name for name in bench.partials() if name.endswith(".json")]
    with open(os.path.join(bench.directory, path), "w") as handle:
        handle.write('{"schema_version": 1, "cel')
    assert bench.run()["resumed_cells"] == 0


def test_results_stay_small_however_large_the_matrix(bench):
    bench.invalid = {(context, 1, 1) for context in range(1, 400)}
    result = bench.run(contexts=list(range(1, 400)), concurrency=[1])
    assert len(json.dumps(result)) < 64000
    assert result["cells_omitted"] + len(result["cells"]) == 399 == result["cells_done"]
    with open(result["record_path"]) as handle:
        assert len(json.load(handle)["cells"]) == 399


def test_a_directory_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(Failure) as caught:
        PartialRecord(str(tmp_path / "file" / "below"), {}).begin({})
    assert caught.value.failure_class == "write_failed" and "results_dir" in caught.value.msg


def test_a_reader_never_sees_half_a_file(tmp_path):
    path = tmp_path / "record.json"
    path.write_text("old")
    with pytest.raises(TypeError):
        write_atomically(str(path), "no bytes")
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["record.json"]


@pytest.mark.parametrize(
    "state", ['{"schema_version": 1}', '{"schema_version": 1, "cells": [5]}', "[" * 100_000], ids=range(3)
)
def test_an_interrupted_matrix_that_was_damaged_is_begun_anew(tmp_path, state):
    partial = PartialRecord(str(tmp_path), {"a": 1})
    (tmp_path / partial.path).write_text(state)
    assert partial.read() is False


def test_rows_that_a_lost_power_left_are_passed_over(tmp_path):
    partial = PartialRecord(str(tmp_path), {"a": 1})
    partial.begin({})
    (tmp_path / partial.rows_path).write_bytes(b'5\n[]\n\xff\xfe\n{"cell_id": ["a"]}\n' + b"[" * 100_000 + b"\n")
    partial.add({"cell_id": "a"}, [{"cell_id": "a"}])
    assert list(partial.rows()) == ['{"cell_id":"a"}\n']
