# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Whether the first rows of a service that runs as a user are gone, although the manager's row about its start is there.

journald keeps the rows of each user with a number of 1000 and above in a file of that user's own (``SplitMode=uid``), and
may remove an old one while the manager's rows stay. It numbers all rows that it writes, whatever the file: a number that
is missing between the start and the service's first row is a row that was removed.
"""

from __future__ import annotations

import pwd
import re
import typing as t

if t.TYPE_CHECKING:
    from ansible_collections.llmops.sglang.plugins.module_utils._journal import InvocationLog
    from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import Journal, Row

_FIRST_USER = 1000
# Rows of the whole host between a start and the service's first word; what talks longer before it has lost rows.
_MOST_ROWS = 100_000
_NUMBER = re.compile(r"(?:^|;)i=([0-9a-f]+)")


def owner_of_file(user: str) -> t.Optional[int]:
    """The number of *user* (a name or number; empty: root) where journald keeps a file for its rows alone, else ``None``."""
    try:
        uid = int(user) if user.isdigit() else pwd.getpwnam(user).pw_uid if user else 0
    except KeyError:
        # A dynamic user is none of the passwd file, and its rows go to the system's journal.
        return None
    return uid if uid >= _FIRST_USER else None


def first_rows_are_gone(journal: Journal, log: InvocationLog, uid: int) -> bool:
    """Whether a row is missing between the first row of the invocation and the first one that *uid* wrote in it.

    Rows that others wrote before (``ExecStartPre=+``) stand in the system's file. Where *uid* wrote none, nothing is sure.
    """
    matches = [f"_SYSTEMD_INVOCATION_ID={log.invocation_id}", f"_UID={uid}"]
    first, last = _number(log.first_cursor), _number(journal.first_cursor(matches)[0])
    if first is None or last is None:
        return first is not None
    expected, seen = last - first - 1, 0
    if expected > _MOST_ROWS:
        return True

    def take(row: Row) -> bool:
        nonlocal seen
        number = _number(str(row.get("__CURSOR") or ""))
        seen += number is not None and first < number < last
        return number == last

    journal.each(take, [], f"--cursor={log.first_cursor}")
    return seen < expected


def _number(cursor: str) -> t.Optional[int]:
    match = _NUMBER.search(cursor)
    return int(match.group(1), 16) if match else None
