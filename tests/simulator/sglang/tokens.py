# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tokenizer without a vocabulary: text is cut by rule, and the pieces put together give the text again."""

from __future__ import annotations

import re
import zlib

PIECE = re.compile(r"<\|[a-z_]+\|>| ?[A-Za-z]{1,6}|\d{1,3}|\n+|\s|[^\w\s]|.", re.S)
_known = {}


def split(text):
    """The token strings of a text."""
    return PIECE.findall(text)


def token_id(piece):
    """A stable id below 150 000 for a token string; the piece is remembered for `text_of`."""
    number = zlib.crc32(piece.encode("utf-8", "surrogatepass")) % 150000 + 10
    _known[number] = piece
    return number


def text_of(number):
    return _known.get(number, " token%d" % number)


def chat_prompt(messages, thinking=None):
    """The prompt of a chat in ChatML; `thinking` False closes an empty think block, as Qwen's template does."""
    parts = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
        parts.append("<|im_start|>%s\n%s<|im_end|>\n" % (message.get("role", "user"), content or ""))
    parts.append("<|im_start|>assistant\n")
    if thinking is False:
        parts.append("<think>\n\n</think>\n\n")
    return "".join(parts)
