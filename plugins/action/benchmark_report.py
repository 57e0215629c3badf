# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the report of a record on the controller; the module of the same name documents it."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._compare_differences import differences, forbidden, in_words
from ansible_collections.llmops.sglang.plugins.module_utils._compare_side import Metric, Side
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.plugin_utils import _report_canvas
from ansible_collections.llmops.sglang.plugins.plugin_utils._controller_action import ControllerAction
from ansible_collections.llmops.sglang.plugins.plugin_utils._record_archive import beside
from ansible_collections.llmops.sglang.plugins.plugin_utils._record_history import starts
from ansible_collections.llmops.sglang.plugins.plugin_utils._record_schema import matching, read_record
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_figures import figures
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_page import page
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_text import plain
from ansible_collections.llmops.sglang.plugins.plugin_utils._shared_file import write_shared


class ActionModule(ControllerAction):
    SPEC = {
        "record": {"type": "path", "required": True},
        "baseline": {"type": "list", "elements": "path", "default": []},
        "allow_differences": {"type": "list", "elements": "str", "default": ["speculative_*"]},
        "dest": {"type": "path"},
        "plots": {"type": "bool", "default": True},
        "required": {"type": "bool", "default": True},
    }
    NOTHING = {"page": None, "plots": [], "not_drawn": {}, "skipped_reason": None}

    def work(self, params: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        try:
            _report_canvas.require_matplotlib()
        except Failure as failure:
            if params["required"]:
                raise
            return {"warnings": [f"There is no report: {failure.msg}"], "skipped_reason": failure.msg}
        path, dest = params["record"], params["dest"]
        record = read_record(path, "benchmark")
        others = _baseline(params["baseline"], path)
        baseline = {**others[-1], "cells": [cell for one in others for cell in one["cells"]]} if others else None
        unlike = _unlike(others, {**record, "path": path}, params["allow_differences"]) if others else ""
        unit = record["evidence_before"].get("unit")
        found = figures(record, baseline, starts(os.path.dirname(path), unit), unlike)
        footer = plain(f"{record['label']}  {record['evidence_after']['served_model'] or ''}  {record['started']}", 150)
        plots = []
        for figure in found:
            if figure.plot and params["plots"]:
                plots.append(beside(path, f"-{figure.name}.png", dest))
                write_shared(plots[-1], _report_canvas.png(figure.plot, footer))
        html = beside(path, ".html", dest)
        write_shared(html, page(record, os.path.basename(path), found, baseline).encode())
        return {"page": html, "plots": plots, "not_drawn": {one.name: one.note for one in found if not one.plot}}


def _baseline(patterns: t.Sequence[str], own: str) -> list[dict[str, t.Any]]:
    """The records of the baseline with their paths; together they are one, whose evidence is that of the last."""
    paths = [path for path in matching(patterns) if os.path.realpath(path) != os.path.realpath(own)]
    if patterns and not paths:
        raise Failure(
            "bad_request", f"No record matches the baseline {', '.join(patterns)}: correct the path, or leave it out."
        )
    return [{**read_record(path, "benchmark"), "path": path} for path in paths]


def _unlike(baseline: t.Sequence[dict[str, t.Any]], record: dict[str, t.Any], allow: t.Sequence[str]) -> str:
    """In what the two differ that forbids to compare them; each point of a plot is of one cell, so the cells may differ."""
    metric = Metric("output_tokens_per_second")
    sides = (Side("baseline", baseline, metric), Side("candidate", [record], metric))
    return "; ".join(in_words(forbidden(differences(*sides, [*allow, "cells"]))))
