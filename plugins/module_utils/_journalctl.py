# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What to ask journalctl for, and whose row it is that comes back."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._command_stream import (
    LONGEST_OUTPUT_LINE,
    Stream,
    stream_of,
)
from ansible_collections.llmops.sglang.plugins.module_utils._journal_rows import RowParser, clean_text, number

if t.TYPE_CHECKING:
    from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager

# sd-messages.h: a unit is being started, has started; journald suppressed messages, and has itself started.
STARTING = "7d4958e842da4a758f6c1cdc7b36dcc5"
STARTED = "39f53479d3a045ac8e11786248231fbf"
SUPPRESSED = "a596d6fe7bfa4994828e72309e95d61e"
JOURNALD_STARTED = "f77379a8490b408bbe5f6940505a777b"
# A unit's process has exited; the unit has ended well, has failed, has stopped.
ENDED = (
    "98e322203f7a4ed290d09fe03c09fe15",
    "7ad2d189f7e94e70a38c781354912448",
    "d9b373ed55a64feb8242e02dbe79a49c",
    "9d1aaa27d60140bd96365438aad20286",
)
# Seconds that journald gets to write out what it has received; of one that hangs journalctl would wait for ever.
SYNC_TIME = 60

# Each field that a row has, and each name that it is compared with, costs journalctl time: only what decides is asked for.
_FIELDS = (
    "MESSAGE,MESSAGE_ID,JOB_RESULT,N_DROPPED,OBJECT_SYSTEMD_INVOCATION_ID,_SYSTEMD_INVOCATION_ID,_SYSTEMD_UNIT,_STREAM_ID,"
    "_LINE_BREAK,_PID,"
)
_SYSTEM_FIELDS = _FIELDS + "UNIT,INVOCATION_ID"
_USER_FIELDS = _FIELDS + "USER_UNIT,USER_INVOCATION_ID,_SYSTEMD_USER_UNIT"
Row = dict[str, t.Any]
# timeout(1) ends with it where it had to end the command.
_TIMED_OUT = 124


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
    :arg stream: how journalctl is run where its rows may be many; by default by a module's ``run_command`` without being held.
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
        self._stream = stream or stream_of(manager.run_command)
        self.user = manager.scope == "user"
        self.elsewhere = bool(directory or files)
        self.namespace = namespace
        self._where = [f"--directory={directory}"] if directory else [f"--file={name}" for name in files]
        self._own = list(self._where)
        if namespace and not self.elsewhere:
            self._own.append(f"--namespace={namespace}")
            # With the plus sign the manager's rows, which stay in the default namespace, are shown too.
            self._where.append(f"--namespace=+{namespace}")
        # Another user's unit may have the same name.
        runtime = manager.command_environ.get("XDG_RUNTIME_DIR", "")
        self._owner = [f"_SYSTEMD_OWNER_UID={runtime.rpartition('/')[2]}"] if runtime and not self.elsewhere else []

    def sync(self) -> bool:
        """Have journald write out what it has received; needs root, and is harmless where it is refused.

        False where journald did not do so in :data:`SYNC_TIME`: rows may then be on their way.
        """
        answered = True
        for where in [[], [f"--namespace={self.namespace}"]] if self.namespace else [[]]:
            if not self.elsewhere:
                words = ["timeout", str(SYNC_TIME), "journalctl", *where, "--sync"]
                status = self._manager.run_command(words, environ_update=self._manager.command_environ)[0]
                answered = answered and status != _TIMED_OUT
        return answered

    def each(
        self, take: t.Callable[[Row], t.Optional[bool]], matches: t.Sequence[str], *options: str
    ) -> tuple[int, str]:
        """Hand each row that fits *matches* (``+`` is an or) to *take*, oldest first, until that returns true.

        What cannot be read as a row is handed on as one without text. Gives journalctl's exit status and what it said.
        """
        return self._each(take, [*self._where, *options, *matches])

    def backwards(self, take: t.Callable[[Row], t.Optional[bool]], cursor: str, matches: t.Sequence[str] = ()) -> None:
        """Hand the row at *cursor*, then those before it, to *take* until that returns true: in the unit's namespace alone."""
        self._each(take, [*self._own, "--reverse", f"--cursor={cursor}", *matches])

    def before(self, take: t.Callable[[Row], t.Optional[bool]], cursor: str) -> None:
        """Hand the row at *cursor*, then those before it in the whole journal, to *take* until that returns true."""
        self._each(take, [*self._where, "--reverse", f"--cursor={cursor}"])

    def places(self, take: t.Callable[[Row], t.Optional[bool]], cursor: str, matches: t.Sequence[str] = ()) -> None:
        """Hand the row at *cursor* and those after it to *take* until that returns true: where they stand, not what they say."""
        self._each(take, [*self._where, f"--cursor={cursor}", *matches], "_PID")

    def _each(
        self, take: t.Callable[[Row], t.Optional[bool]], asked: t.Sequence[str], fields: str = ""
    ) -> tuple[int, str]:
        fields = fields or (_USER_FIELDS if self.user else _SYSTEM_FIELDS)
        # --all, because a long message may be withheld without it.
        command = ["journalctl", "-o", "export", "--all", "--no-pager", f"--output-fields={fields}"]
        parser = RowParser(take, LONGEST_OUTPUT_LINE)
        status, err = self._stream([*command, *asked], self._manager.command_environ, parser.feed)
        said = clean_text(" ".join(err.split()))
        return status, said if said or not status else f"journalctl ended with status {status}"

    def rows(self, matches: t.Sequence[str], *options: str) -> tuple[list[Row], str]:
        """The same as a list, for what is short; and what journalctl said on standard error."""
        found: list[Row] = []
        said = self.each(found.append, matches, *options)[1]
        return found, said

    def first(self, matches: t.Sequence[str]) -> tuple[Row, str]:
        """The oldest row that fits *matches*, empty where none does; and what journalctl said."""
        found: list[Row] = []

        def take(row: Row) -> bool:
            found.append(row)
            return True

        said = self.each(take, matches)[1]
        return (found[0] if found else {}), said

    def first_cursor(self, matches: t.Sequence[str]) -> tuple[str, str]:
        """The place of that row, and what journalctl said."""
        row, said = self.first(matches)
        return str(row.get("__CURSOR") or ""), said

    def headers(self) -> str:
        """What journalctl tells of each journal file."""
        words = ["journalctl", *self._where, "--header"]
        return self._manager.run_command(words, environ_update=self._manager.command_environ)[1]

    def invocation_matches(self, invocation_id: str) -> list[str]:
        """Rows of the service, and the rows of its manager about it."""
        about = ["USER_INVOCATION_ID={}", *self._owner] if self.user else ["INVOCATION_ID={}", "_PID=1"]
        return [f"_SYSTEMD_INVOCATION_ID={invocation_id}", "+", *(word.format(invocation_id) for word in about)]

    def own_matches(self, unit: str, invocation_id: str) -> list[str]:
        """What the service itself wrote in that invocation, or in ``any``."""
        return self.unit_matches(unit) if invocation_id == "any" else [f"_SYSTEMD_INVOCATION_ID={invocation_id}"]

    def unit_matches(self, unit: str) -> list[str]:
        """Whatever processes of *unit* wrote, in any invocation or in none."""
        return [f"_SYSTEMD_USER_UNIT={unit}", *self._owner] if self.user else [f"_SYSTEMD_UNIT={unit}"]

    def manager_matches(self, unit: str) -> list[str]:
        """Whatever the manager says of *unit*."""
        return [f"USER_UNIT={unit}", *self._owner] if self.user else [f"UNIT={unit}", "_PID=1"]

    def start_matches(self, unit: str) -> list[str]:
        """What the manager says of the starts of *unit*."""
        return [*self.manager_matches(unit), f"MESSAGE_ID={STARTED}", f"MESSAGE_ID={STARTING}"]

    def unit_of(self, row: Row) -> str:
        """The unit whose process wrote *row*."""
        return str(row.get("_SYSTEMD_USER_UNIT" if self.user else "_SYSTEMD_UNIT") or "")

    def about(self, row: Row) -> tuple[str, str]:
        """The unit and the invocation that the manager's *row* is about; two empty texts if the manager wrote no such row."""
        # Anybody may write a row with INVOCATION_ID=; only the manager's own processes live in init.scope. That it was
        # process 1 is part of what was asked for.
        if self.user:
            is_manager = row.get("_SYSTEMD_USER_UNIT") == "init.scope"
        else:
            is_manager = row.get("_SYSTEMD_UNIT") in (None, "init.scope")
        if not is_manager or row.get("MESSAGE_ID") == SUPPRESSED:
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

    def is_begin(self, row: Row) -> bool:
        """Whether the manager's *row* says that the unit is starting: nothing of the invocation stands before that one."""
        return self.is_start(row) and (
            row.get("MESSAGE_ID") == STARTING or str(row.get("MESSAGE") or "").startswith("Starting ")
        )

    def begins_after(self, monotonic_us: int, boot_id: str) -> bool:
        """Whether the journal has rows, and of this boot not one from before *monotonic_us* of the host's own clock."""
        found: list[bool] = []

        def take(row: Row) -> bool:
            found.append(number(row, "__MONOTONIC_TIMESTAMP") > monotonic_us)
            return True

        self.each(take, [f"_BOOT_ID={boot_id}"])
        return found[0] if found else bool(self.rows([], "--lines=1", "--quiet")[0])

    def words_of(self, field: str) -> list[str]:
        """What all rows have in *field*, each once."""
        words = ["journalctl", *self._where, "--quiet", f"--field={field}"]
        return self._manager.run_command(words, environ_update=self._manager.command_environ)[1].split()

    def times_before(self, matches: t.Sequence[str], cursor: str, span_us: int, most: int) -> list[int]:
        """When the rows that fit *matches* were written in the *span_us* microseconds before that one of them at *cursor*.

        By the host's own clock, the oldest first; only the last *most*.
        """
        found: list[int] = []
        first: Row = {}

        def take(row: Row) -> bool:
            if not first:
                first.update(row)
                return False
            # The clock of another boot tells nothing, and journald has forgotten by then.
            written = number(row, "__MONOTONIC_TIMESTAMP")
            within = row.get("_BOOT_ID") == first.get("_BOOT_ID") and (
                written >= number(first, "__MONOTONIC_TIMESTAMP") - span_us
            )
            if within:
                found.append(written)
            return not within or len(found) >= most

        self.backwards(take, cursor, matches)
        return found[::-1]

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
