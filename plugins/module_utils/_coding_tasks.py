# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The built-in coding tasks and the shape that every task has.

The cases are hidden from the model: the prompt describes the function in words alone.
"""

from __future__ import annotations

import keyword
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure

_FORM = "Answer with one Python code block that holds the function and nothing else; no example calls, no explanation."


@dataclass(frozen=True)
class Case:
    """One call and what it must return, compared by type and value."""

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


def _task(name: str, prompt: str, *cases: tuple[t.Any, ...]) -> CodingTask:
    """A task whose cases are (argument, ..., expected)."""
    return CodingTask(name, f"{prompt} {_FORM}", name, [Case(args=case[:-1], expected=case[-1]) for case in cases])


BUILT_IN = (
    _task(
        "is_palindrome",
        "Write a Python function is_palindrome(text) that returns True if the string reads the same forwards and backwards "
        "when upper and lower case count as equal and everything but letters and digits is left out, and False otherwise. "
        "A string without letters and digits is a palindrome.",
        ("level", True),
        ("A man, a plan, a canal: Panama", True),
        ("ab", False),
        ("", True),
        (" ,.!", True),
        ("No lemon, no melon 1", False),
        ("1a2A1", True),
        ("x", True),
    ),
    _task(
        "fib",
        "Write a Python function fib(n) that returns the n-th Fibonacci number as an integer, where fib(0) is 0 and fib(1) is 1. "
        "It must be fast for n up to 500.",
        (0, 0),
        (1, 1),
        (2, 1),
        (10, 55),
        (30, 832040),
        (90, 2880067194370816120),
        (200, 280571172992510140037611932413038677189525),
        (3, 2),
    ),
    _task(
        "merge_sorted",
        "Write a Python function merge_sorted(left, right) that takes two lists of integers, each in ascending order, and returns "
        "one new list with all their elements in ascending order. Equal elements are kept as often as they occur.",
        ([1, 3, 5], [2, 4, 6], [1, 2, 3, 4, 5, 6]),
        ([], [], []),
        ([], [7], [7]),
        ([-3, 0], [], [-3, 0]),
        ([1, 1, 2], [1, 2, 2], [1, 1, 1, 2, 2, 2]),
        ([5, 6, 7], [1, 2, 3], [1, 2, 3, 5, 6, 7]),
        ([-5, -1], [-4, -2, 9], [-5, -4, -2, -1, 9]),
        ([10], list(range(10)), list(range(11))),
    ),
    _task(
        "word_count",
        "Write a Python function word_count(text) that returns a dictionary from each word in the string to how often it occurs. "
        "Words are separated by any white space and are compared in lower case; punctuation is part of a word.",
        ("the cat the dog", {"the": 2, "cat": 1, "dog": 1}),
        ("", {}),
        ("  \t\n ", {}),
        ("One one ONE", {"one": 3}),
        ("a\tb\nc  a", {"a": 2, "b": 1, "c": 1}),
        ("stop. stop", {"stop.": 1, "stop": 1}),
        ("Grüße grüße", {"grüße": 2}),
        ("x", {"x": 1}),
    ),
    _task(
        "gcd",
        "Write a Python function gcd(a, b) that returns the greatest common divisor of two integers as a non-negative integer. "
        "Either may be zero or negative; gcd(0, 0) is 0. Do not import anything.",
        (12, 18, 6),
        (0, 0, 0),
        (0, 9, 9),
        (9, 0, 9),
        (-12, 18, 6),
        (-7, -21, 7),
        (17, 13, 1),
        (2**40, 6**20, 2**20),
    ),
)


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
    unknown = sorted(set(raw) - {"name", "prompt", "entry_point", "cases", "timeout"})
    if unknown:
        raise Failure("bad_request", f"The {where} has an unknown key '{unknown[0]}'.")
    for key in ("name", "prompt", "entry_point"):
        if not isinstance(raw.get(key), str) or not raw[key].strip():
            raise Failure("bad_request", f"The {where} needs a text under '{key}'.")
    if not raw["entry_point"].isidentifier() or keyword.iskeyword(raw["entry_point"]):
        raise Failure("bad_request", f"The entry_point '{raw['entry_point']}' of the {where} is no name of a function.")
    timeout = raw.get("timeout")
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or timeout <= 0):
        raise Failure("bad_request", f"The timeout of the {where} must be seconds above 0.")
    cases = raw.get("cases")
    if not isinstance(cases, list) or not cases:
        raise Failure("bad_request", f"The {where} needs at least one case.")
    return CodingTask(
        raw["name"], raw["prompt"], raw["entry_point"], [_parse_case(one, where) for one in cases], timeout
    )


def _parse_case(raw: t.Any, where: str) -> Case:
    if not isinstance(raw, dict) or "expected" not in raw or set(raw) - {"args", "kwargs", "expected"}:
        raise Failure("bad_request", f"A case of the {where} must be a mapping of args, kwargs and expected.")
    args, kwargs = raw.get("args") or [], raw.get("kwargs") or {}
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        raise Failure("bad_request", f"In a case of the {where} args must be a list and kwargs a mapping.")
    return Case(args, kwargs, raw["expected"])
