# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Notes on the controller how a sweep goes on; the module of the same name documents it."""

from __future__ import annotations

import json
import os
import time
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.plugin_utils import _sweep_progress, _sweep_state
from ansible_collections.llmops.sglang.plugins.plugin_utils._controller_action import ControllerAction
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_text import plain
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_state import State

_MOST_LOG = 10
_RUN = ("begun", "measured", "failed")


class ActionModule(ControllerAction):
    SPEC = {
        "state": {"type": "path", "required": True},
        "event": {"type": "str", "choices": ["origin", *_RUN, "over"], "required": True},
        "point": {"type": "str"},
        "repeat": {"type": "int", "default": 1},
        "record_path": {"type": "path"},
        "start_elapsed": {"type": "float"},
        "coding": {"type": "dict"},
        "failure_class": {"type": "str"},
        "msg": {"type": "str", "default": ""},
        "log_tail": {"type": "list", "elements": "str", "default": []},
        "stage": {"type": "str", "choices": ["start", "benchmark"], "default": "start"},
        "max_failures": {"type": "int", "default": 0},
        "time_budget": {"type": "float", "default": 0},
        "began": {"type": "float"},
        "there": {"type": "bool", "default": True},
        "running": {"type": "bool", "default": True},
    }
    NOTHING = {"run": None, "stopped": None, "runs_left": 0, "became": {}, "skipped_reason": None}

    def work(self, params: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        with _sweep_state.changing(params["state"]) as state:
            if params["event"] == "origin":
                label = f"sweep-{state['name']}"
                state["origin"] = {
                    "history_label": label, "open": True, "there": params["there"], "running": params["running"]
                }  # fmt: skip
            elif params["event"] == "over":
                state["origin"]["open"] = False
                state["owner"] = state["current"] = None
            elif params["event"] == "begun":
                return {"run": self._begin(state, params), **_how_far(state)}
            else:
                self._finish(state, params)
            return _how_far(state)

    @staticmethod
    def _begin(state: State, params: dict[str, t.Any]) -> t.Optional[dict[str, t.Any]]:
        """The next run, or none where the sweep is done or stops."""
        missing = _sweep_progress.missing_runs(state)
        if not missing or state["stopped"]:
            return None
        began = time.monotonic() if params["began"] is None else params["began"]
        late = _sweep_progress.out_of_time(state, params["time_budget"], began)
        if late:
            state["stopped"] = {"why": "time", "msg": late}
            return None
        point, repeat = missing[0]
        state["current"] = {"point": point["name"], "repeat": repeat, "began": time.monotonic()}
        return {
            "point": point["name"],
            "repeat": repeat,
            "label": _label(state, point["name"], repeat),
            "overrides": point["overrides"],
            "argv": point["argv"],
            "number": len(_sweep_progress.all_runs(state)) - len(missing) + 1,
            "of": len(_sweep_progress.all_runs(state)),
        }

    @staticmethod
    def _finish(state: State, params: dict[str, t.Any]) -> None:
        if not params["point"]:
            raise Failure("bad_request", f"The event '{params['event']}' is one of a point: name it.")
        point = _sweep_state.point_named(state, params["point"])
        measured = params["event"] == "measured"
        record = _own_record(params["record_path"], _label(state, point["name"], params["repeat"]))
        if measured and record is None:
            raise Failure(
                "bad_request",
                f"The record '{params['record_path']}' is not one of the point '{point['name']}': name the one with its label.",
            )
        current = state["current"] or {}
        mine = (current.get("point"), current.get("repeat")) == (point["name"], params["repeat"])
        folder = os.path.dirname(os.path.abspath(params["state"]))
        run = {
            "repeat": params["repeat"],
            "status": params["event"],
            "failure_class": None if measured else params["failure_class"] or "condition_not_met",
            "msg": "" if measured else plain(params["msg"], 1000),
            "log_tail": [] if measured else [plain(line, 400) for line in params["log_tail"][-_MOST_LOG:]],
            "record_path": _relative(record, folder),
            "start_elapsed": params["start_elapsed"],
            "coding": params["coding"],
            "stage": "benchmark" if measured else params["stage"],
            "elapsed": round(time.monotonic() - current["began"], 3) if mine and current.get("began") else None,
            "finished_at": time.time(),
        }
        _sweep_progress.note(state, point, run, params["max_failures"])
        state["current"] = None


def _how_far(state: State) -> dict[str, t.Any]:
    return {
        "stopped": state["stopped"],
        "runs_left": len(_sweep_progress.missing_runs(state)),
        "became": _sweep_progress.became(state),
    }


def _label(state: State, point: str, repeat: int) -> str:
    return f"{state['name']} {point}" + (f" run {repeat}" if state["repeats"] > 1 else "")


def _own_record(path: t.Optional[str], label: str) -> t.Optional[str]:
    """*path* where it is a record with this *label*: a variable may still hold that of the run before."""
    try:
        with open(path or "", encoding="utf-8") as handle:
            return path if json.load(handle).get("label") == label else None
    except (OSError, ValueError, AttributeError, RecursionError):
        return None


def _relative(path: t.Optional[str], folder: str) -> t.Optional[str]:
    if path is None:
        return None
    whole = os.path.abspath(path)
    return os.path.relpath(whole, folder) if os.path.dirname(whole) == folder else whole
