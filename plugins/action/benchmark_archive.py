# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files a record on the controller; the module of the same name documents it."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.plugin_utils import _record_archive, _record_history, _record_summary
from ansible_collections.llmops.sglang.plugins.plugin_utils._controller_action import ControllerAction
from ansible_collections.llmops.sglang.plugins.plugin_utils._prometheus_text import write_metrics
from ansible_collections.llmops.sglang.plugins.plugin_utils._record_schema import KINDS, matching, read_record
from ansible_collections.llmops.sglang.plugins.plugin_utils._shared_file import locked

_MOST_NAMES = 100


class ActionModule(ControllerAction):
    SPEC = {
        "src": {"type": "path", "required": True},
        "dest": {"type": "path", "required": True},
        "kind": {"type": "str", "choices": list(KINDS), "default": "benchmark"},
        "wait": {"type": "dict", "default": {}},
        "prometheus_file": {"type": "path"},
        "keep": {"type": "int"},
        "keep_days": {"type": "float"},
        "keep_records": {"type": "list", "elements": "path", "default": []},
    }
    NOTHING = {
        "record_path": None,
        "history": None,
        "start_kept": False,
        "removed": [],
        "artifact": {},
        "skipped_reason": None,
    }

    def work(self, params: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        if params["keep"] is not None and params["keep"] < 1:
            raise _wrong("keep", params["keep"], "at least 1")
        if params["keep_days"] is not None and not params["keep_days"] > 0:
            raise _wrong("keep_days", params["keep_days"], "above 0")
        record = read_record(params["src"], params["kind"])
        with locked(params["dest"]):
            path = _record_archive.take_in(params["src"], params["dest"])
            told = self._tell(params, record, path, task_vars) if params["kind"] == "benchmark" else {}
            stay = [path, *matching(params["keep_records"])]
            removed = _record_archive.let_go(params["dest"], params["keep"], params["keep_days"], stay)
        return {"record_path": path, "removed": removed[:_MOST_NAMES], **told}

    @staticmethod
    def _tell(
        params: dict[str, t.Any], record: dict[str, t.Any], path: str, task_vars: dict[str, t.Any]
    ) -> dict[str, t.Any]:
        history = _record_history.add_cells(params["dest"], record)
        kept = _record_history.add_start(params["dest"], record, params["wait"])
        metrics = params["prometheus_file"]
        if metrics:
            ready = _record_history.ready_seconds(params["dest"], record)
            with locked(os.path.dirname(metrics) or ".", f".{os.path.basename(metrics)}.lock"):
                write_metrics(metrics, task_vars.get("inventory_hostname", ""), record, ready)
        return {"history": history, "start_kept": kept, "artifact": _record_summary.artifact(record, path)}


def _wrong(name: str, value: t.Any, wanted: str) -> Failure:
    return Failure("bad_request", f"The option '{name}' must be {wanted}, not {value}.")
