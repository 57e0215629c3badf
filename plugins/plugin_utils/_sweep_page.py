# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The report of a sweep as an HTML page."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.plugin_utils._report_canvas import Figure
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_evidence import evidence_table
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_frame import badge, document, figures_part, tiles
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_text import (
    block,
    escaped,
    number,
    plain,
    row,
    table,
)
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_decision import Decision
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_figures import value_name
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_objective import Objective
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_points import DFLASH, LINEAR, STATUSES
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_rows import HEADS, cause, counts, speedup, words

_MOST_ROWS = 400
_KIND = {"measured": "good", "failed": "bad", "rejected": "warn", "not_run": "warn"}


def page(
    state: t.Mapping[str, t.Any],
    decision: Decision,
    objective: Objective,
    constraints: t.Sequence[str],
    figures: t.Sequence[Figure],
    inventory: str,
    undrawn: str = "",
) -> str:
    """The whole page.

    :arg undrawn: why there are no plots; empty where there are.
    """
    title = plain(state.get("name")) or "sweep"
    plots = f'<h2>Figures</h2>\n<p class="muted">{escaped(undrawn)}</p>' if undrawn else figures_part(figures)
    parts = [
        _head(state, decision, title),
        _tiles(decision, objective),
        _inventory(decision, inventory),
        plots,
        _points(decision),
        *(_not_measured(decision, status) for status in STATUSES[1:]),
        _rules(decision, objective, constraints),
        _settings(decision),
        _evidence(decision),
        f'<footer class="muted"><p>Made of the state of the sweep and its records, points defined by '
        f"<code>{escaped(state.get('definition_sha256'))}</code>.</p></footer>",
    ]
    return document(title, parts)


def _head(state: t.Mapping[str, t.Any], decision: Decision, title: str) -> str:
    winner = decision.winner
    won = badge("good", f"winner: {plain(winner.point.name, 100)}") if winner else badge("warn", "no winner")
    badges = [won]
    for status, many in counts(decision).items():
        badges += [badge(_KIND[status], f"{many} {status.replace('_', ' ')}")] if many else []
    caveats = "".join(f"<li>{escaped(caveat)}</li>" for caveat in decision.caveats)
    return (
        f'<h1>{escaped(title)}</h1>\n<p class="muted">Sweep of {len(decision.judged)} points on '
        f"{escaped(state.get('host') or 'an unknown host')}</p>\n"
        f'<ul class="badges">{"".join(badges)}</ul>\n<p class="reason">{escaped(decision.reason)}</p>'
        + (f'\n<p class="muted">Mind:</p>\n<ul class="caveats">{caveats}</ul>' if caveats else "")
    )


def _tiles(decision: Decision, objective: Objective) -> str:
    winner = decision.winner
    best = winner.objective if winner else None
    told = [("Objective of the winner", "-" if best is None else f"{best:.5g}", plain(objective.name, 100))]
    for kind, title in ((DFLASH, "plain DFLASH"), (LINEAR, "no speculation")):
        times = speedup(winner, kind) if winner else None
        gain = "-" if times is None else f"{100 * (times - 1):+.1f} %"
        told.append((f"Winner against {title}", gain, "speedup by the gate" if times else "not known"))
    baseline = decision.baseline.name if decision.baseline else "none was measured"
    probability = winner.gate.p_value if winner else None
    told.append(("p of the gate", number(probability, 4), f"against {plain(baseline, 80)}"))
    return tiles(told)


def _inventory(decision: Decision, inventory: str) -> str:
    if decision.winner is None:
        return ""
    if not inventory:
        return '<h2>Into the inventory</h2>\n<p class="muted">Nothing: the inventory says already what the winner sets.</p>'
    return f"<h2>Into the inventory</h2>\n{block(inventory)}"


def _points(decision: Decision) -> str:
    rows = []
    for place, one in enumerate(decision.judged[:_MOST_ROWS], 1):
        kind = "winner" if one is decision.winner else ""
        rows.append(row([*words(place, one), plain(cause(one, decision), 400)], kind=kind))
    left = len(decision.judged) - len(rows)
    caption = "Speedups by the gate of benchmark_compare; acceptance as the geometric mean over the cells; the worst p90 of a cell."
    caption += f" {left} more are in the state." if left > 0 else ""
    return "<h2>Points</h2>\n" + table([*HEADS, "what became of it"], rows, caption, kind="wide")


def _settings(decision: Decision) -> str:
    rows = []
    for one in decision.judged[:_MOST_ROWS]:
        told = ", ".join(f"{name} = {value_name(value)}" for name, value in one.point.parameters.items())
        rows.append(row([plain(one.point.name, 200), told or "nothing"]))
    return "<h2>What each point sets</h2>\n" + table(["point", "parameters"], rows, kind="stack")


def _not_measured(decision: Decision, status: str) -> str:
    """The points of a *status* with what is known of them; a rejected one's cause is the rule."""
    found = [one.point for one in decision.judged if one.point.status == status]
    if not found:
        return ""
    title, heads = {
        "failed": ("Failed", ["point", "failure", "cause", "last rows of the log"]),
        "rejected": ("Rejected before any start", ["point", "failure", "rule"]),
        "not_run": ("Not run", ["point", "failure", "why"]),
    }[status]
    rows = []
    for point in found[:_MOST_ROWS]:
        told = [plain(point.name, 200), point.failure_class or "-", point.msg or "not told"]
        rows.append(row([*told, " / ".join(point.log_tail)][: len(heads)]))
    return f"<h2>{title}</h2>\n" + table(heads, rows, kind="stack")


def _rules(decision: Decision, objective: Objective, constraints: t.Sequence[str]) -> str:
    goal = "highest" if objective.highest else "lowest"
    rows = [row(["objective", objective.name, f"the {goal} is the best"])]
    judged = [one for one in decision.judged if one.point.status == "measured" and not one.point.same_as]
    for constraint in constraints:
        broken = [
            one.point.name for one in judged if any(told.startswith(plain(constraint, 120)) for told in one.unmet)
        ]
        rows.append(row(["constraint", constraint, f"not held by {', '.join(broken)}" if broken else "held by all"]))
    beaten = decision.baseline.name if decision.baseline else "none"
    rows.append(row(["gate", f"improved over {beaten}", "by benchmark_compare, with the runs of all repeats"]))
    return "<h2>What decided</h2>\n" + table(["", "what", ""], rows, kind="stack")


def _evidence(decision: Decision) -> str:
    shown = decision.winner.point if decision.winner else decision.baseline
    if shown is None or not shown.records:
        return ""
    other = (
        decision.baseline.records[-1] if decision.winner and decision.baseline and decision.baseline.records else None
    )
    title = "winner" if decision.winner else "baseline"
    return f"<h2>Evidence of the {title}</h2>\n" + evidence_table(shown.records[-1], other)
