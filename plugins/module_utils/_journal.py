# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The journal of one invocation of one unit, and how complete it is."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._journal_rows import (
    Line,
    LineAssembler,
    clean_text,
    number,
    parse_rows,
)
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask

if t.TYPE_CHECKING:
    from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager

# sd-messages.h: a unit is being started, has started; journald suppressed messages, and has itself started.
STARTING = "7d4958e842da4a758f6c1cdc7b36dcc5"
STARTED = "39f53479d3a045ac8e11786248231fbf"
SUPPRESSED = "a596d6fe7bfa4994828e72309e95d61e"
JOURNALD_STARTED = "f77379a8490b408bbe5f6940505a777b"

_FIELDS = (
    "MESSAGE,PRIORITY,MESSAGE_ID,UNIT,USER_UNIT,INVOCATION_ID,USER_INVOCATION_ID,JOB_TYPE,JOB_RESULT,N_DROPPED,"
    "OBJECT_SYSTEMD_INVOCATION_ID,_SYSTEMD_INVOCATION_ID,_SYSTEMD_UNIT,_SYSTEMD_USER_UNIT,_PID,_TRANSPORT,_STREAM_ID,"
    "_LINE_BREAK"
)
_SUPPRESSED_TEXT = re.compile(r"Suppressed (\d+) messages from (\S+)")
_NOT_ALLOWED = ("not seeing messages", "insufficient permissions", "permission denied")
_ERRORS = ("failed to ", "cannot ", "no such file")


@dataclass
class InvocationLog:
    """What the journal holds of one invocation.

    ``incomplete`` is the failure class that forbids any conclusion from a line's absence, as far as the rows alone tell
    (``no_permission``, ``no_entries``, ``message_withheld``, ``rate_limited``, ``log_truncated``); empty when they are
    complete from the start of the invocation.
    """

    unit: str
    invocation_id: str
    lines: list[Line] = field(default_factory=list)
    manager_lines: list[Line] = field(default_factory=list)
    unattributed: list[Line] = field(default_factory=list)
    entries_scanned: int = 0
    service_entries: int = 0
    first_entry_us: int = 0
    covers_start: bool = False
    suppressed: int = 0
    journald_restarts: int = 0
    journald_restarted_us: int = 0
    withheld: int = 0
    other_units: set[str] = field(default_factory=set)
    complaint: str = ""
    not_allowed: bool = False

    @property
    def incomplete(self) -> str:
        if not self.service_entries:
            return "no_permission" if self.not_allowed else "no_entries"
        if self.withheld:
            return "message_withheld"
        if self.suppressed:
            return "rate_limited"
        return "" if self.covers_start and not self.journald_restarts else "log_truncated"

    @property
    def all_lines(self) -> list[Line]:
        """The lines of the service and of its manager in the order of their time."""
        return sorted(self.lines + self.manager_lines, key=lambda line: line.timestamp_us)


@dataclass
class CommandRunner:
    """As much of a ``Manager`` as exported journals need: no service manager has to run for them."""

    run_command: t.Callable[..., tuple[int, str, str]]
    scope: str = "system"
    command_environ: dict[str, str] = field(default_factory=lambda: {"LC_ALL": "C", "SYSTEMD_COLORS": "0"})


class Journal:
    """Asks journalctl, on this host or in exported journals.

    :arg directory, files: read these journals instead of the host's.
    :arg namespace: the journal namespace of the unit's output (``LogNamespace=``).
    """

    def __init__(
        self,
        manager: t.Union[Manager, CommandRunner],
        directory: t.Optional[str] = None,
        files: t.Sequence[str] = (),
        namespace: str = "",
    ) -> None:
        self._manager = manager
        self.user = manager.scope == "user"
        self.elsewhere = bool(directory or files)
        self._namespace = namespace
        self._where = [f"--directory={directory}"] if directory else [f"--file={name}" for name in files]
        if namespace and not self.elsewhere:
            # With the plus sign the manager's rows, which stay in the default namespace, are shown too.
            self._where.append(f"--namespace=+{namespace}")

    def sync(self) -> None:
        """Have journald write out what it has received; needs root, and is harmless where it is refused."""
        if self.elsewhere:
            return
        for where in [[], [f"--namespace={self._namespace}"]] if self._namespace else [[]]:
            self._manager.run_command(["journalctl", *where, "--sync"], environ_update=self._manager.command_environ)

    def rows(self, matches: t.Sequence[str], *options: str, skip: str = "") -> tuple[list[dict[str, t.Any]], str]:
        """The rows that fit *matches* (``+`` is an or), oldest first, and what journalctl said on standard error.

        :arg skip: rows that hold this text are not even decoded.
        """
        # --all, because a message of more than 4 KiB is null without it.
        command = ["journalctl", "-o", "json", "--all", "--no-pager", f"--output-fields={_FIELDS}"]
        rc, out, err = self._manager.run_command(
            [*command, *self._where, *options, *matches], environ_update=self._manager.command_environ
        )
        said = clean_text(" ".join(err.split()))
        if rc != 0 and not said:
            said = f"journalctl ended with status {rc}"
        return list(parse_rows(out, skip)), said

    def invocation_matches(self, invocation_id: str) -> list[str]:
        """Rows of the service, and the rows of its manager about it."""
        about = "USER_INVOCATION_ID" if self.user else "INVOCATION_ID"
        return [f"_SYSTEMD_INVOCATION_ID={invocation_id}", "+", f"{about}={invocation_id}"]

    def unit_of(self, row: dict[str, t.Any]) -> str:
        """The unit whose process wrote *row*."""
        return str(row.get("_SYSTEMD_USER_UNIT" if self.user else "_SYSTEMD_UNIT") or "")

    def about(self, row: dict[str, t.Any]) -> tuple[str, str]:
        """The unit and the invocation that the manager's *row* is about; two empty texts if the manager wrote no such row."""
        writer = row.get("_SYSTEMD_USER_UNIT") if self.user else row.get("_SYSTEMD_UNIT")
        # Anybody may write a row with INVOCATION_ID=; only the manager's own processes live in init.scope.
        if writer not in (None, "init.scope") or (not self.user and str(row.get("_PID", "1")) != "1"):
            return "", ""
        if self.user:
            return str(row.get("USER_UNIT") or ""), str(row.get("USER_INVOCATION_ID") or "")
        return str(row.get("UNIT") or ""), str(row.get("INVOCATION_ID") or "")

    def is_start(self, row: dict[str, t.Any]) -> bool:
        """Whether the manager's *row* says that the unit is starting or has started."""
        if row.get("MESSAGE_ID") == STARTED:
            return row.get("JOB_RESULT") in (None, "done")
        if row.get("MESSAGE_ID"):
            return row.get("MESSAGE_ID") == STARTING
        return str(row.get("MESSAGE") or "").startswith(("Starting ", "Started "))

    def begins_after(self, moment: float) -> bool:
        """Whether the journal has rows, and not one from before *moment* (seconds since the epoch).

        The time of day only tells two failures apart here: a service that says nothing, and rows that are gone.
        """
        one = ("--lines=1", "--quiet")
        return bool(self.rows([], *one)[0]) and not self.rows([], *one, f"--until=@{moment:.6f}")[0]

    def previous_invocation(self, unit: str, current: str) -> str:
        """The newest invocation of *unit* that is not *current*; empty if the journal knows none."""
        match = f"{'USER_UNIT' if self.user else 'UNIT'}={unit}"
        rows, dummy = self.rows([match, f"MESSAGE_ID={STARTED}", f"MESSAGE_ID={STARTING}"])
        ids = [about[1] for about in map(self.about, rows) if about[0] == unit and about[1] not in ("", current)]
        return ids[-1] if ids else ""


class InvocationReader:
    """Reads one invocation, all of it at first and then only what is new.

    :arg invocation_id: 32 hexadecimal digits, or ``any``: whatever the unit's processes wrote (exported journals only).
    """

    def __init__(self, journal: Journal, unit: str, invocation_id: str) -> None:
        self.journal = journal
        self.log = InvocationLog(unit, invocation_id)
        self._service = LineAssembler("service")
        self._manager = LineAssembler("manager")
        self._cursor = ""
        self._aside_cursor = ""
        self._seen: set[str] = set()

    def read(self) -> list[Line]:
        """Read what is new of the invocation; the new lines, which are then in :attr:`log` too."""
        options = [f"--after-cursor={self._cursor}"] if self._cursor else []
        rows, said = self.journal.rows(self._matches(), *options)
        self._note(said)
        fresh: list[Line] = []
        for row in rows:
            fresh += self._take(row)
        return fresh

    def finish(self) -> list[Line]:
        """The last lines, which wait for a rest that does not come; then what stands outside the invocation's rows."""
        fresh = self._service.flush()
        self.log.lines += fresh
        self._read_aside()
        return fresh

    def _matches(self) -> list[str]:
        if self.log.invocation_id != "any":
            return self.journal.invocation_matches(self.log.invocation_id)
        fields = ("_SYSTEMD_USER_UNIT", "USER_UNIT") if self.journal.user else ("_SYSTEMD_UNIT", "UNIT")
        return [f"{fields[0]}={self.log.unit}", "+", f"{fields[1]}={self.log.unit}"]

    def _take(self, row: dict[str, t.Any]) -> list[Line]:
        cursor = str(row.get("__CURSOR") or "")
        if cursor in self._seen:
            return []
        log = self.log
        wanted = log.invocation_id
        unit, about = self.journal.about(row)
        if unit == log.unit and about and wanted in (about, "any"):
            log.covers_start = log.covers_start or (self.journal.is_start(row) and (wanted != "any" or not log.lines))
            lines = self._manager.feed(row)
            log.manager_lines += lines
        elif row.get("_SYSTEMD_INVOCATION_ID") == wanted or (wanted == "any" and row.get("_SYSTEMD_INVOCATION_ID")):
            if self.journal.unit_of(row) not in ("", log.unit):
                log.other_units.add(self.journal.unit_of(row))
                return []
            log.service_entries += 1
            lines = self._service.feed(row)
            log.withheld = self._service.withheld
            log.lines += lines
        else:
            return []
        log.entries_scanned += 1
        log.first_entry_us = log.first_entry_us or number(row, "__REALTIME_TIMESTAMP")
        if cursor:
            self._cursor = cursor
            self._aside_cursor = self._aside_cursor or cursor
            self._seen.add(cursor)
        return lines

    def _read_aside(self) -> None:
        """Rows of the unit without an invocation, and journald's notices that it suppressed some or was restarted.

        They are looked for from the first row of the invocation on; a notice counts while no younger invocation has
        written, or when it names this one.
        """
        log = self.log
        if log.invocation_id == "any":
            return
        writer = "_SYSTEMD_USER_UNIT" if self.journal.user else "_SYSTEMD_UNIT"
        matches = [f"{writer}={log.unit}", "+", f"MESSAGE_ID={SUPPRESSED}", f"MESSAGE_ID={JOURNALD_STARTED}"]
        options = [f"--after-cursor={self._aside_cursor}"] if self._aside_cursor else ["--lines=1000"]
        own = f'"_SYSTEMD_INVOCATION_ID":"{log.invocation_id}"'
        rows, said = self.journal.rows(matches, *options, skip=own)
        self._note(said)
        log.suppressed, log.journald_restarts, log.unattributed, younger = 0, 0, [], False
        stray = LineAssembler("unattributed")
        for row in rows:
            invocation = row.get("_SYSTEMD_INVOCATION_ID")
            if self._names_unit(row):
                if row.get("OBJECT_SYSTEMD_INVOCATION_ID") == log.invocation_id or not younger:
                    log.suppressed += self._dropped(row)
            elif row.get("MESSAGE_ID") == JOURNALD_STARTED and row.get("_TRANSPORT") == "driver":
                if not younger and self._aside_cursor:
                    log.journald_restarts += 1
                    log.journald_restarted_us = log.journald_restarted_us or number(row, "__REALTIME_TIMESTAMP")
            elif self.journal.unit_of(row) != log.unit:
                continue
            elif not invocation:
                log.unattributed += stray.feed(row)
            elif invocation != log.invocation_id:
                younger = True
        log.unattributed += stray.flush()

    def _names_unit(self, row: dict[str, t.Any]) -> bool:
        """Whether *row* is journald's notice about this unit; for a user's unit its user@UID.service is named."""
        if row.get("MESSAGE_ID") not in (SUPPRESSED, None) or row.get("_SYSTEMD_UNIT") == self.log.unit:
            return False
        match = _SUPPRESSED_TEXT.match(str(row.get("MESSAGE") or ""))
        if not match:
            return False
        named = match.group(2).rstrip(".")
        return named == self.log.unit or (self.journal.user and named.startswith("user@"))

    def _dropped(self, row: dict[str, t.Any]) -> int:
        match = _SUPPRESSED_TEXT.match(str(row.get("MESSAGE") or ""))
        return number(row, "N_DROPPED", int(match.group(1)) if match else 1)

    def _note(self, said: str) -> None:
        lowered = said.lower()
        if any(words in lowered for words in _NOT_ALLOWED):
            self.log.not_allowed = True
        elif not any(words in lowered for words in _ERRORS):
            return
        self.log.complaint = said[:400]


def read_invocation(
    manager: Manager,
    unit: str,
    invocation_id: str,
    journal: t.Optional[Journal] = None,
    sync: bool = True,
) -> InvocationLog:
    """Everything that the journal holds of one invocation of *unit*.

    :arg unit: its full name, with ``.service``.
    :arg invocation_id: as ``UnitState.invocation_id`` has it; with an empty one the log is empty.
    """
    journal = journal or Journal(manager)
    if not invocation_id:
        return InvocationLog(unit, "")
    if sync:
        journal.sync()
    reader = InvocationReader(journal, unit, invocation_id)
    reader.read()
    reader.finish()
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
    rows, dummy = reader.journal.rows(reader.journal.invocation_matches(invocation_id), f"--lines={4 * lines}")
    for row in rows:
        reader._take(row)
    reader.log.lines += reader._service.flush()
    texts = [line.text for line in reader.log.all_lines if line.text.strip()][-lines:]
    # Without known secrets the mask still finds the keys that the server itself prints.
    mask = mask or Mask()
    return [cut(mask.text(text), 400) for text in texts]


def cut(text: str, length: int) -> str:
    """*text*, at most *length* characters of it, the last one an ellipsis where it goes on."""
    return text if len(text) <= length else text[: length - 1] + "…"
