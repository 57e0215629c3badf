# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Who holds the port of a unit's server before it is stopped, after it was stopped, and before it is started."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._endpoint import address_of, argument, from_argv
from ansible_collections.llmops.sglang.plugins.module_utils._environment_file import hide_secret_variables
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._launch_command import read_launch
from ansible_collections.llmops.sglang.plugins.module_utils._listener import (
    ListeningSocket,
    answering,
    listening_sockets,
    local_addresses,
)
from ansible_collections.llmops.sglang.plugins.module_utils._ownership import Ownership, ownership
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import MASKED, Mask

if t.TYPE_CHECKING:
    from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState

_WILDCARDS = ("0.0.0.0", "::", "[::]", "*", "")


class Port(t.NamedTuple):
    """The address that a server binds; the host may be a wildcard."""

    host: str
    number: int


def port_of(argv: t.Sequence[str]) -> t.Optional[Port]:
    """Where the server of a command line binds; ``None`` where it is no server's or that cannot be told."""
    launch = read_launch(argv)
    words = launch.words if launch.found else argv
    if (launch.found and not launch.clear) or launch.kind == "container":
        return None
    if not launch.found and argument(words, "--port") is None:
        return None
    try:
        address = address_of(from_argv(argv))
    except Failure:
        return None
    return Port(argument(words, "--host") or address.host, address.port)


def sockets_at(port: Port) -> list[ListeningSocket]:
    """The listening sockets that leave no room for a server at *port*."""
    sockets = listening_sockets(port.number) or []
    return sockets if port.host in _WILDCARDS else answering(sockets, local_addresses(port.host))


def foreign_holder(port: Port, state: UnitState) -> t.Optional[Ownership]:
    """Who else than the unit's own processes certainly holds *port*; ``None`` for nobody and for what cannot be read."""
    sockets = sockets_at(port)
    if not sockets:
        return None
    owner = ownership(sockets, state)
    return owner if owner.owned == "no" else None


def port_in_use(name: str, port: Port, owner: Ownership) -> Failure:
    """The failure for a port that the server could not bind after minutes of loading."""
    who = Mask().text(hide_secret_variables(owner.who(), MASKED))
    return Failure(
        "port_in_use",
        f"The port {port.number} of the unit '{name}' is held by {who}: stop that process or choose another port.",
    )
