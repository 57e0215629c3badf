# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The built-in coding tasks: right programs pass all cases, and likely wrong ones do not."""

from __future__ import annotations

import re

import pytest
import right_programs
import wrong_programs

from ansible_collections.llmops.sglang.plugins.module_utils._built_in_tasks import BUILT_IN
from ansible_collections.llmops.sglang.plugins.module_utils._case_runner import decode, encode
from ansible_collections.llmops.sglang.plugins.module_utils._coding_judge import same

TASKS = {task.name: task for task in BUILT_IN}
ORIGINAL = ["is_palindrome", "fib", "merge_sorted", "word_count", "gcd"]


def failures(task, code):
    """The numbers of the cases that *code* gets wrong, judged as the programs of models are."""
    space = {"__name__": "candidate"}
    exec(compile(code, "candidate", "exec"), space)
    found = []
    for number, case in enumerate(task.cases):
        try:
            value = space[task.entry_point](*decode(encode(list(case.args))))
        except Exception:
            found.append(number)
        else:
            found += [] if same(encode(value), encode(case.expected)) else [number]
    return found


def test_the_five_come_first_and_fifteen_or_more_follow():
    assert list(TASKS)[:5] == ORIGINAL and len(TASKS) >= 20 and len(TASKS) == len(BUILT_IN)


@pytest.mark.parametrize("name", list(TASKS))
def test_a_task_hides_cases_enough_and_says_what_it_wants(name):
    task = TASKS[name]
    assert len(task.cases) >= 8
    assert len({repr(case.args) for case in task.cases}) == len(task.cases)
    assert f"function {task.entry_point}(" in task.prompt
    # The prompt gives no case away.
    assert not re.search(rf"{name}\([^)]*\) (?:==|returns|is) (?!0\b|1\b)", task.prompt)


@pytest.mark.parametrize("name", list(TASKS))
def test_a_right_program_passes(name):
    assert failures(TASKS[name], right_programs.RIGHT[name]) == []


def test_each_task_has_two_wrong_programs_or_more():
    assert list(wrong_programs.WRONG) == list(TASKS)
    assert [name for name, programs in wrong_programs.WRONG.items() if len(programs) < 2] == []


@pytest.mark.parametrize(
    ("name", "overlooks"), [(name, what) for name, programs in wrong_programs.WRONG.items() for what in programs]
)
def test_a_wrong_program_fails(name, overlooks):
    assert failures(TASKS[name], wrong_programs.WRONG[name][overlooks])
