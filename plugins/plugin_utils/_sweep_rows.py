# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What is said of each point of a sweep: rows of the result, of the table in Markdown and of that on the page."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._markdown_text import as_text
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_text import number, plain
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_decision import Decision, Judged, coding_of
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_figures import acceptance_of
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_points import DFLASH, LINEAR, STATUSES, worst

HEADS = ("no.", "point", "status", "objective", "to DFLASH", "to linear", "acceptance", "TTFT p90 ms", "programs")
_MARKDOWN_BUDGET = 12000
_LONGEST_NAME = 200


def result_row(one: Judged) -> dict[str, t.Any]:
    """The entry of a point in the result."""
    point = one.point
    return {
        "name": point.name,
        "status": point.status,
        "failure_class": point.failure_class,
        "msg": plain(point.msg, 300),
        "record_path": point.paths[-1] if point.paths else None,
        "objective": one.objective,
        "same_as": point.same_as,
        "verdict": one.gate.verdict,
        "speedup_linear": speedup(one, LINEAR),
        "speedup_dflash": speedup(one, DFLASH),
        "eligible": one.eligible,
        "why_not": plain(one.why_not, 300),
    }


def speedup(one: Judged, kind: str) -> t.Optional[float]:
    """How many times as fast as a baseline it is; None where that cannot be told."""
    return one.against[kind].speedup if kind in one.against else None


def counts(decision: Decision) -> dict[str, int]:
    """Number of points by status."""
    return {status: sum(one.point.status == status for one in decision.judged) for status in STATUSES}


def words(place: int, one: Judged) -> list[str]:
    """The row of a point under HEADS."""
    point = one.point
    figures = [number(speedup(one, kind), 3) for kind in (DFLASH, LINEAR)]
    acceptance, first = (acceptance_of(point), worst(point)["ttft_ms"]["p90"]) if point.records else (None, None)
    objective = "-" if one.objective is None else f"{one.objective:.6g}"
    told = [str(place), plain(point.name, _LONGEST_NAME), point.status.replace("_", " "), objective, *figures]
    return [*told, number(acceptance, 2), number(first, 0), coding_of(point)]


def cause(one: Judged, decision: Decision) -> str:
    """What became of a point, in words."""
    if one is decision.winner:
        return f"the winner; improved: {one.gate.why}"
    return one.why_not or "improved as well, with a lesser objective"


def markdown(decision: Decision, title: str, unit: str, inventory: str) -> str:
    """The result for a terminal or a pull request."""
    lines = [f"**{as_text(title)}**: {as_text(decision.reason)}", "", f"Objective: {as_text(unit)}", ""]
    heads = (*HEADS, "what became of it")
    lines += [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for place, one in enumerate(decision.judged, 1):
        row = [*words(place, one), plain(cause(one, decision), 240)]
        lines.append(f"| {' | '.join(as_text(word) for word in row)} |")
    if decision.caveats:
        lines += ["", "Mind:", "", *(f"- {as_text(caveat)}" for caveat in decision.caveats)]
    text = "\n".join(lines) + "\n"
    if len(text) > _MARKDOWN_BUDGET:
        text = text[: text.rfind("\n", 0, _MARKDOWN_BUDGET) + 1] + "\n(cut)\n"
    return text + (f"\nFor the inventory:\n\n```yaml\n{inventory}```\n" if inventory else "")
