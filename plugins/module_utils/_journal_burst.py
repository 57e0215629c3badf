# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""How many rows a service wrote in journald's interval, by the host's own clock."""

from __future__ import annotations

import typing as t
from collections import deque

# What a unit may write in one interval before journald suppresses more, as journald.conf(5) has it built in.
DEFAULT_BURST = 10000
DEFAULT_INTERVAL_US = 30_000_000

_STEPS = 100
_SECONDS = {"us": 1, "ms": 1000, "s": 1_000_000, "min": 60_000_000, "h": 3_600_000_000}


class RecentRows:
    """Counts the rows of the last *span_us* microseconds: a hundredth of that more, never less, in memory that does not grow."""

    def __init__(self, span_us: int = DEFAULT_INTERVAL_US) -> None:
        self.span_us = span_us
        self.count = 0
        # What the count was at most.
        self.most = 0
        self.first_us: t.Optional[int] = None
        self.last_us = 0
        self._step = max(span_us // _STEPS, 1)
        self._slots: deque[list[int]] = deque()

    def add(self, monotonic_us: int) -> None:
        """One more row; rows come in the order of the clock."""
        if self.first_us is None:
            self.first_us = monotonic_us
        self.last_us = monotonic_us
        slot = monotonic_us // self._step
        self.count += 1
        if self._slots and self._slots[-1][0] >= slot:
            self._slots[-1][1] += 1
        else:
            self._slots.append([slot, 1])
        while self._slots[0][0] < slot - _STEPS:
            self.count -= self._slots.popleft()[1]
        self.most = max(self.most, self.count)

    @property
    def reaches_back(self) -> int:
        """How many microseconds of the interval are from before the first row."""
        return 0 if self.first_us is None else max(0, self.span_us - (self.last_us - self.first_us))


def burst_of(settings: t.Mapping[str, str]) -> int:
    """How many messages a unit with these properties may write in one interval before journald suppresses more."""
    said = settings.get("LogRateLimitBurst", "")
    return int(said) if said.isdigit() and int(said) else DEFAULT_BURST


def interval_of(settings: t.Mapping[str, str]) -> int:
    """That interval in microseconds."""
    # Zero means journald's own limits: before systemd 256 also where the unit says LogRateLimitIntervalSec=0 (tried on 252).
    return _microseconds(settings.get("LogRateLimitIntervalUSec", "")) or DEFAULT_INTERVAL_US


def _microseconds(span: str) -> int:
    """A time span as ``systemctl show`` prints it (``1min 30s``, ``0``); 0 for what is none."""
    total = 0
    for word in span.split():
        digits = word.rstrip("abcdefghijklmnopqrstuvwxyz")
        unit = word[len(digits) :] or "us"
        if unit not in _SECONDS:
            return 0
        try:
            total += int(float(digits) * _SECONDS[unit])
        except ValueError:
            return 0
    return total
