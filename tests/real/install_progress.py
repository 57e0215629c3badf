# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says while an installation runs what it does: one plain line every few seconds."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from pathlib import Path
from typing import Self

from real_servers import Environment

PROGRESS_SECONDS = 5


class Progress:
    """Prints what is going on, at least every few seconds while a step runs: one plain line each."""

    def __init__(self, env: Environment, directory: Path) -> None:
        self.env, self.directory, self.start = env, directory, time.monotonic()
        self.doing = ""
        self.fetched = 0
        self.expected = sum(step.packages() for step in env.steps)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def say(self, text: str) -> None:
        print(f"[{time.monotonic() - self.start:4.0f} s] {self.env.name}: {text}", flush=True)

    def line(self) -> str:
        installed = len(list(self.directory.glob("lib/python*/site-packages/*.dist-info")))
        return (
            f"{self.doing}; {self.fetched} packages fetched, {installed} of about {max(self.expected + 2, installed)} installed, "
            f"{megabytes(self.directory)} MB on disk"
        )

    def _run(self) -> None:
        while not self._stop.wait(PROGRESS_SECONDS):
            self.say(self.line())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()


def megabytes(directory: Path) -> int:
    """What a tree takes on disk; files that vanish meanwhile count nothing."""
    total, pending = 0, [str(directory)]
    while pending:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    with contextlib.suppress(OSError):
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
    return total // 1_000_000
