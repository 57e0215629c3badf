# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What became of invocations as the journal tells it: begun, started, spoken, ended, or cut off."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import ENDED, STARTED

if t.TYPE_CHECKING:
    from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import Journal, Row

# The rows about the end of a process have a message id only since systemd 240 (its NEWS).
_ENDED_WITHOUT_ID = re.compile(r"^\S+: (?:Main process exited, |Failed with result ')")


class Course:
    """The course of one invocation, or of all in the journal; shown the rows in their order."""

    def __init__(self) -> None:
        self._boots: set[str] = set()
        self._begun: set[str] = set()
        self._spoken: set[str] = set()
        self._open: set[str] = set()
        # Of the row before, where that was the service's own.
        self._last: tuple[t.Any, t.Any] | None = None
        # Those that wrote nothing since a start was over that took a while: what came before may be of ExecStartPre=.
        self.silent: set[str] = set()
        # Boots that began while an invocation had not ended, as far as anybody said.
        self.cut_by: set[str] = set()

    @property
    def covers_start(self) -> bool:
        """Whether the manager told the begin of each invocation that wrote something."""
        return bool(self._begun) and self._spoken <= self._begun

    def manager_says(self, journal: Journal, row: Row, invocation: str) -> None:
        """The manager's *row* about *invocation*."""
        self._last = None
        self._boots.add(str(row.get("_BOOT_ID")))
        if _is_end(row):
            self._open.discard(invocation)
        if journal.is_start(row):
            # Of a unit that ends with its start it says that it has "Finished".
            started = row.get("MESSAGE_ID") == STARTED and str(row.get("MESSAGE") or "").startswith("Started ")
            # Where no row says that it begins, only the server itself can have spoken before.
            if started and invocation in self._begun:
                self.silent.add(invocation)
            self._begun.add(invocation)
            self._open.add(invocation)

    def service_says(self, row: Row) -> None:
        """A *row* of the service itself."""
        said = (row.get("_SYSTEMD_INVOCATION_ID"), row.get("_BOOT_ID"))
        if said == self._last:
            return
        self._last = said
        invocation = str(row.get("_SYSTEMD_INVOCATION_ID"))
        self._boots.add(str(row.get("_BOOT_ID")))
        self.silent.discard(invocation)
        if invocation not in self._spoken:
            self._spoken.add(invocation)
            self._open.add(invocation)

    def is_of_boot(self, row: Row) -> bool:
        """Whether *row* is of a boot in which the unit ran: in exported journals another host may have such a unit."""
        return not self._boots or str(row.get("_BOOT_ID")) in self._boots

    def journald_says(self, row: Row) -> bool:
        """Whether *row*, by which journald has started, cuts into a boot in which the unit ran; another boot is noted."""
        if not self._boots:
            return False
        if self.is_of_boot(row):
            return True
        if self._open:
            self.cut_by.add(str(row.get("_BOOT_ID")))
        return False


def _is_end(row: Row) -> bool:
    """Whether the manager's *row* says that a process or the unit has ended."""
    if row.get("MESSAGE_ID"):
        return row["MESSAGE_ID"] in ENDED
    return bool(_ENDED_WITHOUT_ID.match(str(row.get("MESSAGE") or "")))
