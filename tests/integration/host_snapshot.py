# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host and the controller's working directories are like, so that a look before and one after can be compared.

A host's root directory is an overlay: what was ever written there is in its upper directory, which the machine can see.
"""

from __future__ import annotations

import json
import os
import pathlib
import shlex
import subprocess
import sys

from host_set import HostSet

PROGRAM = pathlib.Path(__file__).parent / "on_host" / "snapshot.py"
# What a login, the journal and systemd's own timers write.
WITHOUT = [
    "/var/log/journal*",
    "/var/log/*tmp",
    "/var/log/lastlog",
    "/var/lib/systemd/*",
    "/run/log*",
    "/run/test-host-code*",
    "/run/systemd/[!gst]*",
    "/run/systemd/se[as]*",
    "/run/systemd/systemd-units-load",
    "/run/systemd/transient/session-*",
    "/run/udev*",
    "/run/user/0*",
    "/run/utmp",
    "/run/motd*",
    "/tmp/systemd-private-*",
]
# Where Ansible and systemd-analyze put things while they work; none of them may stay.
UNTIMED = [
    "/",
    "/tmp",
    "/var/tmp",
    "/run",
    "/run/credentials",
    "/run/systemd",
    "/run/systemd/transient",
    "/run/user",
    "/root",
    "/home/operator",
]
# Ansible makes these wherever a module wants a directory for a moment.
UNLISTED = ["*/.ansible", "*/.ansible/tmp"]
RULES = {"without": WITHOUT, "untimed": UNTIMED, "unlisted": UNLISTED}
VOLATILE = ("/run", "/tmp", "/dev/shm")
# Of a unit, what a review must leave. Whether a reload is due is found by looking; that there was one, the manager tells.
PROPERTIES = (
    "LoadState,ActiveState,SubState,InvocationID,MainPID,NRestarts,UnitFileState,FragmentPath,"
    "DropInPaths,ActiveEnterTimestampMonotonic,ExecMainStartTimestampMonotonic,Result"
)
# Units that come and go with a login or run by a timer of systemd's own.
ON_THEIR_OWN = (
    "systemd-tmpfiles-clean.",
    "session-",
    "user@0.",
    "user-0.",
    "user-runtime-dir@0.",
    "run-user-0.",
    "run-u",
)


def snapshot(hosts: HostSet, host: str, *folders: str | os.PathLike[str]) -> dict:
    """HOST's files and units, those of its operator's manager, and the files below the controller's FOLDERS."""
    upper = _upper(hosts, host)
    written = _run([*_as_root(), sys.executable, "-B", str(PROGRAM)], roots=[upper], strip=upper)
    program = f"python3 -B {hosts.repository}/tests/integration/on_host/snapshot.py"
    said = {**RULES, "roots": VOLATILE}
    volatile = json.loads(_shell(hosts, host, f"{program} {shlex.quote(json.dumps(said))}"))
    here = _run([sys.executable, "-B", str(PROGRAM)], roots=[str(one) for one in folders])
    return {
        "host": {**written, **volatile},
        "units": _units(_shell(hosts, host, _managers("systemctl"))),
        "operator": _units(_shell(hosts, host, _managers("systemctl --user"), "operator")),
        "controller": here,
    }


def differences(before: dict, after: dict) -> list[str]:
    """One line for each thing that is there no more, there now, or another one."""
    lines = []
    for part in before:
        for name in sorted({*before[part], *after[part]}):
            old, new = before[part].get(name), after[part].get(name)
            if old != new:
                lines.append(f"{part} {name}: {'absent' if old is None else old} -> {'absent' if new is None else new}")
    return lines


def _upper(hosts: HostSet, host: str) -> str:
    """Where the machine sees what HOST has written: in the mounts of the process that holds its set."""
    keeper = pathlib.Path(hosts.directory, "keeper.pid").read_text().strip()
    pid = keeper
    # The keeper's child is the program that opens the namespaces, and that one's child is inside.
    for dummy in range(2):
        pid = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]
    return f"/proc/{pid}/root{hosts.directory}/trees/{host}/upper"


def _as_root() -> list[str]:
    return [] if os.geteuid() == 0 else ["sudo", "-n"]


def _run(words: list[str], **asked: object) -> dict:
    asked = {**RULES, **asked}
    done = subprocess.run([*words, json.dumps(asked)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def _shell(hosts: HostSet, host: str, command: str, user: str = "root") -> str:
    done = hosts.ssh(host, command, user=user)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _managers(systemctl: str) -> str:
    manager = f"echo Id=manager; {systemctl} show -p UnitsLoadTimestampMonotonic; echo"
    return f"{manager}; {systemctl} show '*' --all -p Id,{PROPERTIES}; echo; {systemctl} list-unit-files --plain --no-legend"


def _units(said: str) -> dict[str, object]:
    """The properties of each unit that is loaded, and whether each unit file is enabled."""
    found: dict[str, object] = {}
    for part in said.split("\n\n"):
        fields = dict(line.split("=", 1) for line in part.splitlines() if "=" in line)
        name = fields.pop("Id", "")
        if name and not name.startswith(ON_THEIR_OWN) and not name.endswith((".scope", ".device", ".timer")):
            found[name] = fields
    for line in said.rpartition("\n\n")[2].splitlines():
        name, *rest = line.split()
        if "=" not in name and not name.endswith(".scope"):
            found[f"file {name}"] = rest
    return found
