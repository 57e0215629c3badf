# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The first and the last rows of a journal as text without secrets; how many lie between them costs nothing."""

from __future__ import annotations

import datetime
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._journal_rows import Line, LineAssembler, number
from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import Journal, Row
from ansible_collections.llmops.sglang.plugins.module_utils._redaction import Redaction

FIRST, LAST = 1000, 2000
# So much of a long line is judged, and so much less is shown, that no half of a secret is left at its end.
_JUDGED, _LONGEST_SECRET, LONGEST_SHOWN = 8192, 4096, 4000


class Rows(t.NamedTuple):
    """Lines without secrets in their order; ``gap`` is where others were left out (0 where none were), and ``said`` what
    journalctl complained of.
    """

    lines: list[Line]
    gap: int = 0
    said: str = ""

    def text(self) -> str:
        """One line of text each, with its time (UTC) and process."""
        texts = [_with_time(line) for line in self.lines] or ["no rows"]
        if self.gap:
            texts.insert(self.gap, "... rows between these were left out ...")
        if self.said:
            texts.insert(0, f"journalctl said: {self.said}")
        return "\n".join(texts) + "\n"


class JournalEnds:
    """Reads the two ends of what fits some matches."""

    def __init__(self, journal: Journal, redaction: Redaction) -> None:
        self._journal, self._redaction = journal, redaction

    def read(self, matches: t.Sequence[str], first: int = FIRST, last: int = LAST) -> Rows:
        """The *first* and *last* rows that fit *matches*."""
        begin, said = self._lines(matches, first) if first else ([], "")
        end, said = self._lines(matches, last, f"--lines={last}")
        known = {line.cursor for line in begin}
        fresh = [line for line in end if line.cursor not in known]
        whole = not begin or len(fresh) < len(end)
        return Rows(begin + fresh, 0 if whole else len(begin), self._redaction.text(said[:400]))

    def _lines(self, matches: t.Sequence[str], most: int, *options: str) -> tuple[list[Line], str]:
        assembler = LineAssembler()
        lines: list[Line] = []
        count = 0

        def take(row: Row) -> bool:
            nonlocal count
            count += 1
            withheld = assembler.withheld
            lines.extend(map(self.shown, assembler.feed(row)))
            if assembler.withheld > withheld:
                lines.append(
                    Line("(the text of this row is too long or was withheld)", number(row, "__REALTIME_TIMESTAMP"))
                )
            return count >= most

        said = self._journal.each(take, matches, *options)[1]
        return [*lines, *map(self.shown, assembler.flush())], said

    def shown(self, line: Line) -> Line:
        """*line* without secrets, and no more of it than is shown."""
        if len(line.text) <= LONGEST_SHOWN:
            return line._replace(text=self._redaction.text(line.text))
        known = self._redaction.known(line.text)
        text = self._redaction.text(known[:_JUDGED])
        kept = text[:-_LONGEST_SECRET] if len(known) > _JUDGED else text
        return line._replace(text=kept[:LONGEST_SHOWN] + "…")


def _with_time(line: Line) -> str:
    moment = datetime.datetime.fromtimestamp(line.timestamp_us / 1e6, datetime.timezone.utc)
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z [{line.pid or '?'}] {line.text}"
