# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The request of a generation probe, for each API and engine."""

from __future__ import annotations

import typing as t

PATHS = {"chat": "/v1/chat/completions", "completions": "/v1/completions", "generate": "/generate"}

# Each asks for some dozens of tokens of ordinary text, so that speculation has something to verify.
PROMPTS = (
    "Name three colours and say in one sentence where each is found in nature.",
    "In two sentences, why does the sea taste of salt?",
    "Describe a bicycle to somebody who has never seen one, in two sentences.",
    "Which large rivers flow through Europe? Name two and their countries.",
    "Explain in two sentences what a library is for.",
    "How does one boil an egg? Answer in three short steps.",
    "Write one sentence about the moon and one about the sun.",
)
# Common words, each a token of its own in most vocabularies.
_FILLER = "the house by the river was old and the garden behind it was full of green trees and small white stones"


def prompt_number(index: int, prompt: str | None) -> str:
    """The prompt of the probe *index*: no two in a row are the same, so that no cache can answer for the server."""
    if prompt is None:
        return PROMPTS[index % len(PROMPTS)]
    return prompt if index == 0 else f"{prompt} ({index + 1})"


def long_prompt(words: int, index: int) -> str:
    """About *words* words, another beginning for each *index*, with a question at the end."""
    filler = _FILLER.split()
    body = [filler[(index + i) % len(filler)] for i in range(max(words - 12, 1))]
    return f"Text {index + 1}: {' '.join(body)}. What stands by the river?"


def payload(
    api: str,
    path: str,
    model: str,
    prompt: str,
    max_tokens: int,
    extra: t.Mapping[str, t.Any] | None,
    stream: bool = False,
) -> dict[str, t.Any]:
    """The JSON body. *extra* goes on top; mappings in it are merged with those that are there."""
    body: dict[str, t.Any]
    if path.rstrip("/").endswith("/completion"):
        # The native route of llama.cpp's server.
        body = {"prompt": prompt, "n_predict": max_tokens, "temperature": 0}
    elif api == "generate":
        body = {"text": prompt, "sampling_params": {"max_new_tokens": max_tokens, "temperature": 0}}
    elif api == "completions":
        body = {"model": model, "prompt": prompt, "max_tokens": max_tokens, "temperature": 0}
    else:
        messages = [{"role": "user", "content": prompt}]
        body = {"model": model, "messages": messages, "max_tokens": max_tokens, "temperature": 0}
    body["stream"] = stream
    if stream and "model" in body:
        body["stream_options"] = {"include_usage": True}
    for key, value in (extra or {}).items():
        known = body.get(key)
        body[key] = {**known, **value} if isinstance(known, dict) and isinstance(value, dict) else value
    return body
