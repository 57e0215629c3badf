# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Why the invocation that was measured ended meanwhile, where it did."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._journal import log_tail, read_invocation
from ansible_collections.llmops.sglang.plugins.module_utils._log_failures import failure_of
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager


def measured_end(
    manager: Manager, name: str, evidence: t.Mapping[str, t.Any], mask: Mask
) -> t.Optional[dict[str, t.Any]]:
    """``failure_class``, ``msg`` and ``log_tail`` of the invocation in *evidence*; ``None`` while it still runs.

    :arg evidence: the record of what ran at the beginning.
    """
    invocation_id = evidence.get("invocation_id")
    state = manager.show(name)
    if not invocation_id or (state.running and state.invocation_id == invocation_id):
        return None
    same = state if state.invocation_id == invocation_id else None
    found = failure_of(read_invocation(manager, name, invocation_id).all_lines, same)
    tail = log_tail(manager, name, invocation_id, mask)
    if found:
        return {"failure_class": found[0], "msg": mask.text(found[1]), "log_tail": tail}
    by_itself = state.n_restarts > (evidence.get("n_restarts") or 0) or state.result not in ("", "success")
    if by_itself:
        return {
            "failure_class": "server_crashed",
            "msg": f"The server of '{name}' died while it was measured, and its lines do not say why.",
            "log_tail": tail,
        }
    return {
        "failure_class": "condition_not_met",
        "msg": f"The server of '{name}' was stopped or restarted while it was measured: let nobody touch it meanwhile.",
        "log_tail": tail,
    }
