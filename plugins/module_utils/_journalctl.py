# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What to ask journalctl for, and whose row it is that comes back."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._command_stream import LONGEST_OUTPUT_LINE, Stream, buffered
from ansible_collections.llmops.sglang.plugins.module_utils._journal_rows import RowParser, clean_text

if t.TYPE_CHECKING:
    from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager

# sd-messages.h: a unit is being started, has started; journald suppressed messages, and has itself started.
STARTING = "7d4958e842da4a758f6c1cdc7b36dcc5"
STARTED = "39f53479d3a045ac8e11786248231fbf"
SUPPRESSED = "a596d6fe7bfa4994828e72309e95d61e"
JOURNALD_STARTED = "f77379a8490b408bbe5f6940505a777b"

# Each field that a row has, and each name that it is compared with, costs journalctl time: only what decides is asked for.
_FIELDS = (
    "MESSAGE,MESSAGE_ID,JOB_RESULT,N_DROPPED,OBJECT_SYSTEMD_INVOCATION_ID,_SYSTEMD_INVOCATION_ID,_SYSTEMD_UNIT,_STREAM_ID,"
    "_LINE_BREAK,"
)
_SYSTEM_FIELDS = _FIELDS + "UNIT,INVOCATION_ID"
_USER_FIELDS = _FIELDS + "USER_UNIT,USER_INVOCATION_ID,_SYSTEMD_USER_UNIT"
Row = dict[str, t.Any]


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
    :arg stream: how journalctl is run where its rows may be many; by the manager's ``run_command``, which holds them, by default.
    """

    def __init__(
        self,
        manager: t.Union[Manager, CommandRunner],
        directory: t.Optional[str] = None,
        files: t.Sequence[str] = (),
        namespace: str = "",
        stream: t.Optional[Stream] = None,
    ) -> None:
        self._manager = manager
        self._stream = stream or buffered(manager.run_command)
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

    def each(
        self, take: t.Callable[[Row], t.Optional[bool]], matches: t.Sequence[str], *options: str
    ) -> tuple[int, str]:
        """Hand each row that fits *matches* (``+`` is an or) to *take*, oldest first, until that returns true.

        What cannot be read as a row is handed on as one without text. Gives journalctl's exit status and what it said.
        """

        fields = _USER_FIELDS if self.user else _SYSTEM_FIELDS
        # --all, because a long message may be withheld without it.
        command = ["journalctl", "-o", "export", "--all", "--no-pager", f"--output-fields={fields}"]
        words = [*command, *self._where, *options, *matches]
        parser = RowParser(take, LONGEST_OUTPUT_LINE)
        status, err = self._stream(words, self._manager.command_environ, parser.feed)
        said = clean_text(" ".join(err.split()))
        return status, said if said or not status else f"journalctl ended with status {status}"

    def rows(self, matches: t.Sequence[str], *options: str) -> tuple[list[Row], str]:
        """The same as a list, for what is short; and what journalctl said on standard error."""
        found: list[Row] = []
        said = self.each(found.append, matches, *options)[1]
        return found, said

    def first_cursor(self, matches: t.Sequence[str]) -> tuple[str, str]:
        """The place of the oldest row that fits *matches*, empty where none does; and what journalctl said."""
        found: list[str] = []

        def take(row: Row) -> bool:
            found.append(str(row.get("__CURSOR") or ""))
            return True

        said = self.each(take, matches)[1]
        return (found[0] if found else ""), said

    def invocation_matches(self, invocation_id: str) -> list[str]:
        """Rows of the service, and the rows of its manager about it."""
        about = ["USER_INVOCATION_ID={}"] if self.user else ["INVOCATION_ID={}", "_PID=1"]
        return [f"_SYSTEMD_INVOCATION_ID={invocation_id}", "+", *(word.format(invocation_id) for word in about)]

    def unit_matches(self, unit: str) -> list[str]:
        """Whatever processes of *unit* wrote, in any invocation or in none."""
        return [f"{'_SYSTEMD_USER_UNIT' if self.user else '_SYSTEMD_UNIT'}={unit}"]

    def manager_matches(self, unit: str) -> list[str]:
        """Whatever the manager says of *unit*."""
        return [f"USER_UNIT={unit}"] if self.user else [f"UNIT={unit}", "_PID=1"]

    def start_matches(self, unit: str) -> list[str]:
        """What the manager says of the starts of *unit*."""
        return [*self.manager_matches(unit), f"MESSAGE_ID={STARTED}", f"MESSAGE_ID={STARTING}"]

    def unit_of(self, row: Row) -> str:
        """The unit whose process wrote *row*."""
        return str(row.get("_SYSTEMD_USER_UNIT" if self.user else "_SYSTEMD_UNIT") or "")

    def about(self, row: Row) -> tuple[str, str]:
        """The unit and the invocation that the manager's *row* is about; two empty texts if the manager wrote no such row."""
        writer = row.get("_SYSTEMD_USER_UNIT") if self.user else row.get("_SYSTEMD_UNIT")
        # Anybody may write a row with INVOCATION_ID=; only the manager's own processes live in init.scope. That it was
        # process 1 is part of what was asked for.
        if writer not in (None, "init.scope") or row.get("MESSAGE_ID") == SUPPRESSED:
            return "", ""
        if self.user:
            return str(row.get("USER_UNIT") or ""), str(row.get("USER_INVOCATION_ID") or "")
        return str(row.get("UNIT") or ""), str(row.get("INVOCATION_ID") or "")

    def is_start(self, row: Row) -> bool:
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
        newest = ""

        def take(row: Row) -> None:
            nonlocal newest
            about, invocation_id = self.about(row)
            if about == unit and invocation_id not in ("", current):
                newest = invocation_id

        self.each(take, self.start_matches(unit))
        return newest
