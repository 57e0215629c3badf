# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Find the code in a model's answer."""

from __future__ import annotations

import ast
import re
import typing as t
import warnings

_THOUGHTS = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
# A fence that is not closed was cut by the token limit: its code counts, and fails by itself.
# The looks ahead keep the search from trying each part of a line that never ends.
_BLOCK = re.compile(
    r"^(?=[^\n]*\n)[ \t]*(`{3,}(?!`)|~{3,}(?!~))[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)
_LONGEST_NUMBER = 4300
_OTHER_LANGUAGES = frozenset(
    ("bash", "sh", "shell", "console", "text", "json", "yaml", "output", "c", "cpp", "java", "javascript")
)


def find_code(answer: str, entry_point: str) -> t.Optional[str]:
    """The program in *answer*: the last code block that defines *entry_point*, else the last block that may be Python,
    else the whole answer where it defines that function or is a Python program; ``None`` where there is none of these.
    """
    answer = _THOUGHTS.sub("", answer)
    blocks = [
        code
        for dummy, language, code in _BLOCK.findall(answer)
        if language.lower() not in _OTHER_LANGUAGES and code.strip()
    ]
    defines = re.compile(
        rf"^[ \t]*(?:async\s+def|def|class)\s+{re.escape(entry_point)}\b|^{re.escape(entry_point)}\s*=", re.MULTILINE
    )
    for code in reversed(blocks):
        if defines.search(code):
            return code
    if blocks:
        return blocks[-1]
    match = defines.search(answer)
    if match:
        return answer if is_python(answer) else answer[match.start() :].lstrip("\n")
    return answer if answer.strip() and is_python(answer) else None


def is_python(text: str) -> bool:
    """Whether *text* is a Python program."""
    # Newer releases refuse such a number themselves; older ones take the square of its length to read it.
    if any(len(digits) > _LONGEST_NUMBER for digits in re.findall(r"\d+", text)):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
