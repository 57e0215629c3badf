# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""A limit on the processor time of a piece of pure Python, a regular expression's search included."""

from __future__ import annotations

import contextlib
import signal
import threading
import typing as t


class TimeLimitExceeded(Exception):
    """The piece took longer than it may."""


@contextlib.contextmanager
def cpu_time_limit(seconds: float, elapsed: float = 0.0) -> t.Iterator[None]:
    """Raise :class:`TimeLimitExceeded` in the body after *seconds* of this process's own processor time, or *elapsed* in all.

    Neither a thread (it cannot be ended) nor a deadline between lines (one search may never return) would do. Python's
    regular expressions look for signals while they search, so a timer's signal ends one. Processor time, because a busy
    host must not make an honest pattern fail; with *elapsed* for whoever has a deadline. Signals reach the main thread
    alone: elsewhere there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def over(dummy_signal: int, dummy_frame: t.Any) -> t.NoReturn:
        raise TimeLimitExceeded

    with contextlib.ExitStack() as stack:
        for timer, number, limit in (
            (signal.ITIMER_VIRTUAL, signal.SIGVTALRM, seconds),
            (signal.ITIMER_REAL, signal.SIGALRM, elapsed),
        ):
            stack.callback(signal.signal, number, signal.signal(number, over))
            stack.callback(signal.setitimer, timer, 0)
            signal.setitimer(timer, limit)
        yield
