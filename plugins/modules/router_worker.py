#!/usr/bin/python
# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: router_worker
short_description: Put a server into an sglang-router, or take it out without losing a request
description:
  - Adds a worker to a running C(sglang-router) and waits until the router calls it healthy, takes it out and waits for the
    requests that it has in hand, or takes it out at once.
  - Both interfaces of the router are spoken and found out by asking, the routes below C(/workers) of 0.2 and newer, and
    C(/add_worker), C(/remove_worker) and C(/list_workers) of 0.1.
  - The module runs on any host that reaches both, the router and the worker, mostly with C(delegate_to).
  - A worker is registered only once it is well itself and takes the key. The router would keep an addition of another one
    for as long as half an hour, with no way to take it back, and would call a worker healthy that refuses every request.
author:
  - llmops.sglang contributors (@llmops)
requirements:
  - requests (on the host that runs the module)
extends_documentation_fragment:
  - llmops.sglang._attributes
  - llmops.sglang._router
attributes:
  check_mode:
    support: full
    details:
      - Router and worker are asked and nothing is changed or waited for.
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  worker_url:
    description:
      - Scheme, host and port of the server, as the router is to call it. A slash or C(/v1) at the end is left out, and the
        case of scheme and host, because the router would use all of that as it is and never reach the worker.
      - An entry that differs from it only in the case of the host, in the port that the scheme has anyway, or in a slash at the
        end is the same worker. So are the entries C(URL@RANK) of a router that knows data-parallel ranks, all together.
    type: str
    required: true
  state:
    description:
      - V(present) means that the router knows the worker and calls it healthy, and that C(/health) of the worker agrees.
      - V(drained) means that it gets no new request and has none in hand. No release of the router up to 0.3.2 can keep a worker
        and send it nothing, so the worker is taken out; requests that run then go on to their end. See RV(worker.registered).
        The worker itself must tell how many it has in hand. Where it does not (no route for it, or another key), it is left in
        the router. Where nothing listens any more, it has none.
      - V(absent) means that the router does not know the worker. Nothing is waited for but that. An addition that somebody
        else left in the queue of a router cannot be seen.
    type: str
    choices: [present, drained, absent]
    default: present
  drain_timeout:
    description:
      - Seconds that the requests in hand have to end, for O(state=drained).
    type: float
    default: 600
  healthy_timeout:
    description:
      - Seconds within which the worker must be well and the router call it healthy, for O(state=present).
      - A router that knows the worker and called it unhealthy looks again every 60 seconds and wants to see it well twice, unless
        it was started with other intervals.
    type: float
    default: 300
  request_timeout:
    description:
      - Seconds for one answer of the router or the worker, and for the router to drop a worker that it was told to remove.
    type: float
    default: 30
  worker_api_key:
    description:
      - Key of the worker. It is handed to the router with the registration (0.2 and newer) and sent with the question how many
        requests the worker has in hand. Without it O(api_key) is taken, as the router does with the workers of its command line.
    type: str
  registration:
    description:
      - Further fields of the registration, such as C(priority), C(labels), C(worker_type) or C(bootstrap_port). They count when
        the worker is added, and only with 0.2 and newer. RV(registration) gives back those that a worker had.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Take the server out of the router and wait for its requests
  llmops.sglang.router_worker:
    router_url: http://router.example:30000
    worker_url: "http://{{ inventory_hostname }}:30000"
    state: drained
    drain_timeout: 900
    api_key: "{{ router_key }}"
    worker_api_key: "{{ server_key }}"
  delegate_to: router.example
  register: out

- name: Put it back as it was
  llmops.sglang.router_worker:
    router_url: http://router.example:30000
    worker_url: "http://{{ inventory_hostname }}:30000"
    registration: "{{ out.registration }}"
    api_key: "{{ router_key }}"
    worker_api_key: "{{ server_key }}"
  delegate_to: router.example
"""

RETURN = r"""
worker:
  description: The worker as it is after the task, or in check mode as it is now.
  type: dict
  returned: always
  contains:
    id:
      description: The router's name for it; null where the router does not know it or has no names.
      type: str
    url:
      description: Its URL.
      type: str
    registered:
      description: Whether the router knows it.
      type: bool
    healthy:
      description: Whether the router calls it healthy; null where the router does not know it or tells no health.
      type: bool
    load:
      description:
        - Requests in hand, by the worker itself with O(state=drained), else by the router; null where nobody told.
        - The router counts only what it sent itself, and with some policies nothing.
      type: int
router:
  description: What the router told last.
  type: dict
  returned: always
  contains:
    interface:
      description: V(workers) (0.2 and newer) or V(query) (0.1).
      type: str
    workers:
      description: Number of workers that it knows.
      type: int
    healthy_workers:
      description: Number of those that it does not call unhealthy.
      type: int
registration:
  description:
    - Fields with which the worker was registered before the task, where they are not the usual ones, of C(priority), C(cost),
      C(worker_type) and C(bootstrap_port). Labels and keys are not told by the router.
  type: dict
  returned: always
elapsed:
  description: Seconds that the task took.
  type: float
  returned: always
failure_class:
  description: Word for the kind of failure.
  type: str
  returned: failure
log_tail:
  description: Always empty here.
  type: list
  elements: str
  returned: failure
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.llmops.sglang.plugins.module_utils._argspec import ROUTER_SPEC
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure, fail_module
from ansible_collections.llmops.sglang.plugins.module_utils._http_client import HttpClient
from ansible_collections.llmops.sglang.plugins.module_utils._router_api import RouterApi
from ansible_collections.llmops.sglang.plugins.module_utils._router_worker import HttpServer, RouterWorker
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask

SPEC: dict[str, dict[str, t.Any]] = {
    **ROUTER_SPEC,
    "worker_url": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "drained", "absent"], "default": "present"},
    "drain_timeout": {"type": "float", "default": 600},
    "healthy_timeout": {"type": "float", "default": 300},
    "worker_api_key": {"type": "str", "no_log": True},
    "registration": {"type": "dict", "default": {}},
}


def run(module: AnsibleModule, mask: Mask) -> dict[str, t.Any]:
    params = module.params
    worker_key = params["worker_api_key"] or params["api_key"]
    router = client(params, "router_url", params["api_key"])
    server = client(params, "worker_url", worker_key)
    worker = RouterWorker(RouterApi(router, params["request_timeout"]), params["worker_url"], HttpServer(server))
    try:
        if params["state"] == "present":
            registration = {**params["registration"], **({"api_key": worker_key} if worker_key else {})}
            worker.present(registration, params["healthy_timeout"], module.check_mode)
        elif params["state"] == "drained":
            worker.drained(params["drain_timeout"], module.check_mode)
        else:
            worker.absent(module.check_mode)
    except Failure as failure:
        raise Failure(
            failure.failure_class, mask.text(failure.msg), **mask.value({**worker.result(), **failure.result})
        ) from failure
    finally:
        for text in worker.warnings:
            module.warn(text)
    return mask.value({**worker.result(), "diff": worker.diff(params["state"])})


def client(params: t.Mapping[str, t.Any], option: str, key: t.Optional[str]) -> HttpClient:
    settings = {name: params[name] for name in ("validate_certs", "ca_path", "use_proxy")}
    try:
        return HttpClient(params[option], api_key=key, **settings)
    except Failure as failure:
        raise Failure(failure.failure_class, failure.msg.replace("base_url", option)) from failure


def refuse_reserved(registration: t.Mapping[str, t.Any]) -> None:
    for name, option in (("url", "worker_url"), ("api_key", "worker_api_key")):
        if name in registration:
            raise Failure("bad_request", f"The option 'registration' holds '{name}': give it as '{option}'.")


def nothing(params: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    worker = {"id": None, "url": params["worker_url"], "registered": None, "healthy": None, "load": None}
    router = {"interface": None, "workers": None, "healthy_workers": None}
    return {"worker": worker, "router": router, "registration": {}, "elapsed": 0.0}


def main() -> None:
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    try:
        refuse_reserved(module.params["registration"])
        result = run(module, Mask([module.params["api_key"], module.params["worker_api_key"]]))
    except Failure as failure:
        fail_module(module, failure, **nothing(module.params))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
