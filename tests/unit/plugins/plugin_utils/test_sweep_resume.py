# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of an earlier state counts: only what is whole."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.plugin_utils._play_process import still_runs
from ansible_collections.llmops.sglang.plugins.plugin_utils._record_history import STARTS_COLUMNS, STARTS_FILE, starts
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_text import plain
from ansible_collections.llmops.sglang.plugins.plugin_utils._shared_file import write_table
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_resume import take_over

EVIDENCE = {
    "argv": ["a"],
    "environment_sha256": "e",
    "sglang_version": "1",
    "benchmark_sha256": "b",
    "inputs_sha256": {},
}


def entry(**more):
    return {"name": "p", "evidence": EVIDENCE, "same_as": None, "runs": [], **more}


def failed_run(**more):
    return {"repeat": 1, "status": "failed", "record_path": None, **more}


def test_the_runs_of_a_point_that_is_whole_are_taken_over():
    now = entry()
    take_over([now], [entry(runs=[failed_run()])], "/x", False)
    assert now["runs"] == [failed_run()]


@pytest.mark.parametrize(
    "former",
    [
        5,
        {"runs": [failed_run()]},
        entry(runs=5),
        entry(runs=[5]),
        entry(runs=[{}]),
        entry(runs=[failed_run(repeat="1")]),
        entry(runs=[failed_run(record_path=5)]),
        entry(runs=[{"repeat": 1, "status": "measured"}]),
        entry(runs=[failed_run()], evidence=5),
        # What is nothing to Python is no evidence either.
        entry(runs=[failed_run()], evidence=False),
        entry(runs=[failed_run()], evidence=[]),
        entry(runs=[failed_run()], evidence={**EVIDENCE, "inputs_sha256": ""}),
        entry(runs=[failed_run(record_path=0)]),
        entry(runs=[failed_run()], evidence={**EVIDENCE, "inputs_sha256": [1]}),
    ],
    ids=range(14),
)
def test_a_point_that_somebody_edited_does_not_count(former):
    now = entry()
    assert take_over([now], [former], "/x", False) == ([], []) and now["runs"] == []


@pytest.mark.parametrize("owner", [5, [], "x", {"pid": float("inf")}])
def test_an_owner_of_another_type_runs_no_more(owner):
    assert still_runs(owner) is False


@pytest.mark.parametrize("word", ["nan", "inf", "x"])
def test_a_start_whose_time_is_no_number_was_not_seen(tmp_path, word):
    row = {**dict.fromkeys(STARTS_COLUMNS, ""), "ready": word, "unit": "a"}
    write_table(str(tmp_path / STARTS_FILE), STARTS_COLUMNS, [row])
    assert starts(str(tmp_path), "a") == []


def test_a_value_that_python_cannot_print_has_a_line():
    value = []
    for dummy in range(100_000):
        value = [value]
    assert plain(value) == plain(10**5000) == "?"
    # Let go level by level, as not every Python does by itself.
    while value:
        value = value[0]
