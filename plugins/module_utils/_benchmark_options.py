# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""From a benchmark's options to its plan and its server, with every senseless value refused before anything is sent."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils import _endpoint
from ansible_collections.llmops.sglang.plugins.module_utils._acceptance import DETAILS_SINCE
from ansible_collections.llmops.sglang.plugins.module_utils._argspec import CONNECTION_SPEC, UNIT_SPEC
from ansible_collections.llmops.sglang.plugins.module_utils._cell_run import CellSettings
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._load_connection import Endpoint, endpoint
from ansible_collections.llmops.sglang.plugins.module_utils._matrix import MatrixPlan
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import read_api_key
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager
from ansible_collections.llmops.sglang.plugins.module_utils._version import at_least

_SETTINGS = (
    "api", "max_tokens", "temperature", "ignore_eos", "load_model", "rate", "arrival", "seed", "min_acceptance_length",
    "max_cached_share", "cell_timeout",
)  # fmt: skip
_POSITIVE = ("max_tokens", "requests", "repeats", "rate", "cell_timeout")


def argument_spec() -> dict[str, dict[str, t.Any]]:
    """What the module takes."""
    return {
        **UNIT_SPEC,
        **CONNECTION_SPEC,
        "api": {"type": "str", "choices": ["chat", "completions", "generate"], "default": "chat"},
        "model": {"type": "str"},
        "contexts": {"type": "list", "elements": "int", "default": [60, 1024, 4096]},
        "concurrency": {"type": "list", "elements": "int", "default": [1, 8, 32]},
        "max_tokens": {"type": "int", "default": 512, "no_log": False},
        "temperature": {"type": "float", "default": 0},
        "ignore_eos": {"type": "bool", "default": True},
        "requests": {"type": "int"},
        "repeats": {"type": "int"},
        "warmup": {"type": "int"},
        "profile": {"type": "str", "choices": ["quick", "standard", "long"], "default": "quick"},
        "load_model": {"type": "str", "choices": ["closed", "open"], "default": "closed"},
        "rate": {"type": "float"},
        "arrival": {"type": "str", "choices": ["poisson", "constant"], "default": "poisson"},
        "engine": {"type": "str", "choices": ["builtin", "sglang", "guidellm"], "default": "builtin"},
        "engine_python": {"type": "path"},
        "prompts": {"type": "path"},
        "seed": {"type": "int", "default": 0},
        "label": {"type": "str", "default": ""},
        "results_dir": {"type": "path", "default": "~/.local/state/llmops-sglang/benchmarks"},
        "resume": {"type": "bool", "default": True},
        "require_evidence": {"type": "bool", "default": True},
        "min_acceptance_length": {"type": "float"},
        "max_cached_share": {"type": "float", "default": 0.01},
        "cell_timeout": {"type": "float", "default": 1800},
        "progress_interval": {"type": "int", "default": 15},
        "slice_seconds": {"type": "float"},
        "run_id": {"type": "str"},
    }


def matrix_plan(params: t.Mapping[str, t.Any]) -> MatrixPlan:
    """The plan for a module's parameters, as far as it does not depend on the server.

    :raises Failure: ``bad_request`` for a value that cannot be measured.
    """
    _check(params)
    prompts = read_prompts(params["prompts"]) if params["prompts"] else []
    settings = CellSettings(**{key: params[key] for key in _SETTINGS})
    return MatrixPlan(
        contexts=[None] if prompts else list(dict.fromkeys(params["contexts"])),
        concurrency=list(dict.fromkeys(params["concurrency"])),
        profile=params["profile"],
        requests=params["requests"],
        repeats=params["repeats"],
        warmup=params["warmup"],
        settings=settings,
        prompts=prompts,
        label=params["label"],
        require_evidence=params["require_evidence"],
        identity={key: params[key] for key in ("name", "scope", "base_url", "engine", "engine_python")},
    )


def _check(params: t.Mapping[str, t.Any]) -> None:
    if params["use_proxy"]:
        raise Failure(
            "bad_request", "The option 'use_proxy' cannot be true: a proxy would be part of every figure; leave it off."
        )
    if params["require_evidence"] and not params["name"]:
        raise Failure(
            "no_such_unit",
            "No unit is named, so nothing tells which process the figures are of: set 'name', or 'require_evidence: false' for "
            "an unproven record.",
        )
    if params["base_url"]:
        _endpoint.address_of(params["base_url"])
    for name in ("contexts", "concurrency"):
        if not params[name] or min(params[name]) < 1:
            raise Failure("bad_request", f"The option '{name}' needs numbers of at least 1, not {params[name]}.")
    for name in _POSITIVE:
        if params[name] is not None and params[name] <= 0:
            raise Failure("bad_request", f"The option '{name}' must be above 0, not {params[name]}.")
    if params["warmup"] is not None and params["warmup"] < 0:
        raise Failure("bad_request", f"The option 'warmup' must not be negative, as {params['warmup']} is.")


def server_of(params: t.Mapping[str, t.Any], manager: t.Optional[Manager]) -> Endpoint:
    """The server: where the options say, else where the unit's command line says."""
    base_url = params["base_url"]
    if not base_url:
        base_url = _endpoint.from_argv(manager.exec_start(params["name"]))
    return endpoint(base_url, read_api_key(params["api_key"], params["api_key_file"]), params)


def gives_details(version: t.Optional[str]) -> bool:
    """Whether this SGLang tells each request's acceptance on the OpenAI routes when asked to."""
    try:
        return at_least(version or "", DETAILS_SINCE)
    except ValueError:
        return False


def read_prompts(path: str) -> list[str]:
    """The prompts in a file: a JSON list, JSON lines, or text lines.

    :raises Failure: ``bad_request`` if it cannot be read or holds none.
    """
    try:
        with open(path, encoding="utf-8") as handle:
            text = handle.read()
        if path.endswith(".json"):
            found = json.loads(text)
        elif path.endswith(".jsonl"):
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
        else:
            found = [line for line in text.splitlines() if line.strip()]
    except (OSError, ValueError) as exc:
        raise Failure(
            "bad_request", f"The prompts in '{path}' cannot be read: {exc}; see the option 'prompts' for the forms."
        ) from exc
    if isinstance(found, list):
        found = [one.get("prompt") if isinstance(one, dict) else one for one in found]
    if not isinstance(found, list) or not found or not all(isinstance(one, str) and one.strip() for one in found):
        raise Failure(
            "bad_request", f"The file '{path}' holds no list of prompts; see the option 'prompts' for the forms."
        )
    return found
