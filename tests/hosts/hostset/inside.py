# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The set from inside its namespaces: mounts, bridge and one systemd-nspawn a host. Runs as process 1 of the set.

Process 1 of a process-id namespace takes everything with it when it dies, and so do the last users of the mount and
the network namespace. Nothing made here can outlive this process.
"""

from __future__ import annotations

import ipaddress
import json
import os
import subprocess
import sys
import threading
from typing import Dict, List, TextIO

from . import cgroup, network, tree
from .command import ENVIRON, run
from .settings import Bind, HostsError, Settings

# systemd-nspawn's exit status when it wants to be started again (as its unit would do).
REBOOT = 133


def keep(settings: Settings, group: str, orders: TextIO, reports: TextIO) -> None:
    """Bring the hosts up when ORDERS names their network; stay until ORDERS ends."""
    line = orders.readline()
    if not line:
        return  # the keeper died before it gave the order
    net = network.parsed(json.loads(line)["network"])
    network.make_bridge()
    # nspawn notes machines under /run/systemd: in a place of our own nothing of that is left on the machine.
    # A machine that systemd did not boot may lack the folder.
    os.makedirs("/run/systemd", exist_ok=True)
    run(["mount", "-t", "tmpfs", "none", "/run/systemd"])
    run(["mount", "-t", "tmpfs", "none", settings.path("trees")])
    machines: Dict[int, str] = {}
    for host in settings.hosts:
        _mount_root(settings, host, net)
        machines[_start(settings, host, group)] = host
    _say(reports, event="started", network=str(net))
    threading.Thread(target=_reap, args=(machines, settings, group, reports), daemon=True).start()
    orders.read()


def _mount_root(settings: Settings, host: str, net: ipaddress.IPv4Network) -> None:
    """Lay HOST's own changes over this machine's root directory."""
    place = settings.path("trees", host)
    os.mkdir(place)
    run(["mount", "-t", "tmpfs", "-o", "mode=0755", "none", place])
    upper, work, root = (os.path.join(place, part) for part in ("upper", "work", "root"))
    for directory in (upper, work, root):
        os.mkdir(directory, 0o755)
    with open(settings.path("keys", host), encoding="utf-8") as key:
        private_key = key.read()
    with open(settings.path("ssh", "id_ed25519.pub"), encoding="utf-8") as key:
        authorized_key = key.read()
    addresses = network.addresses(net, settings.hosts)
    identity = tree.Identity(
        host, addresses, network.gateway_of(net), private_key, authorized_key, settings.keep_compiled
    )
    tree.write_host(tree.Upper(upper), identity)
    run(["mount", "-t", "overlay", "none", "-o", f"lowerdir=/,upperdir={upper},workdir={work}", root])


def _start(settings: Settings, host: str, group: str) -> int:
    words = [
        "systemd-nspawn",
        f"--directory={settings.path('trees', host, 'root')}",
        f"--machine={host}",
        "--boot",
        "--register=no",
        "--keep-unit",
        "--settings=no",
        "--console=pipe",
        "--resolv-conf=off",
        "--timezone=off",
        "--link-journal=no",
        f"--network-bridge={network.BRIDGE}",
        *(_bind_option(bind) for bind in settings.binds),
    ]
    # Without the variable nspawn mixes cgroup v1 in where the machine has it.
    environ = {**ENVIRON, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}
    with open(settings.path("console", f"{host}.log"), "ab") as console:
        started = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            env=environ,
            start_new_session=True,
            preexec_fn=lambda: cgroup.enter(os.path.join(group, host)),
        )
    return started.pid


def _bind_option(bind: Bind) -> str:
    source, target = (path.replace("\\", "\\\\").replace(":", "\\:") for path in (bind.source, bind.target))
    return f"--bind{'-ro' if bind.read_only else ''}={source}:{target}"


def _reap(machines: Dict[int, str], settings: Settings, group: str, reports: TextIO) -> None:
    """Tell of each host that ends, start those that reboot, and as process 1 take in every other dead process."""
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            return
        if pid not in machines:
            continue
        host = machines.pop(pid)
        if os.waitstatus_to_exitcode(status) == REBOOT:
            machines[_start(settings, host, group)] = host
        else:
            _say(reports, event="host_ended", host=host, status=os.waitstatus_to_exitcode(status))


def _say(reports: TextIO, **report: object) -> None:
    try:
        print(json.dumps(report), file=reports, flush=True)
    except OSError:
        pass  # whoever made the set has gone; the set stays as long as its keeper


def main(settings: Settings, group: str) -> int:
    try:
        keep(settings, group, sys.stdin, sys.stdout)
    except (HostsError, OSError) as error:
        _say(sys.stdout, event="failed", message=str(error))
        return 1
    return 0


def console_tail(settings: Settings, host: str, lines: int = 8) -> List[str]:
    try:
        with open(settings.path("console", f"{host}.log"), encoding="utf-8", errors="replace") as console:
            return [line.rstrip() for line in console.read().splitlines() if line.strip()][-lines:]
    except OSError:
        return []
