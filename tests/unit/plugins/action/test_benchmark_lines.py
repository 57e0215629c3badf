# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action plugin of benchmark_matrix: slices become one result, and cells become lines."""

from __future__ import annotations

import re
import time
import types

import pytest

from ansible_collections.llmops.sglang.plugins.action import benchmark_matrix as action
from ansible_collections.llmops.sglang.plugins.plugin_utils import _progress


def cell(context, valid=True):
    return {
        "context": context,
        "concurrency": 8,
        "run": 1,
        "valid": valid,
        "reasons": [] if valid else ["errors", "timeout"],
        "requests": 16,
        "succeeded": 16 if valid else 3,
        "output_tokens_per_second": 941.04,
        "ttft_ms": {"mean": 35.2},
        "tpot_ms": {"mean": 1.06},
        "acceptance_length": 6.29 if valid else None,
    }


def slice_of(cells, done, total=3):
    complete = done == total
    return {
        "complete": complete,
        "cells_done": done,
        "cells_total": total,
        "new_cells": cells,
        "run_id": "the-run",
        "next_cell": None if complete else "context 1024, concurrency 8, run 1",
        "record_path": "/results/r.json" if complete else None,
    }


@pytest.fixture
def play(monkeypatch):
    """Run the action with these module results; returns its result, its lines and the arguments of each call."""

    def call(results, no_log=False, check_mode=False, **args):
        lines, calls, left = [], [], iter(results)
        call.lines = lines
        monkeypatch.setattr(_progress, "Display", lambda: types.SimpleNamespace(display=lines.append))
        plugin = action.ActionModule.__new__(action.ActionModule)
        task = {"args": args, "no_log": no_log, "check_mode": check_mode, "async_val": 0, "delegate_to": None}
        plugin._task = types.SimpleNamespace(**task)

        def execute(module_name, module_args, task_vars):
            calls.append(dict(module_args))
            said = next(left)
            return said() if callable(said) else said

        plugin._execute_module = execute
        monkeypatch.setattr(action.ActionBase, "run", lambda self, tmp, task_vars: {})
        return plugin.run(None, {"inventory_hostname": "web1"}), lines, calls

    return call


def test_slices_are_one_run_and_each_cell_has_a_line(play):
    last = slice_of([cell(4096)], 3)
    result, lines, calls = play([slice_of([cell(60), cell(1024, False)], 2), last], name="sglang", run_id="x")
    assert result is last
    assert [call.get("run_id") for call in calls] == [None, "the-run"]
    assert all(call["slice_seconds"] > 0 and call["name"] == "sglang" for call in calls)
    assert [re.sub(r"^\[ *\d+ s\] ", "", line) for line in lines] == [
        "web1 sglang: context 60, concurrency 8, run 1: 941.0 tokens/s, 35.2 ms TTFT, 1.1 ms TPOT, acceptance 6.29",
        "web1 sglang: context 1024, concurrency 8, run 1: INVALID (errors, timeout); 3 of 16 answered",
        "web1 sglang: context 4096, concurrency 8, run 1: 941.0 tokens/s, 35.2 ms TTFT, 1.1 ms TPOT, acceptance 6.29",
        "web1 sglang: record /results/r.json",
    ]


@pytest.mark.parametrize(
    "result",
    [
        {"failed": True, "failure_class": "connection_refused"},
        {"unreachable": True},
        {"skipped_reason": "check mode: no request is sent", "complete": False, "new_cells": []},
        {"complete": False, "new_cells": []},
    ],
)
def test_what_is_over_is_not_asked_again(play, result):
    found, dummy, calls = play([result])
    assert found is result and len(calls) == 1


@pytest.mark.parametrize("quiet", [{"no_log": True}, {"progress_interval": 0}, {"progress_interval": "nonsense"}])
def test_no_lines_where_none_are_wanted(play, quiet):
    assert play([slice_of([cell(60)], 3)], **quiet)[1] == []


def test_it_is_not_for_async():
    assert action.ActionModule._supports_async is False


def test_a_long_cell_has_a_line_each_interval(play):
    def measuring():
        while len(play.lines) < 2:
            time.sleep(0.01)
        return slice_of([cell(60)], 3)

    lines = play([measuring], progress_interval=0.05)[1]
    assert all(line.endswith("measuring the first cell") for line in lines[:2])
