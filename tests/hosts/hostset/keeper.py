# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The keeper: a process in a session of its own that holds the set and removes it when its time has come.

The set ends when its owner is gone, when the creation is not confirmed, on SIGTERM, or when its inside dies. A keeper
that is killed takes the inside with it (parent-death signal); what it leaves are empty directories, which the next
creation removes.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from typing import List, Optional, Tuple

from . import cgroup, network, remains
from .command import ENVIRON
from .settings import HostsError, Settings

CONFIRMATION = b"keep\n"


def start_inside(settings: Settings, group: str, program: str) -> subprocess.Popen:
    """Start process 1 of the set in namespaces of its own; it waits for its network."""
    words = ["setpriv", "--pdeathsig", "KILL"]
    words += [
        "unshare",
        "--mount",
        "--net",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "--propagation",
        "slave",
    ]
    words += [sys.executable, "-B", program, "inside", settings.path("settings.json"), group]
    return subprocess.Popen(words, stdin=subprocess.PIPE, env=ENVIRON)


def wait_until_namespaces(inside: subprocess.Popen) -> None:
    """Wait until INSIDE has left this process's network namespace."""
    own = os.readlink("/proc/self/ns/net")
    while inside.poll() is None:
        try:
            if os.readlink(f"/proc/{inside.pid}/ns/net") != own:
                return
        except OSError:
            break
        select.select([], [], [], 0.002)
    raise HostsError(
        "The namespaces of the set could not be made: see whether root may unshare them here (unshare(1))."
    )


def keep(settings: Settings, group: str, program: str) -> None:
    """Hold the set until its time has come; returns when the inside has ended."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    owner = os.pidfd_open(settings.owner_pid) if settings.owner_pid is not None else None
    inside = start_inside(settings, group, program)
    try:
        wait_until_namespaces(inside)
        net = network.connect_machine(inside.pid)
        with open(settings.path("interface"), "w", encoding="utf-8") as file:
            file.write(network.noted_interface(net))
        assert inside.stdin is not None
        inside.stdin.write(json.dumps({"network": str(net)}).encode() + b"\n")
        inside.stdin.flush()
        _wait(os.pidfd_open(inside.pid), woken, owner)
    finally:
        inside.kill()
        inside.wait()


def _wait(inside: int, woken: int, owner: Optional[int]) -> None:
    """Return when the set's time has come. Standard input brings the confirmation; its end without one ends the set."""
    confirmed = False
    poller = select.poll()
    for descriptor in (inside, woken, owner, 0):
        if descriptor is not None:
            poller.register(descriptor, select.POLLIN)
    while True:
        ready: List[Tuple[int, int]] = poller.poll()
        if any(descriptor != 0 for descriptor, _event in ready):
            return
        confirmed = confirmed or os.read(0, 100) == CONFIRMATION
        if not confirmed:
            return
        poller.unregister(0)


def main(settings: Settings, group: str, program: str) -> int:
    os.chdir("/")
    with open(settings.path("keeper.pid"), "w", encoding="utf-8") as file:
        file.write(str(os.getpid()))
    try:
        if os.environ.get("HOSTS_SCOPE"):
            cgroup.delegate(os.path.dirname(group))
        with open(settings.path("group"), "w", encoding="utf-8") as file:
            file.write(group)
        keep(settings, group, program)
        return 0
    except (HostsError, OSError) as error:
        try:
            print(json.dumps({"event": "failed", "message": str(error)}), flush=True)
        except OSError:
            pass
        return 1
    finally:
        remains.remove(settings.directory)
