# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Whether exported journals lack rows: a journald numbers all that it writes, whatever the file, so a gap is a file that is not there."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._journal_gaps import Place, place_of

if t.TYPE_CHECKING:
    from ansible_collections.llmops.sglang.plugins.module_utils._invocation_log import InvocationLog
    from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import Journal, Row

_HEADER = re.compile(
    r"^(file id|machine id|sequential number id|head sequential number|tail sequential number|entry objects): (\w+)",
    re.IGNORECASE | re.MULTILINE,
)
_NUMBER = re.compile(r"[0-9]{1,19}")
_COUNTS = ("head sequential number", "tail sequential number", "entry objects")


def rows_are_missing(journal: Journal, log: InvocationLog) -> bool:
    """Whether a row is missing since the first one of *log*, up to the next invocation or the end of the journals."""
    start, own = place_of(log.first_cursor), place_of(log.first_own_cursor)
    if start is None or own is None or _are_counted(journal.headers(), start, own):
        return False
    boot = [] if log.invocation_id == "any" else [f"_BOOT_ID={start.boot}"]
    found = _look(journal, log.first_cursor, log.younger_cursor, boot)
    missing = any(numbers.missing for numbers in found.values())
    if not missing and own.file not in found[own.boot].files:
        # A namespace has a journald, and numbers, of its own.
        missing = _look(journal, log.first_own_cursor, log.younger_cursor, boot)[own.boot].missing
    return missing


def _are_counted(text: str, start: Place, own: Place) -> bool:
    """Whether the files have as many rows as numbers: then none is missing, and no row has to be looked at."""
    files: dict[str, dict[str, str]] = {}
    header: dict[str, str] = {}
    for key, value in _HEADER.findall(text):
        if key.lower() == "file id":
            # The same file may be there twice.
            header = files[value] = {}
        header[key.lower()] = value
    since = [
        (header.get("machine id", ""), header.get("sequential number id", ""), *map(int, numbers))
        for header in files.values()
        for numbers in [[header.get(key, "") for key in _COUNTS]]
        if all(map(_NUMBER.fullmatch, numbers)) and int(numbers[1]) >= min(start.number, own.number)
    ]
    if not {start.file, own.file} <= {entry[1] for entry in since} or len({entry[0] for entry in since}) > 1:
        return False
    return sum(entry[4] for entry in since) == max(entry[3] for entry in since) - min(entry[2] for entry in since) + 1


class _Numbers:
    """The numbers of one boot, shown in the order of time; which files count is found out by whose numbers go on."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.missing = False
        self._next = 0
        self._moment: list[Place] = []

    def add(self, place: Place) -> None:
        # What is of the same microsecond comes in no certain order.
        if self._moment and self._moment[0].monotonic_us != place.monotonic_us:
            self.settle()
        self._moment.append(place)

    def settle(self) -> None:
        for place in sorted(self._moment, key=lambda place: place.number):
            if not self.files or place.number == self._next:
                self.files.add(place.file)
                self._next = place.number + 1
            elif place.number > self._next and place.file in self.files:
                self.missing = True
        self._moment.clear()


def _look(journal: Journal, cursor: str, until: str, matches: t.Sequence[str]) -> dict[str, _Numbers]:
    boots: dict[str, _Numbers] = {}

    def take(row: Row) -> bool:
        at = str(row.get("__CURSOR") or "")
        place = place_of(at)
        if place is None or at == until:
            return at == until
        numbers = boots.setdefault(place.boot, _Numbers())
        numbers.add(place)
        return numbers.missing

    journal.places(take, cursor, matches)
    for numbers in boots.values():
        numbers.settle()
    return boots
