# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The points of a sweep with their records: read as far as they can be, pooled over repeats, with what is wrong told."""

from __future__ import annotations

import json
import os
import statistics
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._compare_records import mapping, usable_number
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.plugin_utils._record_schema import read_record
from ansible_collections.llmops.sglang.plugins.plugin_utils._record_summary import CellGroup, Record, groups
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_text import plain

STATUSES = ("measured", "failed", "rejected", "not_run")
LINEAR, DFLASH = "baseline_linear", "baseline_dflash"
_LATENCIES = ("ttft_ms", "tpot_ms", "chunk_gap_ms", "e2e_ms")
_RATES = ("output_tokens_per_second", "requests_per_second", "acceptance_length")
_PARTS = ("mean", "p50", "p90", "p99")
_MOST_LOG = 10
_MOST_PROGRAMS = 10**9
_FORMAT = 1


@dataclass
class Point:
    """One point. What the state says of it, and its readable records; ``runs`` are those of the point that it is the same as.

    ``problems`` are what keeps its figures from being whole, each in words.
    """

    name: str
    kind: str
    status: str
    failure_class: t.Optional[str]
    msg: str
    log_tail: list[str]
    overrides: dict[str, t.Any]
    parameters: dict[str, t.Any]
    argv: t.Optional[list[str]]
    same_as: t.Optional[str]
    runs: list[t.Mapping[str, t.Any]]
    records: list[Record] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def paths(self) -> list[str]:
        return [record["path"] for record in self.records]

    @property
    def groups(self) -> list[CellGroup]:
        """The cells of all repeats together."""
        return groups(self.pooled) if self.records else []

    @property
    def pooled(self) -> Record:
        """All repeats as one record, which is the newest with the cells of all."""
        return {**self.records[-1], "cells": [cell for record in self.records for cell in record["cells"]]}

    @property
    def coding(self) -> t.Optional[dict[str, t.Any]]:
        """The programs of all repeats; None unless each measured repeat has an evaluation."""
        counts = [mapping(run.get("coding")) for run in self.runs if run.get("status") == "measured"]
        if not counts or not all(_count(one.get("passed")) and _count(one.get("total")) for one in counts):
            return None
        passed, total = (sum(one[key] for one in counts) for key in ("passed", "total"))
        return {"passed": passed, "total": total, "pass_rate": passed / total if total else None}


def read_state(path: str) -> dict[str, t.Any]:
    """The state of a sweep.

    :raises Failure: ``bad_request`` for what is none.
    """
    try:
        with open(path, encoding="utf-8") as handle:
            state = json.load(handle)
    except OSError as exc:
        raise _refused(path, exc.strerror or str(exc)) from exc
    except (ValueError, RecursionError) as exc:
        raise _refused(path, f"it is no JSON ({exc})") from exc
    if not isinstance(state, dict) or not isinstance(state.get("points"), list):
        raise _refused(path, "it has no list of points")
    if state.get("format") != _FORMAT:
        raise _refused(path, f"it is of format {plain(state.get('format'), 20)}, and this release reads {_FORMAT}")
    return state


def _refused(path: str, why: str) -> Failure:
    return Failure(
        "bad_request", f"The state '{path}' of a sweep cannot be read: {plain(why, 200)}; name the state.json of one."
    )


def points_of(state: t.Mapping[str, t.Any], directory: str) -> list[Point]:
    """The points of a sweep's state, in its order.

    :arg directory: where the relative paths of records start.
    """
    entries = [entry for entry in state.get("points") or [] if isinstance(entry, dict)]
    by_name = {str(entry.get("name")): entry for entry in reversed(entries)}
    points = [_point(entry, by_name, directory) for entry in entries]
    stopped = plain(mapping(state.get("stopped")).get("msg"))
    for point in points:
        if point.status == "not_run":
            ended = len(point.runs)
            part = f"Only {ended} of its repeats {'was' if ended == 1 else 'were'} run." if ended else ""
            point.msg = " ".join(text for text in (part, point.msg or stopped) if text)
    return points


def _point(entry: t.Mapping[str, t.Any], by_name: t.Mapping[str, t.Mapping[str, t.Any]], directory: str) -> Point:
    measured = _origin(entry, by_name)
    runs = [run for run in _list(measured.get("runs")) if isinstance(run, dict)]
    status = measured.get("status")
    overrides = mapping(entry.get("overrides"))
    argv = entry.get("argv")
    point = Point(
        name=str(entry.get("name")),
        kind=str(entry.get("kind") or "point"),
        status=status if status in STATUSES else "not_run",
        failure_class=_text(measured.get("failure_class")),
        msg=plain(measured.get("msg")),
        log_tail=[plain(line, 400) for line in _list(measured.get("log_tail"))[-_MOST_LOG:]],
        overrides={part: dict(mapping(overrides.get(part))) for part in ("speculative", "args", "environment")},
        parameters=dict(mapping(entry.get("parameters"))),
        argv=[str(word) for word in argv] if isinstance(argv, list) else None,
        same_as=None if measured is entry else str(measured.get("name")),
        runs=runs,
    )
    _read(point, directory)
    return point


def _origin(entry: t.Mapping[str, t.Any], by_name: t.Mapping[str, t.Mapping[str, t.Any]]) -> t.Mapping[str, t.Any]:
    """The entry that was run for *entry*; chains end somewhere even where they are a circle."""
    found, seen = entry, [entry]
    while found.get("same_as") and str(found["same_as"]) in by_name:
        found = by_name[str(found["same_as"])]
        if any(found is one for one in seen):
            return entry
        seen.append(found)
    return found


def _read(point: Point, directory: str) -> None:
    for run in point.runs:
        title = f"repeat {run.get('repeat')}"
        if run.get("status") != "measured":
            failed = _text(run.get("failure_class")) or "no cause told"
            point.problems.append(f"{title} failed ({failed}{_because(run.get('msg'))})")
        path = run.get("record_path")
        if not path:
            if run.get("status") == "measured":
                point.problems.append(f"{title} has no record")
            continue
        try:
            path = os.path.join(directory, str(path))
            point.records.append({**read_record(path, "benchmark"), "path": path})
        except Failure as failure:
            point.problems.append(f"{title}: {plain(failure.msg)}")
    if point.status == "measured" and not point.runs:
        point.problems.append("the state names no run of it")
    lost = [group for group in point.groups if not group.valid]
    if lost:
        why = sorted({reason for group in lost for reason in group.reasons})
        many = f"{len(lost)} of {len(point.groups)} cells have no valid run"
        point.problems.append(f"{many} ({', '.join(map(plain, why)) or 'no reason told'})")


def valid_alone(record: Record) -> dict[str, t.Any]:
    """*record* for an expression: its ``cells`` are the valid ones, since the others are no figures."""
    cells = record["cells"]
    kept = {key: value for key, value in record.items() if key != "cells"}
    kept["cells"] = [cell for cell in cells if cell["valid"]]
    kept["invalid_cells"] = [cell for cell in cells if not cell["valid"]]
    return kept


def worst(point: Point) -> dict[str, t.Any]:
    """The worst figures over the cells, of each cell the median of its valid runs; null where a cell has none."""
    found: dict[str, t.Any] = {}
    for rate in _RATES:
        found[rate] = _worst([[cell.get(rate) for cell in group.valid] for group in point.groups], min)
    for latency in _LATENCIES:
        found[latency] = {
            part: _worst([[mapping(cell.get(latency)).get(part) for cell in one.valid] for one in point.groups], max)
            for part in _PARTS
        }
    return found


def _worst(cells: t.Sequence[t.Sequence[t.Any]], pick: t.Callable[[t.Iterable[float]], float]) -> t.Optional[float]:
    known = all(runs and all(usable_number(number) for number in runs) for runs in cells)
    return pick(statistics.median(runs) for runs in cells) if cells and known else None


def _because(msg: t.Any) -> str:
    return f": {plain(msg, 200)}" if msg else ""


def _text(value: t.Any) -> t.Optional[str]:
    return plain(value, 100) or None if value is not None else None


def _list(value: t.Any) -> list[t.Any]:
    return value if isinstance(value, list) else []


def _count(value: t.Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_PROGRAMS
