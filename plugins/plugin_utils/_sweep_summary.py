# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""A sweep in few words, for a job's artifacts and for Prometheus."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.llmops.sglang.plugins.plugin_utils._metrics_file import Sample, replace
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_text import plain
from ansible_collections.llmops.sglang.plugins.plugin_utils._shared_file import locked
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_decision import Decision
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_objective import Objective
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_points import DFLASH, LINEAR
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_rows import counts, speedup

_PREFIX = "llmops_sglang_sweep_"
_HELPS = {
    "points": "Points of the last sweep by what became of them.",
    "winner_info": "The winner of the last sweep; always 1, and absent where there is none.",
    "best_objective": "Objective of the winner.",
    "winner_speedup": "Speedup of the winner over a baseline, by the gate.",
}


def artifact(
    state: t.Mapping[str, t.Any], decision: Decision, objective: Objective, page: t.Optional[str]
) -> dict[str, t.Any]:
    """What a job keeps of the sweep: small whatever its points are called."""
    winner = decision.winner
    return {
        "sweep": plain(state.get("name"), 200),
        "host": plain(state.get("host"), 200),
        "winner": plain(winner.point.name, 200) if winner else None,
        "reason": plain(decision.reason, 400),
        "counts": counts(decision),
        "baseline": plain(decision.baseline.name, 200) if decision.baseline else None,
        "objective": plain(objective.name, 200),
        "best_objective": winner.objective if winner else None,
        "speedup_linear": speedup(winner, LINEAR) if winner else None,
        "speedup_dflash": speedup(winner, DFLASH) if winner else None,
        "page": plain(page, 400) or None,
    }


def write_metrics(path: str, state: t.Mapping[str, t.Any], decision: Decision) -> None:
    """Replace what *path* says of this host and sweep; what it says of others stays."""
    subject = {"host": state.get("host") or "", "sweep": state.get("name") or ""}
    samples: list[Sample] = [("points", {"status": status}, many) for status, many in counts(decision).items()]
    winner = decision.winner
    if winner:
        samples.append(("winner_info", {"winner": winner.point.name}, 1))
        samples.append(("best_objective", {}, winner.objective))
        for kind, name in ((DFLASH, "dflash"), (LINEAR, "linear")):
            times = speedup(winner, kind)
            samples += [("winner_speedup", {"baseline": name}, times)] if times is not None else []
    with locked(os.path.dirname(path) or ".", f".{os.path.basename(path)}.lock"):
        replace(path, _PREFIX, _HELPS, subject, samples)
