# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two servers on one host: their journals, histories and keys, and what a change of one means for the other."""

from __future__ import annotations

import json

import pytest
from deployed_server import SIMULATOR
from two_servers import NAMES, TwoServers


@pytest.fixture(scope="module")
def servers(hosts, tmp_path_factory):
    made = TwoServers(hosts, tmp_path_factory.mktemp("two"))
    made.deploy()
    yield made
    done = made.run(server_state="absent")
    assert done.returncode == 0, done.said


@pytest.mark.parametrize("server", sorted(NAMES))
def test_what_is_kept_and_logged_is_of_one_alone(servers, server):
    proof = {"preset": ["dflash"], "preset_fields": {"draft_window_size": 2048}}
    told = servers.module(server, "journal_assert", **proof, expect=[{"contains": f"model_path='org/{server}'"}])
    assert told["ok"], told["msg"]
    other = "right" if server == "left" else "left"
    crossed = servers.module(server, "journal_assert", expect=[{"contains": f"model_path='org/{other}'"}])
    assert crossed["failure_class"] == "pattern_not_found"
    history = servers.module(server, "server_history")
    assert [one["proven"] for one in history["configurations"]].count(True) == 1
    assert f"org/{server}" in json.dumps(history) and f"org/{other}" not in json.dumps(history)


def test_the_key_of_one_is_no_key_of_the_other(servers):
    crossed = servers.hosts.run_module(
        "host1",
        "llmops.sglang.wait_for_generation",
        {"name": NAMES["right"][0], "api_key": NAMES["left"][2], "timeout": 30},
    )
    assert crossed["failure_class"] == "unauthorized"


def test_a_port_that_is_the_other_s_is_refused_before_anything_is_written(servers):
    before = servers.state("left"), servers.state("right")
    taken = {"left": {"server_args": {"model_path": "org/left", "port": NAMES["right"][1], "tp_size": 2}}}
    refused = servers.run(by_server=taken)
    assert refused.returncode != 0
    assert f"The port {NAMES['right'][1]} is that of 'sglang-right.service' on this host, too" in refused.said
    assert (servers.state("left"), servers.state("right")) == before


def test_a_change_of_one_restarts_that_one_alone(servers):
    left, right = servers.state("left"), servers.state("right")
    fewer = {"model_path": "org/left", "port": NAMES["left"][1], "tp_size": 2, "max_running_requests": 4}
    overlapping = servers.environment(CUDA_VISIBLE_DEVICES="1,2")
    changed = servers.run(by_server={"left": {"server_args": fewer, "server_environment": overlapping}})
    assert changed.returncode == 0, changed.said
    assert "The GPU 2 of this host is used by 'sglang-right.service', too" in changed.said
    assert servers.state("right") == right and servers.state("left") != left
    assert f"{SIMULATOR}/bin/python" in servers.shell("systemctl show -P ExecStart sglang@left")
