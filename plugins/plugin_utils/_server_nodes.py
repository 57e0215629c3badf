# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Which hosts one server runs on, in the order of their ranks, and why it cannot."""

from __future__ import annotations

import typing as t

# What follows from the nodes.
_OF_NODES = ("nnodes", "node_rank", "dist_init_addr")


def server_nodes(
    nodes: t.Any, groups: t.Mapping[str, list[str]], host: str, args: t.Mapping[str, t.Any] | None = None
) -> dict[str, t.Any]:
    """The hosts of one server, and what is wrong with them."""
    named = isinstance(nodes, str)
    hosts = list(groups.get(nodes, []) if named else nodes or [])
    several = len(hosts) > 1
    unknown = [one for one in hosts if one not in groups["all"]]
    taken = [name for name in args or {} if name in _OF_NODES] if several else []
    problems = [
        named and nodes and not hosts and f"there is no group '{nodes}' with hosts in the inventory",
        hosts and host not in hosts and f"the host '{host}' is none of {', '.join(hosts)}",
        len(set(hosts)) < len(hosts) and "a host is named twice",
        unknown and f"the inventory has no host {', '.join(unknown)}",
        taken and f"the role itself sets {', '.join(taken)}: take that out of 'server_args'",
    ]
    return {
        "hosts": hosts,
        "several": several,
        "first": hosts[0] if hosts else host,
        "rank": hosts.index(host) if several and host in hosts else 0,
        "problems": [text for text in problems if text],
    }
