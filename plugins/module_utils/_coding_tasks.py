# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The shape that every coding task has, and how those of users are read."""

from __future__ import annotations

import difflib
import keyword
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._case_runner import encode
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure

# How a returned value is compared: by type and value, or with 1 like 1.0 and (1, 2) like [1, 2]; True is never 1.
COMPARISONS = ("exact", "loose")
_KEYS = ("name", "prompt", "entry_point", "cases", "timeout", "compare")


@dataclass(frozen=True)
class Case:
    """One call and what it must return."""

    args: t.Sequence[t.Any] = ()
    kwargs: t.Mapping[str, t.Any] = field(default_factory=dict)
    expected: t.Any = None


@dataclass(frozen=True)
class CodingTask:
    """A function to be written, with the calls that decide whether it is right."""

    name: str
    prompt: str
    entry_point: str
    cases: t.Sequence[Case]
    timeout: t.Optional[float] = None
    compare: str = "exact"


def select(tasks: t.Sequence[CodingTask], names: t.Optional[t.Sequence[str]]) -> list[CodingTask]:
    """Those of *tasks* that are named, in the order of *names*; all of them where there are no names.

    :raises Failure: ``bad_request`` where there is no task of a name.
    """
    if not names:
        return list(tasks)
    by_name = {task.name: task for task in tasks}
    for name in names:
        if name not in by_name:
            close = difflib.get_close_matches(name, by_name, 1, 0.4)
            hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(sorted(by_name))}."
            raise Failure("bad_request", f"There is no task '{name}': {hint[:600]}")
    return [by_name[name] for name in dict.fromkeys(names)]


def parse_tasks(raw: t.Any, where: str) -> list[CodingTask]:
    """Tasks as users write them.

    :arg where: what holds them, for messages.
    :raises Failure: ``bad_request`` where one is incomplete or a name occurs twice.
    """
    if isinstance(raw, dict):
        raw = raw.get("tasks")
    if not isinstance(raw, list) or not raw:
        raise Failure("bad_request", f"{where} holds no list of tasks: each needs name, prompt, entry_point and cases.")
    tasks = [_parse_task(one, f"task {number} of {where}") for number, one in enumerate(raw, 1)]
    names = [task.name for task in tasks]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Failure("bad_request", f"{where} has two tasks named '{twice[0]}': give each a name of its own.")
    return tasks


def _parse_task(raw: t.Any, where: str) -> CodingTask:
    if not isinstance(raw, dict):
        raise Failure("bad_request", f"The {where} is no mapping: it needs name, prompt, entry_point and cases.")
    if isinstance(raw.get("name"), str):
        where = f"{where} ('{raw['name'][:60]}')"
    unknown = sorted(str(key) for key in raw if key not in _KEYS)
    if unknown:
        raise Failure("bad_request", f"The {where} has an unknown key '{unknown[0]}': it may have {', '.join(_KEYS)}.")
    for key in ("name", "prompt", "entry_point"):
        if not isinstance(raw.get(key), str) or not raw[key].strip():
            raise Failure("bad_request", f"The {where} needs a text under '{key}'.")
    if not raw["entry_point"].isidentifier() or keyword.iskeyword(raw["entry_point"]):
        raise Failure("bad_request", f"The entry_point '{raw['entry_point']}' of the {where} is no name of a function.")
    timeout = raw.get("timeout")
    # Not "<= 0": that holds for no comparison with NaN.
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout > 0):
        raise Failure("bad_request", f"The timeout of the {where} must be seconds above 0.")
    compare = raw.get("compare") or COMPARISONS[0]
    if compare not in COMPARISONS:
        raise Failure("bad_request", f"The compare of the {where} must be one of {' and '.join(COMPARISONS)}.")
    cases = raw.get("cases")
    if not isinstance(cases, list) or not cases:
        raise Failure("bad_request", f"The {where} needs at least one case under 'cases'.")
    parsed = [_parse_case(one, f"case {number} of the {where}") for number, one in enumerate(cases, 1)]
    return CodingTask(raw["name"], raw["prompt"], raw["entry_point"], parsed, timeout, compare)


def _parse_case(raw: t.Any, where: str) -> Case:
    if not isinstance(raw, dict) or "expected" not in raw or set(raw) - {"args", "kwargs", "expected"}:
        raise Failure("bad_request", f"The {where} must be a mapping of args, kwargs and expected.")
    args = [] if raw.get("args") is None else raw["args"]
    kwargs = {} if raw.get("kwargs") is None else raw["kwargs"]
    if not isinstance(args, list):
        raise Failure(
            "bad_request", f"In {where} args must be a list of the arguments, not {args!r:.60}: write [{args!r:.60}]."
        )
    if not isinstance(kwargs, dict) or not all(isinstance(key, str) for key in kwargs):
        raise Failure("bad_request", f"In {where} kwargs must be a mapping from names of arguments.")
    for key, value in (("args", args), ("kwargs", kwargs), ("expected", raw["expected"])):
        other = _not_plain(encode(value))
        if other:
            raise Failure(
                "bad_request",
                f"In {where} there is {other} under '{key}', which cannot be compared: write it as text, in quotes.",
            )
    return Case(args, kwargs, raw["expected"])


def _not_plain(encoded: list[t.Any]) -> str:
    """What in an encoded value is no plain data; empty where all is."""
    if encoded[0] == "other":
        return str(encoded[1])
    if encoded[0] == "dict":
        parts = [part for pair in encoded[1] for part in pair]
    else:
        parts = encoded[1] if isinstance(encoded[-1], list) else []
    return next(filter(None, map(_not_plain, parts)), "")
