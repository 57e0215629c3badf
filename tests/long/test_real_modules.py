# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every module and every role at work on a real server of the newest release, behind a real router.

``make test-real`` has the main job on it and what goes wrong; this is the rest.
"""

from __future__ import annotations

import pathlib

import pytest
from fault_rows import begin
from lane import HOST, PLAIN, PORT
from real_host import real_host
from router import Router

CLONE = pathlib.Path(__file__).resolve().parents[2]
SMALL = {
    "benchmark_matrix": {
        "contexts": [1000],
        "concurrency": [1],
        "requests": 2,
        "warmup": 0,
        "max_tokens": 16,
        "max_cached_share": 0.1,
    },
    "benchmark_coding": {"task_names": ["fib"], "max_tokens": 16},
}
BASELINE = {"benchmark_baseline": "*_first_*.json", "benchmark_compare": {"fail_on": "never"}, "benchmark_report": {}}
SWEEP = {
    "sweep_name": "real",
    "sweep_baselines": False,
    "sweep_points": [{"name": "two-at-a-time", "args": {"max_running_requests": 2}}],
    "sweep_fail_on": [],
}
MODULES = {path.stem for path in (CLONE / "plugins" / "modules").glob("*.py")}


@pytest.fixture(scope="module")
def lane(tmp_path_factory):
    with real_host(tmp_path_factory.mktemp("real")) as made:
        yield made


def test_every_module_and_role_works_on_a_real_server(lane, tmp_path):
    begin()
    used = set()
    folder = lane.inventory.parent
    with Router(tmp_path) as router:
        behind = {
            "router_url": router.url,
            "worker_url": f"http://{lane.address(HOST)}:{PORT}",
            "delegate_to": "localhost",
        }
        for name, variables in (
            ("site", {**SMALL, "benchmark_label": "first"}),
            ("benchmark", {**SMALL, "benchmark_label": "second", **BASELINE}),
            ("restart", {"server_router": behind}),
            ("verify", {}),
            ("diagnose", {}),
            ("sweep", {**SMALL, **SWEEP, "sweep_dir": str(folder / "sweeps")}),
            ("rollback", {"rollback_to": "last_good"}),
        ):
            play = lane.play(name, PLAIN, **variables)
            assert play.returncode == 0, play.text
            used |= {entry["action"].rpartition(".")[2] for entry in play.results}
        assert [worker["url"].rstrip("/") for worker in router.workers()] == [behind["worker_url"]]
    assert used & MODULES == MODULES, MODULES - used
