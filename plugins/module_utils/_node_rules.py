# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""SGLang's own rules for a server over several hosts, and what would leave such a start waiting for ever."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._planned_start import Start

# With DP attention the ports after that of the rendezvous are taken, too (server_args.py, PortArgs.init_new).
_DERIVED_PORTS = 6
_DEFAULT_PORT = 30000


def check_nodes(start: Start) -> None:
    """Check a start that is, or may be, one of several nodes.

    :raises Failure: ``rule_violated``.
    """
    nodes, rank = start.number("nnodes") or 1, start.number("node_rank") or 0
    if nodes < 1 or not 0 <= rank < nodes:
        raise _violated(
            start, "a node rank from 0 to nnodes - 1", f"it is {rank} of {nodes}", "correct 'args.node_rank'"
        )
    if nodes == 1:
        return
    _sizes(start, nodes)
    address = start.arguments.get("dist_init_addr")
    if address is None:
        if start.complete and not start.environment.get("SGLANG_DISTRIBUTED_INIT_METHOD_OVERRIDE"):
            raise _violated(
                start,
                "an address at which its nodes meet",
                "there is none, so that each would wait for the others on its own host",
                "set 'args.dist_init_addr' to HOST:PORT of rank 0",
            )
        return
    _rendezvous(start, str(address), nodes)


def _sizes(start: Start, nodes: int) -> None:
    """The conditions of validation_hook.py, the same from 0.5.6 to 0.5.23."""
    tp, pp, dp = (start.number(name) or 1 for name in ("tp_size", "pp_size", "dp_size"))
    if start.complete and (tp * pp) % nodes:
        raise _violated(
            start,
            f"tp_size * pp_size to be a multiple of its {nodes} nodes",
            f"it is {tp} * {pp}",
            "correct 'args.tp_size' or the number of nodes",
        )
    if dp > 1 and start.complete and not start.attention_parallel:
        raise _violated(
            start,
            "DP attention where dp_size is above 1 on several nodes",
            f"dp_size is {dp} without it",
            "set 'args.enable_dp_attention: true', or 'args.dp_size' to 1",
        )


def _rendezvous(start: Start, address: str, nodes: int) -> None:
    match = re.fullmatch(r"(?P<host>\[[^\]]+\]|[^:\[\]]+):(?P<port>\d{1,5})", address)
    if match is None or not 0 < int(match.group("port")) < 65536:
        raise _violated(
            start, "'args.dist_init_addr' to be HOST:PORT", f"it is '{address}'", "name host and port of rank 0"
        )
    host, port = match.group("host").strip("[]"), int(match.group("port"))
    served = start.arguments.get("port", _DEFAULT_PORT)
    last = port + _DERIVED_PORTS if start.attention_parallel else port
    if start.complete and isinstance(served, int) and port <= served <= last:
        raise _violated(
            start,
            f"the port{'s' if last > port else ''} {port}{f' to {last}' if last > port else ''} for its nodes alone",
            f"'args.port' is {served}",
            "choose another port in 'args.dist_init_addr'",
        )
    if re.fullmatch(r"localhost|127\.[\d.]+|::1|0\.0\.0\.0|::", host):
        raise _violated(
            start,
            f"an address that its {nodes} nodes all reach",
            f"'{host}' is another host for each of them",
            "name rank 0's own address in 'args.dist_init_addr'",
        )


def _violated(start: Start, wants: str, found: str, remedy: str) -> Failure:
    return Failure(
        "rule_violated", f"SGLang {start.version} over several nodes requires {wants}, and {found}: {remedy}."
    )


def node_of(arguments: t.Mapping[str, t.Any]) -> tuple[int, int]:
    """Rank and number of nodes by a server's arguments; (0, 1) for a server on one host."""
    rank, nodes = (arguments.get(name) for name in ("node_rank", "nnodes"))
    whole = [v if isinstance(v, int) and not isinstance(v, bool) else d for v, d in ((rank, 0), (nodes, 1))]
    return whole[0], max(whole[1], 1)
