# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""How long earlier starts of a configuration took on this host, in one small file."""

from __future__ import annotations

import fcntl
import json
import os
import statistics
import time
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._server_inputs import words_digest

_CONFIGURATIONS = 50
_STARTS = 10
_LARGEST_FILE = 1024 * 1024
# Another server of the host that is ready in the same moment holds the lock for as long as a small file takes.
_LOCK_SECONDS = 2.0


def default_path() -> str:
    """The file of this user: below /var/lib for root, else in the user's state directory."""
    if os.geteuid() == 0:
        return "/var/lib/llmops-sglang/start-times.json"
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "llmops-sglang", "start-times.json")


def configuration_key(unit: str, argv: t.Sequence[str]) -> str:
    """The name of a configuration: hashes of its unit and of all, because command lines may hold what others must not read."""
    return _unit_key(unit) + words_digest([unit, *argv])[:20]


def _unit_key(unit: str) -> str:
    return words_digest([unit])[:12]


class StartTimes:
    """The file at *path*. Reading and adding never raise: the times are a comfort, not a need."""

    def __init__(self, path: str) -> None:
        self.path = path

    def expected(self, key: str) -> float | None:
        """The median of the last starts in seconds; ``None`` where none is known."""
        times = self._read().get(key, [])
        return round(statistics.median(times), 1) if times else None

    def of_host(self) -> float | None:
        """The median of all starts on this host in seconds; ``None`` where none is known."""
        times = [seconds for known in self._read().values() for seconds in known]
        return round(statistics.median(times), 1) if times else None

    def add(self, key: str, seconds: float) -> bool:
        """Keep one more start. Whether it could be written."""

        def added(known: dict[str, list[float]]) -> dict[str, list[float]]:
            # The newest configuration last: the oldest are dropped first.
            known[key] = [*known.pop(key, []), round(seconds, 3)][-_STARTS:]
            return dict(list(known.items())[-_CONFIGURATIONS:])

        return self._change(added)

    def knows(self, unit: str) -> bool:
        """Whether any start of *unit* is kept."""
        return any(key.startswith(_unit_key(unit)) for key in self._read())

    def forget(self, unit: str) -> bool:
        """Drop all starts of *unit*. Whether it could be written."""
        return self._change(lambda known: {k: v for k, v in known.items() if not k.startswith(_unit_key(unit))})

    def _change(self, change: t.Callable[[dict[str, list[float]]], dict[str, list[float]]]) -> bool:
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            lock = os.open(f"{self.path}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            try:
                _wait_for(lock)
                self._write(change(self._read()))
            finally:
                os.close(lock)
        except OSError:
            return False
        return True

    def _read(self) -> dict[str, list[float]]:
        try:
            with open(self.path, encoding="utf-8") as handle:
                data = json.loads(handle.read(_LARGEST_FILE))
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(data, dict):
            return {}
        kept = {}
        for key, times in data.items():
            if isinstance(times, list):
                kept[key] = [
                    float(x) for x in times if isinstance(x, (int, float)) and not isinstance(x, bool) and 0 < x < 1e6
                ]
        return kept

    def _write(self, known: dict[str, list[float]]) -> None:
        temporary = f"{self.path}.{os.getpid()}"
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
            json.dump(known, handle)
        os.replace(temporary, self.path)


def _wait_for(lock: int) -> None:
    """Take *lock*; raises BlockingIOError where another holds it for long."""
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(0.02)
