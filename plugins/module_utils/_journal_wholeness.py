# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Asks the host, or the exported journals, for all that may make a line's absence mean nothing."""

from __future__ import annotations

import os
import typing as t
from dataclasses import dataclass

from ansible_collections.llmops.sglang.plugins.module_utils._completeness import (
    COMPLETE,
    Reason,
    diverted,
    hidden_by_server,
    incompleteness,
    journal_is_unreadable,
    level_was_hidden,
    rows_are_gone,
)
from ansible_collections.llmops.sglang.plugins.module_utils._invocation_log import InvocationLog
from ansible_collections.llmops.sglang.plugins.module_utils._journal import InvocationReader
from ansible_collections.llmops.sglang.plugins.module_utils._journal_burst import burst_of
from ansible_collections.llmops.sglang.plugins.module_utils._journal_gaps import (
    begin_is_gone,
    first_rows_are_gone,
    owner_of_file,
)
from ansible_collections.llmops.sglang.plugins.module_utils._journal_numbers import rows_are_missing
from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import Journal
from ansible_collections.llmops.sglang.plugins.module_utils._journald import (
    notice_restart,
    unreadable_files,
    users_burst,
)
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState


@dataclass
class Wholeness:
    """Judges what *reader* has read.

    :arg manager: of the host; ``None`` for exported journals.
    :arg settings: see ``_completeness.output_settings``, of the unit as it is now.
    :arg began_us: when the manager began to start the unit, by the host's own clock; 0 where that is not known.
    """

    manager: t.Optional[Manager]
    reader: InvocationReader
    settings: t.Mapping[str, str]
    directory: t.Optional[str] = None
    began_us: int = 0
    # Whether journald wrote out what it had received.
    synced: bool = True
    # Whether the server said a line that it says at level info alone.
    told_arguments: bool = False

    @property
    def log(self) -> InvocationLog:
        return self.reader.log

    @property
    def journal(self) -> Journal:
        return self.reader.journal

    @property
    def unreadable(self) -> bool:
        """Whether to wait would be in vain because this user cannot read the journal."""
        log = self.log
        return not log.service_entries and (log.not_allowed or (bool(self.manager) and journal_is_unreadable(log)))

    def state(self) -> t.Optional[UnitState]:
        return self.manager.show(self.log.unit) if self.manager else None

    def is_running(self, state: t.Optional[UnitState]) -> bool:
        """Whether the process is there to be asked: what its unit says now may be another thing than what it said then."""
        return state is not None and state.running and state.invocation_id == self.log.invocation_id

    @property
    def assumed(self) -> str:
        """What nobody can tell any more, as the rest of a sentence; empty while the process runs."""
        if self.is_running(self.state()):
            return ""
        return (
            "what is absent is judged by the rows that are there: whether all of its output went to the journal then "
            "(StandardOutput=, StandardError=, --log-level) nobody can tell any more"
        )

    def reason(self) -> Reason:
        """Why nothing may be concluded from what is not there; two empty texts where that may be done."""
        log, state = self.log, self.state()
        if state:
            self._ask_host(state)
        elif self.directory:
            closed = unreadable_files(self.directory)
            log.unread = log.unread or (f"'{closed[0]}' may not be read by this user" if closed else "")
        if log.course.silent and self._server_spoke(state):
            log.course.silent.clear()
        log.cut_off = bool(log.course.cut_by) and self._went_down()
        if log.course.covers_start and log.service_entries:
            log.lost_start = begin_is_gone(self.journal, log, self.began_us) or first_rows_are_gone(
                self.journal, log, self._owners(state), bool(self.manager) and self.journal.user
            )
        if not self.manager and not log.incomplete and rows_are_missing(self.journal, log):
            log.unread = "numbers of rows are left out, so a file of that host, as that of a user, is not among them"
        running = self.is_running(state)
        reason = incompleteness(log, self.settings, running)
        if reason[0] == "no_entries" and state and not log.entries_scanned:
            return rows_are_gone(state, self.reader) or reason
        return reason if reason[0] else self._further(state, running)

    def hidden(self) -> Reason:
        """The level below which the server itself leaves lines out, and the sentence that says so."""
        state = self.state()
        if state is None or (self.told_arguments and not self.is_running(state)):
            return COMPLETE
        return hidden_by_server(t.cast(Manager, self.manager), state, self.log.invocation_id)

    def _ask_host(self, state: UnitState) -> None:
        log, manager = self.log, t.cast(Manager, self.manager)
        log.not_allowed = journal_is_unreadable(log)
        burst = burst_of(self.settings)
        if log.recent.reaches_back and log.recent.count < burst:
            matches, most = self.journal.unit_matches(log.unit), burst - log.recent.count
            before = self.journal.times_before(matches, log.first_own_cursor, log.recent.reaches_back, most)
            log.recent_before = len(before)
        notice_restart(manager, log, self.journal.namespace)
        if not self.synced:
            log.unread = log.unread or "journald did not write out in a minute what it had received"

    def _further(self, state: t.Optional[UnitState], running: bool) -> Reason:
        """What is asked only where the rows and the settings have no fault."""
        reason = COMPLETE
        if state and running:
            reason = diverted(self.log, state)
        elif not running:
            reason = level_was_hidden(self.journal, self.log)
        if self.manager and self.manager.scope == "user" and not reason[0]:
            reason = users_burst(self.manager, self.journal, self.log, self.settings)
        return reason

    def _owners(self, state: t.Optional[UnitState]) -> set[int]:
        """Who has to have written, of those for whose rows journald keeps a file: the unit's user, and that of its process."""
        if state is None or self.journal.user:
            return set()
        users = [self.settings.get("User", "")]
        if self.is_running(state):
            try:
                users.append(str(os.stat(f"/proc/{state.main_pid}").st_uid))
            except OSError:
                pass
        return {owner for owner in map(owner_of_file, users) if owner is not None}

    def _server_spoke(self, state: t.Optional[UnitState]) -> bool:
        """Whether what stands before the end of the start is of the server itself, and not of a root's ``ExecStartPre=+``."""
        own = self.journal.own_matches(self.log.unit, self.log.invocation_id)
        if self.is_running(state) and self.journal.first([*own, f"_PID={t.cast(UnitState, state).main_pid}"])[0]:
            return True
        others = [f"_UID={user}" for user in self.journal.words_of("_UID") if user != "0"]
        of_others = bool(others) and bool(self.journal.first([*own, *others])[0])
        return of_others or not self.journal.first([*own, "_UID=0"])[0]

    def _went_down(self) -> bool:
        """Whether one of the boots that began meanwhile is of the same host: exported journals may be of several."""
        machines = self.journal.words_of("_MACHINE_ID")
        if len(machines) < 2:
            return True
        boot = self.log.boot
        ours = [name for name in machines if self.journal.first([f"_BOOT_ID={boot}", f"_MACHINE_ID={name}"])[0]]
        others = [f"_BOOT_ID={name}" for name in self.log.course.cut_by]
        return any(self.journal.first([*others, f"_MACHINE_ID={name}"])[0] for name in ours)
