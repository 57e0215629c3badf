# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The words in which the engines' answers differ: one table, and for each field the words of all engines."""

from __future__ import annotations

import typing as t


class Engine(t.NamedTuple):
    """What one engine calls the same things.

    reasoning: keys beside a chat message's content. text, tokens, prompt_tokens: keys of an answer of its own route.
    cut: why a generation ended at its token limit; broken: because the server gave it up. verify_counter: metric that counts verify steps.
    """

    name: str
    reasoning: tuple[str, ...]
    text: str
    tokens: str
    prompt_tokens: str
    cut: str
    broken: tuple[str, ...]
    verify_counter: str


ENGINES = (
    Engine(
        "SGLang",
        reasoning=("reasoning_content",),
        text="text",
        tokens="completion_tokens",
        prompt_tokens="prompt_tokens",
        cut="length",
        broken=("abort",),
        # From 0.5.13.
        verify_counter="sglang:spec_verify_calls_total",
    ),
    Engine(
        "vLLM",
        # The second from 0.11.
        reasoning=("reasoning_content", "reasoning"),
        text="text",
        tokens="completion_tokens",
        prompt_tokens="prompt_tokens",
        cut="length",
        broken=("abort", "error"),
        verify_counter="vllm:spec_decode_num_drafts_total",
    ),
    Engine(
        "llama.cpp",
        reasoning=("reasoning_content",),
        text="content",
        tokens="tokens_predicted",
        prompt_tokens="tokens_evaluated",
        cut="limit",
        broken=(),
        # It counts in its answers.
        verify_counter="",
    ),
)


def words(field: str) -> tuple[str, ...]:
    """What any engine calls *field*, each word once."""
    said: list[str] = []
    for engine in ENGINES:
        value = getattr(engine, field)
        said += [value] if isinstance(value, str) else value
    return tuple(dict.fromkeys(filter(None, said)))


def first(body: t.Mapping[str, t.Any], field: str) -> t.Any:
    """What *body* has under one of the words for *field*; ``None`` where it has none."""
    return next((body[word] for word in words(field) if word in body), None)
