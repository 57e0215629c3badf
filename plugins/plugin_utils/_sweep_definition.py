# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What a sweep tries: named points and the combinations of a grid, without those that are excluded."""

from __future__ import annotations

import difflib
import hashlib
import itertools
import json
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure

PARTS = ("speculative", "args", "environment")
POINT, GRID = "point", "grid"
# Part and name of what is set.
Parameter = tuple[str, str]
Point = dict[str, t.Any]

_MOST_POINTS = 500
_LONGEST_NAME = 100


def expand(
    named: t.Sequence[t.Mapping[str, t.Any]],
    grid: t.Mapping[str, t.Any],
    exclude: t.Sequence[t.Mapping[str, t.Any]],
    reserved: t.Sequence[str] = (),
) -> tuple[list[Point], list[str]]:
    """The points in the order in which they are given, those of the grid last, and remarks about exclusions without effect.

    A point has ``name``, ``kind``, ``overrides`` by part and ``parameters``, the same by the shortest names that are plain.

    :arg grid: lists of values by parameter; null among them leaves the parameter out.
    :arg exclude: what excludes a point, all of the values in one entry together.
    :arg reserved: names that no point may have.
    :raises Failure: ``bad_request`` for what is no definition.
    """
    axes = _axes(grid)
    points = [_named(entry) for entry in named]
    _refuse_repeated([point["name"] for point in points], reserved)
    swept = {parameter for point in points for parameter in _set_by(point)} | set(axes)
    short = _short_names(swept)
    points += _combined(axes, short, {*(point["name"] for point in points), *reserved})
    for point in points:
        point["parameters"] = {short[parameter]: _value(point, parameter) for parameter in _set_by(point)}
    rules = [_rule(entry) for entry in exclude]
    kept = [point for point in points if not any(_excluded(point, rule) for rule in rules)]
    idle = [json.dumps(entry) for entry, rule in zip(exclude, rules) if not any(_excluded(p, rule) for p in points)]
    return kept, [f"The exclusion {text} fits no point." for text in idle]


def parameter_of(word: str) -> Parameter:
    """``args.tp_size`` is one of *args*; a word without a part is one of *speculative*."""
    part, dot, name = str(word).partition(".")
    if dot and part in PARTS and name:
        return part, name
    if dot or not part:
        raise _refused(f"'{word}' is no parameter: write 'speculative.NAME', 'args.NAME' or 'environment.NAME'")
    return PARTS[0], part


def text_of(value: t.Any) -> str:
    """A value as it stands in a name."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return json.dumps(value, separators=(",", ":"), sort_keys=True, default=str)
    return str(value)


def _parameters(mapping: t.Mapping[str, t.Any]) -> dict[Parameter, t.Any]:
    """Parameters with what is said of each, whether they are grouped by part or written with it."""
    found = {}
    for word, said in mapping.items():
        if word in PARTS:
            if not isinstance(said, t.Mapping):
                raise _refused(f"'{word}' must be a mapping of its parameters")
            found.update({(word, str(name)): value for name, value in said.items()})
        else:
            found[parameter_of(word)] = said
    return found


def _axes(grid: t.Mapping[str, t.Any]) -> dict[Parameter, list[t.Any]]:
    axes = {}
    for parameter, values in _parameters(grid).items():
        if not isinstance(values, list) or not values:
            raise _refused(f"'{'.'.join(parameter)}' of the grid must be a list of values, such as [null, 2048]")
        axes[parameter] = list({text_of(value): value for value in reversed(values)}.values())[::-1]
    many = 1
    for values in axes.values():
        many *= len(values)
    if many > _MOST_POINTS:
        raise _refused(f"the grid has {many} combinations, and at most {_MOST_POINTS} are run: take values out")
    return axes


def _named(entry: t.Any) -> Point:
    if not isinstance(entry, t.Mapping) or not str(entry.get("name") or "").strip():
        raise _refused(f"the point {text_of(entry)[:100]} has no name")
    name = str(entry["name"])
    if len(name) > _LONGEST_NAME or not name.isprintable():
        raise _refused(f"the name '{name[:40]}' of a point is longer than {_LONGEST_NAME} characters or not printable")
    for key in entry:
        if key not in (*PARTS, "name"):
            near = (difflib.get_close_matches(str(key), PARTS, 1) or [", ".join(PARTS)])[0]
            raise _refused(f"the point '{name}' has '{key}', which is none of its parts; the nearest is {near}")
        if key in PARTS and entry[key] is not None and not isinstance(entry[key], t.Mapping):
            raise _refused(f"'{key}' of the point '{name}' must be a mapping")
    return {"name": name, "kind": POINT, "overrides": {part: dict(entry.get(part) or {}) for part in PARTS}}


def _combined(
    axes: t.Mapping[Parameter, list[t.Any]], short: t.Mapping[Parameter, str], taken: set[str]
) -> list[Point]:
    points = []
    for values in itertools.product(*axes.values()) if axes else ():
        overrides: dict[str, dict[str, t.Any]] = {part: {} for part in PARTS}
        for (part, name), value in zip(axes, values):
            overrides[part][name] = value
        name = ",".join(f"{short[parameter]}={text_of(value)}" for parameter, value in zip(axes, values))
        points.append({"name": _free(name, taken), "kind": GRID, "overrides": overrides})
        taken.add(points[-1]["name"])
    return points


def _free(name: str, taken: t.Collection[str]) -> str:
    """*name*, short enough and of its own."""
    name = "".join(character if character.isprintable() else "?" for character in name)
    if len(name) > _LONGEST_NAME or name in taken:
        digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:8]
        name = f"{name[: _LONGEST_NAME - 9]}~{digest}"
    return next(one for one in (name, *(f"{name}{number}" for number in range(2, _MOST_POINTS))) if one not in taken)


def _refuse_repeated(names: t.Sequence[str], reserved: t.Sequence[str]) -> None:
    again = [name for number, name in enumerate(names) if name in names[:number] or name in reserved]
    if again:
        raise _refused(f"the name '{again[0]}' is taken: give each point its own")


def _short_names(parameters: t.Iterable[Parameter]) -> dict[Parameter, str]:
    every = sorted(parameters)
    names = [name for dummy, name in every]
    return {(part, name): name if names.count(name) == 1 else f"{part}.{name}" for part, name in every}


def _set_by(point: Point) -> list[Parameter]:
    return [(part, name) for part in PARTS for name in point["overrides"][part]]


def _value(point: Point, parameter: Parameter) -> t.Any:
    return point["overrides"][parameter[0]][parameter[1]]


def _rule(entry: t.Any) -> dict[t.Any, list[str]]:
    """The texts of which one must be the value, by parameter; of the point's name under ``name``."""
    if not isinstance(entry, t.Mapping) or not entry:
        raise _refused(f"the exclusion {text_of(entry)[:100]} is no mapping of parameters to values")
    rest = {key: value for key, value in entry.items() if key != "name"}
    asked: dict[t.Any, t.Any] = {**_parameters(rest), **({"name": entry["name"]} if "name" in entry else {})}
    return {key: [text_of(one) for one in (v if isinstance(v, list) else [v])] for key, v in asked.items()}


def _excluded(point: Point, rule: t.Mapping[t.Any, list[str]]) -> bool:
    for key, texts in rule.items():
        if key == "name":
            if point["name"] not in texts:
                return False
        elif key not in _set_by(point) or text_of(_value(point, key)) not in texts:
            return False
    return True


def _refused(why: str) -> Failure:
    return Failure("bad_request", f"The sweep cannot be planned: {why}.")
