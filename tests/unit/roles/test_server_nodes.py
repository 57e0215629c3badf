# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role makes of the hosts of one server: ranks and arguments, what it refuses, and what it asks of each rank."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.tests.unit import role_variables

HOSTVARS = {"gpu1": {"ansible_host": "10.0.0.11"}, "gpu2": {"ansible_host": "10.0.0.12"}, "gpu3": {}}
GROUPS = {"kimi": ["gpu1", "gpu2"], "all": ["gpu1", "gpu2", "gpu3"], "none": []}


def of_role(name, host="gpu1", **variables):
    hostvars = {name: {**known, **variables.pop(name, {})} for name, known in HOSTVARS.items()}
    given = {"ansible_check_mode": False, "hostvars": hostvars, "groups": GROUPS, "inventory_hostname": host}
    given.update(server_args={"tp_size": 16, "port": 30000}, ansible_play_batch=GROUPS["all"])
    return role_variables.of_role("server", name, **{**given, **variables})


@pytest.mark.parametrize("nodes", ["kimi", ["gpu1", "gpu2"]], ids=str)
def test_each_host_gets_its_rank_and_the_address_of_the_first(nodes):
    for rank, host in enumerate(("gpu1", "gpu2")):
        assert of_role("server_all_args", host, server_nodes=nodes) == {
            "tp_size": 16,
            "port": 30000,
            "nnodes": 2,
            "node_rank": rank,
            "dist_init_addr": "10.0.0.11:20000",
        }


@pytest.mark.parametrize(
    ("variables", "address"),
    [
        ({"gpu1": {"ansible_host": "fd00::11"}}, "[fd00::11]:20000"),
        ({"server_nodes": ["gpu3", "gpu1"]}, "gpu3:20000"),
        ({"server_dist_init_addr": "10.9.0.1:29500"}, "10.9.0.1:29500"),
    ],
    ids=["IPv6", "a name", "another network"],
)
def test_where_rank_0_is_met(variables, address):
    assert of_role("server_all_args", **{"server_nodes": "kimi", **variables})["dist_init_addr"] == address


@pytest.mark.parametrize("nodes", [[], "", ["gpu1"]], ids=str)
def test_a_server_on_one_host_is_as_ever(nodes):
    assert of_role("server_all_args", server_nodes=nodes) == {"tp_size": 16, "port": 30000}
    assert of_role("server_several", server_nodes=nodes) is False
    assert of_role("server_all_service", server_nodes=nodes, server_service={"Nice": 5}) == {"Nice": 5}
    assert of_role("server_wait_until", server_nodes=nodes) == "generation"
    assert of_role("server_wait_nodes", server_nodes=nodes) == {}
    assert of_role("server_node_plan", server_nodes=nodes)["problems"] == []


@pytest.mark.parametrize(
    ("variables", "part"),
    [
        ({"server_nodes": "kimmi"}, "no group 'kimmi'"),
        ({"server_nodes": "none"}, "no group 'none'"),
        ({"server_nodes": "kimi", "host": "gpu3"}, "'gpu3' is none of gpu1, gpu2"),
        ({"server_nodes": ["gpu1", "gpu2", "gpu1"]}, "named twice"),
        ({"server_nodes": ["gpu1", "gpu9"]}, "no host gpu9"),
        ({"server_nodes": "kimi", "server_args": {"node_rank": 0, "tp_size": 2}}, "sets node_rank"),
    ],
    ids=str,
)
def test_nodes_that_cannot_be_are_told(variables, part):
    assert part in of_role("server_node_plan", **variables)["problems"][0]


def test_a_rank_above_0_is_asked_for_what_it_can_tell():
    asked = {
        "preset": ["clean_start", "dflash"],
        "expect": [{"contains": "x"}],
        "must_not_match": ["bad"],
        "timeout": 5,
    }
    common = {"server_nodes": "kimi", "server_journal": {**asked, "preset_fields": {"a": 1}}}
    written = {"path": "/e/sglang.service", "journal_proof": {"preset": ["node"], "preset_fields": {"node_rank": 1}}}
    second = of_role("server_journal_options", "gpu2", **common, server_unit_written=written)
    assert second == {
        "preset": ["node", "clean_start"],
        "preset_fields": {"node_rank": 1},
        "must_not_match": ["bad"],
        "timeout": 5,
    }
    own = {"server_node_journal": {"expect": [{"contains": "y"}]}}
    assert of_role("server_journal_options", "gpu2", **common, **own, server_unit_written=written)["expect"]
    written = {
        "path": "/e/sglang.service",
        "journal_proof": {"preset": ["dflash"], "preset_fields": {"draft_window_size": 2048}},
    }
    first = of_role("server_journal_options", "gpu1", **common, server_unit_written=written)
    assert first["expect"] and first["preset"] == ["dflash", "clean_start"]
    assert first["preset_fields"] == {"draft_window_size": 2048, "a": 1}


def test_a_dropped_default_is_dropped_for_every_rank():
    written = {"path": "/e/sglang.service", "journal_proof": {"preset": ["node"], "preset_fields": {"node_rank": 1}}}
    given = {"server_nodes": "kimi", "server_journal": {"preset": []}, "server_unit_written": written}
    assert of_role("server_journal_options", "gpu2", **given)["preset"] == []


def test_a_rank_above_0_is_waited_for_at_its_own_address_and_kept_alive():
    given = {"server_nodes": "kimi", "server_wait": {"base_url": "http://lb:80", "timeout": 5, "ca_path": "/ca"}}
    assert of_role("server_wait_options", "gpu2", **given) == {"timeout": 5, "ca_path": "/ca"}
    assert of_role("server_connection", "gpu2", **given) == {"ca_path": "/ca"}
    assert of_role("server_wait_options", "gpu1", **given)["base_url"] == "http://lb:80"
    assert of_role("server_wait_until", "gpu2", **given) == "node"
    assert of_role("server_all_service", "gpu2", **given) == {"Restart": "always"}
    assert of_role("server_all_service", "gpu2", **given, server_service={"Restart": "no"}) == {"Restart": "no"}
    assert of_role("server_all_service", "gpu1", **given) == {}


def test_the_waits_know_each_other_by_their_invocations():
    known = {"gpu1": {"server_node_invocation": "a"}, "gpu2": {"server_node_invocation": "b"}}
    assert of_role("server_wait_nodes", server_nodes="kimi", **known) == {"gpu1": "a", "gpu2": "b"}
    assert of_role("server_wait_nodes", server_nodes="kimi") == {"gpu1": "", "gpu2": ""}


def behind(**variables):
    at = {"server_nodes": "kimi", "server_node_stage": "written", "server_node_result": "server_unit_written"}
    return of_role("server_nodes_behind", "gpu1", **at, **variables)


def test_a_node_that_has_not_come_so_far_is_named():
    there = {"server_node_at": "written", "server_unit_written": {"changed": True}}
    failed = {"server_node_at": "begun", "server_unit_written": {"failed": True, "msg": "tp_size is 3."}}
    assert behind(gpu1=there, gpu2=there) == []
    assert behind(gpu1=there, gpu2=failed) == ["'gpu2': tp_size is 3."]
    lost = "'gpu2': it failed before, is lost, or is no part of this play or of this batch of it"
    assert behind(gpu1=there) == [lost]
    assert behind(gpu1=there, gpu2={"server_node_at": "written"}, ansible_play_batch=["gpu1"]) == [lost]


def test_where_one_node_needs_a_restart_all_are_restarted():
    same = {"server_restart_needed": {"reason": "the running process is what the unit describes"}}
    other = {"server_restart_needed": {"reason": "it would be restarted: settings of the unit changed"}}
    given = {"server_nodes": "kimi", "server_restart": "auto"}
    assert of_role("server_nodes_restart", **given, gpu1=same, gpu2=same) is False
    assert of_role("server_nodes_restart", **given, gpu1=same, gpu2=other) is True
    assert of_role("server_restart_reason", **given, gpu1=same, gpu2=other).startswith("gpu2: it would be restarted")
    assert of_role("server_nodes_restart", server_nodes="kimi", server_restart="always", gpu1=same, gpu2=same) is True
    asked = {"server_before_restart": {"restart_cost": {"running_requests": 3}}}
    assert of_role("server_running_requests", "gpu2", server_nodes="kimi", gpu1=asked) == 3


@pytest.mark.parametrize(
    ("nodes", "here"),
    [([], "gpu1 gpu2 gpu3"), ("kimi", "gpu1"), (["gpu2", "gpu1"], "gpu2"), (["gpu3"], "gpu3")],
    ids=str,
)
def test_only_the_rank_that_answers_measures(nodes, here):
    given = {"groups": GROUPS, "server_nodes": nodes}
    for host in GROUPS["all"]:
        if host in here or nodes != ["gpu3"]:
            found = role_variables.of_role("benchmark", "benchmark_here", **given, inventory_hostname=host)
            assert found is (host in here)
