# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep of twelve points that is killed twice, ends with the right winner promoted, and then one that promotes nothing."""

from __future__ import annotations

from swept_server import SweptServer

# What fails, and with which class.
BROKEN = {
    "no-memory": ("load:crash:oom", "out_of_memory"),
    "no-weights": ("draft:crash:missing_draft_weights", "model_load_failed"),
    "no-nccl": ("load:crash:nccl", "server_crashed"),
    "dies-under-load": ("serving:crash:scheduler@after=8", "server_crashed"),
}
REJECTED = {"name": "window-below-block", "speculative": {"draft_window_size": 4}}
# By the stand-in's model a tree of 16 with top-k 4 is accepted as well as one of 64 and verified faster.
GRID = {"tree_budget": [4, 16, 64], "tree_topk": [1, 4]}
BEST = "tree_budget=16,tree_topk=4"


def test_the_best_of_twelve_is_promoted_and_another_sweep_changes_nothing(hosts, tmp_path):
    # Steps of an eighth of a second and more: a busy machine must not look like a saturated client.
    slow = {"SIM_LOAD_SECONDS": "1", "SIM_WARMUP_SECONDS": "0.1", "SIM_PACE": "0.05", "SIM_SPEED": "0.03"}
    points = [{"name": name, "environment": {"SIM_FAULT": fault}} for name, (fault, dummy) in BROKEN.items()]
    # Slower than the baseline: it drafts from eight tokens.
    points += [REJECTED, {"name": "tiny-window", "speculative": {"draft_window_size": 8}}]
    swept = SweptServer(hosts, tmp_path, server_environment=slow, sweep_points=points, sweep_grid=GRID)
    swept.vars["benchmark_matrix"].update(
        # Of three runs each, one slow run keeps the winner from being proven.
        contexts=[60],
        concurrency=[2],
        max_tokens=24,
        requests=4,
        warmup=1,
        repeats=5,
    )
    # Four that fail stand side by side, and that must not end it; a busy machine spreads the runs.
    swept.vars.update(sweep_max_failures=5, sweep_gate={"max_spread": 0.5})
    swept.deploy()
    before = swept.on_host()
    planned = swept.run("sweep", "--check")
    assert planned.returncode == 0, planned.said
    assert "window-below-block: rejected (rule_violated)" in planned.said
    assert "13 runs of 13 points with 14 restarts" in planned.said
    assert swept.on_host() == before and not (tmp_path / "sweeps").exists()
    for task in ("Note that it is measured", "Note that the point failed"):
        killed = swept.run("sweep", kill_at=task)
        assert killed.returncode < 0, killed.said
        assert swept.on_host() != before and swept.kept_labels() == ["sweep-tree"]
    done, spoilt = to_the_end(swept)
    # One point died while it was measured, which is told at the very end.
    assert done.returncode != 0 and "invalid: dies-under-load." in done.said, done.said
    assert swept.on_host() == before and swept.kept_labels() == []
    judge(swept, spoilt)
    promote(swept)
    again(swept)


def to_the_end(swept):
    """The last play, and the points of which a measurement was spoilt by a busy machine, which the next play makes again."""
    spoilt = []
    for dummy in range(6):
        done = swept.run("sweep")
        assert "UNREACHABLE" not in done.said, done.said
        now = [point["name"] for point in swept.state()["points"] if point["failure_class"] == "condition_not_met"]
        if not now:
            break
        spoilt += now
    return done, spoilt


def judge(swept, spoilt):
    became = swept.became()
    failed = {name for name, status in became.items() if status == "failed"}
    assert failed == set(BROKEN), swept.state()["points"]
    assert {name for name, status in became.items() if status == "rejected"} == {REJECTED["name"]}
    assert sorted(became.values()).count("measured") == 2 + 1 + 6
    for point in swept.state()["points"]:
        if point["name"] in BROKEN:
            assert point["failure_class"] == BROKEN[point["name"]][1], point
            assert point["runs"][0]["log_tail"]
    for budget in GRID["tree_budget"]:
        for topk in GRID["tree_topk"]:
            name = f"tree_budget={budget},tree_topk={topk}"
            assert swept.starts(budget, topk) == 1 + spoilt.count(name), name
    slower = next(point for point in swept.state()["points"] if point["name"] == "tiny-window")
    assert slower["status"] == "measured"


def promote(swept):
    """Another play, which measures nothing."""
    starts = len(swept.command_lines())
    done = swept.run("sweep", sweep_promote="best")
    assert f"The host runs the winner, '{BEST}'." in done.said, done.said
    assert len(swept.command_lines()) == starts + 1
    assert "tree_topk: 4" in done.said
    report = (swept.folder / "sweeps/tree/host1/report.html").read_text()
    assert BEST in report and all(name in report for name in BROKEN)
    words = swept.on_host()[1]
    assert "--speculative-ddtree-budget 16" in words and "--speculative-ddtree-topk 4" in words
    assert swept.kept_labels() == []
    kept = swept.hosts.run_module("host1", "llmops.sglang.server_history", {"name": swept.vars["server_name"]})
    good = next(one for one in kept["configurations"] if one["id"] == kept["last_good"])
    assert good["on_host"] and good["proven"]


def again(swept):
    """Another sweep, of which nothing is promoted, ends on what runs now."""
    before = swept.on_host()
    one = [{"name": "narrow", "speculative": {"tree_budget": 4, "tree_topk": 1}}]
    more = {
        "sweep_name": "again",
        "sweep_points": one,
        "sweep_grid": {},
        "sweep_promote": "never",
        "sweep_baselines": False,
    }
    done = swept.run("sweep", **more)
    assert done.returncode == 0, done.said
    assert swept.became("again") == {"narrow": "measured"}
    assert swept.on_host() == before
    assert swept.kept_labels() == []
