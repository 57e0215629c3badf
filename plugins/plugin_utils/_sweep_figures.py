# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Which plots a sweep gives, with what they show; and for each that cannot be drawn, why."""

from __future__ import annotations

import json
import math
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._compare_figures import geometric_mean
from ansible_collections.llmops.sglang.plugins.module_utils._compare_records import usable_number
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_canvas import Figure
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_text import plain
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_decision import Decision, Judged
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_maps import Bars, HeatMap, Place
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_objective import Objective, throughput
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_points import DFLASH, LINEAR, Point
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_scatter import Mark, Scatter, pareto

_KEPT = frozenset(("kept",))
FIGURE_NAMES = ("points", "pareto", "acceptance")
_LONGEST_NAME = 28
_LONGEST_VALUE = 12
_LONGEST_UNIT = 56
_LONGEST_LABEL = 40
_MOST_PARAMETERS = 4
_MOST_BARS = 60
_MOST_VALUES = 24
_DRAWN = 1e12
_KINDS = {DFLASH: "dflash", LINEAR: "linear"}
_NUMBERS = "The numbers are those of the table."


def figures(decision: Decision, objective: Objective) -> list[Figure]:
    """All figures of a report in their order."""
    return [_points(decision, objective), _pareto(decision), _acceptance(decision)]


def varied(points: t.Sequence[Point]) -> list[str]:
    """The parameters that are not the same in all points of the sweep's own, by name."""
    own = [point for point in points if point.kind not in _KINDS]
    names = dict.fromkeys(name for point in own for name in point.parameters)
    return [name for name in names if len({_key(value_of(point, name)) for point in own}) > 1]


def value_of(point: Point, name: t.Any) -> t.Any:
    """What a point sets a parameter to, or that it leaves it as it is; null takes it out."""
    return point.parameters.get(name, _KEPT)


def value_name(value: t.Any) -> str:
    """A parameter's value on an axis."""
    text = (
        "unset"
        if value is None
        else "as it is"
        if value is _KEPT
        else value
        if isinstance(value, str)
        else json.dumps(value, default=str)
    )
    return plain(text, _LONGEST_VALUE)


def _points(decision: Decision, objective: Objective) -> Figure:
    name, title = "points", "Objective of all points"
    known = [one for one in decision.judged if _drawable(one.objective)]
    if not known:
        return Figure(name, title, None, "No point has an objective, so there is nothing to draw.")
    axes = varied([one.point for one in decision.judged])
    if len(axes) == 2:
        found = _heat_map(decision, objective, axes)
        if found:
            return found
    return _bars(decision, objective, axes[0] if len(axes) == 1 else None)


def _heat_map(decision: Decision, objective: Objective, names: t.Sequence[str]) -> t.Optional[Figure]:
    own = [one for one in decision.judged if one.point.kind not in _KINDS]
    values = {name: _values(own, name) for name in names}
    if max(len(found) for found in values.values()) > _MOST_VALUES:
        return None
    across, up = sorted(names, key=lambda name: -len(values[name]))
    places: dict[tuple[int, int], Place] = {}
    for one in sorted(own, key=lambda one: one.point.same_as is not None, reverse=True):
        keys = [_key(value_of(one.point, name)) for name in (across, up)]
        at = tuple(list(values[name]).index(key) for name, key in zip((across, up), keys))
        # The same point under two names: that which was run is the later one.
        places[at] = _place(one, decision, "\n")
    if all(place.value is None for place in places.values()):
        return None
    titles = [[value_name(value) for value in values[name].values()] for name in (across, up)]
    title = f"Objective by {plain(across, _LONGEST_NAME)} and {plain(up, _LONGEST_NAME)}"
    axes = [plain(across, _LONGEST_LABEL), plain(up, _LONGEST_NAME)]
    plot = HeatMap("points", title, *axes, *titles, places, _unit(objective), objective.highest)
    told = ["Brighter is better; the winner is framed.", "Hatched places have no figure."]
    told += ["Empty places are not in the sweep."] if _gaps(values, places) else []
    beside = [one for one in decision.judged if one.point.kind in _KINDS and _drawable(one.objective)]
    told += [f"Baselines: {', '.join(f'{one.point.name} {one.objective:.4g}' for one in beside)}."] if beside else []
    return Figure("points", title, plot, plain(" ".join([*told, _star(decision)])))


def _gaps(values: t.Mapping[str, t.Any], places: t.Mapping[t.Any, t.Any]) -> bool:
    return len(places) < math.prod(len(found) for found in values.values())


def _values(judged: t.Sequence[Judged], name: str) -> dict[str, t.Any]:
    """The values of a parameter in order: unset, numbers, texts."""
    found = {_key(value_of(one.point, name)): value_of(one.point, name) for one in judged}
    return dict(sorted(found.items(), key=lambda item: _value_order(item[1])))


def _value_order(value: t.Any) -> tuple[int, float, str]:
    if value is None or value is _KEPT:
        return 0, float(value is None), ""
    if isinstance(value, (int, float)):
        return 1, float(value) if abs(value) < _DRAWN else math.copysign(_DRAWN, value), ""
    return 2, 0.0, _key(value)


def _bars(decision: Decision, objective: Objective, parameter: t.Optional[str]) -> Figure:
    def by_value(one: Judged) -> t.Any:
        return one.point.kind in _KINDS, _value_order(value_of(one.point, parameter))

    def by_rank(one: Judged) -> t.Any:
        known = _drawable(one.objective)
        return not known, objective.rank(one.objective) if known else 0

    own = [one for one in decision.judged if not one.point.same_as]
    shown = sorted(own, key=by_value if parameter else by_rank)[:_MOST_BARS]
    numbers = {id(one): place for place, one in enumerate(decision.judged, 1)}
    by = [parameter] if parameter else _told_apart_by(own)
    names = [
        ", ".join(value_name(value_of(one.point, name)) for name in by)
        if by and one.point.kind not in _KINDS
        else f"{numbers[id(one)]}: {plain(one.point.name, _LONGEST_NAME)}"
        for one in shown
    ]
    title = f"Objective by {plain(parameter, _LONGEST_NAME)}" if parameter else "Objective of all points"
    places = [_place(one, decision, " ") for one in shown]
    plot = Bars("points", title, _unit(objective), plain(", ".join(by), _LONGEST_LABEL), names, places)
    note = f"The winner is filled, baselines are hatched. {_NUMBERS} {_star(decision)}"
    left = len(own) - len(shown)
    return Figure("points", title, plot, note + (f" {left} more are in the table." if left else ""))


def _told_apart_by(judged: t.Sequence[Judged]) -> list[str]:
    """The parameters that say more than the names do, which are alike where they are cut; none where the names do."""
    names = [plain(one.point.name, _LONGEST_NAME) for one in judged]
    varying = varied([one.point for one in judged])
    return varying if len(set(names)) < len(names) and len(varying) <= _MOST_PARAMETERS else []


def _place(one: Judged, decision: Decision, between: str) -> Place:
    kind = "winner" if one is decision.winner else "baseline" if one.point.kind in _KINDS else "point"
    if _drawable(one.objective):
        return Place(one.objective, "*" if _flawed(one) else "", kind)
    point = one.point
    words = {"not_run": f"not{between}run", "rejected": "rejected", "failed": point.failure_class or "failed"}
    text = words.get(point.status, f"no{between}figure")
    return Place(
        None, plain(text, 40).replace("_", between) if between == "\n" and text == point.failure_class else text, kind
    )


def _flawed(one: Judged) -> bool:
    return bool(one.unmet or one.point.problems)


def _star(decision: Decision) -> str:
    starred = any(_drawable(one.objective) and _flawed(one) for one in decision.judged)
    return "* does not hold a constraint, or is not whole." if starred else ""


def _unit(objective: Objective) -> str:
    return plain(objective.name, _LONGEST_UNIT)


def _pareto(decision: Decision) -> Figure:
    name, title = "pareto", "Throughput of a user and of all"
    contexts = {group.context for one in decision.judged for group in one.point.groups}
    marks, numbers = [], {}
    for number, one in _run(decision):
        for streams, rate in _by_streams(one.point, contexts).items():
            mark = Mark(rate / streams, rate, str(number), _kind(one, decision))
            marks.append(mark)
            numbers[mark] = (number, one.point.name, streams)
    if not marks:
        return Figure(name, title, None, "No point has a valid cell with a known number of streams in all contexts.")
    front = pareto(marks)
    shown = [mark if mark in front else Mark(mark.x, mark.y, "", mark.kind) for mark in marks]
    best = dict.fromkeys(f"{numbers[mark][0]} {plain(numbers[mark][1], 80)}" for mark in front)
    over = "Geometric means over the contexts. " if len(contexts) > 1 else ""
    note = (
        f"One mark for each point and concurrency. {over}No mark beats those of the front in both: {', '.join(best)}."
    )
    axes = ("output tokens/s of one user", "output tokens/s of all users")
    return Figure(name, title, Scatter(name, title, *axes, shown, front=True, from_zero=True), plain(note))


def _by_streams(point: Point, contexts: t.Collection[t.Any]) -> dict[int, float]:
    """The throughput by concurrency, over all contexts; none where one of them has no valid cell."""
    rates: dict[int, dict[t.Any, float]] = {}
    for group in point.groups:
        median = group.median("output_tokens_per_second")
        if group.concurrency and usable_number(median) and median < _DRAWN:
            rates.setdefault(group.concurrency, {})[group.context] = median
    return {s: geometric_mean(list(found.values())) for s, found in rates.items() if set(found) == set(contexts)}


def _acceptance(decision: Decision) -> Figure:
    name, title = "acceptance", "Acceptance length and throughput"
    marks, silent = [], []
    for number, one in _run(decision):
        length, rate = acceptance_of(one.point), throughput(one.point)[0]
        if _drawable(rate) and _drawable(length):
            marks.append(Mark(length, rate, str(number), _kind(one, decision)))
        elif rate is not None:
            silent.append(one.point.name)
    if not marks:
        return Figure(
            name, title, None, "No point has a known acceptance length: nothing is drafted, or nobody tells it."
        )
    note = f"Geometric means over the cells; the length with the bonus token. {_NUMBERS}"
    note += f" Without a known acceptance length: {', '.join(silent)}." if silent else ""
    axes = ("accepted tokens a verify step", "output tokens/s")
    return Figure(name, title, Scatter(name, title, *axes, marks), plain(note))


def acceptance_of(point: Point) -> t.Optional[float]:
    """Geometric mean of the acceptance length over the cells; None where a valid cell has none."""
    medians = [group.median("acceptance_length") for group in point.groups if group.valid]
    return geometric_mean(medians) if medians and all(usable_number(median) for median in medians) else None


def _run(decision: Decision) -> t.Iterator[tuple[int, Judged]]:
    """The points that were run themselves, with their numbers in the table."""
    return (
        (number, one) for number, one in enumerate(decision.judged, 1) if one.point.records and not one.point.same_as
    )


def _kind(one: Judged, decision: Decision) -> str:
    return "winner" if one is decision.winner else _KINDS.get(one.point.kind, "point")


def _drawable(number: t.Optional[float]) -> bool:
    return number is not None and abs(number) < _DRAWN


def _key(value: t.Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
