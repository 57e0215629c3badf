# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The process of a play, and which others run on this controller, so that two do not change the same thing."""

from __future__ import annotations

import getpass
import multiprocessing
import os
import socket
import time
import typing as t


def this_play() -> dict[str, t.Any]:
    """The process that runs the play; a task runs in a child of it, which also knows it when it has ended."""
    parent = multiprocessing.parent_process()
    pid = parent.pid if parent else os.getppid()
    return {"pid": pid, "machine": _machine(), "started": _started(pid)}


def goes_on() -> bool:
    """Whether the process that runs this play is still there; a child of one that was killed has another parent."""
    return this_play()["pid"] == os.getppid()


def still_runs(owner: t.Optional[t.Mapping[str, t.Any]]) -> bool:
    """Whether *owner* is another play that goes on; one of another machine or container is not known to."""
    if not isinstance(owner, dict) or owner.get("machine") != _machine():
        return False
    mine = this_play()
    if all(owner.get(key) == mine[key] for key in mine):
        return False
    started = _started(owner.get("pid"))
    if started is None and _hidden():
        return _answers(owner.get("pid"))
    return started is not None and started == owner.get("started")


def asking_play() -> dict[str, t.Any]:
    """This play as a module on a host is told of it, with whom to name and, in ``others``, which other plays run here.

    ``others`` is ``None`` where this user cannot see the processes of others; ``named`` says whether a look at them finds this
    play, which only those do whose command is one of Ansible's. ``asked`` is a time before that look, which knows nothing of
    who began later.
    """
    play, asked = this_play(), time.monotonic()
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    named = _of_ansible(play["pid"])
    told = {"user": user, "controller": socket.gethostname(), "asked": asked, "named": named}
    return {**play, **told, "others": _others(play["pid"])}


def _others(mine: int) -> t.Optional[list[list[t.Any]]]:
    """Process id and start of all of Ansible's processes here but *mine*."""
    if _hidden():
        return None
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [
        [pid, started] for pid in pids if pid != mine and _of_ansible(pid) and (started := _started(pid)) is not None
    ]


def _hidden() -> bool:
    """Whether the processes of others are not shown to this user, or none at all; then not even the first one is."""
    return _started(1) is None


def _of_ansible(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as handle:
            words = handle.read(4096).split(b"\0")
    except OSError:
        return False
    return any(word.rpartition(b"/")[2].startswith(b"ansible") for word in words[:4])


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


def _answers(pid: t.Any) -> bool:
    """Whether there is a process *pid*, where no more of it is shown."""
    try:
        os.kill(int(pid), 0)
    except PermissionError:
        return True
    except (OSError, TypeError, ValueError, OverflowError):
        return False
    return True
