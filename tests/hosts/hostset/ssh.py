# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys, known hosts, the inventory, and the proof that a host answers over ssh."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, Dict, List

from .command import ENVIRON, run
from .settings import HostsError, Settings


def make_keys(settings: Settings) -> None:
    """One key for the caller, and each host's own key before it boots, so that known_hosts tells the truth."""
    os.makedirs(settings.path("keys"), mode=0o700)
    os.makedirs(settings.path("ssh", "control"), mode=0o700)
    files = [settings.path("ssh", "id_ed25519"), *(settings.path("keys", host) for host in settings.hosts)]
    with ThreadPoolExecutor(4) as pool:
        list(
            pool.map(lambda file: run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", file]), files)
        )


def write_known_hosts(settings: Settings, addresses: Dict[str, str]) -> None:
    with open(settings.path("ssh", "known_hosts"), "w", encoding="utf-8") as known:
        for host, address in addresses.items():
            with open(settings.path("keys", f"{host}.pub"), encoding="utf-8") as key:
                known.write(f"{host},{address} {key.read()}")


def give_to_caller(settings: Settings) -> None:
    """The caller, who may not be root, reads the key and makes control sockets."""
    for directory, _directories, files in os.walk(settings.path("ssh")):
        for path in [directory, *(os.path.join(directory, file) for file in files)]:
            os.chown(path, settings.uid, settings.gid)
        os.chmod(directory, 0o700)


def options(settings: Settings) -> List[str]:
    """What ssh needs for these hosts, and nothing of the caller's own configuration."""
    known = settings.path("ssh", "known_hosts")
    return ["-F", "none", "-o", f"UserKnownHostsFile={known}", "-o", "GlobalKnownHostsFile=/dev/null"]


def write_inventory(settings: Settings, addresses: Dict[str, str]) -> None:
    """YAML for Ansible. Scalars are written as JSON strings, which YAML reads as they are."""
    common = {
        "ansible_user": "root",
        "ansible_connection": "ssh",
        "ansible_ssh_private_key_file": settings.path("ssh", "id_ed25519"),
        "ansible_ssh_common_args": " ".join(options(settings)),
        "ansible_host_key_checking": True,
        "ansible_control_path_dir": settings.path("ssh", "control"),
        "ansible_pipelining": True,
        "ansible_python_interpreter": "/usr/bin/python3",
    }
    lines = ["---", f"# Test hosts of the set {settings.name}; removed with them.", "all:", "  vars:"]
    lines += [f"    {name}: {json.dumps(value)}" for name, value in common.items()]
    lines += ["  hosts:"]
    lines += [f"    {host}:\n      ansible_host: {json.dumps(address)}" for host, address in addresses.items()]
    if settings.groups:
        lines += ["  children:"]
    for group in settings.groups:
        lines += [f"    {group}:", "      hosts:", *(f"        {host}:" for host in addresses)]
    with open(settings.inventory, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    os.chown(settings.inventory, settings.uid, settings.gid)


def wait_until_running(settings: Settings, host: str, address: str, check: Callable[[], None], seconds: float) -> None:
    """Wait until HOST's systemd says over ssh that all is running. CHECK raises when waiting has become useless."""
    deadline = time.monotonic() + seconds
    words = ["ssh", *options(settings), "-i", settings.path("ssh", "id_ed25519"), "-o", "BatchMode=yes"]
    words += ["-o", "ConnectTimeout=5", "-o", "ControlPath=none", f"root@{address}"]
    words += ["systemctl is-system-running --wait; systemctl list-units --failed --plain --no-legend"]
    said = "its ssh port does not answer"
    while time.monotonic() < deadline:
        check()
        if not _port_answers(address):
            time.sleep(0.03)
            continue
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, env=ENVIRON, stdin=subprocess.DEVNULL, check=False,
                timeout=max(1.0, deadline - time.monotonic()),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            break
        said = " ".join((done.stdout or done.stderr).split())
        if done.stdout.startswith("running"):
            return
        if done.stdout.startswith("degraded"):
            raise HostsError(f"The test host {host!r} came up with units that failed ({said}): {_why_degraded(said)}")
    raise HostsError(f"The test host {host!r} did not come up in {seconds:g} s ({said}): see what its console says.")


def _why_degraded(said: str) -> str:
    # Each watch of a path takes an inotify instance, of which the machine has so many for all hosts together.
    if ".path " in said:
        return "many hosts need more inotify instances, so raise the sysctl fs.inotify.max_user_instances (1024, for example)."
    return "see what its console says."


def _port_answers(address: str) -> bool:
    try:
        with socket.create_connection((address, 22), timeout=1):
            return True
    except OSError:
        return False
