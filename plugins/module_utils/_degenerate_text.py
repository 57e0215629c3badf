# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Whether a generated text is stuck: one character or one short unit over and over at its end."""

from __future__ import annotations

import unicodedata

# Markdown rules and table borders repeat these on purpose.
_RULE_CHARACTERS = frozenset("-=_*~#+|: .\n\r\t")
_LONGEST_RULE = 200
_LONGEST_UNIT = 40
# Ellipses of any script.
_PAUSES = frozenset("…。・‥⋯")
_SHORTEST_MARKS = 3
# A text that only its token limit ended may be short, and still each of its tokens the same.
_FEWEST_MARKS, _FEWEST_TOKENS = 2, 8


def repeated_tail(text: str) -> str:
    """The unit that the end of *text* repeats too often to be language; empty where there is none.

    A tail that ends within its unit (cut by the token limit) counts as well.
    """
    if len(text) >= _SHORTEST_MARKS and not text.strip():
        return text[0]
    text = text.strip()
    if _is_one_mark(text):
        return text[0]
    for size in range(1, _LONGEST_UNIT + 1):
        run = _periodic_tail(text, size)
        if run >= _too_long(text, size):
            tail = text[-run:]
            if not _is_rule(tail):
                return tail[:size]
    return ""


def repeated_token(text: str, tokens: int) -> str:
    """What each of the *tokens* is of which *text* was made until its limit; empty where they differ or are too few to tell."""
    unit = text[: len(text) // tokens] if tokens >= _FEWEST_MARKS else ""
    if not unit.strip() or unit * tokens != text or _is_rule(text):
        return ""
    return unit if tokens >= _FEWEST_TOKENS or _is_one_mark(text, _FEWEST_MARKS) else ""


def _is_one_mark(text: str, fewest: int = _SHORTEST_MARKS) -> bool:
    """Whether all of *text* is one punctuation mark, which the first token of many vocabularies is, or what is no character."""
    marks = "".join(text.split())
    if len(marks) < fewest or len(set(marks)) > 1 or marks[0] in _RULE_CHARACTERS | _PAUSES:
        return False
    return (
        unicodedata.category(marks[0]) in ("Po", "Ps", "Pe", "Cc", "Co", "Cn")
        or marks[0] == "\N{REPLACEMENT CHARACTER}"
    )


def _periodic_tail(text: str, size: int) -> int:
    """How many characters at the end repeat with period *size*, the first unit included; 0 for less than two units."""
    start = len(text) - size
    while start > 0 and text[start - 1] == text[start - 1 + size]:
        start -= 1
    run = len(text) - start
    return run if run >= 2 * size else 0


def _too_long(text: str, size: int) -> int:
    if size == 1:
        # Numbers end in many zeros, and no word ends in twelve equal letters.
        return 24 if text[-1:].isdigit() else 12
    # Laughter and stammering repeat two characters for long; longer units do not occur nine times in a row.
    return 34 if size == 2 else 9 * size


def _is_rule(tail: str) -> bool:
    return len(tail) <= _LONGEST_RULE and _RULE_CHARACTERS.issuperset(tail)
