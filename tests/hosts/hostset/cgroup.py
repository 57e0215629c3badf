# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control group for each host: without its own, two hosts' systemd would manage the same groups."""

from __future__ import annotations

import os
import time

from .settings import HostsError


def unified_root() -> str:
    """Where the cgroup2 hierarchy is mounted, beside cgroup v1 or alone. Raises HostsError where it is not."""
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        for line in mounts:
            fields, _dash, file_system = line.partition(" - ")
            if file_system.startswith("cgroup2 "):
                return fields.split()[4]
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
    """Remove GROUP and all below, waiting until the last dead process has left it."""
    deadline = time.monotonic() + seconds
    while os.path.isdir(group):
        for directory, _children, _files in os.walk(group, topdown=False):
            try:
                os.rmdir(directory)
            except OSError:
                pass
        if os.path.isdir(group):
            if time.monotonic() > deadline:
                raise HostsError(f"The control group {group!r} is still in use after {seconds:g} s: end its processes.")
            time.sleep(0.01)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as control:
        control.write(text)
