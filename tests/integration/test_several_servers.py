# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two servers on one host, deployed side by side: what is said of one never comes from the other.

What a change of one means for the other is in tests/long/test_several_servers.py.
"""

from __future__ import annotations

import pytest
from two_servers import NAMES, TwoServers


@pytest.fixture(scope="module")
def servers(hosts, tmp_path_factory):
    made = TwoServers(hosts, tmp_path_factory.mktemp("two"))
    yield made
    made.stop()


def test_two_servers_of_one_host_are_two_in_every_check(servers):
    servers.deploy()
    for server, (name, port, _key) in NAMES.items():
        info = servers.module(server, "server_info")
        assert info["listener"]["owned"] == "yes" and info["listener"]["unit"] == f"{name}.service"
        assert info["listener"]["url"].endswith(f":{port}")
        assert info["server"]["model"] == f"org/{server}" and info["conflicts"] == []
        assert info["restart_cost"]["running_requests"] == 0
    asked = {"expect": [{"contains": "model_path='org/left'"}]}
    assert servers.module("left", "journal_assert", **asked)["ok"]
    assert servers.module("right", "journal_assert", **asked)["failure_class"] == "pattern_not_found"
