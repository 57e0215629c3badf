# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""How long a sweep will take, by the starts and the measurements that are known, and the plan in words."""

from __future__ import annotations

import glob
import os
import statistics
import typing as t

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator, ValidationResult

from ansible_collections.llmops.sglang.plugins.module_utils._benchmark_options import argument_spec, matrix_plan
from ansible_collections.llmops.sglang.plugins.module_utils._cell_run import CellPlan
from ansible_collections.llmops.sglang.plugins.module_utils._compare_records import mapping, usable_number
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.plugin_utils._record_schema import read_record
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_progress import Run, missing_runs, restarts, usual
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_state import State

_MOST_RECORDS = 5


class Estimate(t.NamedTuple):
    """Seconds; ``None`` for what nothing is known of."""

    start: t.Optional[float]
    benchmark: t.Optional[float]
    total: t.Optional[float]


def estimate(
    state: State,
    start: t.Optional[float],
    matrix: t.Mapping[str, t.Any],
    directories: t.Sequence[str],
    budget: float = 0,
) -> Estimate:
    """How long what is missing of a sweep takes.

    :arg start: how long a start of this server usually takes.
    :arg matrix: the options of benchmark_matrix.
    :arg directories: where records of this host may lie, the best first.
    :arg budget: the most that the sweep may take; 0 for no limit.
    """
    start = usual(state, "start_elapsed") or start
    benchmark = benchmark_seconds(matrix, directories)
    runs = missing_runs(state)
    one = usual(state, "elapsed")
    if one is None and start is not None and benchmark is not None:
        one = start + benchmark
    if not runs:
        return Estimate(start, benchmark, 0.0)
    total = None if one is None else one * len(runs) + (start or 0.0)
    return Estimate(start, benchmark, min(total, budget) if total is not None and budget > 0 else total)


def refuse_matrix(matrix: t.Any) -> None:
    """Refuse what benchmark_matrix would refuse at each point, after its start.

    :raises Failure: ``bad_request``.
    """
    if not isinstance(matrix, t.Mapping):
        raise Failure("bad_request", "A sweep measures its points: give 'benchmark_matrix' the options of the matrix.")
    checked = _validated(matrix)
    if checked.error_messages:
        raise Failure("bad_request", f"'benchmark_matrix' is refused: {'; '.join(checked.error_messages)}")
    matrix_plan(checked.validated_parameters)


def cells_of(matrix: t.Mapping[str, t.Any]) -> list[CellPlan]:
    """The cells that the options of benchmark_matrix ask for."""
    return matrix_plan(_validated(matrix).validated_parameters).cells()


def _validated(matrix: t.Mapping[str, t.Any]) -> ValidationResult:
    # A file of prompts lies on the host, and it does not change the number of requests.
    known = {"prompts": None, "require_evidence": False, "base_url": "http://127.0.0.1:30000"}
    return ArgumentSpecValidator(argument_spec()).validate({**matrix, **known})


def benchmark_seconds(matrix: t.Mapping[str, t.Any], directories: t.Sequence[str]) -> t.Optional[float]:
    """How long the matrix takes by what earlier ones on this host took for a request; ``None`` where there is none like it."""
    cells = cells_of(matrix)
    tokens = matrix.get("max_tokens") or argument_spec()["max_tokens"]["default"]
    for record in _records(directories):
        by_cell = [_seconds(cell, record, tokens) for cell in cells]
        if by_cell and None not in by_cell:
            return sum(t.cast("list[float]", by_cell))
    return None


def _records(directories: t.Sequence[str]) -> t.Iterator[dict[str, t.Any]]:
    for directory in directories:
        paths = glob.glob(os.path.join(glob.escape(directory), "[0-9]*T[0-9]*Z_*.json"))
        for path in sorted(paths, key=os.path.basename, reverse=True)[:_MOST_RECORDS]:
            try:
                yield read_record(path, "benchmark")
            except Failure:
                continue


def _seconds(cell: CellPlan, record: t.Mapping[str, t.Any], tokens: int) -> t.Optional[float]:
    alike = [one for one in record["cells"] if (one["context"], one["concurrency"]) == (cell.context, cell.concurrency)]
    means = [mapping(one.get("e2e_ms")).get("mean") for one in alike]
    known = [mean for mean in means if usable_number(mean)]
    before = mapping(mapping(record.get("options")).get("settings")).get("max_tokens")
    if not known or not usable_number(before) or not before:
        return None
    requests = (cell.requests + cell.warmup) / (cell.concurrency or 1)
    return requests * statistics.median(known) / 1000 * tokens / before


def in_words(state: State, guess: Estimate, matrix: t.Mapping[str, t.Any]) -> list[str]:
    """The plan, a line for each point and one for what it costs."""
    runs = missing_runs(state)
    lines = [_line(point, runs, state["repeats"]) for point in state["points"]]
    cells = cells_of(matrix)
    load = f"{len(cells)} cells with {sum(cell.requests for cell in cells)} requests a run"
    known = [
        f"a start usually takes {duration(guess.start)}" if guess.start else "no start was timed here yet",
        f"the matrix about {duration(guess.benchmark)}" if guess.benchmark else f"{load} were not timed here yet",
    ]
    many = len({point["name"] for point, dummy in runs})
    total = f"about {duration(guess.total)}" if guess.total is not None else "for an unknown time"
    cost = f"{len(runs)} runs of {many} points with {restarts(runs)} restarts, the way back among them, {total}"
    return [*lines, f"{cost}: {'; '.join(known)}." if runs else "Nothing is left to be run."]


def _line(point: t.Mapping[str, t.Any], runs: t.Sequence[Run], repeats: int) -> str:
    left = sum(one["name"] == point["name"] for one, dummy in runs)
    if point["status"] == "rejected":
        return f"{point['name']}: rejected ({point['failure_class']}): {point['msg']}"
    if point["same_as"]:
        return f"{point['name']}: the same command line as {point['same_as']}, which is run for both"
    if point["status"] == "failed":
        return f"{point['name']}: failed before ({point['failure_class']}): {point['msg']}"
    if left:
        return f"{point['name']}: to be run" + (f", {left} of {repeats} times" if repeats > 1 else "")
    return f"{point['name']}: measured before"


def duration(seconds: t.Optional[float]) -> str:
    """``1 h 40 min``, ``5 min``, ``42 s``."""
    if seconds is None:
        return "an unknown time"
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
