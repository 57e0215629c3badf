# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which server goes back into its router after a restart that failed, and how the router's modules are asked."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.tests.unit import role_variables

ROUTER = {"router_url": "http://r", "worker_url": "http://w", "api_key": "of router", "delegate_to": "edge"}
SETTINGS = {"worker_api_key": "of worker", "drain_timeout": 9, "healthy_timeout": 8, "validate_certs": False}


def of_role(name, **variables):
    given = {"ansible_check_mode": False, "inventory_hostname": "gpu1", "groups": {"all": ["gpu1", "gpu2"]}}
    return role_variables.of_role("server", name, **{**given, **variables})


@pytest.mark.parametrize(
    ("variables", "back"),
    [
        # Its requests did not end, or too few others would serve.
        ({}, True),
        ({"server_restart_stage": "restarting", "server_way_back": "not_written"}, True),
        ({"server_restart_stage": "restarting", "server_way_back": "restore", "server_way_back_taken": ""}, True),
        (
            {"server_restart_stage": "restarting", "server_way_back": "restore", "server_way_back_taken": "failed"},
            False,
        ),
        *[
            ({"server_restart_stage": "restarting", "server_way_back": word}, False)
            for word in ("claimed", "same", "left", "remove", "kept", "unreachable", "unread", "checked")
        ],
        ({"server_restart_stage": "restarting"}, False),
        # It generates, and its router does not send it anything.
        ({"server_restart_stage": "returning", "server_way_back": "not_written"}, False),
    ],
    ids=lambda one: "-".join(one.values()) if isinstance(one, dict) else None,
)
def test_only_a_server_that_serves_as_before_goes_back(variables, back):
    assert of_role("server_serves_as_before", **variables) is back


def test_a_host_without_a_router_and_the_higher_ranks_of_a_server_are_left_alone():
    assert of_role("server_behind_router") is False
    assert of_role("server_behind_router", server_router=ROUTER) is True
    nodes = {"server_router": ROUTER, "server_nodes": ["gpu0", "gpu1"]}
    assert of_role("server_behind_router", **nodes) is False
    assert of_role("server_behind_router", **nodes, inventory_hostname="gpu0") is True


def test_what_the_modules_are_asked():
    router = {**ROUTER, **SETTINGS}
    assert of_role("server_router_from", server_router=router) == "edge"
    assert of_role("server_router_from", server_router={}) == "gpu1"
    assert set(of_role("server_router_options", server_router=router)) == {*router} - {"delegate_to", "worker_api_key"}
    asked = {"router_url": "http://r", "api_key": "of router", "validate_certs": False}
    assert of_role("server_router_asked", server_router=router) == asked
    keys = [{}, {"server_api_key": "of server"}, {"server_api_key": "of server", "server_router": router}]
    assert [of_role("server_router_key", **one) for one in keys] == ["", "of server", "of worker"]
