# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Who listens on a TCP port of this host: socket table, then process, then control group, then unit."""

from __future__ import annotations

import ipaddress
import os
import socket
import typing as t
from dataclasses import dataclass

from ansible_collections.llmops.sglang.plugins.module_utils._name_lookup import look_up
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import cgroup_of, read_argv

_LISTEN = "0A"
# A name of this machine needs no other one to be resolved.
_NAME_TIMEOUT = 3.0


@dataclass(frozen=True)
class ListeningSocket:
    """One row of the socket table: the kernel's inode of it, its own address, and its owner's uid."""

    inode: int
    address: str
    uid: int


@dataclass(frozen=True)
class Listener:
    """The process that holds a listening socket; pid is 0 and the rest empty where that cannot be read."""

    pid: int
    cmdline: str
    cgroup: str
    unit: str
    inode: int = 0


def listening_sockets(port: int, proc: str = "/proc") -> list[ListeningSocket] | None:
    """The sockets that listen on *port*, of any address; ``None`` where the table cannot be read."""
    found: list[ListeningSocket] = []
    readable = False
    for table in ("tcp", "tcp6"):
        try:
            with open(f"{proc}/net/{table}", encoding="ascii") as handle:
                rows = handle.readlines()[1:]
        except OSError:
            continue
        readable = True
        suffix = f":{port:04X}"
        for row in rows:
            words = row.split()
            if len(words) > 9 and words[3] == _LISTEN and words[1].endswith(suffix):
                found.append(ListeningSocket(int(words[9]), _address(words[1].split(":")[0]), int(words[7])))
    return found if readable else None


def _address(digits: str) -> str:
    """The kernel's hexadecimal words, each in the byte order of the machine (little endian here), as an address."""
    raw = b"".join(bytes.fromhex(digits[i : i + 8])[::-1] for i in range(0, len(digits), 8))
    return str(ipaddress.ip_address(raw))


def answering(sockets: t.Sequence[ListeningSocket], addresses: t.Sequence[str]) -> list[ListeningSocket]:
    """Those of *sockets* that a connection to the first served one of *addresses* reaches.

    The kernel prefers the socket bound to the very address, then the wildcard of that family, then the dual wildcard.
    """
    for address in addresses:
        wildcards = ["::"] if ":" in address else ["0.0.0.0", "::"]
        for wanted in [address, f"::ffff:{address}", *wildcards]:
            same = [s for s in sockets if _same(s.address, wanted)]
            if same:
                return same
    return []


def _same(one: str, other: str) -> bool:
    try:
        return ipaddress.ip_address(one) == ipaddress.ip_address(other)
    except ValueError:
        return False


def local_addresses(host: str) -> list[str]:
    """The addresses of *host* that belong to this machine, in the order in which a client tries them.

    None where a client may be led to another machine as well.
    """
    try:
        infos = look_up(host, None, _NAME_TIMEOUT)
    except (OSError, UnicodeError):
        return []
    local = []
    for family, dummy, dummy2, dummy3, address in infos:
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.bind((address[0], 0, *address[2:]))
            local.append(str(address[0]).partition("%")[0])
        except OSError:
            if _leads_elsewhere(family, address):
                return []
    return local


def _leads_elsewhere(family: int, address: t.Any) -> bool:
    """Whether there is a route to an address that is not this machine's; nothing is sent."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address[0], 9, *address[2:]))
        return True
    except OSError:
        return False


def holders(
    inodes: t.Collection[int], proc: str = "/proc", pids: t.Iterable[int] | None = None
) -> tuple[dict[int, list[int]], bool]:
    """Which of *pids* (default: all) hold which socket, and whether every one of them could be read."""
    found: dict[int, list[int]] = {inode: [] for inode in inodes}
    names = {f"socket:[{inode}]": inode for inode in inodes}
    complete = True
    for pid in _all_pids(proc) if pids is None else pids:
        try:
            descriptors = os.listdir(f"{proc}/{pid}/fd")
        except PermissionError:
            complete = False
            continue
        except OSError:
            continue
        held = {_link(f"{proc}/{pid}/fd/{number}") for number in descriptors} & set(names)
        for name in held:
            found[names[name]].append(pid)
    return found, complete


def _all_pids(proc: str) -> list[int]:
    try:
        return sorted(int(name) for name in os.listdir(proc) if name.isdigit())
    except OSError:
        return []


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def parent_of(pid: int, proc: str = "/proc") -> int:
    """The parent of *pid*; 0 where it is gone."""
    stat = process_stat(pid, proc)
    return stat.parent if stat else 0


@dataclass(frozen=True)
class ProcessStat:
    """Short name, state letter and parent of a process."""

    comm: str
    state: str
    parent: int


def process_stat(pid: int, proc: str = "/proc") -> ProcessStat | None:
    """What the kernel says of *pid*; ``None`` where it is gone."""
    try:
        with open(f"{proc}/{pid}/stat", encoding="utf-8", errors="replace") as handle:
            text = handle.read()
    except OSError:
        return None
    # The name may hold spaces and brackets itself.
    comm, dummy, rest = text.partition("(")[2].rpartition(")")
    words = rest.split()
    return ProcessStat(comm, words[0], int(words[1])) if len(words) > 1 else None


def descends_from(pid: int, ancestor: int, proc: str = "/proc") -> bool:
    """Whether *pid* is *ancestor* or one of its descendants."""
    for dummy in range(64):
        if pid == ancestor:
            return True
        pid = parent_of(pid, proc)
        if pid <= 1:
            return False
    return False


def unit_of_cgroup(cgroup: str) -> str:
    """The innermost service or scope in a control group's path; empty where it has none."""
    units = [part for part in cgroup.split("/") if part.endswith((".service", ".scope"))]
    return units[-1] if units else ""


def inside(cgroup: str, control_group: str) -> bool:
    """Whether *cgroup* is a unit's control group or lies below it."""
    return control_group not in ("", "/") and (cgroup == control_group or cgroup.startswith(control_group + "/"))


def describe(pid: int, inode: int = 0, proc: str = "/proc") -> Listener:
    """The listener that *pid* is."""
    cgroup = cgroup_of(pid, proc)
    return Listener(pid, " ".join(read_argv(pid, proc) or []), cgroup, unit_of_cgroup(cgroup), inode)


def listeners(port: int, proc: str = "/proc", sockets: t.Sequence[ListeningSocket] | None = None) -> list[Listener]:
    """One entry for each socket that listens on *port* (or for each of *sockets*).

    Children that inherited a socket share its inode: that is one listener, and the eldest of them is named.
    """
    if sockets is None:
        sockets = listening_sockets(port, proc) or []
    held, dummy = holders({s.inode for s in sockets}, proc)
    return [_eldest(s.inode, held[s.inode], proc) for s in sockets]


def _eldest(inode: int, pids: list[int], proc: str) -> Listener:
    if not pids:
        return Listener(0, "", "", "", inode)
    eldest = [pid for pid in pids if parent_of(pid, proc) not in pids]
    return describe((eldest or pids)[0], inode, proc)
