# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One server over two real hosts: its ranks, what is proved on each of them, and a rank that dies.

What takes longer is in tests/long/test_multi_node.py.
"""

from __future__ import annotations

import pytest
from nodes_server import NodesServer


@pytest.fixture(scope="module")
def server(hosts, tmp_path_factory):
    made = NodesServer(hosts, tmp_path_factory.mktemp("nodes"))
    yield made
    made.stop()


def test_two_hosts_become_one_server_that_is_proved_on_both(server):
    done = server.deploy()
    assert server.generates()
    first, second = (server.journal(host) for host in ("host1", "host2"))
    assert "Initialized DFLASH draft runner" in first and "Initialized DFLASH" not in second
    assert "node_rank=0" in first and "node_rank=1" in second
    for rank, host in enumerate(("host1", "host2")):
        line = server.show(host, "ExecStart")["ExecStart"]
        assert "--nnodes 2" in line and f"--node-rank {rank}" in line
    assert "host2 sglang-nodes: ranks loaded" in done.said
    # No rank is proved by what it does not log: rank 1's own arguments and loads were asked for.
    verified = server.run("verify")
    assert verified.returncode == 0, verified.said
    assert "generation: the ranks of node rank 1 are loaded, and only rank 0 generates" in verified.said
