# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Work in a thread that nobody has to wait for: it is abandoned when it takes too long, and dies with the process."""

from __future__ import annotations

import threading
import typing as t


class Handle:
    """Work under way in a daemon thread, which holds up neither whoever waits for it nor the end of the process."""

    def __init__(self, work: t.Callable[[], t.Any]) -> None:
        self._value: t.Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: t.Callable[[], t.Any]) -> None:
        try:
            self._value = work()
        except BaseException as exc:  # noqa: B036  handed to whoever waits
            self._error = exc

    @property
    def done(self) -> bool:
        return not self._thread.is_alive()

    def wait(self, seconds: float) -> t.Any:
        """The value, or ``None`` where it is not there after *seconds*. Raises what the work raised."""
        self._thread.join(max(seconds, 0))
        if not self.done:
            return None
        if self._error is not None:
            raise self._error
        return self._value
