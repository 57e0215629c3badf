# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Which of a log's lines are one traceback, told line by line."""

from __future__ import annotations

import typing as t
from collections import deque

from ansible_collections.llmops.sglang.plugins.module_utils._journal import shown
from ansible_collections.llmops.sglang.plugins.module_utils._journal_rows import Line
from ansible_collections.llmops.sglang.plugins.module_utils._log_text import (
    CHAINED,
    LONGEST_TRACEBACK,
    RANK,
    TRACEBACK,
    has_prefix,
)

# As many last lines are kept of each: the ones that name the cause, and more than a result has room for.
_KEPT = 40
# Processes whose tracebacks are followed at a time.
_MOST_OPEN = 64


class Block:
    """One traceback with those that it is chained to; it grows while its lines come in."""

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=_KEPT)
        # Whether the line that names the exception is there.
        self.ended = False
        self.count = 0

    def takes(self, text: str) -> bool:
        """Whether *text*, said by the same process, belongs to it; if so, it is kept."""
        plain = RANK.sub("", text, count=1)
        indented = plain.startswith((" ", "\t"))
        chained = bool(CHAINED.match(plain)) or (not self.ended and plain.startswith(TRACEBACK))
        if self.count >= LONGEST_TRACEBACK or (self.ended and not chained) or (not indented and has_prefix(plain)):
            return False
        self.count += 1
        self.lines.append(text)
        # The line of the exception is the first that is not indented.
        self.ended = not indented and not chained
        return True


class Tracebacks:
    """Finds the tracebacks in lines that it is shown in their order."""

    def __init__(self) -> None:
        self._open: dict[str, Block] = {}

    def among(self, lines: t.Sequence[Line]) -> dict[int, Block]:
        """The blocks of those *lines* that belong to one, by their place."""
        found: dict[int, Block] = {}
        for place, line in enumerate(lines):
            if self._open or TRACEBACK in line.text:
                block = self._block_of(line)
                if block:
                    found[place] = block
        return found

    def _block_of(self, line: Line) -> t.Optional[Block]:
        if line.source != "service":
            return None
        text = shown(line).text
        block = self._open.get(line.pid)
        if block and block.takes(text):
            return block
        if not text.endswith(TRACEBACK):
            # What one process says in between does not end what another one began; its own message does.
            if block and not (has_prefix(text) and not block.ended):
                del self._open[line.pid]
            return None
        if len(self._open) >= _MOST_OPEN:
            del self._open[next(iter(self._open))]
        block = self._open[line.pid] = Block()
        block.lines.append(text)
        return block
