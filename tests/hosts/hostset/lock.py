# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Locks on directories: the kernel releases them with the process, so a dead set is told from a living one."""

from __future__ import annotations

import fcntl
import os
import time
from typing import Optional

from .settings import BASE, HostsError


def try_lock(path: str) -> Optional[int]:
    """The descriptor of the locked directory, or None when it is missing or another process holds it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The directory may have been removed between open and lock; then the lock guards nothing.
        if os.path.exists(path) and os.path.samestat(os.fstat(descriptor), os.stat(path)):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(descriptor)
    return None


def lock_base(seconds: float = 30) -> int:
    """Make BASE and lock it: whoever makes or sweeps sets does so alone."""
    deadline = time.monotonic() + seconds
    while True:
        os.makedirs(BASE, mode=0o755, exist_ok=True)
        descriptor = try_lock(BASE)
        if descriptor is not None:
            return descriptor
        if time.monotonic() > deadline:
            raise HostsError(f"The directory {BASE!r} stayed locked for {seconds:g} s: see who holds it with lsof.")
        time.sleep(0.02)
