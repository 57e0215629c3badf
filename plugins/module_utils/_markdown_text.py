# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Texts of others within Markdown: labels, names of models and error messages, as one line that is no markup."""

from __future__ import annotations

import re
import typing as t

_LONGEST = 600
# Controls, and what turns the direction of the text around it.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
# What begins an element, code, emphasis, an escape or a cell, and what makes a link of two brackets. Underscores within words
# do nothing, and names are full of them.
_MARKUP = re.compile(r"[\\`*<|]|(?<=\])\(")


def as_text(value: t.Any) -> str:
    """*value* as text on one line."""
    plain = _UNPRINTABLE.sub(" ", str(value).encode("utf-8", "replace").decode())
    line = " ".join(plain.split())
    return _MARKUP.sub(r"\\\g<0>", line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…")
