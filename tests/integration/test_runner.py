# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A job of AWX; what its other playbooks do is among the long tests."""

from __future__ import annotations

import uuid

from deployed_server import NAME, DeployedServer
from runner_job import Runner

NOT_MEASURED = {"benchmark_matrix": False, "benchmark_coding": False}


def test_a_job_shows_its_progress_and_hands_its_outcome_on(hosts, tmp_path):
    server = DeployedServer(hosts, tmp_path)
    # Another environment than before: it has to start.
    environment = server.environment(SIM_LOAD_SECONDS="2", RUN=uuid.uuid4().hex)
    given = {"server_environment": environment, "server_wait": {"timeout": 120, "progress_interval": 1}}
    job = Runner(hosts, tmp_path / "job", server.vars).run("site", **given, **NOT_MEASURED)
    assert (job.returncode, job.status) == (0, "successful"), job.said
    events = job.events()
    (waited,) = [
        event["counter"]
        for event in events
        if event["event_data"].get("task") == "Wait until this invocation generates"
        and event["event"] == "runner_on_ok"
    ]
    lines = [event for event in events if event["event"] == "verbose" and f"host1 {NAME}: " in event["stdout"]]
    assert lines and lines[0]["counter"] < waited
    outcome = job.artifacts["server_artifacts"]["host1"]
    assert outcome["invocation_id"] == server.invocation() and outcome["restarted"] and not outcome["restart_pending"]
    assert outcome["sglang_version"] == "0.5.15.post1" and outcome["ready_seconds"] > 2
