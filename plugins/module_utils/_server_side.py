# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What a server says about itself beside its answers: version, models, running requests, counters, cache."""

from __future__ import annotations

import asyncio
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._acceptance import Counters
from ansible_collections.llmops.sglang.plugins.module_utils._http_answer import decoded as value_of
from ansible_collections.llmops.sglang.plugins.module_utils._load_connection import Endpoint, ExchangeError, ask
from ansible_collections.llmops.sglang.plugins.module_utils._metrics_text import metric_sums
from ansible_collections.llmops.sglang.plugins.module_utils._running_requests import of_get_load, of_loads, of_metrics
from ansible_collections.llmops.sglang.plugins.module_utils._served_models import served_names

_COUNTERS = {
    "requests": "sglang:num_requests_total",
    "generation_tokens": "sglang:generation_tokens_total",
    "verify_steps": "sglang:spec_verify_calls_total",
    "cached_tokens": "sglang:cached_tokens_total",
    "prompt_tokens": "sglang:prompt_tokens_total",
}
# Routes that take text apart, and the name that they give it: SGLang and vLLM, older SGLang, llama.cpp.
_TOKENIZERS = (("/tokenize", "prompt"), ("/v1/tokenize", "prompt"), ("/tokenize", "content"))


class ServerSide:
    """Asks *server*; every answer may be missing, and then is ``None``."""

    def __init__(self, server: Endpoint, timeout: float = 10.0) -> None:
        self.server = server
        self.timeout = timeout
        self._tokenizers = list(_TOKENIZERS)

    def get(self, path: str) -> t.Optional[tuple[int, t.Any]]:
        """Status and decoded JSON (``None`` where it is none) of *path*; ``None`` where nothing answered in time."""
        answer = asyncio.run(self._ask("GET", path))
        return None if answer is None else (answer[0], _decoded(answer[1]))

    def models(self) -> list[str]:
        """The names under which the server serves."""
        return served_names(_json_200(asyncio.run(self._ask("GET", "/v1/models"))))

    def flush_cache(self) -> t.Optional[bool]:
        """Empty the prefix cache: whether the server did it; ``None`` where it has no such route."""
        answer = asyncio.run(self._ask("POST", "/flush_cache"))
        return None if answer is None or answer[0] in (404, 405, 501) else answer[0] == 200

    def count_tokens(self, text: str, model: t.Optional[str]) -> t.Optional[int]:
        """Tokens of *text* alone, by the server's own tokenizer; ``None`` where it has no route for that."""
        while self._tokenizers:
            path, name = self._tokenizers[0]
            payload = {name: text, **({"model": model} if model else {})}
            decoded = _json_200(asyncio.run(self._ask("POST", path, payload)))
            tokens = decoded.get("tokens") if isinstance(decoded, dict) else None
            # llama.cpp finds no tokens in a text of another name.
            if isinstance(tokens, list) and tokens:
                return len(tokens)
            del self._tokenizers[0]
        return None

    def counters(self) -> Counters:
        """The lifetime counters of ``/metrics``, summed over all ranks and labels."""
        sums = asyncio.run(self._metrics())
        return Counters(**{key: sums.get(metric) for key, metric in _COUNTERS.items()}, readable=bool(sums))

    def running(self) -> t.Optional[int]:
        """Requests that run or wait on the server now."""
        return asyncio.run(self.running_async())

    async def running_async(self) -> t.Optional[int]:
        """:meth:`running` within an event loop."""
        for path, read in (("/v1/loads", of_loads), ("/get_load", of_get_load)):
            count = read(_json_200(await self._ask("GET", path)))
            if count is not None:
                return count
        answer = await self._ask("GET", "/metrics")
        return of_metrics(answer[1].decode("utf-8", "replace")) if answer and answer[0] == 200 else None

    async def _metrics(self) -> dict[str, float]:
        answer = await self._ask("GET", "/metrics")
        return metric_sums(answer[1].decode("utf-8", "replace")) if answer and answer[0] == 200 else {}

    async def _ask(self, method: str, path: str, payload: t.Any = None) -> t.Optional[tuple[int, bytes]]:
        try:
            return await ask(self.server, method, path, payload, timeout=self.timeout)
        except ExchangeError:
            return None


def _decoded(body: bytes) -> t.Any:
    try:
        return value_of(body.decode("utf-8"))
    except ValueError:
        return None


def _json_200(answer: t.Optional[tuple[int, bytes]]) -> t.Any:
    return _decoded(answer[1]) if answer and answer[0] == 200 else None
