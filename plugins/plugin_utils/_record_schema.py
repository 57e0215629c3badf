# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Reads records and holds them against the JSON Schemas that ship with the collection."""

from __future__ import annotations

import glob
import itertools
import json
import math
import os
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.plugin_utils._json_schema import problems

KINDS = ("benchmark", "coding")
_SCHEMAS = os.path.join(os.path.dirname(__file__), "record_schemas")
_LARGEST_RECORD = 256 * 1024 * 1024
_MOST_TOLD = 3
_LONGEST_NUMBER = 300


def schema(kind: str) -> dict[str, t.Any]:
    """The schema of a *kind* of record, version 1."""
    with open(os.path.join(_SCHEMAS, f"{kind}_record.v1.json"), encoding="utf-8") as handle:
        return json.load(handle)


def read_record(path: str, kind: str) -> dict[str, t.Any]:
    """The record in *path*.

    :raises Failure: ``bad_request`` where it cannot be read, is no JSON, or does not hold against the schema of its *kind*.
    """
    try:
        if os.path.getsize(path) > _LARGEST_RECORD:
            raise _refused(path, f"it has more than {_LARGEST_RECORD // 1024**2} MB")
        with open(path, encoding="utf-8") as handle:
            # A record tells nothing by a number that JSON does not have.
            record = json.load(handle, parse_constant=_no_number, parse_float=_finite, parse_int=_whole)
    except OSError as exc:
        raise _refused(path, f"it cannot be read ({exc.strerror or exc})") from exc
    except (ValueError, RecursionError) as exc:
        raise _refused(path, f"it is no JSON ({exc})") from exc
    found = list(itertools.islice(problems(record, schema(kind)), _MOST_TOLD))
    if found:
        raise _refused(path, "; ".join(found))
    return record


def matching(patterns: t.Iterable[str]) -> list[str]:
    """The files that *patterns* name, which may have a shell's wildcards, once each."""
    found: list[str] = []
    for pattern in patterns:
        there = (
            [pattern] if os.path.exists(pattern) else sorted(one for one in glob.glob(pattern) if one.endswith(".json"))
        )
        found += [path for path in there if path not in found]
    return found


def _finite(word: str) -> float:
    number = float(word)
    return number if math.isfinite(number) else _no_number(word)


def _whole(word: str) -> int:
    # What no floating point number holds cannot be counted with.
    return int(word) if len(word) <= _LONGEST_NUMBER else _no_number(f"{word[:20]}...")


def _no_number(word: str) -> t.NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _refused(path: str, why: str) -> Failure:
    return Failure(
        "bad_request",
        f"The record '{path}' does not hold against its schema: {why}; nothing was made of it, so name a whole record or measure again.",
    )
