# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep on a real host with the stand-in server; tests/long has a large one."""

from __future__ import annotations

from swept_server import SweptServer

POINTS = [
    {"name": "window-below-block", "speculative": {"draft_window_size": 4}},
    {"name": "cannot-start", "environment": {"SIM_FAULT": "load:crash:oom"}},
    {"name": "wide", "speculative": {"tree_budget": 16, "tree_topk": 4}},
    {"name": "narrow", "speculative": {"tree_budget": 4, "tree_topk": 1}},
]


def test_a_sweep_that_is_killed_goes_on_and_ends_on_what_ran_before(hosts, tmp_path):
    # A machine that is busy with other tests must not look like a saturated client.
    slow = {"SIM_LOAD_SECONDS": "0.2", "SIM_WARMUP_SECONDS": "0.1", "SIM_PACE": "0.05"}
    slow |= {"SIM_STEP_MS": "400", "SIM_PREFILL_MS": "400"}
    sweep = {"sweep_points": POINTS, "sweep_baselines": False}
    swept = SweptServer(hosts, tmp_path, server_environment=slow, **sweep)
    swept.vars["benchmark_matrix"].update(max_tokens=12, requests=2, warmup=1)
    swept.deploy()
    before = swept.on_host()
    # The first point is measured, and the play dies before that is noted.
    killed = swept.run("sweep", kill_at="Note that it is measured")
    assert killed.returncode < 0, killed.said
    assert swept.on_host() != before and swept.kept_labels() == ["sweep-tree"]
    assert "window-below-block: rejected (rule_violated)" in killed.said
    done = swept.run("sweep")
    assert done.returncode == 0, done.said
    assert swept.became() == {
        "window-below-block": "rejected",
        "cannot-start": "failed",
        "wide": "measured",
        "narrow": "measured",
    }
    assert swept.state()["points"][1]["failure_class"] == "out_of_memory"
    assert swept.starts(16, 4) == swept.starts(4, 1) == 1
    assert swept.on_host() == before and swept.kept_labels() == []
    assert (tmp_path / "sweeps/tree/host1/report.html").exists()
