# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the winner of a sweep on the controller; the module of the same name documents it."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._result_budget import first_that_fit
from ansible_collections.llmops.sglang.plugins.plugin_utils import (
    _report_canvas,
    _sweep_page,
    _sweep_rows,
    _sweep_summary,
)
from ansible_collections.llmops.sglang.plugins.plugin_utils._controller_action import ControllerAction
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_text import plain
from ansible_collections.llmops.sglang.plugins.plugin_utils._shared_file import write_shared
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_decision import Decision, decide
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_expressions import Expression
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_figures import figures
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_gate import Gate
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_inventory import inventory
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_objective import Objective
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_points import DFLASH, LINEAR, points_of, read_state

_RESULTS_BUDGET = 40000
_MOST_CAVEATS = 30
_PAGE = "report.html"


class ActionModule(ControllerAction):
    LOOKS_IN_CHECK_MODE = True
    SPEC = {
        "state": {"type": "path", "required": True},
        "objective": {"type": "str"},
        "objective_goal": {"type": "str", "choices": ["highest", "lowest"], "default": "highest"},
        "constraints": {"type": "list", "elements": "str", "default": []},
        "baseline": {"type": "str"},
        "gate": {
            "type": "dict",
            "default": {},
            "options": {
                "metric": {"type": "str", "default": "output_tokens_per_second"},
                "min_effect": {"type": "float", "default": 0.03},
                "max_drop": {"type": "float", "default": 0.1},
                "alpha": {"type": "float", "default": 0.05},
                "max_spread": {"type": "float", "default": 0.05},
                "allow_differences": {"type": "list", "elements": "str", "default": ["speculative_*"]},
            },
        },
        "current": {"type": "dict", "default": {}},
        "dest": {"type": "path"},
        "plots": {"type": "bool", "default": True},
        "required": {"type": "bool", "default": True},
        "prometheus_file": {"type": "path"},
    }
    NOTHING = {
        "sweep_results": [], "results_omitted": 0, "sweep_winner": None, "reason": "", "baseline": None, "objective": {},
        "counts": {}, "caveats": [], "markdown": "", "artifact": {}, "page": None, "plots": [], "not_drawn": {},
        "skipped_reason": None,
    }  # fmt: skip

    def work(self, params: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        undrawn = _why_undrawn(params["required"])
        objective = Objective(params["objective"], params["objective_goal"])
        constraints = [Expression(text, "constraints") for text in params["constraints"]]
        gate = Gate(params["gate"])
        if self._task.check_mode:
            return {"skipped_reason": self.CHECK_MODE}
        state = read_state(params["state"])
        points = points_of(state, os.path.dirname(os.path.abspath(params["state"])))
        decision = decide(points, objective, constraints, gate.compare, params["baseline"])
        text = inventory(decision.winner.point.overrides, params["current"]) if decision.winner else ""
        result = _result(decision, objective, state, text)
        result.update(self._report(params, state, decision, objective, text, undrawn))
        result["artifact"] = _sweep_summary.artifact(state, decision, objective, result["page"])
        if params["prometheus_file"]:
            _sweep_summary.write_metrics(params["prometheus_file"], state, decision)
        if undrawn:
            result.update(skipped_reason=undrawn, warnings=[f"The report has no plots: {undrawn}"])
        return result

    @staticmethod
    def _report(
        params: dict[str, t.Any],
        state: t.Mapping[str, t.Any],
        decision: Decision,
        objective: Objective,
        text: str,
        undrawn: str,
    ) -> dict[str, t.Any]:
        """Writes page and plots; where they are."""
        folder = params["dest"] or os.path.dirname(os.path.abspath(params["state"]))
        found = figures(decision, objective)
        plots = []
        if params["plots"] and not undrawn:
            footer = plain(
                f"{state.get('name') or ''}  {state.get('host') or ''}  {state.get('created_at') or ''}", 150
            )
            for figure in found:
                if figure.plot:
                    plots.append(os.path.join(folder, f"report-{figure.name}.png"))
                    write_shared(plots[-1], _report_canvas.png(figure.plot, footer))
        page = os.path.join(folder, _PAGE)
        html = _sweep_page.page(state, decision, objective, params["constraints"], found, text, undrawn)
        write_shared(page, html.encode())
        return {
            "page": page,
            "plots": plots,
            "not_drawn": {one.name: undrawn or one.note for one in found if undrawn or not one.plot},
        }


def _why_undrawn(required: bool) -> str:
    try:
        _report_canvas.require_matplotlib()
    except Failure as failure:
        if required:
            raise
        return failure.msg
    return ""


def _result(decision: Decision, objective: Objective, state: t.Mapping[str, t.Any], text: str) -> dict[str, t.Any]:
    rows = [_sweep_rows.result_row(one) for one in decision.judged]
    kept = first_that_fit(rows, _RESULTS_BUDGET)
    told = decision.caveats
    more = [f"And {len(told) - _MOST_CAVEATS} more, which are on the page."] if len(told) > _MOST_CAVEATS else []
    return {
        "sweep_results": kept,
        "results_omitted": len(rows) - len(kept),
        "sweep_winner": _winner(decision, text),
        "reason": decision.reason,
        "baseline": decision.baseline.name if decision.baseline else None,
        "objective": {
            "expression": objective.expression.text if objective.expression else None,
            "goal": "highest" if objective.highest else "lowest",
            "name": objective.name,
            "best": decision.winner.objective if decision.winner else None,
        },
        "counts": _sweep_rows.counts(decision),
        "caveats": told[:_MOST_CAVEATS] + more,
        "markdown": _sweep_rows.markdown(decision, plain(state.get("name")) or "sweep", objective.name, text),
    }


def _winner(decision: Decision, text: str) -> t.Optional[dict[str, t.Any]]:
    one = decision.winner
    if one is None:
        return None
    return {
        "name": one.point.name,
        "objective": one.objective,
        "overrides": one.point.overrides,
        "parameters": one.point.parameters,
        "argv": one.point.argv,
        "verdict": one.gate.verdict,
        "p_value": one.gate.p_value,
        "speedup_linear": _sweep_rows.speedup(one, LINEAR),
        "speedup_dflash": _sweep_rows.speedup(one, DFLASH),
        "record_paths": one.point.paths,
        "inventory": text,
    }
