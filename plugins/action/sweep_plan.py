# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans a sweep on the controller; the module of the same name documents it."""

from __future__ import annotations

import os
import time
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.plugin_utils import _play_process, _sweep_state
from ansible_collections.llmops.sglang.plugins.plugin_utils._controller_action import ControllerAction
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_baselines import (
    NAMES,
    baselines,
    refuse_hidden_speculation,
)
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_definition import PARTS, Point, expand
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_estimate import estimate, in_words, refuse_matrix
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_progress import (
    missing_runs,
    ordered,
    restarts,
    settle,
)
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_resume import (
    benchmark_sha256,
    digest,
    judge,
    take_over,
)

_MOST_TOLD = 50


class ActionModule(ControllerAction):
    LOOKS_IN_CHECK_MODE = True
    SPEC = {
        "sweep_dir": {"type": "path", "required": True},
        "name": {"type": "str", "required": True},
        "points": {"type": "list", "elements": "dict", "default": []},
        "grid": {"type": "dict", "default": {}},
        "exclude": {"type": "list", "elements": "dict", "default": []},
        "baselines": {"type": "bool", "default": True},
        "repeats": {"type": "int", "default": 1},
        "interleave": {"type": "bool", "default": False},
        "order": {"type": "str", "choices": ["given", "shuffled"], "default": "given"},
        "seed": {"type": "int", "default": 0},
        "retry_failed": {"type": "bool", "default": False},
        "time_budget": {"type": "float", "default": 0},
        "server": {"type": "dict", "default": {}},
        "benchmark": {"type": "dict", "default": {}},
        "checked": {"type": "list", "elements": "dict"},
        "usual_start": {"type": "float"},
        "records": {"type": "list", "elements": "path", "default": []},
    }
    NOTHING = {
        "state": None, "points": [], "runs_left": 0, "restarts": 0, "estimated_seconds": None, "plan": [],
        "measured_again": [], "open_origin": None, "clock": None,
    }  # fmt: skip

    def work(self, params: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        host = str(task_vars.get("inventory_hostname") or "")
        path = _sweep_state.state_path(params["sweep_dir"], params["name"], host)
        if params["repeats"] < 1:
            raise Failure("bad_request", f"The option 'repeats' must be at least 1, not {params['repeats']}.")
        points, remarks = _points(params)
        common = {"state": path, "clock": time.monotonic(), "warnings": remarks}
        if params["checked"] is None:
            return {**common, "points": points}
        matrix = params["benchmark"].get("matrix")
        refuse_matrix(matrix)
        state, told = _state(params, host, path, points)
        if not self._task.check_mode:
            _sweep_state.begin(path, state)
        runs = missing_runs(state)
        folders = [os.path.dirname(path), *params["records"]]
        guess = estimate(state, params["usual_start"], matrix, folders, params["time_budget"])
        shown = ("name", "kind", "status", "same_as", "failure_class", "msg")
        return {
            **common,
            "points": [{key: point[key] for key in shown} for point in state["points"]],
            "runs_left": len(runs),
            "restarts": restarts(runs),
            "estimated_seconds": guess.total,
            "plan": in_words(state, guess, matrix),
            "measured_again": told[:_MOST_TOLD],
            "open_origin": state["origin"] if state["origin"].get("open") else None,
        }


def _points(params: dict[str, t.Any]) -> tuple[list[Point], list[str]]:
    points, remarks = expand(params["points"], params["grid"], params["exclude"], list(NAMES.values()))
    if not points:
        raise Failure("bad_request", "The sweep has no point: set 'sweep_points' or 'sweep_grid', or exclude less.")
    if params["baselines"]:
        server = params["server"]
        refuse_hidden_speculation(server.get("extra_args") or [])
        base = {part: server.get(part) or {} for part in PARTS}
        points = [*baselines(base, points, server.get("flag_names") or {}), *points]
    return ordered(points, params["order"], params["seed"]), remarks


def _state(params: dict[str, t.Any], host: str, path: str, points: list[Point]) -> tuple[dict[str, t.Any], list[str]]:
    """The new state, with what an earlier one knows; and what of that does not count any more."""
    old = _sweep_state.load(path) or {}
    if _play_process.still_runs(old.get("owner")):
        raise Failure(
            "condition_not_met",
            f"Another play (process {old['owner']['pid']}) is at the sweep '{params['name']}' of '{host}': wait for its end.",
        )
    checked = {entry["name"]: entry for entry in params["checked"]}
    environment = params["server"].get("environment") or {}
    entries = judge(points, checked, environment, benchmark_sha256(params["benchmark"]))
    _refuse_all_rejected(entries)
    before = old.get("former")
    known = [*(old.get("points") or []), *(before if isinstance(before, list) else [])]
    former, told = take_over(entries, known, os.path.dirname(path), params["retry_failed"])
    how = {key: params[key] for key in ("repeats", "interleave", "seed")}
    state = {
        "name": params["name"],
        "host": host,
        "definition_sha256": digest([[[one["name"], one["kind"], one["overrides"]] for one in points], how]),
        "evidence": {"benchmark_sha256": benchmark_sha256(params["benchmark"])},
        "origin": old.get("origin") or {"history_label": f"sweep-{params['name']}"},
        "created_at": old.get("created_at") or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **how,
        "points": entries,
        "former": former,
        "owner": _play_process.this_play(),
        "failures_in_a_row": 0,
        "stopped": None,
        "current": None,
    }
    settle(state)
    return state, told


def _refuse_all_rejected(entries: t.Sequence[Point]) -> None:
    tried = [entry for entry in entries if not entry["kind"].startswith("baseline")]
    rejected = [entry for entry in tried if entry["status"] == "rejected"]
    if len(rejected) == len(tried):
        first = rejected[0]
        raise Failure(
            first["failure_class"],
            f"All {len(rejected)} points of the sweep are rejected before any restart, '{first['name']}' because: {first['msg']}",
        )
