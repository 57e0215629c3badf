# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What the journal holds of one invocation of one unit, and how complete that is."""

from __future__ import annotations

import typing as t
from collections import deque
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._journal_burst import RecentRows
from ansible_collections.llmops.sglang.plugins.module_utils._journal_course import Course
from ansible_collections.llmops.sglang.plugins.module_utils._journal_rows import Line


@dataclass
class InvocationLog:
    """What the journal holds of one invocation.

    ``incomplete`` is the failure class that forbids any conclusion from a line's absence, as far as the rows alone tell
    (``no_permission``, ``no_entries``, ``message_withheld``, ``rate_limited``, ``log_truncated``); empty when they are
    complete from the start of the invocation. :attr:`tail` has the last lines also where the others are not kept, and
    :attr:`recent` counts the service's last rows.
    """

    unit: str
    invocation_id: str
    lines: list[Line] = field(default_factory=list)
    manager_lines: list[Line] = field(default_factory=list)
    tail: deque[Line] = field(default_factory=lambda: deque(maxlen=60))
    recent: RecentRows = field(default_factory=RecentRows)
    # What earlier invocations wrote in the interval of the last of these.
    recent_before: int = 0
    unattributed: list[Line] = field(default_factory=list)
    unattributed_count: int = 0
    # The last of those that no older process wrote: journald came to read them when the unit had ended.
    late: deque[Line] = field(default_factory=lambda: deque(maxlen=60))
    # Rows of a user's unit under another invocation: an older journald gives them that of user@UID.service.
    wrongly_stamped: int = 0
    entries_scanned: int = 0
    service_entries: int = 0
    first_entry_us: int = 0
    first_cursor: str = ""
    first_own_cursor: str = ""
    # Whether the first rows of a file or namespace with rows of it are gone, although the manager's row is there.
    lost_start: bool = False
    # Whether its first row is the one that says that it begins.
    begins: bool = False
    suppressed: int = 0
    # By a notice that journald wrote only when a younger invocation spoke.
    suppressed_late: int = 0
    # Whether the unit could write a row after this invocation: journald then had told what it suppressed of it.
    spoken_since: bool = False
    # The first row of a younger invocation.
    younger_cursor: str = ""
    journald_restarts: int = 0
    journald_restarted_us: int = 0
    withheld: int = 0
    unreadable: int = 0
    unread: str = ""
    other_units: set[str] = field(default_factory=set)
    complaint: str = ""
    not_allowed: bool = False
    # Whether it also wrote to journald itself, or by syslog(3): what becomes of its standard output is then its own affair.
    speaks_itself: bool = False
    course: Course = field(default_factory=Course)
    # Whether the host went down while it ran: what was not on the disk by then is lost.
    cut_off: bool = False

    @property
    def boot(self) -> str:
        """That of its first row."""
        return self.first_cursor.partition(";b=")[2].partition(";")[0]

    @property
    def covers_start(self) -> bool:
        return self.course.covers_start and not self.lost_start

    @property
    def incomplete(self) -> str:
        if not self.service_entries:
            return "no_permission" if self.not_allowed else "no_entries"
        if self.withheld or self.unreadable:
            return "message_withheld"
        if self.suppressed or self.suppressed_late:
            return "rate_limited"
        whole = self.covers_start and not (self.journald_restarts or self.unread or self.cut_off)
        if whole and self.course.silent:
            return "no_entries"
        return "" if whole else "log_truncated"

    @property
    def spoken(self) -> list[Line]:
        """What its processes wrote, the words too that carry no invocation: they explain an end, and prove nothing."""
        return _by_time([*self.lines, *self.late])

    @property
    def all_lines(self) -> list[Line]:
        """What its processes wrote and what its manager says of it, in the order of their time."""
        return _by_time([*self.lines, *self.late, *self.manager_lines])


def _by_time(lines: t.Iterable[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: (line.monotonic_us, line.timestamp_us))
