# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""One request of a benchmark: what was asked, when, and what came of it."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field


@dataclass
class RequestSample:
    """Times are seconds of one monotonic clock; counts are the server's own.

    ``clock_start`` is when latency starts to count: the sending in a closed loop, the scheduled time in an open one.
    """

    index: int
    clock_start: float
    sent_at: float
    ended_at: float = 0.0
    error: str = ""
    message: str = ""
    status: t.Optional[int] = None
    first_token_at: t.Optional[float] = None
    first_content_at: t.Optional[float] = None
    last_token_at: t.Optional[float] = None
    token_chunks: list[tuple[float, t.Optional[int]]] = field(default_factory=list)
    # False where only the first and the last chunk are known.
    chunks_told: bool = True
    prompt_tokens: t.Optional[int] = None
    completion_tokens: t.Optional[int] = None
    cached_tokens: t.Optional[int] = None
    finish_reason: t.Optional[str] = None
    speculation: dict[str, int] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether tokens, counts, a finish reason and the end mark all came."""
        return not self.error

    @property
    def ttft(self) -> t.Optional[float]:
        """Seconds to the first token of any channel."""
        return None if self.first_token_at is None else self.first_token_at - self.clock_start

    @property
    def first_chunk_tokens(self) -> int:
        """Tokens of the first chunk; 1 where the server gives no running count."""
        return (self.token_chunks[0][1] if self.token_chunks else None) or 1

    @property
    def tpot(self) -> t.Optional[float]:
        """Seconds a token, over the tokens after the first chunk; ``None`` where there are none."""
        if self.first_token_at is None or self.last_token_at is None or self.completion_tokens is None:
            return None
        rest = self.completion_tokens - self.first_chunk_tokens
        return (self.last_token_at - self.first_token_at) / rest if rest > 0 and len(self.token_chunks) > 1 else None

    @property
    def chunk_gaps(self) -> list[float]:
        """Seconds between chunks that hold tokens: what a reader sees as stutter."""
        times = [at for at, dummy in self.token_chunks] if self.chunks_told else []
        return [after - before for before, after in zip(times, times[1:])]

    def row(self, origin: float) -> dict[str, t.Any]:
        """The request as one raw row; times in milliseconds since *origin*."""

        def ms(at: t.Optional[float]) -> t.Optional[float]:
            return None if at is None else round((at - origin) * 1000, 3)

        return {
            "index": self.index,
            "start_ms": ms(self.clock_start),
            "sent_ms": ms(self.sent_at),
            "first_token_ms": ms(self.first_token_at),
            "first_content_ms": ms(self.first_content_at),
            "last_token_ms": ms(self.last_token_at),
            "end_ms": ms(self.ended_at),
            "error": self.error or None,
            "message": self.message or None,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cached_tokens": self.cached_tokens,
            "finish_reason": self.finish_reason,
            "speculation": self.speculation or None,
            "chunks": [[ms(at), tokens] for at, tokens in self.token_chunks] if self.chunks_told else None,
        }
