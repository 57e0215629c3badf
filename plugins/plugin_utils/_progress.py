# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Live lines of a long task on the controller, one for each news and at least one in each interval."""

from __future__ import annotations

import threading
import time
import typing as t

from ansible import constants
from ansible.utils.display import Display


class ProgressLines:
    """Shows lines such as ``[  85 s] gpu1 sglang: loading weights 34 %``.

    Within ``with``, the last line is repeated with its new time whenever *interval* seconds pass without another one, also
    while a module runs. Display works from any worker and strategy; each line names its host, because many may run at once.

    :arg subject: host and what the task is about.
    :arg interval: longest time between two lines in seconds; 0 or less shows none.
    """

    def __init__(self, subject: str, interval: float, display: t.Optional[Display] = None) -> None:
        self._subject, self._interval = subject, interval
        self._display = display or Display()
        self._begun = self._shown_at = time.monotonic()
        self._text = "waiting"
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread: t.Optional[threading.Thread] = None
        self._warning: t.Optional[threading.Timer] = None
        self._warned = False

    @property
    def silent(self) -> bool:
        return self._interval <= 0

    def __enter__(self) -> ProgressLines:
        if not self.silent:
            self._thread = threading.Thread(target=self._repeat, daemon=True, name="llmops-progress")
            self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._over.set()
        if self._warning is not None:
            self._warning.cancel()
            self._warning.join(1.0)
        if self._thread is not None:
            self._thread.join(1.0)

    def tell(self, text: str, news: bool = True) -> None:
        """Take *text* as how things stand; show it at once if it is *news*, else when the interval has passed."""
        if self.silent:
            return
        with self._lock:
            self._text = text
            if news or self._due() <= 0:
                self._show()

    def warn_in(self, seconds: float, text: str) -> None:
        """Show *text* as a warning in so many *seconds*, once, unless another time is set or the task ends before.

        Display.warning() itself would be kept back until the task's result.
        """
        if self.silent or self._warned:
            return
        if self._warning is not None:
            self._warning.cancel()
        if seconds <= 0:
            self._warn(text)
            return
        self._warning = threading.Timer(seconds, self._warn, (text,))
        self._warning.daemon = True
        self._warning.start()

    def _warn(self, text: str) -> None:
        with self._lock:
            if not self._warned and not self._over.is_set():
                self._warned = True
                self._line(f"warning: {text}", color=constants.COLOR_WARN)

    def _due(self) -> float:
        return self._shown_at + self._interval - time.monotonic()

    def _show(self) -> None:
        self._shown_at = time.monotonic()
        self._line(self._text)

    def _line(self, text: str, **how: t.Any) -> None:
        self._display.display(f"[{time.monotonic() - self._begun:4.0f} s] {self._subject}: {text}", **how)

    def _repeat(self) -> None:
        while not self._over.wait(max(self._due(), 0.05)):
            with self._lock:
                if self._due() <= 0 and not self._over.is_set():
                    self._show()


def subject_of(task: t.Any, task_vars: t.Mapping[str, t.Any]) -> str:
    """Whom a task's lines are about: its host, where it runs instead, and its unit or URL."""
    host = task_vars.get("inventory_hostname") or "host"
    if task.delegate_to:
        host = f"{host} -> {task.delegate_to}"
    about = next((task.args[name] for name in ("name", "base_url", "worker_url") if task.args.get(name)), "")
    return f"{host} {about}".strip()


def seconds_of(value: t.Any, default: float) -> float:
    """An option as seconds: *default* where it is not set, 0 where it is no number, which the module itself refuses."""
    try:
        return default if value is None else float(value)
    except (TypeError, ValueError):
        return 0.0
