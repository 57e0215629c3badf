# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module of the same name cell by cell, and shows a line for each."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.llmops.sglang.plugins.plugin_utils._progress import Progress

# A start of the module costs a second or so: cells that are shorter than this share one.
_SLICE_SECONDS = 5.0
_DEFAULT_INTERVAL = 15


class ActionModule(ActionBase):
    _supports_check_mode = True
    _supports_async = False
    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        args = dict(self._task.args)
        args.pop("slice_seconds", None)
        args.pop("run_id", None)
        progress = self._progress(args, task_vars or {})
        result = self._measure(args, task_vars, progress, "the first cell")
        while not self._over(result):
            for cell in result.get("new_cells") or []:
                progress.line(_cell_line(cell))
            args["run_id"] = result["run_id"]
            done, total = result["cells_done"], result["cells_total"]
            result = self._measure(args, task_vars, progress, f"{result['next_cell']} ({done} of {total} cells done)")
        for cell in result.get("new_cells") or []:
            progress.line(_cell_line(cell))
        if result.get("record_path"):
            progress.line(f"benchmark: record {result['record_path']}")
        return result

    def _measure(self, args: dict[str, t.Any], task_vars: t.Any, progress: Progress, subject: str) -> dict[str, t.Any]:
        sliced = {**args, "slice_seconds": _SLICE_SECONDS}
        return progress.during(
            lambda: self._execute_module("llmops.sglang.benchmark_matrix", module_args=sliced, task_vars=task_vars),
            lambda seconds: f"benchmark: measuring {subject}, {seconds:.0f} s",
        )

    @staticmethod
    def _over(result: dict[str, t.Any]) -> bool:
        stopped = any(result.get(key) for key in ("failed", "skipped", "unreachable", "skipped_reason"))
        return stopped or bool(result.get("complete")) or not result.get("new_cells")

    def _progress(self, args: dict[str, t.Any], task_vars: dict[str, t.Any]) -> Progress:
        interval = args.get("progress_interval")
        try:
            seconds = _DEFAULT_INTERVAL if interval is None else int(interval)
        except (TypeError, ValueError):
            seconds = 0  # the module refuses it, in its own words
        if self._task.no_log or self._task.check_mode:
            seconds = 0
        return Progress(Display().display, str(task_vars.get("inventory_hostname", "")), seconds)


def _cell_line(cell: dict[str, t.Any]) -> str:
    context = "own prompts" if cell.get("context") is None else f"context {cell['context']}"
    streams = "open loop" if cell.get("concurrency") is None else f"concurrency {cell['concurrency']}"
    where = f"benchmark: {context}, {streams}, run {cell.get('run')}:"
    if not cell.get("valid"):
        return f"{where} INVALID ({', '.join(cell.get('reasons') or [])}); {cell.get('succeeded')} of {cell.get('requests')} answered"
    words = [
        _figure(cell.get("output_tokens_per_second"), "tokens/s"),
        _figure((cell.get("ttft_ms") or {}).get("mean"), "ms TTFT"),
        _figure((cell.get("tpot_ms") or {}).get("mean"), "ms TPOT"),
        f"acceptance {cell['acceptance_length']:.2f}"
        if cell.get("acceptance_length") is not None
        else "acceptance unknown",
    ]
    return f"{where} {', '.join(word for word in words if word)}"


def _figure(number: t.Any, unit: str) -> str:
    return "" if number is None else f"{number:.1f} {unit}"
