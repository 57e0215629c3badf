# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""A log line's text and its parts, and the tracebacks among many lines."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._journal_rows import Line

# [2026-05-30 08:20:46 DP0 TP0] of SGLang; 0.00.005.113 E of llama.cpp.
_PREFIX = re.compile(
    r"(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{3})?(?P<ranks>(?: [A-Z_]+\d+)*)\]|\d+\.\d\d\.\d{3}\.\d{3} [A-Z]) "
)
TRACEBACK = "Traceback (most recent call last):"
_EXCEPTION = re.compile(r"(?P<kind>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?")
RANK = re.compile(r"\[rank\d+\]: ?")
CHAINED = re.compile(r"(?:The above exception was the direct cause|During handling of the above exception)")
# Longer than any real one; a block that never ends must not swallow the log.
LONGEST_TRACEBACK = 400


class Traceback(t.NamedTuple):
    """One traceback with those that it is chained to."""

    start: int
    header: str
    frames: str
    kind: str
    message: str
    end: int

    @property
    def summary(self) -> str:
        return ": ".join(part for part in (self.kind, self.message) if part)


def text_of(line: t.Union[Line, str]) -> str:
    return line if isinstance(line, str) else line.text


def message_of(text: str) -> str:
    """*text* without the time (and rank) that the server puts before each message."""
    match = _PREFIX.match(text)
    return text[match.end() :] if match else text


def has_prefix(text: str) -> bool:
    return bool(_PREFIX.match(text))


def tracebacks(texts: t.Sequence[str]) -> t.Iterator[Traceback]:
    """The tracebacks in *texts* (one text a line), each whole: header, frames, and the exception that ended it.

    Messages of other processes that stand between the frames are passed over.
    """
    index = 0
    while index < len(texts):
        if TRACEBACK not in texts[index]:
            index += 1
            continue
        found = _one_traceback(texts, index)
        yield found
        index = found.end


def _one_traceback(texts: t.Sequence[str], start: int) -> Traceback:
    header = message_of(texts[start]).partition(TRACEBACK)[0].rstrip()
    frames: list[str] = []
    kind, message, end = "", "", start + 1
    ended = False
    for index in range(start + 1, min(len(texts), start + LONGEST_TRACEBACK)):
        text = RANK.sub("", texts[index], count=1)
        if not text.strip():
            continue
        if text.startswith((" ", "\t")):
            frames.append(text)
        elif CHAINED.match(text) or text.startswith(TRACEBACK):
            ended = False
        elif ended:
            break
        elif not has_prefix(text):
            match = _EXCEPTION.fullmatch(text)
            kind, message = (match.group("kind"), match.group("message") or "") if match else ("", text)
            ended, end = True, index + 1
    return Traceback(start, header, "\n".join(frames), kind, message, end)
