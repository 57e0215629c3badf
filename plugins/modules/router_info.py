#!/usr/bin/python
# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: router_info
short_description: Tell the workers of an sglang-router, and whether enough are left without some
description:
  - Reads which workers a running C(sglang-router) knows and which of them it calls healthy, and changes nothing.
  - With O(min_available) it fails where too few would serve while the workers in O(taken_out) are out.
author:
  - llmops.sglang contributors (@llmops)
requirements:
  - requests (on the host that runs the module)
extends_documentation_fragment:
  - llmops.sglang._attributes
  - llmops.sglang._attributes.read_only
  - llmops.sglang._router
options:
  taken_out:
    description:
      - URLs of workers that are taken out together. One that the router does not know counts among its workers, as one that does not
        serve.
    type: list
    elements: str
    default: []
  min_available:
    description:
      - How many workers have to be healthy beside those in O(taken_out), a number or a percentage of all (V(75%), rounded up).
      - Where none of O(taken_out) is healthy, nothing is taken away from anybody, and the rule does not count.
    type: str
seealso:
  - module: llmops.sglang.router_worker
"""

EXAMPLES = r"""
- name: See whether six workers are left without this one
  llmops.sglang.router_info:
    router_url: http://router.example:30000
    taken_out: ["http://{{ inventory_hostname }}:30000"]
    min_available: 6
  delegate_to: router.example
"""

RETURN = r"""
router_url:
  description: The router.
  type: str
  returned: always
workers:
  description:
    - Its entries, each with C(id), C(url), C(healthy) and C(load). Where the router does not tell the health (0.1), the worker's own
      health route was asked.
  type: list
  elements: dict
  returned: always
known:
  description: How many workers it knows; the ranks of one worker count once.
  type: int
  returned: always
healthy:
  description: How many of these are healthy.
  type: int
  returned: always
left:
  description: How many are healthy beside those in O(taken_out).
  type: int
  returned: always
failure_class:
  description: V(router_failed) or, where too few are left, V(rule_violated).
  type: str
  returned: failure
log_tail:
  description: Always empty here.
  type: list
  elements: str
  returned: failure
"""

import dataclasses
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.llmops.sglang.plugins.module_utils._argspec import ROUTER_SPEC
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure, fail_module
from ansible_collections.llmops.sglang.plugins.module_utils._http_client import HttpClient
from ansible_collections.llmops.sglang.plugins.module_utils._router_api import RouterApi, Worker
from ansible_collections.llmops.sglang.plugins.module_utils._router_capacity import Fleet, refuse_too_few
from ansible_collections.llmops.sglang.plugins.module_utils._router_worker import says_healthy

SPEC: dict[str, dict[str, t.Any]] = {
    **ROUTER_SPEC,
    "taken_out": {"type": "list", "elements": "str", "default": []},
    "min_available": {"type": "str"},
}


def run(params: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    settings = {name: params[name] for name in ("validate_certs", "ca_path", "use_proxy")}
    timeout = params["request_timeout"]
    workers = RouterApi(HttpClient(params["router_url"], api_key=params["api_key"], **settings), timeout).workers()
    workers = [_with_health(worker, settings, timeout) for worker in workers]
    fleet = Fleet(workers, params["taken_out"])
    result = {
        "router_url": params["router_url"],
        "workers": [{"id": w.id, "url": w.url, "healthy": w.healthy, "load": w.load} for w in workers],
        "known": fleet.known,
        "healthy": fleet.healthy,
        "left": fleet.left_without(params["taken_out"]),
    }
    try:
        refuse_too_few(
            params["router_url"],
            fleet,
            params["taken_out"],
            params["min_available"] or "",
            ", ".join(f"'{url}'" for url in params["taken_out"]),
        )
    except Failure as failure:
        failure.result.update(result)
        raise
    return result


def _with_health(worker: Worker, settings: dict[str, t.Any], timeout: float) -> Worker:
    if worker.healthy is not None:
        return worker
    return dataclasses.replace(worker, healthy=says_healthy(HttpClient(worker.url, **settings), timeout))


def nothing(params: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {"router_url": params.get("router_url"), "workers": [], "known": None, "healthy": None, "left": None}


def main() -> None:
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    try:
        result = run(module.params)
    except Failure as failure:
        fail_module(module, failure, **nothing(module.params))
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
