#!/usr/bin/python
# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: router_request
short_description: Prove that requests through an sglang-router reach a certain worker
description:
  - Sends small generation requests to the router until one was answered and the worker has counted one. That a router calls a worker
    healthy does not say that it sends it anything.
  - What the worker counts is read from its own C(/metrics) where it has them, else from its load route. Somebody who sends it requests
    past the router would be taken for the router.
  - Each request begins in another way, so that a router that looks for equal beginnings spreads them.
author:
  - llmops.sglang contributors (@llmops)
requirements:
  - requests (on the host that runs the module)
extends_documentation_fragment:
  - llmops.sglang._attributes
  - llmops.sglang._attributes.asks_server
  - llmops.sglang._router
attributes:
  idempotent:
    support: full
options:
  worker_url:
    description:
      - Scheme, host and port of the worker.
    type: str
    required: true
  api:
    description:
      - Which route is used, C(/v1/chat/completions), C(/v1/completions) or C(/generate).
    type: str
    choices: [chat, completions, generate]
    default: generate
  model:
    description:
      - The model to ask for. Without it the first that the router lists, for all but O(api=generate).
    type: str
  max_tokens:
    description:
      - How many tokens each answer has at most.
    type: int
    default: 32
  at_a_time:
    description:
      - How many requests are under way together.
    type: int
    default: 4
  timeout:
    description:
      - Seconds within which one has to land.
    type: float
    default: 120
  worker_api_key:
    description:
      - Key of the worker; by default O(api_key).
    type: str
seealso:
  - module: llmops.sglang.router_worker
"""

EXAMPLES = r"""
- name: Prove that the router sends requests to it
  llmops.sglang.router_request:
    router_url: http://router.example:30000
    worker_url: "http://{{ inventory_hostname }}:30000"
  delegate_to: router.example
"""

RETURN = r"""
ok:
  description: Whether one landed; null in check mode.
  type: bool
  returned: always
told_by:
  description: By what the worker told it, V(metrics) or V(load); empty where it did not.
  type: str
  returned: always
sent:
  description: How many requests were sent.
  type: int
  returned: always
answered:
  description: How many of these were answered before the module ended.
  type: int
  returned: always
elapsed:
  description: Seconds that the module took.
  type: float
  returned: always
skipped_reason:
  description: Why nothing was sent; null otherwise.
  type: str
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

import time
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.llmops.sglang.plugins.module_utils._answer import BadAnswer, read_generation
from ansible_collections.llmops.sglang.plugins.module_utils._argspec import ROUTER_SPEC
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure, fail_module
from ansible_collections.llmops.sglang.plugins.module_utils._generation_request import PATHS, payload
from ansible_collections.llmops.sglang.plugins.module_utils._http_client import HttpClient, HttpError, error_message
from ansible_collections.llmops.sglang.plugins.module_utils._router_landing import (
    Landing,
    another_prompt,
    counts_of,
    refuse_unlanded,
)
from ansible_collections.llmops.sglang.plugins.module_utils._served_models import served_names

NOTHING: dict[str, t.Any] = {
    "ok": False, "told_by": "", "sent": 0, "answered": 0, "elapsed": 0.0, "skipped_reason": None,
}  # fmt: skip
SPEC: dict[str, dict[str, t.Any]] = {
    **ROUTER_SPEC,
    "worker_url": {"type": "str", "required": True},
    "api": {"type": "str", "choices": ["chat", "completions", "generate"], "default": "generate"},
    "model": {"type": "str"},
    "max_tokens": {"type": "int", "default": 32, "no_log": False},
    "at_a_time": {"type": "int", "default": 4},
    "timeout": {"type": "float", "default": 120},
    "worker_api_key": {"type": "str", "no_log": True},
}


def run(params: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    settings = {name: params[name] for name in ("validate_certs", "ca_path", "use_proxy")}
    started = time.monotonic()
    router = HttpClient(params["router_url"], api_key=params["api_key"], **settings)
    worker = HttpClient(params["worker_url"], api_key=params["worker_api_key"] or params["api_key"], **settings)
    model = params["model"] or ("" if params["api"] == "generate" else _first_model(router, params["request_timeout"]))
    landing = Landing(
        lambda number: _send(router, params, model, number),
        lambda: counts_of(worker, params["request_timeout"]),
        params["at_a_time"],
    )
    ok = landing.wait(params["timeout"])
    result = {
        **NOTHING,
        "ok": ok,
        "told_by": landing.told_by,
        "sent": landing.sent,
        "answered": landing.answered,
        "elapsed": round(time.monotonic() - started, 3),
    }
    try:
        if not ok:
            refuse_unlanded(landing, params["router_url"], params["worker_url"], params["timeout"])
    except Failure as failure:
        failure.result.update(result)
        raise
    return result


def _first_model(router: HttpClient, timeout: float) -> str:
    try:
        names = served_names(router.json("GET", "/v1/models", timeout=timeout))
    except HttpError as exc:
        raise Failure(
            "router_failed",
            f"The router '{router.base_url}' does not list its models: {exc.msg.rstrip('.')}; give 'model'.",
        ) from exc
    return names[0] if names else ""


def _send(router: HttpClient, params: t.Mapping[str, t.Any], model: str, number: int) -> str:
    path = PATHS[params["api"]]
    body = payload(params["api"], path, model, another_prompt(number), params["max_tokens"], None)
    try:
        answer = router.send("POST", path, body, timeout=params["request_timeout"])
        if not answer.ok:
            return f"status {answer.status} {error_message(answer)}".strip()
        read_generation(answer.json())
    except (HttpError, BadAnswer) as exc:
        return exc.msg.rstrip(".")
    return ""


def main() -> None:
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    if module.check_mode:
        module.exit_json(changed=False, **{**NOTHING, "ok": None, "skipped_reason": "check mode: no request is sent"})
    try:
        result = run(module.params)
    except Failure as failure:
        fail_module(module, failure, **NOTHING)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
