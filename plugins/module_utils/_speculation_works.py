# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Whether a server's speculation works: verify steps of an answer, else of its native route, else of its counters."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._answer import BadAnswer, Generation, read_generation
from ansible_collections.llmops.sglang.plugins.module_utils._engine_words import first
from ansible_collections.llmops.sglang.plugins.module_utils._http_client import HttpClient, HttpError
from ansible_collections.llmops.sglang.plugins.module_utils._metrics_text import metric_sums

_LOOK_TIMEOUT = 5.0


class Speculation:
    """Watches the counters of one server around its probes."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client
        self._counter_needed = False
        self._before: float | None = None

    def before(self, left: float) -> None:
        """Note the counters, once it is known that the answers do not tell."""
        if self._counter_needed:
            self._before = self._counter(left)

    def moved(self, generation: Generation, prompt: str, max_tokens: int, left: float) -> bool:
        """Whether a verify step shows: in *generation*, in an answer of /generate, or in the counters since before().

        Raises HttpError of the kind "timeout" where the time that is *left* is too short to know.
        """
        if generation.verify_steps is not None:
            return generation.verify_steps > 0
        native = self._native(prompt, max_tokens, left)
        if native is not None:
            return native > 0
        now = self._counter(left)
        before, self._counter_needed = self._before, True
        # Without an earlier look the counter's own start counts: it is zero in a new process.
        return now is not None and now > (before or 0.0)

    def _native(self, prompt: str, max_tokens: int, left: float) -> int | None:
        body: dict[str, t.Any] = {"text": prompt, "sampling_params": {"max_new_tokens": max_tokens, "temperature": 0}}
        try:
            return read_generation(self._client.json("POST", "/generate", body, timeout=max(left, 0.05))).verify_steps
        except HttpError as exc:
            if exc.kind == "timeout":
                raise
            return None
        except BadAnswer:
            return None

    def _counter(self, left: float) -> float | None:
        try:
            answer = self._client.send("GET", "/metrics", timeout=max(min(left, _LOOK_TIMEOUT), 0.05))
        except HttpError as exc:
            if exc.kind == "timeout":
                raise
            return None
        sums = metric_sums(answer.body.decode("utf-8", "replace")) if answer.ok else {}
        return first(sums, "verify_counter")
