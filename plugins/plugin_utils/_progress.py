# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Lines about a long task while its module runs on the host.

A module cannot stream and a worker has no terminal: only ``Display.display`` reaches the operator, and AWX makes one event of
each line. So every line carries the host, because with other strategies it may stand before the task's own header.
"""

from __future__ import annotations

import threading
import time
import typing as t


class Progress:
    """Shows lines of one host's task.

    :arg display: shows one line.
    :arg host: name of the host.
    :arg interval: seconds between lines that only say that it goes on; 0 shows no line at all.
    """

    def __init__(
        self,
        display: t.Callable[[str], None],
        host: str,
        interval: float,
        clock: t.Callable[[], float] = time.monotonic,
    ) -> None:
        self._display = display
        self._host = host
        self.interval = interval
        self._clock = clock
        self._last = clock()

    def line(self, text: str) -> None:
        """Show one line."""
        self._last = self._clock()
        if self.interval > 0:
            self._display(f"[{self._host}] {' '.join(text.split())}")

    def during(self, call: t.Callable[[], t.Any], text: t.Callable[[float], str]) -> t.Any:
        """The result of *call*; while it runs, a line of *text* (given the seconds since the start) every interval."""
        if self.interval <= 0:
            return call()
        over = threading.Event()
        started = self._clock()

        def beat() -> None:
            while True:
                wait = self._last + self.interval - self._clock()
                if over.wait(max(0.05, wait)):
                    return
                if self._clock() - self._last >= self.interval:
                    self.line(text(self._clock() - started))

        beater = threading.Thread(target=beat, daemon=True, name="llmops-progress")
        beater.start()
        try:
            return call()
        finally:
            over.set()
            beater.join(1.0)
