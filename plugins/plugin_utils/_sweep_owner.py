# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Who sweeps a host now: the process of a play, so that a second play does not take the same server."""

from __future__ import annotations

import os
import socket
import typing as t


def this_play() -> dict[str, t.Any]:
    """The process that runs the play; a task runs in a child of it."""
    pid = os.getppid()
    return {"pid": pid, "machine": _machine(), "started": _started(pid)}


def still_runs(owner: t.Optional[t.Mapping[str, t.Any]]) -> bool:
    """Whether *owner* is another play that goes on; one of another machine or container is not known to."""
    if not isinstance(owner, dict) or owner == this_play() or owner.get("machine") != _machine():
        return False
    started = _started(owner.get("pid"))
    return started is not None and started == owner.get("started")


def _machine() -> str:
    """This boot of this machine, and within it the namespace of processes."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as handle:
            boot = handle.read().strip()
        return f"{socket.gethostname()} {boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def _started(pid: t.Any) -> t.Optional[str]:
    """When a process began, in ticks since boot; ``None`` for one that does not run, or where that cannot be read."""
    try:
        with open(f"/proc/{int(pid)}/stat", encoding="utf-8", errors="replace") as handle:
            fields = handle.read().rpartition(")")[2].split()
    except (OSError, TypeError, ValueError, OverflowError):
        return None
    return None if fields[0] in "ZX" else fields[19]
