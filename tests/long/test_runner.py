# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every playbook as a job of AWX, in an environment that holds what the execution environment names and nothing else."""

from __future__ import annotations

import pathlib
import uuid

import ee_environment
import pytest
from deployed_server import KEYS, NAME, DeployedServer, wait_until
from runner_job import Runner

PLAYBOOKS = {path.stem for path in (ee_environment.CLONE / "playbooks").glob("*.yml")} - {"awx"}
# A line comes at least every 15 s; a machine that does much else may bring it late.
LONGEST_SILENCE = 40


@pytest.fixture(scope="module")
def python():
    return ee_environment.python()


@pytest.fixture(scope="module")
def server(hosts, tmp_path_factory):
    return DeployedServer(hosts, tmp_path_factory.mktemp("change"))


@pytest.fixture(scope="module")
def runner(hosts, python, server, tmp_path_factory):
    """Its inventory names the server; results go below a folder that outlives a job."""
    folder = tmp_path_factory.mktemp("job")
    variables = {
        **server.vars,
        "benchmark_results_dir": str(folder / "results" / "benchmarks"),
        "sweep_dir": str(folder / "results" / "sweeps"),
        "diagnose_dir": str(folder / "results" / "diagnoses"),
        # A line each fifteen seconds, as by default.
        "server_wait": {"timeout": 300, "require_speculation": True},
        "server_environment": steps(server),
        "benchmark_coding": False,
        "benchmark_matrix": {"contexts": [60], "concurrency": [1], "max_tokens": 16, "requests": 2, "warmup": 0},
    }
    made = Runner(hosts, folder / "data", variables, python)
    made.results = folder / "results"
    return made


@pytest.fixture
def deployed(runner):
    """Its playbooks start from a server that is as the inventory says."""
    job = runner.run("site", benchmark_matrix=False)
    assert (job.returncode, job.status) == (0, "successful"), job.said
    return runner


def steps(server, fault="", **more):
    """Steps so long that a busy machine does not look like a saturated client."""
    return server.environment(fault, SIM_STEP_MS="150", **more)


def good(job):
    assert (job.returncode, job.status) == (0, "successful"), job.said
    assert job.longest_silence < LONGEST_SILENCE, job.said
    return job


def test_the_environment_holds_nothing_else(python):
    """Neither the tools of the tests nor what only they need."""
    found = {
        path.name.partition("-")[0].lower()
        for path in pathlib.Path(python).parents[1].glob("lib/*/site-packages/*.dist-info")
    }
    assert {"ansible_core", "ansible_runner", "requests", "jmespath", "matplotlib"} <= found
    assert not found & {"pytest", "jsonschema", "ansible_lint", "molecule", "ruff"}


def test_site_and_benchmark(runner, server):
    environment = steps(server, RUN=uuid.uuid4().hex)
    coding = {"task_names": ["gcd"], "max_tokens": 16}
    outcome = good(runner.run("site", server_environment=environment, benchmark_coding=coding)).artifacts
    assert outcome["server_artifacts"]["host1"]["invocation_id"] == server.invocation()
    assert "host1" in outcome["benchmark_artifacts"]
    again = good(runner.run("benchmark", server_environment=environment, benchmark_label="again")).artifacts
    assert set(again) == {"benchmark_artifacts"}
    assert list(runner.results.glob("benchmarks/host1/**/*.html"))


def test_verify(deployed):
    verdict = good(deployed.run("verify")).artifacts["verify_artifacts"]["host1"]
    assert verdict["ok"] and verdict["drift"] == []


def test_a_server_that_is_not_as_it_should_be_fails_the_job(deployed):
    job = deployed.run("verify", verify_min_acceptance_length=99)
    assert (job.returncode, job.status) == (2, "failed"), job.said
    handed = job.artifacts
    assert [one["subject"] for one in handed["verify_artifacts"]["host1"]["drift"]] == ["acceptance"]
    assert handed["failure_artifacts"]["host1"]["playbook"] == "verify.yml"


def test_a_change_that_fails_fails_the_job(deployed, server):
    before = server.invocation()
    job = deployed.run("site", server_environment=steps(server, "draft:lie:window"), benchmark_matrix=False)
    assert (job.returncode, job.status) == (2, "failed"), job.said
    failure = job.artifacts["failure_artifacts"]["host1"]
    assert failure["failure_class"] == "field_mismatch" and "was put back" in failure["msg"]
    assert server.invocation() != before


def test_restart_rollback_and_diagnose(deployed, server):
    before = server.invocation()
    good(deployed.run("restart"))
    assert server.invocation() != before
    changed = good(deployed.run("site", server_api_key=KEYS[1], benchmark_matrix=False))
    assert changed.artifacts["server_artifacts"]["host1"]["restarted"]
    good(deployed.run("rollback", rollback_to="previous"))
    assert server.generates(KEYS[0])
    good(deployed.run("diagnose"))
    assert list(deployed.results.glob("diagnoses/host1/*.tar.gz"))


def test_sweep(deployed):
    grid = {"block_size": [4, 8]}
    given = {
        "sweep_name": "blocks",
        "sweep_grid": grid,
        "sweep_baselines": False,
        "sweep_objective": "",
        "sweep_fail_on": [],
    }
    result = good(deployed.run("sweep", **given)).artifacts["sweep_artifacts"]["host1"]
    assert result and list(deployed.results.glob("sweeps/blocks/**/state.json"))


def test_a_long_start_is_never_silent(runner, server):
    environment = steps(server, SIM_LOAD_SECONDS="60", RUN=uuid.uuid4().hex)
    job = good(runner.run("site", server_environment=environment, benchmark_matrix=False))
    assert len([line for line in job.lines() if f"host1 {NAME}: " in line]) >= 3


def test_what_is_cancelled_is_made_by_the_next_run(runner, server):
    """In the wait, after the unit was written and the server restarted."""
    environment = steps(server, SIM_LOAD_SECONDS="5", RUN=uuid.uuid4().hex)
    wanted = {"server_environment": environment, "benchmark_matrix": False}
    job = runner.start("site", **wanted)
    wait_until(lambda: any("Wait until this invocation generates" in line for line in job.lines()))
    job.cancel()
    job.wait()
    assert (job.status, job.returncode == 0) == ("canceled", False), job.said
    good(runner.run("site", **wanted))
    assert server.generates(KEYS[0])
    assert server.in_line() and server.history()["configurations"][0]["proven"]


def test_every_playbook_is_run_here():
    text = pathlib.Path(__file__).read_text()
    assert not [name for name in PLAYBOOKS if f'run("{name}"' not in text]
