# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Ask a server for programs and judge them; a server that does not answer is *not run*, never *failed*."""

from __future__ import annotations

import json
import time
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._code_extraction import find_code
from ansible_collections.llmops.sglang.plugins.module_utils._coding_judge import Verdict
from ansible_collections.llmops.sglang.plugins.module_utils._coding_tasks import CodingTask
from ansible_collections.llmops.sglang.plugins.module_utils._result_budget import first_that_fit

# Worst first: what a task is, is what its worst sample is.
_STATUSES = ("not_run", "failed", "refused", "passed")
# Module results must stay below 64 kB: with many tasks less code is shown, and at last fewer tasks.
_CODE_SHOWN = (2000, 1000, 400, 100, 0)
_BUDGET = 48000
# So many requests in a row that ran into their time limit, and no further one is sent.
_UNANSWERED = 3


class NotAnswered(Exception):
    """The server gave no answer that could be judged; the text says why.

    :arg in_vain: whether all of the time limit was waited for nothing.
    """

    def __init__(self, why: str, in_vain: bool = False) -> None:
        super().__init__(why)
        self.in_vain = in_vain


@dataclass
class Answer:
    """What the model said."""

    text: str
    finish_reason: t.Optional[str] = None
    completion_tokens: t.Optional[int] = None


@dataclass
class Outcome:
    """One sample of one task."""

    status: str
    cases_passed: int = 0
    reason: str = ""
    code: t.Optional[str] = None
    seconds: float = 0.0
    completion_tokens: t.Optional[int] = None
    run_seconds: float = 0.0
    contained: list[str] = field(default_factory=list)


@dataclass
class TaskReport:
    """All samples of one task."""

    task: CodingTask
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def worst(self) -> Outcome:
        """The sample that decides the task's status."""
        return min(self.outcomes, key=lambda outcome: (_STATUSES.index(outcome.status), outcome.cases_passed))

    def as_result(self, code_shown: t.Optional[int] = None) -> dict[str, t.Any]:
        """The task as a plain mapping; its code cut at *code_shown* characters."""
        worst = self.worst
        code = worst.code
        if code is not None and code_shown is not None and len(code) > code_shown:
            code = code[:code_shown] + "\n# (cut)"
        timed = [outcome for outcome in self.outcomes if outcome.status != "not_run"]
        return {
            "name": self.task.name,
            "status": worst.status,
            "cases": len(self.task.cases),
            "cases_passed": worst.cases_passed,
            "reason": worst.reason,
            "code": code,
            "samples": len(self.outcomes),
            "samples_passed": sum(outcome.status == "passed" for outcome in self.outcomes),
            "seconds": round(sum(outcome.seconds for outcome in timed), 3),
            "run_seconds": round(sum(outcome.run_seconds for outcome in timed), 3),
            "completion_tokens": sum(outcome.completion_tokens or 0 for outcome in timed),
            "contained": sorted({word for outcome in self.outcomes for word in outcome.contained}),
        }


def evaluate(
    tasks: t.Sequence[CodingTask],
    ask: t.Callable[[str], Answer],
    judge: t.Callable[[CodingTask, str], Verdict],
    samples: int = 1,
) -> list[TaskReport]:
    """Every task asked *samples* times; the rest is not asked where the server seems to have gone.

    :arg ask: the model's answer to a prompt; raises :class:`NotAnswered`.
    """
    patient = _Patience(ask)
    return [TaskReport(task, [_one(task, patient, judge) for dummy in range(samples)]) for task in tasks]


class _Patience:
    """Asks until the server has let some requests in a row wait for nothing."""

    def __init__(self, ask: t.Callable[[str], Answer]) -> None:
        self._ask = ask
        self._in_vain: list[str] = []

    def __call__(self, prompt: str) -> Answer:
        if len(self._in_vain) >= _UNANSWERED:
            raise NotAnswered(f"not asked, after {_UNANSWERED} requests in vain: {self._in_vain[-1]}")
        try:
            answer = self._ask(prompt)
        except NotAnswered as exc:
            self._in_vain = [*self._in_vain, str(exc)] if exc.in_vain else []
            raise
        self._in_vain = []
        return answer


def _one(task: CodingTask, ask: t.Callable[[str], Answer], judge: t.Callable[[CodingTask, str], Verdict]) -> Outcome:
    started = time.monotonic()
    try:
        answer = ask(task.prompt)
    except NotAnswered as exc:
        return Outcome("not_run", reason=str(exc)[:300])
    seconds = time.monotonic() - started
    code = find_code(answer.text, task.entry_point)
    if code is None:
        outcome = Outcome("refused", reason=_why_no_code(answer))
    else:
        verdict = judge(task, code)
        passed = verdict.passed == len(task.cases)
        reason = "" if passed else verdict.reason
        if not passed and answer.finish_reason == "length":
            reason += " (the answer was cut at max_tokens)"
        outcome = Outcome("passed" if passed else "failed", verdict.passed, reason, code)
        outcome.contained, outcome.run_seconds = verdict.contained, verdict.seconds
    outcome.seconds, outcome.completion_tokens = seconds, answer.completion_tokens
    return outcome


def _why_no_code(answer: Answer) -> str:
    if not answer.text.strip():
        return "the answer has no text" + (
            " (all of max_tokens went elsewhere)" if answer.finish_reason == "length" else ""
        )
    return f"no code in the answer, which begins with '{' '.join(answer.text.split())[:80]}'"


def summary(reports: t.Sequence[TaskReport]) -> dict[str, t.Any]:
    """The module's result: tasks, counts, and a rate only where every task was run."""
    counts = {status: sum(report.worst.status == status for report in reports) for status in _STATUSES}
    answers = [outcome for report in reports for outcome in report.outcomes if outcome.completion_tokens]
    seconds = sum(outcome.seconds for outcome in answers)
    tokens = sum(outcome.completion_tokens or 0 for outcome in answers)
    return {
        **_shown_tasks(reports),
        **{f"tasks_{status}": counts[status] for status in _STATUSES},
        "tasks_total": len(reports),
        "ok": not counts["not_run"],
        "output_tokens_per_second": round(tokens / seconds, 2) if seconds else None,
        "pass_rate": None if counts["not_run"] or not reports else round(counts["passed"] / len(reports), 4),
    }


def _shown_tasks(reports: t.Sequence[TaskReport]) -> dict[str, t.Any]:
    for length in _CODE_SHOWN:
        tasks = [report.as_result(length) for report in reports]
        if len(json.dumps(tasks)) <= _BUDGET:
            return {"tasks": tasks, "tasks_omitted": 0}
    kept = first_that_fit(tasks, _BUDGET)
    return {"tasks": kept, "tasks_omitted": len(reports) - len(kept)}
