# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""In what the two sides of a comparison differ, and whether that is what is being compared."""

from __future__ import annotations

import fnmatch
import json
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils import _compare_subject as subjects
from ansible_collections.llmops.sglang.plugins.module_utils._compare_records import Record
from ansible_collections.llmops.sglang.plugins.module_utils._compare_side import Side

_LONGEST = 200
_MOST_TOLD = 12


class Difference(t.NamedTuple):
    """One thing that is not the same everywhere.

    ``where``: ``sides`` for what differs between the two sides, else the side whose own records differ in it.
    ``allowed``: whether the comparison is about it.
    """

    name: str
    baseline: t.Any
    candidate: t.Any
    where: str
    allowed: bool

    def as_result(self) -> dict[str, t.Any]:
        return {**self._asdict(), "baseline": _cut(self.baseline), "candidate": _cut(self.candidate)}


def differences(baseline: Side, candidate: Side, allow: t.Sequence[str]) -> list[Difference]:
    """All differences, those that forbid the comparison first.

    :arg allow: names of what may differ between the sides; a name may hold a shell's wildcards. Within a side nothing may.
    """
    found = [*within(baseline), *within(candidate)]
    first, second = baseline.records[0], candidate.records[0]
    between = list(_between(first, second))
    if baseline.metric.basis and baseline.bases != candidate.bases:
        between.append((baseline.metric.basis, baseline.bases, candidate.bases))
    for name, one, other in between:
        allowed = any(fnmatch.fnmatchcase(name, pattern) for pattern in allow)
        if name == "cells":
            allowed = allowed and not subjects.cells_of(first).isdisjoint(subjects.cells_of(second))
        found.append(Difference(name, one, other, "sides", allowed))
    return sorted(_with_consequences(found, first, second), key=lambda d: (d.allowed, d.name))


def forbidden(found: t.Sequence[Difference]) -> list[Difference]:
    """The differences because of which the sides cannot be compared."""
    return [one for one in found if not one.allowed]


def in_words(found: t.Sequence[Difference]) -> list[str]:
    """The differences in words, the first of many."""
    told = []
    for one in found[:_MOST_TOLD]:
        shown = one.as_result()
        where = "" if one.where == "sides" else f" within the {one.where}"
        told.append(f"{one.name}{where}: {shown['baseline']} and {shown['candidate']}")
    return told + [f"and {len(found) - _MOST_TOLD} more"] * (len(found) > _MOST_TOLD)


def within(side: Side) -> t.Iterator[Difference]:
    """A side's records must be of one thing, since they count as its runs."""
    for record in side.records:
        for name in subjects.strangers(record):
            yield Difference(name, "changed while it was measured", record["path"], side.name, False)
    for record in side.records[1:]:
        for name, one, other in _between(side.records[0], record):
            yield Difference(name, one, other, side.name, False)


def _between(first: Record, second: Record) -> t.Iterator[tuple[str, t.Any, t.Any]]:
    cells = subjects.cells_of(first) & subjects.cells_of(second)
    about = [subjects.subject_of(record, cells) for record in (first, second)]
    skip = set(subjects.LAUNCH_FILES) if subjects.settings_told(first) and subjects.settings_told(second) else set()
    if subjects.UNKNOWN in (about[0]["environment"], about[1]["environment"]):
        skip.update(name for one in about for name in one if name.startswith("environment."))
    yield from _unequal(*about, skip)
    ours, theirs = subjects.arguments_of(first), subjects.arguments_of(second)
    lines = (subjects.command_line(first), subjects.command_line(second))
    if ours is not None and theirs is not None and subjects.arguments_from(first) == subjects.arguments_from(second):
        # The evidence has these as well.
        told = {name for name in about[0] if name in ours or name in theirs}
        yield from _unequal(ours, theirs, told)
    elif lines[0] is None or lines[0] != lines[1]:
        yield "arguments", _told(first), _told(second)


def _told(record: Record) -> str:
    source = subjects.arguments_from(record)
    return f"told by the {source.replace('_', ' ')}" if source else subjects.UNKNOWN


def _unequal(
    ours: t.Mapping[str, t.Any], theirs: t.Mapping[str, t.Any], skip: t.Set[str]
) -> t.Iterator[tuple[str, t.Any, t.Any]]:
    for name in sorted({*ours, *theirs} - skip):
        if ours.get(name) != theirs.get(name):
            yield name, ours.get(name), theirs.get(name)


def _with_consequences(found: t.Sequence[Difference], first: Record, second: Record) -> t.Iterator[Difference]:
    """Let another release differ in what any other release differs in, where the release is what is compared."""
    names = {one.name: one for one in found if one.where == "sides"}
    release = names.get("sglang_version")
    model = names.get("model_path")
    for one in found:
        follows = one.where == "sides" and (
            (release and (one.name == "sglang_files" or _of_one_release(one.name, first, second)) and release.allowed)
            or (model and one.name == "model_files" and model.allowed)
        )
        yield one._replace(allowed=True) if follows else one


def _of_one_release(name: str, first: Record, second: Record) -> bool:
    """Whether an argument is there in one of the two releases alone; a server tells all that its release has."""
    if {subjects.arguments_from(first), subjects.arguments_from(second)} != {"server"}:
        return False
    return (name in (subjects.arguments_of(first) or {})) != (name in (subjects.arguments_of(second) or {}))


def _cut(value: t.Any) -> t.Any:
    text = value if isinstance(value, str) else json.dumps(value)
    if len(text) <= _LONGEST:
        return value
    return text[:_LONGEST] + "…"
