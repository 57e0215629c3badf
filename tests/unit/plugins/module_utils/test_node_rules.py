# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules for a server over several hosts."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._node_rules import check_nodes, node_of
from ansible_collections.llmops.sglang.plugins.module_utils._planned_start import Start
from ansible_collections.llmops.sglang.plugins.module_utils._rules import check

TWO = {"nnodes": 2, "node_rank": 1, "dist_init_addr": "10.0.0.11:20000", "tp_size": 16, "port": 30000}


def start(version="0.5.23", environment=None, **args):
    return Start({k: v for k, v in {**TWO, **args}.items() if v is not None}, version, None, environment or {})


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"node_rank": 0},
        {"nnodes": 1, "node_rank": 0, "dist_init_addr": None, "tp_size": 3},
        {"nnodes": None, "node_rank": None, "dist_init_addr": None},
        {"nnodes": 3, "tp_size": 2, "pp_size": 3},
        {"dp_size": 2, "enable_dp_attention": True},
        {"dp_size": 2, "attn_dp_size": 2},
        {"dist_init_addr": "[fd00::11]:20000"},
        {"dist_init_addr": "rank0.example.org:20000"},
        # The file may hold what is missing.
        {"config": "/etc/sglang.yml", "dist_init_addr": None, "tp_size": None},
        {"dist_init_addr": None, "environment": {"SGLANG_DISTRIBUTED_INIT_METHOD_OVERRIDE": "env://"}},
    ],
    ids=str,
)
def test_what_the_server_takes(args):
    check_nodes(start(**args))


@pytest.mark.parametrize(
    ("args", "part"),
    [
        ({"tp_size": 3}, "multiple of its 2 nodes, and it is 3 * 1"),
        ({"tp_size": None}, "1 * 1"),
        ({"nnodes": 4, "tp_size": 2, "pp_size": 3}, "2 * 3"),
        ({"dp_size": 2}, "dp_size is 2 without it"),
        # One replica takes the switch back, and so the server itself does.
        ({"dp_size": 4, "enable_dp_attention": False}, "DP attention"),
        ({"node_rank": 2}, "it is 2 of 2"),
        ({"node_rank": -1}, "it is -1 of 2"),
        ({"nnodes": 1, "node_rank": 1}, "it is 1 of 1"),
        ({"dist_init_addr": None}, "there is none"),
        ({"dist_init_addr": "10.0.0.11"}, "HOST:PORT"),
        ({"dist_init_addr": "tcp://10.0.0.11:20000"}, "HOST:PORT"),
        ({"dist_init_addr": "fd00::11:20000"}, "HOST:PORT"),
        ({"dist_init_addr": "10.0.0.11:70000"}, "HOST:PORT"),
        ({"dist_init_addr": "127.0.0.1:20000"}, "'127.0.0.1' is another host"),
        ({"dist_init_addr": "localhost:20000"}, "'localhost' is another host"),
        ({"dist_init_addr": "10.0.0.11:30000"}, "'args.port' is 30000"),
        ({"dist_init_addr": "10.0.0.11:30000", "port": None}, "'args.port' is 30000"),
        ({"dist_init_addr": "10.0.0.11:29996", "dp_size": 2, "enable_dp_attention": True}, "29996 to 30002"),
    ],
    ids=str,
)
def test_what_would_fail_or_wait_for_ever_is_refused(args, part):
    with pytest.raises(Failure) as caught:
        check(start(**args))
    assert caught.value.failure_class == "rule_violated"
    assert part in caught.value.msg


def test_the_node_of_a_command_line():
    assert node_of({"node_rank": 1, "nnodes": 4}) == (1, 4)
    assert node_of({}) == (0, 1)
    assert node_of({"node_rank": None, "nnodes": True}) == (0, 1)
