# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What the unit, the server, the drafter, the journal and the socket table each say of one server."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._drafter import Drafter
from ansible_collections.llmops.sglang.plugins.module_utils._endpoint import hide_keys
from ansible_collections.llmops.sglang.plugins.module_utils._environment_file import (
    hide_secret_variables,
    is_secret_variable,
)
from ansible_collections.llmops.sglang.plugins.module_utils._flags import newest_dest, table_of
from ansible_collections.llmops.sglang.plugins.module_utils._invocation_log import InvocationLog
from ansible_collections.llmops.sglang.plugins.module_utils._log_facts import draft_runner
from ansible_collections.llmops.sglang.plugins.module_utils._ownership import Ownership
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import Comparison
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import MASKED, Mask
from ansible_collections.llmops.sglang.plugins.module_utils._served_models import served_names
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState

# Asks a path of the server: decoded JSON, or None where there was no such answer.
Ask = t.Callable[[str], t.Any]

# Counts such as kt_max_deferred_experts_per_token are none.
_SECRET = re.compile(
    r"(?:^|_)(?:api_key|key|password|secret)$|^(?:\w+_)?(?:access|auth|bearer|hf|hub|admin)_token$|^token$|password"
)
# What the server reports beside its arguments.
_NO_ARGUMENTS = frozenset(
    (
        "frontend",
        "internal_states",
        "kv_events",
        "launch_command",
        "max_req_input_len",
        "max_total_num_tokens",
        "startup_time",
        "status",
        "version",
    )
)
_LONGEST = 400


def without_secrets(value: t.Any, found: list[str]) -> t.Any:
    """*value* of any JSON shape without the entries that are secrets; their texts are added to *found*."""
    if isinstance(value, list):
        return [without_secrets(one, found) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, one in value.items():
        name = str(key)
        if isinstance(one, str) and (_SECRET.search(name) or (name.isupper() and is_secret_variable(name, one))):
            found.append(one)
        else:
            kept[key] = without_secrets(one, found)
    return kept


def unit_facts(state: UnitState, comparison: Comparison, argv: t.Sequence[str], mask: Mask) -> dict[str, t.Any]:
    """The unit as its manager has it, and whether its process is what it describes.

    :returns: ``matches_unit`` is ``None`` where no process runs or it could not be compared whole.
    """
    same = not comparison.differences if comparison.complete or comparison.differences else None
    return {
        "name": state.name,
        "state": state.active_state if state.exists else state.load_state,
        "sub_state": state.sub_state,
        "result": state.result,
        "enabled": state.unit_file_state,
        "path": state.fragment_path or None,
        "drop_ins": state.drop_in_paths,
        "invocation_id": state.invocation_id or None,
        "main_pid": state.main_pid or None,
        "restarts": state.n_restarts,
        "argv": mask.value([hide_secret_variables(word, MASKED) for word in hide_keys(argv, MASKED)]),
        "matches_unit": same if state.running else None,
        "differences": mask.value(comparison.differences),
    }


def server_facts(ask: Ask, from_argv: t.Callable[[t.Optional[str]], dict[str, t.Any]], mask: Mask) -> dict[str, t.Any]:
    """What the server says of itself; its arguments under the names of the newest release that has them.

    :arg from_argv: the arguments of the command line for a version: they serve where the server does not tell its own.
    """
    info, models = ask("/server_info"), ask("/v1/models")
    info = info if isinstance(info, dict) else {}
    version = info.get("version") if isinstance(info.get("version"), str) else None
    arguments = resolved_arguments(info, version) if info else from_argv(version)
    states = info.get("internal_states")
    states = [s for s in states if isinstance(s, dict)] if isinstance(states, list) else []
    facts = {
        "reachable": bool(info or models),
        "version": version,
        "model": arguments.get("model_path"),
        "served_models": served_names(models),
        "arguments": {
            k: _short(v)
            for k, v in sorted(arguments.items())
            if v is not None and not (isinstance(v, str) and _SECRET.search(k))
        },
        "arguments_from": "server" if info else "command_line",
        "speculation": {
            "algorithm": arguments.get("speculative_algorithm"),
            "draft_window_size": arguments.get("speculative_draft_window_size"),
            "num_draft_tokens": arguments.get("speculative_num_draft_tokens"),
            # Averages over the life of the server, one for each data-parallel rank that has decoded long enough to report.
            "lifetime_accept_lengths": [
                s["avg_spec_accept_length"] for s in states if s.get("avg_spec_accept_length") is not None
            ],
        },
    }
    return mask.value(facts)


def resolved_arguments(info: t.Mapping[str, t.Any], version: t.Any) -> dict[str, t.Any]:
    """The arguments in an answer of ``/server_info``, each under the name that the newest release gives it.

    :arg version: what the same answer says of it, which may be anything.
    """
    try:
        table = table_of(version if isinstance(version, str) else None)
    except ValueError:
        table = table_of(None)
    found: dict[str, t.Any] = {}
    for key, value in info.items():
        # What begins with an underscore is the server's own note on an argument.
        if key in _NO_ARGUMENTS or key.startswith("_"):
            continue
        flag = table.of_dest(key)
        name = newest_dest(flag) if flag else key
        # Where an old and a new name both stand in one answer, the one that is set counts.
        if found.get(name) is None:
            found[name] = value
    return found


def drafter_facts(drafter: t.Optional[Drafter]) -> t.Optional[dict[str, t.Any]]:
    """What the drafter was trained for; ``None`` where the server has none."""
    if drafter is None:
        return None
    return {
        "path": drafter.path,
        "trained_window": drafter.sliding_window,
        "block_size": drafter.block_size,
        "layer_types": drafter.layer_types,
        "architectures": drafter.architectures,
        "unknown_because": drafter.reason or None,
    }


def journal_facts(log: InvocationLog, mask: Mask) -> dict[str, t.Any]:
    """The fields of the draft-runner line of this invocation, and whether its absence would mean anything."""
    return {
        "draft_runner": mask.value(draft_runner(log.lines)),
        "covers_start": log.covers_start,
        "incomplete": log.incomplete or None,
    }


def listener_facts(owner: t.Optional[Ownership], url: str) -> t.Optional[dict[str, t.Any]]:
    """Who listens where the server should; ``None`` where nobody does."""
    if owner is None:
        return None
    return {
        "url": url,
        "pid": owner.pid or None,
        "unit": owner.unit or None,
        "cmdline": hide_secret_variables(owner.cmdline, MASKED)[:_LONGEST] or None,
        "owned": owner.owned,
    }


def home_of(state: UnitState) -> str:
    """The home directory that hub caches of the unit's user lie in, as far as it can be told without a look-up."""
    user = state.properties.get("User", "")
    return os.path.expanduser(f"~{user}") if user else os.path.expanduser("~")


def _short(value: t.Any) -> t.Any:
    return value[:_LONGEST] + "…" if isinstance(value, str) and len(value) > _LONGEST else value
