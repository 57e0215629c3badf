# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""One probe: a real generation, judged by what was asked of it."""

from __future__ import annotations

import re
import sys
import threading
import time
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._answer import (
    BadAnswer,
    Generation,
    read_generation,
    read_stream,
)
from ansible_collections.llmops.sglang.plugins.module_utils._degenerate_text import repeated_tail, repeated_token
from ansible_collections.llmops.sglang.plugins.module_utils._engine_words import words
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure, missing_dependency
from ansible_collections.llmops.sglang.plugins.module_utils._generation_request import (
    PATHS,
    long_prompt,
    payload,
    prompt_number,
)
from ansible_collections.llmops.sglang.plugins.module_utils._http_client import (
    Answer,
    HttpClient,
    HttpError,
    error_message,
    failure_class_of_status,
    http_error,
)
from ansible_collections.llmops.sglang.plugins.module_utils._served_models import served_models
from ansible_collections.llmops.sglang.plugins.module_utils._speculation import Speculation

try:
    import jmespath
except ImportError:
    jmespath = None  # type: ignore[assignment]

# A list that takes longer than this is no cheap look.
_LIST_TIMEOUT = 5.0
_ABOUT_A_MODEL = re.compile(r"\bmodel\b", re.IGNORECASE)


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
    """

    outcome: str
    failure_class: str = ""
    msg: str = ""
    http: bool = False
    reset: bool = False
    models: list[str] | None = None
    generation: Generation | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return not self.failure_class


class Handle:
    """Work under way in a thread of its own; it dies with the process."""

    def __init__(self, work: t.Callable[[], t.Any]) -> None:
        self._value: t.Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: t.Callable[[], t.Any]) -> None:
        try:
            self._value = work()
        except BaseException as exc:  # noqa: B036  handed to whoever waits
            self._error = exc

    def wait(self, seconds: float) -> t.Any:
        """The value, or ``None`` where it is not there after *seconds*."""
        self._thread.join(seconds)
        if self._thread.is_alive():
            return None
        if self._error is not None:
            raise self._error
        return self._value


class Prober:
    """Sends probes to one server.

    :arg client: the server.
    :arg identities: what else counts as the name of the model, filled from the served list.
    """

    def __init__(
        self, client: HttpClient, options: ProbeOptions, clock: t.Callable[[], float] = time.monotonic
    ) -> None:
        self.client, self.options, self.clock = client, options, clock
        self.words_per_token = 0.0
        self._speculation = Speculation(client)

    def start(self, index: int, timeout: float, context: int = 0, parallel: int = 1) -> Handle:
        """Begin one probe. context: prompt tokens to exercise; parallel: how many at once."""
        if parallel > 1:
            return Handle(lambda: self._together(index, timeout, parallel))
        return Handle(lambda: self.probe(index, timeout, context))

    def start_health(self, path: str, timeout: float) -> Handle:
        """Begin a look at a health route; its value is the status in words."""
        return Handle(lambda: self.health(path, timeout))

    def health(self, path: str, timeout: float) -> str:
        try:
            return str(self.client.send("GET", path, timeout=timeout).status)
        except HttpError as exc:
            return exc.kind

    def identities(self, tries: int = 8) -> list[tuple[str, ...]]:
        """The different model lists that *tries* connections meet."""
        met: list[tuple[str, ...]] = []
        for dummy in range(tries):
            models = self._models(2.0)
            if models is not None and tuple(models) not in met:
                met.append(tuple(models))
        return met

    def speaks_tls(self) -> bool:
        return self.client.scheme == "http" and self.client.speaks_tls()

    def _together(self, index: int, timeout: float, parallel: int) -> ProbeResult:
        handles = [Handle(lambda n=n: self.probe(index + n, timeout)) for n in range(parallel)]  # type: ignore[misc]
        deadline = self.clock() + timeout + _LIST_TIMEOUT
        results = [handle.wait(max(deadline - self.clock(), 0.01)) for handle in handles]
        late = ProbeResult("timeout", "generation_timeout", f"Not all of {parallel} generations at once ended in time.")
        return next((r or late for r in results if r is None or not r.good), results[0])

    def probe(self, index: int, timeout: float, context: int = 0) -> ProbeResult:
        """One generation, all of it within *timeout* seconds."""
        deadline = self.clock() + timeout
        served, models = None, None
        try:
            served = self._served(min(_LIST_TIMEOUT, timeout))
            models = [one["id"] for one in served] if served is not None else None
            wrong = self._wrong_model(served)
            if wrong:
                return ProbeResult("bad_answer", "wrong_model", wrong, http=True, models=models)
            result = self._generate(index, deadline, context, models)
        except HttpError as exc:
            result = self._failed(exc, models)
        except BadAnswer as exc:
            failure_class = failure_class_of_status(exc.code) if 400 <= exc.code < 600 else exc.failure_class
            result = ProbeResult("bad_answer", failure_class, self.client.mask.text(exc.msg)[:500], http=True)
        result.models = models
        if result.good and self.options.expected_model and served is None:
            result.outcome, result.failure_class = "bad_answer", "wrong_model"
            result.msg = (
                f"The server generates, and its model list cannot be read: whether it serves "
                f"'{self.options.expected_model}' is not known."
            )
        return result

    def _served(self, timeout: float) -> list[dict[str, t.Any]] | None:
        """The served models, each with an id; ``None`` where there is no readable list."""
        try:
            body = self.client.json("GET", "/v1/models", timeout=timeout)
        except HttpError as exc:
            # Too little time for a list is no sign of a server without one.
            hurried = exc.kind == "timeout" and timeout < _LIST_TIMEOUT
            if exc.phase == "connect" or exc.kind == "tls_error" or hurried:
                raise
            return None
        return served_models(body)

    def _models(self, timeout: float) -> list[str] | None:
        try:
            served = self._served(timeout)
        except HttpError:
            return None
        return None if served is None else sorted(one["id"] for one in served)

    def _wrong_model(self, served: list[dict[str, t.Any]] | None) -> str:
        wanted = self.options.expected_model
        if not wanted or served is None:
            return ""
        names: set[t.Any] = set()
        for one in served:
            aliases = one.get("aliases")
            names.update([one["id"], one.get("root"), *(aliases if isinstance(aliases, list) else [])])
        return "" if wanted in names else self._model_sentence(wanted, [one["id"] for one in served])

    @staticmethod
    def _model_sentence(wanted: str, available: list[str] | None) -> str:
        return f"The server does not serve the model '{wanted}'; available: {list(available or [])[:20]}."

    def _generate(self, index: int, deadline: float, context: int, models: list[str] | None) -> ProbeResult:
        options = self.options
        model = options.model or options.expected_model or (models[0] if models else "default")
        prompt = prompt_number(index, options.prompt)
        if context:
            prompt = long_prompt(int(context * (self.words_per_token or 0.6)), index)
        extra = dict(options.extra_body)
        if options.require_speculation and not options.stream and options.api == "chat":
            extra = {"return_meta_info": True, **extra}
        body = payload(options.api, options.path, model, prompt, options.max_tokens, extra, options.stream)
        if options.require_speculation:
            self._speculation.before(deadline - self.clock())
        generation = self._send(body, deadline)
        if generation.prompt_tokens:
            self.words_per_token = len(prompt.split()) / generation.prompt_tokens
        result = self.judge(generation)
        if (
            result.good
            and options.require_speculation
            and not self._speculation.moved(generation, prompt, options.max_tokens, deadline - self.clock())
        ):
            result.outcome, result.failure_class = "bad_answer", "no_speculation"
            result.msg = (
                "The server generates without speculation: no verify step shows in its answer or counters; "
                "check the speculative arguments of the server."
            )
        if options.model and models and options.model not in models:
            result.warnings.append(f"The server answers for the model '{options.model}' and lists only {models[:20]}.")
        return result

    def _send(self, body: dict[str, t.Any], deadline: float) -> Generation:
        streaming = bool(body.get("stream"))
        end = b"data: [DONE]" if streaming else None
        answer = self.client.send(
            "POST", self.options.path, body, timeout=max(deadline - self.clock(), 0.05), until=end
        )
        if not answer.ok:
            raise self._refusal(answer)
        if streaming and answer.body.lstrip()[:1] != b"{":
            return read_stream(answer.body.decode("utf-8", "replace"))
        return read_generation(answer.json())

    def _refusal(self, answer: Answer) -> HttpError:
        error = http_error(answer, "POST", self.options.path)
        if answer.status in (400, 404, 422) and _ABOUT_A_MODEL.search(error_message(answer)):
            error.about_model = True  # type: ignore[attr-defined]
        return error

    def _failed(self, exc: HttpError, models: list[str] | None) -> ProbeResult:
        failure_class, msg, outcome = exc.failure_class, exc.msg, exc.kind
        wanted = self.options.model or self.options.expected_model
        if getattr(exc, "about_model", False) and wanted and models and wanted not in models:
            failure_class, msg = "wrong_model", f"{self._model_sentence(wanted, models)} {exc.msg}"
        elif exc.kind == "reset":
            failure_class = "generation_timeout"
        elif exc.kind == "bad_answer" and exc.status and 200 <= exc.status < 300:
            failure_class = "empty_output"
        if exc.status == 503:
            outcome = "not_ready"
        early = exc.kind == "reset" and exc.phase == "before_headers"
        return ProbeResult(outcome, failure_class, msg[:500], http=exc.status is not None, reset=early)

    def judge(self, generation: Generation) -> ProbeResult:
        """Whether *generation* is what the options ask for."""
        options = self.options
        result = ProbeResult("generated", http=True, generation=generation)
        if options.require_content and not generation.content:
            where = "reasoning" if generation.generated_from == "reasoning" else "tool calls"
            return self._unfit(
                result,
                "reasoning_consumed_budget",
                f"All {generation.tokens or ''} tokens went into {where} and content is required: "
                f"raise max_tokens (now {options.max_tokens}).".replace("All  ", "All "),
            )
        texts = (generation.content, generation.reasoning)
        # Space before the end of a reasoning, or beside a tool call, is no text that went wrong.
        spoken = any(text.strip() for text in texts) or generation.tool_calls
        for text in texts:
            unit = repeated_tail(text) if text.strip() or not spoken else ""
            if generation.finish_reason in words("cut") and text == generation.content + generation.reasoning:
                unit = unit or repeated_token(text, generation.tokens or 0)
            if unit and options.degenerate_output != "ignore":
                said = f"The generated text only repeats {self.client.mask.text(unit)!r}; check weights, quantisation and kernels."
                if options.degenerate_output == "fail":
                    return self._unfit(result, "garbage_output", said)
                result.warnings.append(said)
        if options.regex and not options.regex.search(generation.text):
            return self._unfit(
                result, "garbage_output", f"The text does not match expect_regex '{options.expect_regex}'."
            )
        if options.condition is not None:
            return self._condition(result, generation)
        return result

    def _condition(self, result: ProbeResult, generation: Generation) -> ProbeResult:
        try:
            value = self.options.condition.search(generation.body)  # type: ignore[union-attr]
        except jmespath.exceptions.JMESPathError as exc:
            value = f"error: {exc}"
        if value is True:
            return result
        said = f"ready_when '{self.options.ready_when}' is {self.client.mask.text(repr(value))[:200]} on the answer and not true."
        return self._unfit(result, "condition_not_met", said)

    @staticmethod
    def _unfit(result: ProbeResult, failure_class: str, msg: str) -> ProbeResult:
        result.outcome, result.failure_class, result.msg = "bad_answer", failure_class, msg
        return result
