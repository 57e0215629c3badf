# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make and remove a set of hosts, from the caller's side: start its keeper, wait for the hosts, confirm."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Dict, List, Optional, Tuple

from . import cgroup, inside, keeper, network, remains, requirements, ssh
from .command import ENVIRON
from .lock import lock_base, try_lock
from .settings import HostsError, Settings, check_binds, check_owner, directory_of

BOOT_SECONDS = 90.0


class Reports:
    """What the keeper says while the set is made, and whether the caller still wants it."""

    def __init__(self, process: subprocess.Popen, log: str, caller_pid: Optional[int]) -> None:
        self._log = log
        self._caller_pid = caller_pid
        self._waiting: queue.Queue[dict] = queue.Queue()
        self._trouble: Optional[dict] = None
        threading.Thread(target=self._read, args=(process,), daemon=True).start()

    def _read(self, process: subprocess.Popen) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            report = json.loads(line)
            if report["event"] == "started":
                self._waiting.put(report)
            elif self._trouble is None:
                self._trouble = report
        if self._trouble is None:
            try:
                with open(self._log, encoding="utf-8", errors="replace") as log:
                    said = " ".join(log.read().split())[-400:] or "it said nothing"
            except OSError:
                said = "it was told to"
            self._trouble = {
                "event": "failed",
                "message": f"The keeper of the set ended ({said}): create the set again.",
            }
        self._waiting.put(self._trouble)

    def started(self, settings: Settings) -> dict:
        report = self._waiting.get()
        self.check(settings)
        return report

    def check(self, settings: Settings) -> None:
        """Raises HostsError when there is no more use in waiting."""
        if self._caller_pid is not None and not os.path.exists(f"/proc/{self._caller_pid}"):
            raise HostsError(
                f"The set {settings.name!r} is not made: its caller, process {self._caller_pid}, has died."
            )
        if self._trouble is None:
            return
        if self._trouble["event"] == "failed":
            raise HostsError(self._trouble["message"])
        host = self._trouble["host"]
        tail = " / ".join(inside.console_tail(settings, host)) or "nothing"
        raise HostsError(
            f"The test host {host!r} ended while it booted (exit status {self._trouble['status']}): its console said "
            f"{tail!r}; correct that and create the set again."
        )


def create(settings: Settings, program: str, caller_pid: Optional[int] = None) -> dict:
    """Make the set, or find it as it is wanted. Whatever fails here, or a caller that dies, leaves nothing behind."""
    check_owner(settings)
    check_binds(settings)
    requirements.check()
    lock = _own_directory(settings)
    if lock is None:
        return {"changed": False, **_facts(settings)}
    try:
        _write_settings(settings)
        ssh.make_keys(settings)
        process = _start_keeper(settings, program, lock)
    except BaseException:
        remains.remove(settings.directory)
        raise
    try:
        reports = Reports(process, settings.path("keeper.log"), caller_pid)
        _boot(settings, reports)
        reports.check(settings)
        facts = _facts(settings)
        assert process.stdin is not None
        process.stdin.write(keeper.CONFIRMATION)
        process.stdin.close()
    except BaseException:
        # Without a confirmation the end of its input makes the keeper remove the set; it is gone when that is done.
        _close(process.stdin)
        process.wait()
        if os.path.isdir(settings.directory):
            remains.remove(settings.directory)  # the keeper itself failed
        raise
    return {"changed": True, **facts}


def destroy(name: str, seconds: float = 30) -> dict:
    """Remove the set NAME; all is gone when this returns."""
    directory = directory_of(name)
    deadline = time.monotonic() + seconds
    signalled = False
    while os.path.isdir(directory):
        lock = try_lock(directory)
        if lock is not None:
            remains.remove(directory)
            os.close(lock)
            signalled = True
            break
        if not signalled:
            signalled = _signal_keeper(directory)
        if time.monotonic() > deadline:
            raise HostsError(
                f"The set of hosts {name!r} is still there after {seconds:g} s: see {directory}/keeper.log."
            )
        time.sleep(0.01)
    return {"changed": signalled}


def _own_directory(settings: Settings, seconds: float = 15) -> Optional[int]:
    """The locked new directory of the set, or None when the very same set is already there."""
    deadline = time.monotonic() + seconds
    while True:
        base = lock_base()
        try:
            remains.sweep()
            if not os.path.isdir(settings.directory):
                os.mkdir(settings.directory, 0o755)
                lock = try_lock(settings.directory)
                assert lock is not None, "a directory made under the lock of its parent is free"
                return lock
        finally:
            os.close(base)
        if _is_confirmed_twin(settings):
            return None
        # One that is still being made or already being removed is worth waiting for.
        if os.path.exists(settings.path("network")) or time.monotonic() > deadline:
            raise HostsError(
                f"The set of hosts {settings.name!r} is already there with other settings: destroy it first or take "
                "another name."
            )
        time.sleep(0.05)


def _is_confirmed_twin(settings: Settings) -> bool:
    try:
        with open(settings.path("settings.json"), encoding="utf-8") as file:
            same = file.read() == settings.to_json()
    except OSError:
        return False
    return same and os.path.exists(settings.inventory) and os.path.exists(settings.path("network"))


def _write_settings(settings: Settings) -> None:
    with open(settings.path("settings.json"), "w", encoding="utf-8") as file:
        file.write(settings.to_json())
    os.mkdir(settings.path("console"))
    os.mkdir(settings.path("trees"))


def _start_keeper(settings: Settings, program: str, lock: int) -> subprocess.Popen:
    words, group, environ = _placement(settings)
    words += [sys.executable, "-B", program, "keep", settings.path("settings.json"), group]
    # The keeper and what it starts hold the lock as long as one of them lives.
    with open(settings.path("keeper.log"), "ab") as log:
        return subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**ENVIRON, **environ},
            start_new_session=True,
            pass_fds=[lock],
        )


def _placement(settings: Settings) -> Tuple[List[str], str, Dict[str, str]]:
    """Where systemd is process 1, a scope of its own with delegated controllers; elsewhere a group below this one."""
    name = f"llmops-hosts-{settings.name}"
    if os.path.isdir("/run/systemd/system") and shutil.which("systemd-run", path=ENVIRON["PATH"]):
        words = [
            "systemd-run",
            "--quiet",
            "--scope",
            "--collect",
            f"--unit={name}-{os.getpid()}",
            "--property=Delegate=yes",
        ]
        return words, f"{cgroup.unified_root()}/system.slice/{name}-{os.getpid()}.scope/hosts", {"HOSTS_SCOPE": "1"}
    return [], f"{cgroup.own_group()}/{name}", {}


def _boot(settings: Settings, reports: Reports) -> None:
    net = reports.started(settings)["network"]
    addresses = network.addresses(network.parsed(net), settings.hosts)
    ssh.write_known_hosts(settings, addresses)
    with ThreadPoolExecutor(len(addresses)) as pool:
        waits = [
            pool.submit(ssh.wait_until_running, settings, host, address, lambda: reports.check(settings), BOOT_SECONDS)
            for host, address in addresses.items()
        ]
        for wait in waits:
            wait.result()
    ssh.give_to_caller(settings)
    ssh.write_inventory(settings, addresses)
    with open(settings.path("network"), "w", encoding="utf-8") as file:
        file.write(net)


def _facts(settings: Settings) -> dict:
    with open(settings.path("network"), encoding="utf-8") as file:
        net = network.parsed(file.read())
    return {
        "addresses": network.addresses(net, settings.hosts),
        "directory": settings.directory,
        "gateway": network.gateway_of(net),
        "interface": network.interface_of(net),
        "inventory": settings.inventory,
        "private_key": settings.path("ssh", "id_ed25519"),
        "known_hosts": settings.path("ssh", "known_hosts"),
    }


def _signal_keeper(directory: str) -> bool:
    """Ask the keeper to end. False as long as it has not yet noted its process id."""
    try:
        with open(os.path.join(directory, "keeper.pid"), encoding="utf-8") as file:
            os.kill(int(file.read()), signal.SIGTERM)
        return True
    except (OSError, ValueError):
        return False


def _close(stream) -> None:
    try:
        stream.close()
    except OSError:
        pass
