# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Whether the first rows of a service are gone, although the manager's row about its start is there.

That row stands in the system's journal. The service's own may stand elsewhere, and be removed there alone: journald keeps
the rows of each user with a number of 1000 and above in a file of that user's own (``SplitMode=uid``), and those of a unit
with ``LogNamespace=`` in a journal of that namespace. A journald numbers all rows that it writes, whatever the file (each
file has an id of its own, however: tried on 252), and a namespace has another journald: a number that is missing is a row
that was removed.
"""

from __future__ import annotations

import pwd
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import STARTED, STARTING

if t.TYPE_CHECKING:
    from ansible_collections.llmops.sglang.plugins.module_utils._invocation_log import InvocationLog
    from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import Journal, Row

_FIRST_USER = 1000
# Users that systemd makes up for a service (DynamicUser=), and nobody: their rows go to the system's journal.
_SYSTEM_TOO = (range(61184, 65520), range(65534, 65535))
# Rows of the whole host between a start and the service's first word; what talks longer before it has lost rows.
_MOST_ROWS = 100_000
_CURSOR = re.compile(r"s=(?P<file>[0-9a-f]+);i=(?P<number>[0-9a-f]+);b=(?P<boot>[0-9a-f]+);m=(?P<monotonic>[0-9a-f]+)")


class Place(t.NamedTuple):
    """Where a row stands, as its cursor says; *file* is the id of its file and of those that came before it."""

    file: str
    number: int
    boot: str
    monotonic_us: int


def place_of(cursor: str) -> t.Optional[Place]:
    """The place of *cursor*; ``None`` for one that systemd did not make."""
    match = _CURSOR.match(cursor)
    if not match:
        return None
    return Place(match["file"], int(match["number"], 16), match["boot"], int(match["monotonic"], 16))


def owner_of_file(user: str) -> t.Optional[int]:
    """The number of *user* (a name or number; empty: root) where journald keeps a file for its rows alone, else ``None``."""
    try:
        uid = int(user) if user.isdigit() else pwd.getpwnam(user).pw_uid if user else 0
    except KeyError:
        # A dynamic user is none of the passwd file, and its rows go to the system's journal.
        return None
    return uid if _has_own_file(uid) else None


def first_rows_are_gone(
    journal: Journal, log: InvocationLog, owners: t.Collection[int], ordinary: bool = False
) -> bool:
    """Whether a row is missing between the first row of the invocation and the first ones of the service itself.

    Rows that others wrote before (``ExecStartPre=+``, or a start script that then becomes another user) stand in the
    system's file. So everybody who wrote a row of the invocation is looked at.

    :arg owners: who runs the service, where journald keeps a file for him; where he wrote no row, nothing is sure.
    :arg ordinary: whether it is an ordinary user who asks: he is not shown each row, and what he is shown is in one file.
    """
    start = place_of(log.first_cursor)
    if start is None or ordinary:
        return False
    # The first row of each, and whether it is in a user's own file.
    cursors: dict[str, bool] = {}
    for uid in sorted({*owners, *(int(word) for word in journal.words_of("_UID") if word.isdigit())}):
        if _has_own_file(uid):
            cursor = journal.first_cursor([*journal.own_matches(log.unit, log.invocation_id), f"_UID={uid}"])[0]
            if not cursor and uid in owners:
                return True
            cursors[cursor] = True
    if journal.namespace or journal.elsewhere:
        cursors.setdefault(log.first_own_cursor, False)
    return any(_are_missing(journal, log.first_cursor, cursor, of_user) for cursor, of_user in cursors.items())


def begin_is_gone(journal: Journal, log: InvocationLog, began_us: int) -> bool:
    """Whether the journal may begin in the middle of the start: the manager says that a unit has started only when it has.

    It says that a start begins, too, except where that takes no time. Whether the one is missing because of the other an
    older row shows: what is removed are the oldest rows of a file.

    :arg began_us: when the start began, by the host's own clock; 0 where the manager does not know.
    """
    first = place_of(log.first_cursor)
    if log.begins or first is None or first.number == 1:
        return False
    looked, whole = 0, False

    def take(row: Row) -> bool:
        nonlocal looked, whole
        looked += 1
        place = place_of(str(row.get("__CURSOR") or ""))
        if looked > 1 and place and (place.file == first.file or place.number == first.number - 1):
            whole = not began_us or place.boot != first.boot or place.monotonic_us <= began_us
        return whole or looked > _MOST_ROWS

    journal.before(take, log.first_cursor)
    return not whole


def _has_own_file(uid: int) -> bool:
    return uid >= _FIRST_USER and not any(uid in numbers for numbers in _SYSTEM_TOO)


def _are_missing(journal: Journal, start_cursor: str, own_cursor: str, of_user: bool) -> bool:
    """Whether not each row is there that its journald wrote between the row at *start_cursor* and the service's own."""
    start, own = place_of(start_cursor), place_of(own_cursor)
    if start is None or own is None or (own.boot == start.boot and own.monotonic_us <= start.monotonic_us):
        return False
    system = not journal.namespace and own.file == start.file
    if system and not of_user:
        # No row goes from there before that of the start.
        return False
    same = system or (of_user and not journal.namespace and own.number > start.number)
    # Of a journal that was new when the service wrote, all numbers from the first one on.
    expected = own.number - (start.number if same else 1)
    if same and expected > _MOST_ROWS:
        return True
    looked, seen, journald, whole = 0, 0, "", False

    def take(row: Row) -> bool:
        nonlocal looked, seen, journald, whole
        looked += 1
        place = place_of(str(row.get("__CURSOR") or ""))
        other = place is None or not (same or journal.namespace or place.file == own.file)
        if other or place.number >= own.number:
            return looked > _MOST_ROWS
        seen += 1
        journald = str(row.get("_SYSTEMD_UNIT") or "")
        # Written before the start, or the start itself: what its journal got since is known by the numbers.
        older = place.boot != start.boot or place.monotonic_us < start.monotonic_us
        before = place.number <= start.number if same else older
        whole = whole or (before and seen == own.number - place.number)
        return before or seen == expected or looked > _MOST_ROWS

    journal.backwards(take, own_cursor)
    if whole or same:
        return not whole
    # Its first row is journald's own. Had that one ended since the start, then it had another journal before, which is lost.
    return seen != expected or _has_ended(journal, journald, start_cursor, own)


def _has_ended(journal: Journal, unit: str, cursor: str, until: Place) -> bool:
    """Whether the manager says anything of *unit*, between *cursor* and *until*, but that it starts."""
    ended = False

    def take(row: Row) -> bool:
        nonlocal ended
        place = place_of(str(row.get("__CURSOR") or ""))
        if place and place.boot == until.boot and place.monotonic_us > until.monotonic_us:
            return True
        ended = row.get("MESSAGE_ID") not in (STARTED, STARTING)
        return ended

    journal.each(take, [f"UNIT={unit}", "_PID=1"], f"--cursor={cursor}")
    return ended
