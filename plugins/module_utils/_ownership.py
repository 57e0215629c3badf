# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Whether a listening socket belongs to the current invocation of a unit."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ansible_collections.llmops.sglang.plugins.module_utils._control_group import members
from ansible_collections.llmops.sglang.plugins.module_utils._environment_file import hide_secret_variables
from ansible_collections.llmops.sglang.plugins.module_utils._listener import (
    Listener,
    ListeningSocket,
    answering,
    descends_from,
    holders,
    inside,
    listeners,
    listening_sockets,
    local_addresses,
)
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import read_environ
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import MASKED
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import plain_invocation_id

if t.TYPE_CHECKING:
    from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState


@dataclass(frozen=True)
class Ownership:
    """Whose the port is.

    owned: C(yes), C(no) or C(unknown); several: sockets of more than one owner answer; relic: the owner is a process of
    an older invocation, which is on its way out.
    """

    owned: str = "unknown"
    pid: int = 0
    unit: str = ""
    cmdline: str = ""
    several: bool = False
    relic: bool = False
    others: str = ""

    @property
    def foreign(self) -> bool:
        """Whether an answer may come from a process that is not the unit's."""
        return self.several or self.owned == "no"

    def as_result(self) -> dict[str, t.Any]:
        return {"pid": self.pid or None, "unit": self.unit, "cmdline": _shown(self.cmdline, 400), "owned": self.owned}

    def who(self) -> str:
        """The owner in words."""
        if not self.pid:
            return "a process that cannot be read"
        return (
            f"process {self.pid}"
            + (f" of {self.unit}" if self.unit else "")
            + f" ({_shown(self.cmdline, 120) or 'no command line'})"
        )


def owner_at(host: str, port: int, state: UnitState) -> Ownership | None:
    """Whose process answers at an address: ``None`` where nobody listens there, unknown where it is not of this host."""
    local = local_addresses(host)
    found = listening_sockets(port) if local else None
    if found is None:
        return Ownership()
    sockets = answering(found, local)
    return ownership(sockets, state) if sockets else None


def ownership(
    sockets: t.Sequence[ListeningSocket],
    state: UnitState | None,
    previous_invocation_id: str = "",
    proc: str = "/proc",
    cgroup_root: str = "/sys/fs/cgroup",
) -> Ownership:
    """Judge the owner of *sockets*, all of which answer on one address. Without a unit only names are given."""
    found = listeners(0, proc, sockets)
    pids = {one.pid for one in found}
    if state is None:
        first = found[0] if found else Listener(0, "", "", "")
        return Ownership("unknown", first.pid, first.unit, first.cmdline, several=len(found) > 1)
    verdicts = [_owned(one, state, proc, cgroup_root) for one in found]
    order = {"no": 0, "unknown": 1, "yes": 2}
    worst = min(range(len(found)), key=lambda i: order[verdicts[i]])
    one = found[worst]
    return Ownership(
        owned=verdicts[worst],
        pid=one.pid,
        unit=one.unit,
        cmdline=one.cmdline,
        several=len(pids) > 1 and set(verdicts) != {"yes"},
        relic=verdicts[worst] == "no" and _relic(one, state, previous_invocation_id, proc),
        others=", ".join(f"{o.pid or 'unknown'} ({o.unit or _shown(o.cmdline, 60)})" for o in found[:4]),
    )


def _shown(cmdline: str, most: int) -> str:
    """A command line without the values of the secret variables that it sets, cut only then."""
    text = hide_secret_variables(cmdline, MASKED)
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _owned(one: Listener, state: UnitState, proc: str, cgroup_root: str) -> str:
    if not one.pid:
        return _by_absence(one.inode, state, proc, cgroup_root)
    if not one.cgroup:
        return "unknown"
    if not inside(one.cgroup, state.control_group):
        return "no"
    # A process that the last stop left behind sits in the unit's control group, too.
    if descends_from(one.pid, state.main_pid, proc):
        return "yes"
    invocation = _invocation(one.pid, proc)
    return "unknown" if not invocation else "yes" if invocation == state.invocation_id else "no"


def _by_absence(inode: int, state: UnitState, proc: str, cgroup_root: str) -> str:
    """No holder could be seen: it is not the unit's if every process of the unit could be read."""
    pids = members(state.control_group, cgroup_root)
    held, complete = holders([inode], proc, pids)
    return "no" if pids and complete and not held[inode] else "unknown"


def _relic(one: Listener, state: UnitState, previous: str, proc: str) -> bool:
    if inside(one.cgroup, state.control_group):
        return True
    return bool(one.pid and previous) and _invocation(one.pid, proc) == previous


def _invocation(pid: int, proc: str) -> str:
    return plain_invocation_id((read_environ(pid, proc) or {}).get("INVOCATION_ID"))
