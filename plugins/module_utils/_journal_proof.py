# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What the journal of a start must say for its speculation to be proved, as options of the module journal_assert."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._node_rules import node_of
from ansible_collections.llmops.sglang.plugins.module_utils._speculative import ALGORITHMS
from ansible_collections.llmops.sglang.plugins.module_utils._version import at_least


def journal_proof(
    speculation: t.Mapping[str, t.Any],
    arguments: t.Optional[t.Mapping[str, t.Any]] = None,
    version: t.Optional[str] = None,
) -> dict[str, t.Any]:
    """``preset`` and ``preset_fields`` to ask for; an empty preset where no draft runner with a window is logged.

    :arg speculation: what the command line says of speculation, by the names of the option ``speculative``.
    :arg arguments: the whole command line by the newest names: of a node above rank 0 something else is asked.
    """
    rank, nodes = node_of(arguments or {})
    if rank > 0:
        return _proof_of_node(speculation, arguments or {}, rank, nodes, version)
    if not _logs_draft_runner(speculation):
        return {"preset": [], "preset_fields": {}}
    number = _window(speculation)
    if number is None:
        return {"preset": ["dflash"], "preset_fields": {}}
    return {"preset": ["dflash"], "preset_fields": {"compact_cache": True, "draft_window_size": number}}


def _logs_draft_runner(speculation: t.Mapping[str, t.Any]) -> bool:
    """Only DFLASH logs one, and so do forks of it under the names of their own algorithms."""
    others = set(ALGORITHMS) - {"DFLASH"}
    return bool(speculation.get("draft_model_path")) and str(speculation.get("algorithm") or "").upper() not in others


def _window(speculation: t.Mapping[str, t.Any]) -> t.Any:
    """The window as a field of a log line should have it; ``None`` where none is set."""
    window = speculation.get("draft_window_size")
    if window is None:
        return None
    # One whose number is not known must at least be on.
    return int(window) if re.fullmatch(r"[0-9]+", str(window)) else {"min": 1}


def _proof_of_node(
    speculation: t.Mapping[str, t.Any],
    arguments: t.Mapping[str, t.Any],
    rank: int,
    nodes: int,
    version: t.Optional[str],
) -> dict[str, t.Any]:
    """The draft runner is logged by rank 0 alone; here the node's own arguments and the loads of its own ranks tell.

    What this node of its server took is in its line ``server_args=``, by the names of that release.
    """
    fields: dict[str, t.Any] = {"nnodes": nodes, "node_rank": rank}
    fields.update({name: arguments[name] for name in ("tp_size", "pp_size") if isinstance(arguments.get(name), int)})
    if _logs_draft_runner(speculation):
        fields["speculative_algorithm"] = str(speculation.get("algorithm") or "").upper()
        number = _window(speculation)
        if number is not None:
            old = version is not None and not at_least(version, "0.5.12")
            name = "speculative_dflash_draft_window_size" if old else "speculative_draft_window_size"
            fields[name] = number
    return {"preset": ["node"], "preset_fields": fields}
