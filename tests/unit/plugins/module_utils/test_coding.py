# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Coding tasks: code found in an answer, and never failed for a server that was not there."""

from __future__ import annotations

import json

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _coding_eval
from ansible_collections.llmops.sglang.plugins.module_utils._built_in_tasks import BUILT_IN
from ansible_collections.llmops.sglang.plugins.module_utils._code_extraction import find_code
from ansible_collections.llmops.sglang.plugins.module_utils._coding_eval import Answer, NotAnswered
from ansible_collections.llmops.sglang.plugins.module_utils._coding_judge import Verdict
from ansible_collections.llmops.sglang.plugins.module_utils._coding_server import answer_of


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("```python\ndef f(): pass\n```", "def f(): pass\n"),
        ("Text\n```\ndef f(): pass\n```\nUse:\n```python\nprint(f())\n```", "def f(): pass\n"),
        ("```py\ndef f(): return 1\n```\nbetter:\n~~~python\ndef f(): return 2\n~~~", "def f(): return 2\n"),
        ("```bash\npip install x\n```\ndef f():\n    pass", "def f():\n    pass"),
        ("Sure! Here:\n\ndef f():\n    return 1", "def f():\n    return 1"),
        ("```python\ndef f(:", "def f(:"),
        ("<think>```python\ndef f(): bad\n```</think>```python\ndef f(): good\n```", "def f(): good\n"),
        ("f = lambda: 1", "f = lambda: 1"),
        ("aaaaaaaa", "aaaaaaaa"),
        ("I am sorry, I cannot help with that.", None),
        ("<think>def f(): pass", None),
        ("", None),
        (" \n", None),
    ],
)
def test_code_is_found(answer, code):
    assert find_code(answer, "f") == code


def asked(tasks, ask, samples=1, judged=lambda task, code: Verdict(len(task.cases))):
    return _coding_eval.summary(_coding_eval.evaluate(tasks, ask, judged, samples))


def evaluated(ask, *more):
    return asked(BUILT_IN, ask, *more)


def test_a_server_that_is_not_there_fails_no_task():
    def ask(prompt):
        raise NotAnswered("refused: POST http://127.0.0.1:1: connection refused")

    result = evaluated(ask)
    assert (result["ok"], result["pass_rate"], result["tasks_not_run"], result["tasks_failed"]) == (
        False,
        None,
        len(BUILT_IN),
        0,
    )
    assert {task["status"] for task in result["tasks"]} == {"not_run"}
    assert all("refused" in task["reason"] for task in result["tasks"])


def test_one_task_that_was_not_run_leaves_no_rate():
    answers = iter([Answer("x = 1")] * (len(BUILT_IN) - 1))

    def ask(prompt):
        try:
            return next(answers)
        except StopIteration:
            raise NotAnswered("timeout: ...") from None

    result = evaluated(ask)
    assert (result["ok"], result["pass_rate"], result["tasks_passed"], result["tasks_not_run"]) == (
        False,
        None,
        len(BUILT_IN) - 1,
        1,
    )


def test_a_server_that_keeps_everybody_waiting_is_asked_three_times():
    """Twenty-five tasks would wait for five minutes each."""
    prompts = []

    def ask(prompt):
        prompts.append(prompt)
        raise NotAnswered("timeout: no answer in time", in_vain=True)

    result = evaluated(ask, 2)
    assert (len(prompts), result["tasks_not_run"], result["ok"]) == (3, len(BUILT_IN), False)
    assert result["tasks"][-1]["reason"] == "not asked, after 3 requests in vain: timeout: no answer in time"


def test_a_server_that_answers_now_and_then_is_asked_on():
    answers = [NotAnswered("timeout: ...", True), NotAnswered("http_error: ..."), Answer("x = 1")]
    prompts = []

    def ask(prompt):
        prompts.append(prompt)
        answer = answers[len(prompts) % 3]
        if isinstance(answer, NotAnswered):
            raise answer
        return answer

    assert evaluated(ask, 2)["tasks_total"] == len(prompts) / 2


def test_the_speed_is_that_of_the_answers_that_came(monkeypatch):
    clock = iter(range(0, 1000, 2))
    monkeypatch.setattr(_coding_eval.time, "monotonic", lambda: next(clock))
    answers = iter([Answer("x = 1", None, 10), Answer("x = 1", None, 30), Answer("x = 1")])
    assert asked(BUILT_IN[:3], lambda prompt: next(answers))["output_tokens_per_second"] == 10.0
    assert asked(BUILT_IN[:3], lambda prompt: Answer("x = 1"))["output_tokens_per_second"] is None


def test_refused_counts_as_not_passed():
    result = evaluated(lambda prompt: Answer("No, thank you."))
    assert (result["ok"], result["pass_rate"], result["tasks_refused"]) == (True, 0.0, len(BUILT_IN))
    assert "No, thank you." in result["tasks"][0]["reason"]
    silent = evaluated(lambda prompt: Answer("", "length"))
    assert "max_tokens" in silent["tasks"][0]["reason"]


def test_a_task_is_what_its_worst_sample_is():
    verdicts = iter([Verdict(8), Verdict(3, "case 4 of 8: returned ...", ["time"], 2.5), Verdict(8, seconds=1)] * 5)
    result = asked(BUILT_IN[:5], lambda prompt: Answer("x = 1", "length"), 3, lambda task, code: next(verdicts))
    first = result["tasks"][0]
    assert (first["status"], first["cases_passed"], first["samples"], first["samples_passed"]) == ("failed", 3, 3, 2)
    assert first["reason"] == "case 4 of 8: returned ... (the answer was cut at max_tokens)"
    assert (first["contained"], first["run_seconds"]) == (["time"], 3.5)


def test_code_is_cut_in_the_result_and_results_stay_small():
    code = "x = 1\n" * 600
    result = evaluated(lambda prompt: Answer(code))
    assert all(len(task["code"]) < 2100 for task in result["tasks"])
    many = [task for task in BUILT_IN for dummy in range(12)]
    reports = _coding_eval.evaluate(many, lambda prompt: Answer(code), lambda task, code: Verdict(0, "r" * 200))
    for count in (20, 60, 300):
        found = _coding_eval.summary(reports[:count])
        assert len(json.dumps(found)) < 64000
        assert (len(found["tasks"]) + found["tasks_omitted"], found["tasks_total"]) == (count, count)


@pytest.mark.parametrize("decoded", [None, [], {}, {"choices": []}, {"choices": [{}]}, {"error": {"message": "x"}}])
def test_an_answer_of_another_shape_is_not_run(decoded):
    with pytest.raises(NotAnswered):
        answer_of(decoded)


def test_null_content_is_an_empty_answer():
    assert answer_of({"choices": [{"message": {"content": None}, "finish_reason": "length"}]}) == Answer("", "length")


def test_a_number_of_thousands_of_digits_is_no_program():
    assert find_code("1" * 4301, "solve") is None and find_code("1" * 4300, "solve") == "1" * 4300
