# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The records of the two sides of a comparison: found, read, and checked as far as a comparison reads them."""

from __future__ import annotations

import glob
import json
import os
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._benchmark_record import SCHEMA_VERSION
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure

# Of each part that is read: where it lies and which types it may have.
_WHOLE = (("run_id", (str,)), ("options", (dict,)), ("evidence_before", (dict,)), ("cells", (list,)))
_CELL = (
    ("cell_id", (str,)),
    ("context", (int, type(None))),
    ("concurrency", (int, type(None))),
    ("run", (int,)),
    ("valid", (bool,)),
    ("reasons", (list,)),
)
_WILDCARDS = frozenset("*?[")
_LEAST, _LARGEST = 1e-15, 1e15
Record = t.Dict[str, t.Any]


def read_sides(baseline: t.Sequence[str], candidate: t.Sequence[str]) -> tuple[list[Record], list[Record]]:
    """The records of both sides; each has its ``path`` added.

    :arg baseline: paths, which may hold a shell's wildcards; *candidate* likewise.
    :raises Failure: ``bad_request`` for what is no record, and for a measurement that would count twice.
    """
    sides = (_read_side(baseline, "baseline"), _read_side(candidate, "candidate"))
    _check_once([*sides[0], *sides[1]])
    return sides


def read_baseline(paths: t.Sequence[str]) -> list[Record]:
    """The records of a baseline alone, likewise."""
    found = _read_side(paths, "baseline")
    _check_once(found)
    return found


def _check_once(records: t.Sequence[Record]) -> None:
    seen: dict[str, str] = {}
    for record in records:
        for cell in record["cells"]:
            if cell["cell_id"] in seen:
                raise _refused(
                    f"The records '{seen[cell['cell_id']]}' and '{record['path']}' hold the same measurement, which would count twice",
                    "name each measurement once, and on one side",
                )
            seen[cell["cell_id"]] = record["path"]


def _read_side(paths: t.Sequence[str], name: str) -> list[Record]:
    found: list[str] = []
    for path in paths:
        matching = [path]
        if _WILDCARDS & set(path) and not os.path.exists(path):
            matching = sorted(one for one in glob.glob(path) if one.endswith(".json"))
        found += [one for one in matching if one not in found]
        if not matching:
            raise _refused(f"No record matches the {name} '{path}'", "measure it first, or correct the path")
    if not found:
        raise _refused(f"The {name} names no record", "give it the path of one")
    return [_read(path) for path in found]


def _read(path: str) -> Record:
    try:
        with open(path, encoding="utf-8") as handle:
            record = json.load(handle)
    except (OSError, ValueError, RecursionError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else f"it is no JSON ({exc})"
        raise _refused(f"The record '{path}' cannot be read: {reason}", "name a record of benchmark_matrix") from exc
    _check(path, record)
    return {**record, "path": path}


def _check(path: str, record: t.Any) -> None:
    remedy = "name the .json file of a record of benchmark_matrix"
    if not isinstance(record, dict) or "schema_version" not in record:
        raise _refused(f"The file '{path}' is no record of a benchmark", remedy)
    if record["schema_version"] != SCHEMA_VERSION:
        raise _refused(
            f"The record '{path}' is of schema version {record['schema_version']}, and this release reads {SCHEMA_VERSION}",
            "compare it with the release of this collection that wrote it",
        )
    for key, types in _WHOLE:
        if not _is(record.get(key), types):
            raise _refused(f"The record '{path}' has no usable '{key}'", remedy)
    if not record["cells"]:
        raise _refused(f"The record '{path}' has no cell", "measure again")
    for cell in record["cells"]:
        bad = [key for key, types in _CELL if key not in mapping(cell) or not _is(cell[key], types)]
        if bad:
            raise _refused(f"A cell of the record '{path}' has no usable '{bad[0]}'", remedy)


def _is(value: t.Any, types: tuple[t.Any, ...]) -> bool:
    # A boolean is an int to Python.
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))


def _refused(what: str, remedy: str) -> Failure:
    return Failure("bad_request", f"{what}: {remedy}.")


def usable_number(value: t.Any) -> bool:
    """Whether *value* is a figure that can be compared: a number above 0 that some server might reach."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and _LEAST < value < _LARGEST


def mapping(value: t.Any) -> t.Mapping[str, t.Any]:
    """*value* where it is a mapping; else an empty one."""
    return value if isinstance(value, dict) else {}
