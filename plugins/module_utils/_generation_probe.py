# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""One probe: a real generation, judged by what was asked of it."""

from __future__ import annotations

import re
import time
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._answer import (
    BadAnswer,
    Generation,
    read_generation,
    read_stream,
)
from ansible_collections.llmops.sglang.plugins.module_utils._background import Handle
from ansible_collections.llmops.sglang.plugins.module_utils._generation_judge import Judge, ProbeOptions, ProbeResult
from ansible_collections.llmops.sglang.plugins.module_utils._generation_request import (
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
from ansible_collections.llmops.sglang.plugins.module_utils._speculation_works import Speculation

# A list that takes longer than this is no cheap look.
_LIST_TIMEOUT = 5.0
_IDENTITY_TIMEOUT = 2.0
_ABOUT_A_MODEL = re.compile(r"\bmodel\b", re.IGNORECASE)


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
        self.judged = Judge(options, client.mask).judged
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

    @property
    def reached(self) -> bool:
        """Whether any connection to the server came about."""
        return self.client.reached

    def identities(self, seconds: float, tries: int = 8) -> list[tuple[str, ...]]:
        """The different model lists that *tries* connections meet, all of them at once, within *seconds*."""
        seconds = min(_IDENTITY_TIMEOUT, max(seconds, 0.05))
        deadline = self.clock() + seconds
        handles = [Handle(lambda: self._models(seconds)) for dummy in range(tries)]
        met: list[tuple[str, ...]] = []
        for handle in handles:
            models = handle.wait(deadline - self.clock())
            if models is not None and tuple(models) not in met:
                met.append(tuple(models))
        return met

    def speaks_tls(self, seconds: float) -> bool:
        return self.client.scheme == "http" and self.client.speaks_tls(min(_IDENTITY_TIMEOUT, max(seconds, 0.05)))

    def _together(self, index: int, timeout: float, parallel: int) -> ProbeResult:
        handles = [Handle(lambda n=n: self.probe(index + n, timeout)) for n in range(parallel)]  # type: ignore[misc]
        deadline = self.clock() + timeout + _LIST_TIMEOUT
        results = [handle.wait(max(deadline - self.clock(), 0.01)) for handle in handles]
        late = ProbeResult("timeout", "generation_timeout", f"Not all of {parallel} generations at once ended in time.")
        bad = next((r or late for r in results if r is None or not r.good), None)
        return bad or ProbeResult("generated", http=True, models=results[0].models, together=results)

    def probe(self, index: int, timeout: float, context: int = 0) -> ProbeResult:
        """One generation, all of it within *timeout* seconds; judged() tells whether its text is what was asked for."""
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
        except RecursionError:
            result = ProbeResult("bad_answer", "empty_output", "The answer is nested too deeply to be one.", http=True)
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
            if exc.phase in ("resolve", "connect") or exc.kind == "tls_error" or hurried:
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
        result = ProbeResult("generated", http=True, generation=generation)
        if options.require_speculation and (
            not self._speculation.moved(generation, prompt, options.max_tokens, deadline - self.clock())
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
