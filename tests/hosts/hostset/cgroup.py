# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control group for each host: without its own, two hosts' systemd would manage the same groups."""

from __future__ import annotations

import os
import time
from typing import List

from .settings import HostsError


def mounted_hierarchies(kinds: tuple = ("cgroup", "cgroup2")) -> List[str]:
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        split = [line.partition(" - ") for line in mounts]
    return [fields.split()[4] for fields, _dash, file_system in split if file_system.split()[0] in kinds]


def unified_root() -> str:
    """Where the cgroup2 hierarchy is mounted, beside cgroup v1 or alone. Raises HostsError where it is not."""
    for mounted in mounted_hierarchies(("cgroup2",)):
        return mounted
    raise HostsError("No cgroup2 hierarchy is mounted on this machine, which systemd in a host needs: mount one.")


def own_group() -> str:
    with open("/proc/self/cgroup", encoding="utf-8") as groups:
        for line in groups:
            if line.startswith("0::"):
                return unified_root() + line.rstrip("\n")[3:].rstrip("/")
    raise HostsError("This process is in no group of the cgroup2 hierarchy, which systemd in a host needs: mount one.")


def delegate(group: str) -> None:
    """Hand the controllers of a scope of our own down: its processes move to a leaf first, as cgroup2 wants."""
    leaf = os.path.join(group, "keeper")
    os.makedirs(leaf, exist_ok=True)
    _write(os.path.join(leaf, "cgroup.procs"), str(os.getpid()))
    with open(os.path.join(group, "cgroup.controllers"), encoding="utf-8") as controllers:
        for controller in controllers.read().split():
            try:
                _write(os.path.join(group, "cgroup.subtree_control"), f"+{controller}")
            except OSError:
                continue  # one that cannot be handed down is one that the hosts do without


def enter(group: str) -> None:
    """Move this process to GROUP, made when missing."""
    os.makedirs(group, exist_ok=True)
    _write(os.path.join(group, "cgroup.procs"), "0")


def remove(group: str, seconds: float = 5) -> None:
    """Remove GROUP and all below, waiting until the last dead process has left it.

    Beside cgroup v1 nspawn makes the same groups in v1's systemd hierarchy.
    """
    below_root = os.path.relpath(group, unified_root())
    deadline = time.monotonic() + seconds
    for copy in [os.path.join(mounted, below_root) for mounted in mounted_hierarchies()]:
        while os.path.isdir(copy):
            for directory, _children, _files in os.walk(copy, topdown=False):
                try:
                    os.rmdir(directory)
                except OSError:
                    pass  # in use: told below when it stays so
            if os.path.isdir(copy):
                if time.monotonic() > deadline:
                    raise HostsError(
                        f"The control group {copy!r} is still in use after {seconds:g} s: see its processes."
                    )
                time.sleep(0.01)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as control:
        control.write(text)
