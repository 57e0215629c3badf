# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a set of test hosts is: its settings, checked, and where its files lie."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass, field
from typing import List, Optional

# Short, because ssh's control sockets lie below it and a socket's path has at most 107 bytes.
BASE = "/run/llmops-hosts"
LONGEST_SET_NAME = 20
MOST_HOSTS = 100


class HostsError(Exception):
    """A reason, one sentence for a person, why a set cannot be made or removed."""


@dataclass(frozen=True)
class Bind:
    """A path of this machine that is seen in each host."""

    source: str
    target: str
    read_only: bool = False


@dataclass(frozen=True)
class Settings:
    """One set of hosts as the caller wants it; uid and gid own the ssh key and the inventory."""

    name: str
    hosts: List[str]
    inventory: str
    groups: List[str] = field(default_factory=list)
    binds: List[Bind] = field(default_factory=list)
    owner_pid: Optional[int] = None
    uid: int = 0
    gid: int = 0
    keep_compiled: bool = False

    @property
    def directory(self) -> str:
        return directory_of(self.name)

    def path(self, *parts: str) -> str:
        return os.path.join(self.directory, *parts)

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, sort_keys=True)


def directory_of(name: str) -> str:
    return os.path.join(BASE, checked_name(name, "set of hosts", LONGEST_SET_NAME))


def checked_name(name: str, what: str, longest: int) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name) or len(name) > longest:
        raise HostsError(
            f"The {what} {name!r} has a name that cannot be used: take 1 to {longest} lower-case letters, digits "
            "and dashes, a letter first."
        )
    return name


def from_json(text: str) -> Settings:
    """Read and check settings. Raises HostsError for a name, a path or a process that cannot be used."""
    raw = json.loads(text)
    raw["binds"] = [Bind(**bind) for bind in raw.get("binds") or []]
    settings = Settings(**raw)
    checked_name(settings.name, "set of hosts", LONGEST_SET_NAME)
    if not 1 <= len(settings.hosts) <= MOST_HOSTS or len(set(settings.hosts)) != len(settings.hosts):
        raise HostsError(f"The set {settings.name!r} needs 1 to {MOST_HOSTS} hosts, each with its own name.")
    for host in settings.hosts:
        checked_name(host, "host", 40)
    if not os.path.isabs(settings.inventory):
        raise HostsError(f"The inventory path {settings.inventory!r} is relative: name it from the root directory.")
    return settings


def check_binds(settings: Settings) -> None:
    """Refuse binds that cannot work before anything is made."""
    for bind in settings.binds:
        if not os.path.isabs(bind.source) or not os.path.isabs(bind.target):
            raise HostsError(f"The bind {bind.source!r} to {bind.target!r} is relative: name both from the root.")
        if not os.path.exists(bind.source):
            raise HostsError(f"The bind source {bind.source!r} does not exist on this machine: make it first.")
        for hidden in ("/tmp", "/run", "/proc", "/sys", "/dev"):
            if bind.target == hidden or bind.target.startswith(hidden + "/"):
                raise HostsError(
                    f"The bind target {bind.target!r} lies where a host mounts its own {hidden}: take another place."
                )


def check_owner(settings: Settings) -> None:
    if settings.owner_pid is not None and not os.path.exists(f"/proc/{settings.owner_pid}"):
        raise HostsError(
            f"The owner process {settings.owner_pid} of the set {settings.name!r} does not exist: "
            "give the id of a process that lives as long as the set is needed."
        )
