# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans a rolling restart on the controller; the module of the same name documents it."""

from __future__ import annotations

import typing as t

from ansible.module_utils.parsing.convert_bool import BOOLEANS_FALSE, BOOLEANS_TRUE

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.plugin_utils._controller_action import ControllerAction
from ansible_collections.llmops.sglang.plugins.plugin_utils._restart_plan import (
    Member,
    batches_of,
    fleets_of,
    in_words,
    is_out,
    least_left,
    members_of,
    servers_of,
)
from ansible_collections.llmops.sglang.plugins.plugin_utils._server_nodes import server_nodes


class ActionModule(ControllerAction):
    LOOKS_IN_CHECK_MODE = True
    SPEC = {
        "serial": {"type": "raw", "default": 1},
        "canary": {"type": "raw", "default": False},
        "min_available": {"type": "str", "default": ""},
        "routers": {"type": "list", "elements": "dict"},
    }
    NOTHING = {"routers": [], "batches": [], "serial": [], "together": {}, "plan": []}

    def work(self, params: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        hosts = [str(host) for host in task_vars["ansible_play_hosts"]]
        mappings = {host: task_vars["hostvars"][host].get("server_router") for host in hosts}
        plans = {
            host: server_nodes(task_vars["hostvars"][host].get("server_nodes"), task_vars["groups"], host)
            for host in hosts
        }
        nodes = {host: plan["hosts"] for host, plan in plans.items() if plan["several"]}
        servers = servers_of(members_of(hosts, mappings), nodes)
        members = [member for server in servers for member in server]
        routers = _routers(members, mappings)
        rule = params["min_available"].strip()
        _refuse_a_rule_for_nobody([server[0] for server in servers], rule)
        if params["routers"] is None:
            return {"routers": routers}
        fleets = fleets_of(members, params["routers"])
        before = {url: (fleet.size, fleet.healthy) for url, fleet in fleets.items()}
        out = {m.host for m in members if is_out(m, fleets)}
        batches = batches_of(servers, fleets, params["serial"], _canary(params["canary"]))
        worst = least_left(batches, fleets, rule)
        return {
            "routers": routers,
            "batches": [[m.host for m in batch] for batch in batches],
            "serial": [len(batch) for batch in batches],
            "together": {m.host: _together(m, batch) for batch in batches for m in batch},
            "plan": in_words(batches, before, worst, rule, out),
        }


def _together(member: Member, batch: t.Sequence[Member]) -> list[str]:
    return [other.worker_url for other in batch if other.router_url and other.router_url == member.router_url]


def _routers(members: t.Sequence[Member], mappings: t.Mapping[str, t.Any]) -> list[dict[str, t.Any]]:
    """Each router once, with the first host that names it: its mapping says how it is reached."""
    found: dict[str, dict[str, t.Any]] = {}
    for member in members:
        if member.router_url and member.router_url not in found:
            reached_from = str((mappings[member.host] or {}).get("delegate_to") or member.host)
            found[member.router_url] = {
                "router_url": member.router_url,
                "host": member.host,
                "delegate_to": reached_from,
            }
    return list(found.values())


def _refuse_a_rule_for_nobody(members: t.Sequence[Member], rule: str) -> None:
    without = [m.host for m in members if not m.router_url]
    if rule and without:
        raise Failure(
            "bad_request",
            f"'restart_min_available' counts the workers of a router, and the host '{without[0]}' has no 'server_router'"
            f"{f' (nor have {len(without) - 1} more)' if len(without) > 1 else ''}: set it, or leave the rule out.",
        )


def _canary(value: t.Any) -> str | bool:
    """A host's name, or whether the first one is the canary; extra variables of a command line are texts."""
    word = value.strip() if isinstance(value, str) else value
    if isinstance(word, str) and word.lower() not in BOOLEANS_TRUE | BOOLEANS_FALSE | {""}:
        return str(word)
    return (word.lower() if isinstance(word, str) else word) in BOOLEANS_TRUE
