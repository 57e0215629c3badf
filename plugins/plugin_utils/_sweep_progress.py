# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Which run of a sweep comes next, what becomes of a point by its runs, and when a sweep stops early."""

from __future__ import annotations

import random
import statistics
import time
import typing as t

from ansible_collections.llmops.sglang.plugins.plugin_utils._report_text import plain
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_definition import Point
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_points import DFLASH, LINEAR
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_state import State

# A run and its number among the repeats of its point.
Run = tuple[Point, int]


def ordered(points: t.Sequence[Point], order: str, seed: t.Any) -> list[Point]:
    """*points* as they are run: baselines first, because each of the others is held against them.

    :arg order: ``given`` or ``shuffled``, the latter the same for the same seed.
    """
    first = [point for point in points if point["kind"] in (LINEAR, DFLASH)]
    rest = [point for point in points if point["kind"] not in (LINEAR, DFLASH)]
    if order == "shuffled":
        random.Random(f"sweep {seed}").shuffle(rest)
    return first + rest


def all_runs(state: State) -> list[Run]:
    """Every run that the definition asks for, in order; none of points that are rejected or the same as another."""
    points = [point for point in state["points"] if point["status"] != "rejected" and not point["same_as"]]
    repeats = range(1, state["repeats"] + 1)
    if state["interleave"]:
        return [(point, repeat) for repeat in repeats for point in points]
    return [(point, repeat) for point in points for repeat in repeats]


def missing_runs(state: State) -> list[Run]:
    """The runs that are still to be made; a point that failed once is not tried further."""
    return [
        (point, repeat)
        for point, repeat in all_runs(state)
        if all(run["repeat"] != repeat and run["status"] == "measured" for run in point["runs"])
    ]


def settle(state: State) -> None:
    """Say of each point what its runs make of it."""
    by_name = {point["name"]: point for point in state["points"]}
    for point in state["points"]:
        if point["status"] == "rejected" or point["same_as"]:
            continue
        failed = [run for run in point["runs"] if run["status"] == "failed"]
        measured = {run["repeat"] for run in point["runs"] if run["status"] == "measured"}
        point.update(failure_class=None, msg="", log_tail=[])
        if failed:
            point["status"] = "failed"
            point.update({key: failed[-1][key] for key in ("failure_class", "msg", "log_tail")})
        else:
            point["status"] = "measured" if measured >= set(range(1, state["repeats"] + 1)) else "not_run"
    for point in state["points"]:
        if point["same_as"]:
            other = by_name[point["same_as"]]
            point.update({key: other[key] for key in ("status", "failure_class", "msg", "log_tail")})


def note(state: State, point: Point, run: dict[str, t.Any], max_failures: int) -> None:
    """Add a finished *run* to *point*, and stop the sweep where too many failed one after the other."""
    point["runs"] = sorted(
        [*(old for old in point["runs"] if old["repeat"] != run["repeat"]), run], key=lambda one: one["repeat"]
    )
    state["failures_in_a_row"] = 0 if run["status"] == "measured" else state["failures_in_a_row"] + 1
    settle(state)
    if max_failures and state["failures_in_a_row"] >= max_failures:
        state["stopped"] = {
            "why": "failures",
            "msg": f"{state['failures_in_a_row']} runs failed one after the other, the last with {run['failure_class']}: "
            f"{plain(run['msg'], 200)}",
        }


def out_of_time(
    state: State, budget: float, began: float, clock: t.Callable[[], float] = time.monotonic
) -> t.Optional[str]:
    """Why no further run fits into *budget* seconds since *began*, in a sentence; ``None`` where one does.

    A run is taken to last as long as the longest of the last ones, and the way back as the longest start. The first run
    of a sweep has nothing to go by and is always made.
    """
    if budget <= 0:
        return None
    runs = [run for point in state["points"] for run in point["runs"]]
    lasted = [run["elapsed"] for run in sorted(runs, key=lambda run: run["finished_at"]) if run.get("elapsed")]
    spent = clock() - began
    if not lasted and spent < budget:
        return None
    needed = max(lasted[-5:], default=0.0) + max((run.get("start_elapsed") or 0.0 for run in runs), default=0.0)
    if spent + needed <= budget:
        return None
    return (
        f"The time budget of {budget:.0f} s does not hold another run: {spent:.0f} s are spent, and a run with the way back takes "
        f"{needed:.0f} s."
    )


def usual(state: State, key: str) -> t.Optional[float]:
    """The median of what runs of this sweep have under *key*, in seconds; ``None`` where none has it."""
    found = [run[key] for point in state["points"] for run in point["runs"] if run.get(key)]
    return statistics.median(found) if found else None


def restarts(runs: t.Sequence[Run]) -> int:
    """How often the server is restarted for *runs* and the way back at their end."""
    names = [point["name"] for point, dummy in runs]
    return sum(name != before for before, name in zip([None, *names], names)) + bool(names)


def became(state: State) -> dict[str, list[str]]:
    """The names of the points by what became of them; ``invalid`` are those that failed while they were measured."""
    found: dict[str, list[str]] = {word: [] for word in ("measured", "failed", "invalid", "rejected", "not_run")}
    for point in state["points"]:
        invalid = any(run["status"] == "failed" and run.get("stage") == "benchmark" for run in point["runs"])
        found["invalid" if point["status"] == "failed" and invalid else point["status"]].append(point["name"])
    return found
