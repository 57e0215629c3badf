# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Picks the winner of a sweep: the best objective among the points that may win, and why each of the others may not."""

from __future__ import annotations

import difflib
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._compare_records import mapping
from ansible_collections.llmops.sglang.plugins.module_utils._compare_verdict import IMPROVED
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_text import plain
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_expressions import Expression, unmet
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_gate import Comparison
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_objective import Objective, throughput
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_points import (
    DFLASH,
    LINEAR,
    Point,
    valid_alone,
    worst,
)

_KINDS = {DFLASH: "plain DFLASH", LINEAR: "the one without speculation"}
_MOST_NAMES = 5
# Of evidence that must be alike for points to be ranked together.
_COMMON = {"sglang_version": "releases of SGLang", "model_path": "models", "host": "hosts", "kernel": "kernels"}
Compare = t.Callable[[Point, Point], Comparison]


@dataclass
class Judged:
    """A point with all that is known of it. ``against`` has the comparison with each baseline, by its kind."""

    point: Point
    objective: t.Optional[float] = None
    against: dict[str, Comparison] = field(default_factory=dict)
    gate: Comparison = field(default_factory=Comparison)
    unmet: list[str] = field(default_factory=list)
    why_not: str = ""

    @property
    def eligible(self) -> bool:
        return not self.why_not


@dataclass
class Decision:
    judged: list[Judged]
    baseline: t.Optional[Point]
    winner: t.Optional[Judged]
    reason: str
    caveats: list[str]


def decide(
    points: t.Sequence[Point],
    objective: Objective,
    constraints: t.Sequence[Expression],
    compare: Compare,
    wanted: t.Optional[str] = None,
) -> Decision:
    """The winner of *points*, by nothing that depends on their order.

    :arg wanted: name of the point that must be beaten; None for the best baseline that there is.
    :raises Failure: ``bad_request`` where there is no point of that name.
    """
    known = {kind: point for kind in (DFLASH, LINEAR) for point in points if point.kind == kind and _usable(point)}
    baseline, caveats = _baseline(points, known, wanted)
    asked = {LINEAR: known.get(LINEAR), DFLASH: known.get(DFLASH), "baseline": baseline} if constraints else {}
    sides = {name: _document(point, objective) if point else None for name, point in asked.items()}
    judged = []
    for point in points:
        one = Judged(point)
        judged.append(one)
        one.objective, lacks = objective.of(point) if point.records else (None, "")
        one.against = {kind: _held(compare, other, point) for kind, other in known.items()}
        if baseline is not None:
            one.gate = next((one.against[k] for k, p in known.items() if p is baseline), None) or _held(
                compare, baseline, point
            )
        own = point.status == "measured" and point.records and point.kind not in _KINDS and not _is(point, baseline)
        if constraints and own:
            one.unmet = unmet(constraints, {**_document(point, objective), **sides, "point": _names(point)})
        one.why_not = _why_not(one, baseline, lacks)
    able = sorted((one for one in judged if one.eligible), key=lambda one: _order(one, objective))
    winner = able[0] if able else None
    reason = _won(winner, judged, baseline, objective) if winner else _nobody(judged, baseline, objective)
    return Decision(judged, baseline, winner, reason, caveats + _caveats(judged, winner, objective))


def _baseline(
    points: t.Sequence[Point], known: t.Mapping[str, Point], wanted: t.Optional[str]
) -> tuple[t.Optional[Point], list[str]]:
    if wanted:
        found = next((point for point in points if point.name == wanted), None)
        if found is None:
            near = difflib.get_close_matches(wanted, [point.name for point in points], 3, 0)
            raise Failure(
                "bad_request",
                f"The sweep has no point '{plain(wanted, 100)}' that could be the baseline; the nearest are {', '.join(near) or 'none'}.",
            )
        return (found, []) if _usable(found) else (None, [f"The baseline '{wanted}' cannot be used: {_became(found)}."])
    caveats = []
    for kind in (DFLASH, LINEAR):
        if kind in known:
            return known[kind], caveats
        there = [point for point in points if point.kind == kind]
        caveats += [f"The baseline '{point.name}' cannot be used: {_became(point)}." for point in there]
    return None, caveats


def _usable(point: Point) -> bool:
    return point.status == "measured" and throughput(point)[0] is not None


def _document(point: Point, objective: Objective) -> dict[str, t.Any]:
    figures = {"worst": worst(point), "coding": point.coding, "objective": objective.of(point)[0]}
    return {"record": valid_alone(point.pooled), **figures}


def _names(point: Point) -> dict[str, t.Any]:
    return {"name": point.name, "parameters": point.parameters, "overrides": point.overrides}


def _held(compare: Compare, baseline: Point, point: Point) -> Comparison:
    return Comparison() if not point.records or _is(point, baseline) else compare(baseline, point)


def _is(point: Point, other: t.Optional[Point]) -> bool:
    """Whether both are one and the same measurement."""
    return other is not None and (point.same_as or point.name) == (other.same_as or other.name)


def _why_not(one: Judged, baseline: t.Optional[Point], lacks: str) -> str:
    point = one.point
    if point.status != "measured":
        return _became(point)
    if point.kind in _KINDS or _is(point, baseline):
        return "it is a baseline itself"
    if point.same_as:
        return f"its command line is that of '{point.same_as}', whose figures these are"
    if point.problems or lacks or not point.records:
        return "; ".join(point.problems) or lacks or "it has no record that can be used"
    if one.unmet:
        return f"constraint not met: {'; '.join(one.unmet)}"
    if baseline is None:
        return "there is no baseline to beat"
    if one.gate.verdict != IMPROVED:
        return f"not better than '{baseline.name}' by the gate ({one.gate.verdict or 'not compared'}: {one.gate.why})"
    return ""


def _became(point: Point) -> str:
    if point.status == "measured":
        return "; ".join(point.problems) or "none of its cells has a throughput"
    if point.status == "not_run":
        return f"it was not {'' if not point.runs else 'wholly '}run{_after(point.msg)}"
    return f"{point.status} ({point.failure_class or 'no class told'}){_after(point.msg)}"


def _after(msg: str) -> str:
    return f": {msg.rstrip('.')}" if msg else ""


def _order(one: Judged, objective: Objective) -> tuple[float, str, str]:
    rank = float("inf") if one.objective is None else objective.rank(one.objective)
    return rank, one.point.name, str(one.point.argv)


def _won(winner: Judged, judged: t.Sequence[Judged], baseline: t.Optional[Point], objective: Objective) -> str:
    name = baseline.name if baseline else ""
    above = [
        one
        for one in judged
        if one.objective is not None
        and objective.better(one.objective, winner.objective)
        and not _is(one.point, baseline)
    ]
    passed_over = [one for one in above if not one.point.same_as and one.point.kind not in _KINDS]
    reason = (
        f"'{winner.point.name}' won: the best objective ({winner.objective:.4g}) of the points that may win, and improved over "
        f"'{name}' by the gate (speedup {_figure(winner.gate.speedup)}, p = {_figure(winner.gate.p_value)})"
    )
    if passed_over:
        best = min(passed_over, key=lambda one: _order(one, objective))
        reason += f"; '{best.point.name}' has a better one ({best.objective:.4g}) and may not win: {best.why_not}"
    return f"{plain(reason)}."


def _nobody(judged: t.Sequence[Judged], baseline: t.Optional[Point], objective: Objective) -> str:
    own = [
        one for one in judged if not one.point.same_as and one.point.kind not in _KINDS and not _is(one.point, baseline)
    ]
    measured = [one for one in own if one.point.status == "measured"]
    if not measured:
        return "There is no winner, because no point beside the baselines was measured."
    if baseline is None:
        return "There is no winner, because no baseline was measured that a point could have beaten."
    best = min(measured, key=lambda one: _order(one, objective))
    figure = "has no objective" if best.objective is None else f"has the best objective ({best.objective:.4g})"
    others = f", and none of the {len(own) - 1} others may either" if len(own) > 1 else ""
    return plain(f"There is no winner: '{best.point.name}' {figure} and may not win: {best.why_not}{others}") + "."


def _caveats(judged: t.Sequence[Judged], winner: t.Optional[Judged], objective: Objective) -> list[str]:
    measured = [one for one in judged if one.point.records and not one.point.same_as]
    found = []
    for key, title in _COMMON.items():
        values: dict[str, list[str]] = {}
        for one in measured:
            for record in one.point.records:
                names = values.setdefault(plain(record["evidence_before"].get(key), 100) or "unknown", [])
                names += [one.point.name] if one.point.name not in names else []
        if len(values) > 1:
            told = "; ".join(f"{value} ({_some(names)})" for value, names in values.items())
            found.append(
                plain(f"The points were measured with several {title}, which makes their figures differ: {told}.")
            )
    unproven = [one.point.name for one in measured if not all(record["proven"] for record in one.point.records)]
    if unproven:
        found.append(f"Records are not bound to one invocation (unproven): {_some(unproven)}.")
    for one in measured:
        found += [
            plain(f"'{one.point.name}': {problem}.") for problem in one.point.problems if one.point.status == "measured"
        ]
    for one in measured:
        ahead = one.point.kind == LINEAR and winner is not None and one.objective is not None
        if ahead and objective.better(one.objective, winner.objective):
            found.append("The server without speculation has a better objective than the winner.")
    return found


def _some(names: t.Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def _figure(number: t.Optional[float]) -> str:
    return "unknown" if number is None else f"{number:.3f}"


def coding_of(point: Point) -> str:
    """How many programs passed, for people."""
    coding = mapping(point.coding)
    return f"{coding['passed']}/{coding['total']}" if coding else "-"
