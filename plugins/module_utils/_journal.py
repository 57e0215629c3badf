# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Reads the journal of one invocation of one unit, with what tells how complete it is."""

from __future__ import annotations

import functools
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._invocation_log import InvocationLog
from ansible_collections.llmops.sglang.plugins.module_utils._journal_left_over import LeftOver
from ansible_collections.llmops.sglang.plugins.module_utils._journal_rows import Line, LineAssembler, number
from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import (
    JOURNALD_STARTED,
    SUPPRESSED,
    Journal,
    Row,
)
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask

if t.TYPE_CHECKING:
    from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager

# A longer line is masked and cut where it is only kept to be shown.
LONGEST_SHOWN = 4096

_SUPPRESSED_TEXT = re.compile(r"Suppressed (\d+) messages from (\S+)")
# Anybody may write a row with that MESSAGE_ID; only journald's own have that transport.
_NOTICES = ("_TRANSPORT=driver", f"MESSAGE_ID={SUPPRESSED}")
_NOT_ALLOWED = ("not seeing messages", "insufficient permissions", "permission denied")
# Of a journal file that is broken, too new, or cannot be opened (journalctl.c).
_IGNORED = ("ignoring file", "failed to iterate through journal", "failed to get data")
_ERRORS = ("failed to ", "cannot ", "no such file")


class InvocationReader:
    """Reads one invocation, all of it at first and then only what is new, in one pass with what tells how complete it is.

    :arg invocation_id: 32 hexadecimal digits, or ``any``: whatever the unit's processes wrote (exported journals only).
    :arg sink: takes each line; the log then keeps only the last ones. It also gets those that carry no invocation.
    """

    def __init__(
        self, journal: Journal, unit: str, invocation_id: str, sink: t.Optional[t.Callable[[Line], None]] = None
    ) -> None:
        self.journal = journal
        self.log = InvocationLog(unit, invocation_id)
        self._sink = sink
        self._service = LineAssembler("service")
        self._manager = LineAssembler("manager")
        self._older = LineAssembler("unattributed")
        self._late = LineAssembler("unattributed")
        self._cursor = ""
        # Whether the manager has started a younger invocation: what names none is about that one then.
        self._younger = False
        self._left_over = LeftOver(journal, invocation_id)

    def read(self) -> None:
        """Read what is new of the invocation."""
        if not self._cursor and self.log.invocation_id != "any":
            # What stands before its first row is not about this invocation.
            self._cursor, said = self.journal.first_cursor(self.journal.invocation_matches(self.log.invocation_id))
            self._note(0, said)
            if not self._cursor:
                return
            self._read_from(self._cursor)
        else:
            self._read_from(self._cursor, passed=self._cursor)

    def finish(self) -> None:
        """The last lines, which wait for a rest that does not come; where there is no row, what the journal has instead."""
        if not self._cursor and self.log.invocation_id != "any":
            self.log.suppressed = self.log.wrongly_stamped = self.log.unattributed_count = 0
            self.log.unattributed.clear()
            self._note(*self.journal.each(self._take_aside, self._matches(), "--lines=1000"))
            # Where nothing says when it began, they may be of any invocation.
            self._take_strays(self._late.flush())
            self.log.late.clear()
            self.log.tail.clear()
        elif self.log.younger_cursor:
            self._look_behind()
        for line in self._service.flush():
            self._hand_on(line, self.log.lines)
        self._take_strays(self._older.flush())
        self._take_late(self._late.flush())

    def _look_behind(self) -> None:
        """Find the notice about this invocation that journald writes before the first row of a later one."""
        log = self.log
        log.suppressed_late, log.spoken_since = 0, False

        def take(row: Row) -> bool:
            if row.get("_SYSTEMD_INVOCATION_ID") != log.invocation_id and self.journal.unit_of(row) == log.unit:
                log.spoken_since = True
            elif self._names_unit(row) and row.get("OBJECT_SYSTEMD_INVOCATION_ID") != log.invocation_id:
                log.suppressed_late += self._dropped(row)
            return log.spoken_since

        matches = [*_NOTICES, "+", *self.journal.unit_matches(log.unit)]
        self.journal.each(take, matches, f"--cursor={log.younger_cursor}")

    def last(self, rows: int) -> list[Line]:
        """The lines of the invocation's last *rows*, with those that journald read too late to know whose they are."""
        log, journal = self.log, self.journal

        def take_late(row: Row) -> bool:
            about = journal.about(row)[1]
            invocation = row.get("_SYSTEMD_INVOCATION_ID") if not about else ""
            if not about and not invocation and not self._left_over.wrote(row):
                log.late += map(shown, self._late.feed(row))
            return (about or invocation or log.invocation_id) != log.invocation_id

        journal.each(self._take, journal.invocation_matches(log.invocation_id), f"--lines={rows}")
        if log.first_cursor:
            matches = [*journal.unit_matches(log.unit), "+", *journal.start_matches(log.unit)]
            journal.each(take_late, matches, f"--cursor={log.first_cursor}")
        log.lines += self._service.flush()
        log.late += map(shown, self._late.flush())
        return log.all_lines

    def _read_from(self, cursor: str, passed: str = "") -> None:
        """Take the rows from *cursor* on, but not the one at *passed*.

        ``--after-cursor`` would pass over one row more where that at the cursor is gone.
        """
        younger = self._younger

        def take(row: Row) -> bool:
            place = str(row.get("__CURSOR") or "")
            if place and place == passed:
                return False
            self._take(row)
            self._cursor = place or self._cursor
            return self._younger is not younger

        status, said = self.journal.each(take, self._matches(), *([f"--cursor={cursor}"] if cursor else []))
        self._note(status, said)
        if self._younger is not younger:
            self._read_from(self._cursor, passed=self._cursor)

    def _matches(self) -> list[str]:
        log, journal = self.log, self.journal
        notices = ["+", *_NOTICES]
        restarts = f"MESSAGE_ID={JOURNALD_STARTED}"
        if log.invocation_id == "any":
            return [*journal.unit_matches(log.unit), "+", *journal.manager_matches(log.unit), *notices, restarts]
        matches = [*journal.invocation_matches(log.invocation_id), *notices]
        if not self._younger:
            matches += [restarts]
            matches += ["+", *journal.unit_matches(log.unit), "+", *journal.start_matches(log.unit)]
        return matches

    def _take(self, row: Row) -> None:
        log = self.log
        wanted = log.invocation_id
        invocation = row.get("_SYSTEMD_INVOCATION_ID")
        if invocation == wanted or (wanted == "any" and invocation):
            writer = self.journal.unit_of(row)
            if writer in ("", log.unit):
                if self._left_over.wrote(row):
                    self._take_strays(self._older.feed(row))
                else:
                    self._take_own(row)
                return
            if wanted != "any":
                log.other_units.add(writer)
                return
        unit, about = self.journal.about(row)
        if unit != log.unit or not about:
            self._take_aside(row)
        elif wanted in (about, "any"):
            log.begins = log.begins or (not log.service_entries and self.journal.is_begin(row))
            log.course.manager_says(self.journal, row, about)
            self._count(row)
            for line in self._manager.feed(row):
                self._left_over.note(line.text)
                self._hand_on(line, log.manager_lines)
        else:
            if self.journal.is_start(row) and not self._younger:
                self._younger = True
                log.younger_cursor = str(row.get("__CURSOR") or "")

    def _take_own(self, row: Row) -> None:
        log = self.log
        log.course.service_says(row)
        log.service_entries += 1
        log.speaks_itself = log.speaks_itself or "_STREAM_ID" not in row
        self._count(row)
        log.recent.add(number(row, "__MONOTONIC_TIMESTAMP"))
        if not log.first_own_cursor:
            log.first_own_cursor = str(row.get("__CURSOR") or "")
        for line in self._service.feed(row):
            self._hand_on(line, log.lines)
        log.withheld = self._service.withheld

    def _count(self, row: Row) -> None:
        log = self.log
        log.entries_scanned += 1
        if not log.first_entry_us:
            log.first_entry_us = number(row, "__REALTIME_TIMESTAMP")
            log.first_cursor = str(row.get("__CURSOR") or "")

    def _take_aside(self, row: Row) -> None:
        """A row that is not of the invocation: journald's notices, and rows of the unit that carry no invocation."""
        log = self.log
        invocation = row.get("_SYSTEMD_INVOCATION_ID")
        if "__CURSOR" not in row:
            log.unreadable += 1
        elif self._names_unit(row):
            if log.course.is_of_boot(row) and (
                row.get("OBJECT_SYSTEMD_INVOCATION_ID") == log.invocation_id or not self._younger
            ):
                log.suppressed += self._dropped(row)
        elif row.get("MESSAGE_ID") == JOURNALD_STARTED and self.journal.unit_of(row) != log.unit:
            self._note_journald(row)
        elif self.journal.unit_of(row) != log.unit or self._younger:
            return
        elif not invocation and self._left_over.wrote(row):
            self._take_strays(self._older.feed(row))
        elif not invocation:
            self._take_late(self._late.feed(row))
        elif self.journal.user and invocation != log.invocation_id:
            log.wrongly_stamped += 1

    def _note_journald(self, row: Row) -> None:
        """journald says that it has started: what was on its way to the one before is lost."""
        log = self.log
        # A namespace's journald is started by the first one that writes into it.
        first = not log.service_entries and self.journal.unit_of(row).startswith("systemd-journald@")
        if not self._younger and log.course.journald_says(row) and not first:
            log.journald_restarts += 1
            log.journald_restarted_us = log.journald_restarted_us or number(row, "__MONOTONIC_TIMESTAMP")

    def _take_strays(self, lines: t.Sequence[Line]) -> None:
        for line in lines:
            self.log.unattributed_count += 1
            if len(self.log.unattributed) < 5:
                self.log.unattributed.append(shown(line))
            if self._sink:
                self._sink(line)

    def _take_late(self, lines: t.Sequence[Line]) -> None:
        self.log.late += map(shown, lines)
        self.log.tail += map(shown, lines)
        self._take_strays(lines)

    def _hand_on(self, line: Line, kept: list[Line]) -> None:
        if self._sink:
            self._sink(line)
            line = shown(line)
        else:
            kept.append(line)
        self.log.tail.append(line)

    def _names_unit(self, row: Row) -> bool:
        """Whether *row* is journald's notice about this unit; for a user's unit its user@UID.service is named."""
        if row.get("MESSAGE_ID") != SUPPRESSED or row.get("_SYSTEMD_UNIT") == self.log.unit:
            return False
        match = _SUPPRESSED_TEXT.match(str(row.get("MESSAGE") or ""))
        named = match.group(2).rstrip(".") if match else ""
        return named == self.log.unit or (self.journal.user and named.startswith("user@"))

    def _dropped(self, row: Row) -> int:
        match = _SUPPRESSED_TEXT.match(str(row.get("MESSAGE") or ""))
        return number(row, "N_DROPPED", int(match.group(1)) if match else 1)

    def _note(self, status: int, said: str) -> None:
        """Keep what journalctl *said* where it means that rows may be there which it did not print."""
        lowered = said.lower()
        if any(words in lowered for words in _NOT_ALLOWED):
            self.log.not_allowed = True
        elif status or any(words in lowered for words in _IGNORED):
            self.log.unread = said[:400]
        elif not any(words in lowered for words in _ERRORS):
            return
        self.log.complaint = said[:400]


def read_invocation(
    manager: Manager,
    unit: str,
    invocation_id: str,
    journal: t.Optional[Journal] = None,
    sync: bool = True,
    keep: t.Optional[t.Callable[[Line], bool]] = None,
) -> InvocationLog:
    """Everything that the journal holds of one invocation of *unit*.

    :arg unit: its full name, with ``.service``.
    :arg invocation_id: as ``UnitState.invocation_id`` has it; with an empty one the log is empty.
    :arg keep: which lines of the service to keep; all, and those of its manager, if it is not given. They may be many.
    """
    journal = journal or Journal(manager)
    if not invocation_id:
        return InvocationLog(unit, "")
    if sync:
        journal.sync()
    kept: list[Line] = []

    def sink(line: Line) -> None:
        if keep and line.source == "service" and keep(line):
            kept.append(line)

    reader = InvocationReader(journal, unit, invocation_id, sink if keep else None)
    reader.read()
    reader.finish()
    reader.log.lines += kept
    return reader.log


def log_tail(
    manager: Manager, unit: str, invocation_id: str, mask: t.Optional[Mask] = None, lines: int = 10
) -> list[str]:
    """The last *lines* of the invocation, each cut at 400 characters and masked; empty where there are none.

    It is for the end of a failing task: it never raises, and an unreadable journal gives no line.
    """
    if not invocation_id:
        return []
    reader = InvocationReader(Journal(manager), unit, invocation_id)
    texts = [line.text for line in reader.last(4 * lines) if line.text.strip()][-lines:]
    # Without known secrets the mask still finds the keys that the server itself prints.
    mask = mask or Mask()
    return [cut(mask.text(text), 400) for text in texts]


def shown(line: Line) -> Line:
    """*line* as much of it as is kept to be shown."""
    return line if len(line.text) <= LONGEST_SHOWN else line._replace(text=_masked_and_cut(line.text))


@functools.lru_cache(maxsize=4)
def _masked_and_cut(text: str) -> str:
    # In this order: half a key must not stay because its other half is gone.
    return cut(Mask().text(text), LONGEST_SHOWN)


def cut(text: str, length: int) -> str:
    """*text*, at most *length* characters of it, the last one an ellipsis where it goes on."""
    return text if len(text) <= length else text[: length - 1] + "…"
