# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a set leaves on the machine when its processes are gone: ssh masters, control groups, a link, files."""

from __future__ import annotations

import glob
import json
import os
import shutil
import time

from . import cgroup
from .command import run
from .lock import try_lock
from .settings import BASE, HostsError


def sweep() -> None:
    """Remove all sets whose keeper is dead. The caller holds the lock on BASE."""
    for directory in glob.glob(os.path.join(BASE, "*")):
        lock = try_lock(directory)
        if lock is not None:
            remove(directory)
            os.close(lock)


def remove(directory: str) -> None:
    """Remove what the set in DIRECTORY left; its hosts are dead. Its lock is held by the caller."""
    try:
        os.unlink(os.path.join(directory, "network"))  # from now on nobody takes the set for one in service
    except OSError:
        pass
    _end_ssh_masters(directory)
    group = _read(os.path.join(directory, "group"))
    if group:
        cgroup.remove(group)
    _wait_for_interface(_read(os.path.join(directory, "interface")))
    inventory = json.loads(_read(os.path.join(directory, "settings.json")) or "{}").get("inventory")
    # A later set may have written its own inventory to the same place.
    if inventory and directory + "/" in _read(inventory):
        os.unlink(inventory)
    shutil.rmtree(directory, ignore_errors=True)
    remove_base_if_empty()


def remove_base_if_empty() -> None:
    """Only under its lock: whoever makes a set right now needs it."""
    lock = try_lock(BASE)
    if lock is not None:
        try:
            os.rmdir(BASE)
        except OSError:
            pass  # other sets are there
        os.close(lock)


def _end_ssh_masters(directory: str) -> None:
    """Multiplexing masters would wait for hosts that are gone until their persistence ends."""
    for socket in glob.glob(os.path.join(directory, "ssh", "control", "*")):
        run(["ssh", "-F", "none", "-o", f"ControlPath={socket}", "-O", "exit", "host"], check=False, timeout=5)


def _wait_for_interface(noted: str, seconds: float = 10) -> None:
    """Wait for the kernel, which removes it a little after the set's namespace.

    NOTED is "NAME INDEX". It is not deleted by name: the name may be that of a younger set by now.
    """
    name, _space, index = noted.partition(" ")
    deadline = time.monotonic() + seconds
    while name and _read(f"/sys/class/net/{name}/ifindex").strip() == index:
        if time.monotonic() > deadline:
            raise HostsError(
                f"The interface {name!r} is still there after {seconds:g} s: remove it with ip link delete."
            )
        time.sleep(0.01)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""
