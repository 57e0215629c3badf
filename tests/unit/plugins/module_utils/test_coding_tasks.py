# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Coding tasks as users write them, in a playbook or a file, and which of them are asked."""

from __future__ import annotations

import datetime

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._built_in_tasks import BUILT_IN
from ansible_collections.llmops.sglang.plugins.module_utils._coding_server import chosen_tasks
from ansible_collections.llmops.sglang.plugins.module_utils._coding_tasks import Case, parse_tasks, select
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure


def task_of(**changed):
    return [{"name": "a", "prompt": "p", "entry_point": "f", "cases": [{"expected": 1}], **changed}]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ([], "no list of tasks"),
        ([{"name": "a"}], "'prompt'"),
        ([{"name": "a", "prompt": "p", "entry_point": "f;g", "cases": [{"expected": 1}]}], "no name of a function"),
        ([{"name": "a", "prompt": "p", "entry_point": "class", "cases": [{"expected": 1}]}], "no name of a function"),
        ([{"name": "a", "prompt": "p", "entry_point": "f", "cases": []}], "at least one case"),
        ([{"name": "a", "prompt": "p", "entry_point": "f", "cases": [{"args": [1]}]}], "expected"),
        (None, "no list of tasks"),
        ({"tasks": "x"}, "no list of tasks"),
        (["text"], "task 1 of the option 'tasks' is no mapping"),
        (
            task_of(cases=[{"expected": 1}, {"args": 5, "expected": 1}]),
            "case 2 of the task 1 of the option 'tasks' ('a') args",
        ),
        (task_of(cases=[{"args": "ab", "expected": 1}]), "write ['ab']"),
        (task_of(cases=[{"kwargs": {1: 2}, "expected": 1}]), "kwargs must be a mapping from names"),
        (task_of(cases=[{"expected": datetime.date(2024, 1, 2)}]), "an object of type date under 'expected'"),
        (task_of(cases=[{"args": [{"a": [datetime.date(2024, 1, 2)]}], "expected": 1}]), "under 'args'"),
        (task_of(timeout=float("nan")), "timeout"),
        (task_of(timeout=True), "timeout"),
        (task_of(compare="nearly"), "exact and loose"),
        ([{"name": "a", "prompt": "p", "entry_point": "f", "cases": [{"expected": 1}], "timeout": -1}], "timeout"),
        ([{"name": "a", "prompt": "p", "entry_point": "f", "cases": [{"expected": 1}], "typo": 1}], "'typo'"),
        ([{"name": "a", "prompt": "p", "entry_point": "f", "cases": [{"expected": 1}]}] * 2, "two tasks"),
    ],
)
def test_a_task_that_cannot_be_used_is_named(raw, said):
    with pytest.raises(Failure) as caught:
        parse_tasks(raw, "the option 'tasks'")
    assert caught.value.failure_class == "bad_request" and said in caught.value.msg


PARAMETERS = {"max_tokens": 1, "samples": 1, "request_timeout": 1, "task_timeout": 1, "tasks": None, "tasks_file": None}
WRITTEN = """\
tasks:
  - name: sizes
    prompt: Write sizes.
    entry_point: sizes
    compare: loose
    timeout: 2
    cases:
      - args: [{1: one}, !!binary AP8=]
        kwargs: {key: .nan}
        expected: !!set {a, b}
      - expected: null
"""


def test_tasks_of_a_yaml_file(tmp_path):
    file = tmp_path / "tasks.yml"
    file.write_text(WRITTEN)
    [task] = chosen_tasks({**PARAMETERS, "tasks_file": str(file), "task_names": None})
    assert (task.name, task.compare, task.timeout) == ("sizes", "loose", 2)
    assert (task.cases[0].args, task.cases[0].expected) == ([{1: "one"}, b"\x00\xff"], {"a", "b"})
    assert task.cases[1] == Case([], {}, None)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read on this host"),
        (b"", "holds no list of tasks"),
        (b"tasks: [a: b: c]", "neither JSON nor YAML"),
        (b"tasks:\n  - !!python/object:os.system {}", "neither JSON nor YAML"),
        (b"\xff\xfe", "cannot be read on this host"),
        (b"[{}]", "needs a text under 'name'"),
        (WRITTEN.encode().replace(b"null", b"2024-01-02"), "write it as text, in quotes"),
    ],
)
def test_a_file_that_cannot_be_used_is_told(tmp_path, content, said):
    file = tmp_path / "tasks.yml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(Failure) as caught:
        chosen_tasks({**PARAMETERS, "tasks_file": str(file), "task_names": None})
    assert (caught.value.failure_class, said in caught.value.msg) == ("bad_request", True), caught.value.msg
    assert str(file) in caught.value.msg


def test_only_the_tasks_that_are_named_in_their_order():
    names = ["gcd", "fib", "gcd"]
    assert [task.name for task in chosen_tasks({**PARAMETERS, "task_names": names})] == ["gcd", "fib"]
    assert select(BUILT_IN, []) == list(BUILT_IN)
    with pytest.raises(Failure) as caught:
        select(BUILT_IN, ["palindrome"])
    assert caught.value.msg == "There is no task 'palindrome': did you mean 'is_palindrome'?"
    with pytest.raises(Failure) as caught:
        select(BUILT_IN[:2], ["zzz"])
    assert "there are fib, is_palindrome." in caught.value.msg


@pytest.mark.parametrize("option", ["max_tokens", "samples", "request_timeout", "task_timeout"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_senseless_numbers_are_refused(option, value):
    with pytest.raises(Failure) as caught:
        chosen_tasks({**PARAMETERS, "task_names": None, option: value})
    assert option in caught.value.msg
