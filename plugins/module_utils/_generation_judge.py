# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What a generation must be, and whether one is."""

from __future__ import annotations

import re
import sys
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._answer import Generation
from ansible_collections.llmops.sglang.plugins.module_utils._degenerate_text import repeated_tail, repeated_token
from ansible_collections.llmops.sglang.plugins.module_utils._engine_words import words
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure, missing_dependency
from ansible_collections.llmops.sglang.plugins.module_utils._generation_request import PATHS
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask
from ansible_collections.llmops.sglang.plugins.module_utils._time_limit import TimeLimitExceeded, cpu_time_limit

try:
    import jmespath
except ImportError:
    jmespath = None  # type: ignore[assignment]

# No honest pattern or expression needs a second of processor time for one answer.
JUDGE_SECONDS = 1.0
# A text can be as long as a body may be, and a search heeds the limit only between the runs of characters that it passes.
_LONGEST_SEARCHED = 100_000
_LONGEST_TAIL = 20_000
# Failure class and sentence.
Finding = t.Optional[tuple[str, str]]


@dataclass
class ProbeOptions:
    """What a generation must be. The names are those of the module's options."""

    api: str = "chat"
    path: str = ""
    model: str | None = None
    expected_model: str | None = None
    prompt: str | None = None
    max_tokens: int = 64
    extra_body: dict[str, t.Any] = field(default_factory=dict)
    stream: bool = False
    ready_when: str | None = None
    expect_regex: str | None = None
    degenerate_output: str = "fail"
    require_content: bool = False
    require_speculation: bool = False

    def __post_init__(self) -> None:
        self.path = self.path or PATHS[self.api]
        if self.ready_when and jmespath is None:
            raise missing_dependency("jmespath", sys.executable, "for ready_when")
        try:
            self.condition = jmespath.compile(self.ready_when) if self.ready_when else None
        except jmespath.exceptions.JMESPathError as exc:
            raise Failure(
                "condition_not_met", f"The expression '{self.ready_when}' of ready_when is no JMESPath: {exc}"
            ) from exc
        try:
            self.regex = re.compile(self.expect_regex) if self.expect_regex else None
        except re.error as exc:
            raise Failure(
                "garbage_output", f"The pattern '{self.expect_regex}' of expect_regex is not valid: {exc}."
            ) from exc


@dataclass
class ProbeResult:
    """How one probe went. outcome: a word of the module's outcomes; failure_class is empty where it is good.

    http: whether any HTTP answer came. reset: cut before the headers, as a TLS port does to plain text.
    together: the results of generations that were made at once, which stand for this one.
    """

    outcome: str
    failure_class: str = ""
    msg: str = ""
    http: bool = False
    reset: bool = False
    models: list[str] | None = None
    generation: Generation | None = None
    warnings: list[str] = field(default_factory=list)
    together: list[ProbeResult] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return not self.failure_class


class Judge:
    """Judges answers by *options*; what it quotes of them is masked.

    Its time limit holds in the main thread alone, so a probe's own thread hands the generation over unjudged.
    """

    def __init__(self, options: ProbeOptions, mask: Mask) -> None:
        self.options, self.mask = options, mask

    def judged(self, result: ProbeResult, seconds: float) -> ProbeResult:
        """*result* as its generation deserves, or the first bad one of those that were made together, within *seconds*."""
        for one in result.together or [result]:
            judged = self._one(one, seconds)
            if not judged.good:
                return judged
        return (result.together or [result])[0]

    def _one(self, result: ProbeResult, seconds: float) -> ProbeResult:
        # Text that went wrong says more than that speculation does not show.
        if result.generation is None or result.failure_class not in ("", "no_speculation"):
            return result
        generation = result.generation
        found = self._channel(generation) or self._degenerate(generation, result.warnings)
        found = found or self._pattern(generation, seconds) or self._condition(generation, seconds)
        if found:
            result.outcome, (result.failure_class, result.msg) = "bad_answer", found
        return result

    def _channel(self, generation: Generation) -> Finding:
        if not self.options.require_content or generation.content:
            return None
        count = f"{generation.tokens} " if generation.tokens else ""
        where = "reasoning" if generation.generated_from == "reasoning" else "tool calls"
        return (
            "reasoning_consumed_budget",
            f"All {count}tokens went into {where} and content is required: raise max_tokens (now {self.options.max_tokens}).",
        )

    def _degenerate(self, generation: Generation, warnings: list[str]) -> Finding:
        texts = (generation.content, generation.reasoning)
        # Space before the end of a reasoning, or beside a tool call, is no text that went wrong.
        spoken = any(text.strip() for text in texts) or generation.tool_calls
        for text in texts:
            unit = repeated_tail(text[-_LONGEST_TAIL:]) if text.strip() or not spoken else ""
            if generation.finish_reason in words("cut") and text == generation.content + generation.reasoning:
                unit = unit or repeated_token(text, generation.tokens or 0)
            if unit and self.options.degenerate_output != "ignore":
                said = f"The generated text only repeats {self.mask.text(unit[:200])!r}; check weights, quantisation and kernels."
                if self.options.degenerate_output == "fail":
                    return "garbage_output", said
                warnings.append(said)
        return None

    def _pattern(self, generation: Generation, seconds: float) -> Finding:
        if not self.options.regex:
            return None
        pattern = f"expect_regex '{self.options.expect_regex}'"
        try:
            with cpu_time_limit(JUDGE_SECONDS, max(seconds, JUDGE_SECONDS)):
                matches = self.options.regex.search(generation.text[:_LONGEST_SEARCHED])
        except TimeLimitExceeded:
            return (
                "pattern_too_slow",
                f"The search for {pattern} took more than {JUDGE_SECONDS:g} s of processor time in a text of "
                f"{len(generation.text)} characters: make it simpler (no nested repetitions).",
            )
        return None if matches else ("garbage_output", f"The text does not match {pattern}.")

    def _condition(self, generation: Generation, seconds: float) -> Finding:
        if self.options.condition is None:
            return None
        name = f"ready_when '{self.options.ready_when}'"
        try:
            with cpu_time_limit(JUDGE_SECONDS, max(seconds, JUDGE_SECONDS)):
                value = self.options.condition.search(generation.body)
                said = "" if value is True else self.mask.text(repr(value))[:200]
        except TimeLimitExceeded:
            return (
                "condition_not_met",
                f"{name} took more than {JUDGE_SECONDS:g} s of processor time on the answer: make it simpler.",
            )
        except RecursionError:
            return "condition_not_met", f"{name} cannot be told of the answer, which is nested too deeply."
        except jmespath.exceptions.JMESPathError as exc:
            value, said = None, self.mask.text(f"'error: {exc}'")[:200]
        return None if value is True else ("condition_not_met", f"{name} is {said} on the answer and not true.")
