# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module of the same name cell by cell, and shows a line for each."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase

from ansible_collections.llmops.sglang.plugins.plugin_utils._progress import ProgressLines, seconds_of, subject_of

# A start of the module costs a second or so: cells that are shorter than this share one.
_SLICE_SECONDS = 5.0
_DEFAULT_INTERVAL = 15.0


class ActionModule(ActionBase):
    _supports_check_mode = True
    _supports_async = False
    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        args = {name: value for name, value in self._task.args.items() if name not in ("slice_seconds", "run_id")}
        silent = self._task.no_log or self._task.check_mode
        interval = 0.0 if silent else seconds_of(args.get("progress_interval"), _DEFAULT_INTERVAL)
        with ProgressLines(subject_of(self._task, task_vars or {}), interval) as lines:
            lines.tell("measuring the first cell", news=False)
            while True:
                result = self._execute_module(
                    module_name="llmops.sglang.benchmark_matrix",
                    module_args={**args, "slice_seconds": _SLICE_SECONDS},
                    task_vars=task_vars,
                )
                for cell in result.get("new_cells") or []:
                    lines.tell(_cell_line(cell))
                if self._over(result):
                    break
                args["run_id"] = result["run_id"]
                done, total = result["cells_done"], result["cells_total"]
                lines.tell(f"measuring {result['next_cell']} ({done} of {total} cells done)", news=False)
            if result.get("record_path"):
                lines.tell(f"record {result['record_path']}")
        return result

    @staticmethod
    def _over(result: dict[str, t.Any]) -> bool:
        stopped = any(result.get(key) for key in ("failed", "skipped", "unreachable", "skipped_reason"))
        return stopped or bool(result.get("complete")) or not result.get("new_cells")


def _cell_line(cell: dict[str, t.Any]) -> str:
    context = "own prompts" if cell.get("context") is None else f"context {cell['context']}"
    streams = "open loop" if cell.get("concurrency") is None else f"concurrency {cell['concurrency']}"
    where = f"{context}, {streams}, run {cell.get('run')}:"
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
