# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which process a benchmark measures, and what it refuses to measure."""

from __future__ import annotations

import os

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _benchmark_target
from ansible_collections.llmops.sglang.plugins.module_utils._benchmark_target import BenchmarkTarget
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._load_connection import endpoint
from ansible_collections.llmops.sglang.plugins.module_utils._ownership import Ownership
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState

RUNNING = {
    "LoadState": "loaded",
    "ActiveState": "active",
    "SubState": "running",
    "MainPID": "1",
    "InvocationID": "a" * 32,
    "NRestarts": "0",
}


class Units:
    """A service manager with one unit."""

    scope = "system"

    def __init__(self, properties, environment=None):
        self.properties = properties
        self.environ = environment or {}

    def show(self, name):
        return UnitState(name, dict(self.properties))

    def environment(self, name):
        return self.environ

    def no_such_unit(self, state):
        return Failure("no_such_unit", f"There is no unit '{state.name}' on this host.")


@pytest.fixture
def target(monkeypatch):
    def make(properties=None, required=True, owner=None, environment=None):
        monkeypatch.setattr(BenchmarkTarget, "_owner", lambda self, state: owner or Ownership("yes", 1))
        monkeypatch.setattr(_benchmark_target.ServerSide, "get", lambda self, path: None)
        units = Units({**RUNNING, **(properties or {})}, environment)
        server = endpoint("http://127.0.0.1:1", None, {})
        return BenchmarkTarget(server, units, "llm.service", required)

    return make


@pytest.mark.parametrize(
    ("properties", "failure_class"),
    [
        ({"LoadState": "not-found"}, "no_such_unit"),
        ({"MainPID": "0", "ActiveState": "inactive"}, "inactive"),
        ({"MainPID": "0", "ActiveState": "inactive", "InvocationID": ""}, "never_started"),
    ],
)
def test_a_unit_that_does_not_run_is_not_measured(target, properties, failure_class):
    with pytest.raises(Failure) as caught:
        target(properties)
    assert caught.value.failure_class == failure_class and "llm.service" in caught.value.msg


def test_another_process_on_the_port_is_not_measured(target):
    with pytest.raises(Failure) as caught:
        target(owner=Ownership("no", 77, "old.service", "python -m other"))
    assert caught.value.failure_class == "foreign_listener" and "old.service" in caught.value.msg


def test_a_process_that_cannot_be_told_is_not_measured(target):
    with pytest.raises(Failure) as caught:
        target(owner=Ownership("unknown"))
    assert caught.value.failure_class == "no_permission" and "require_evidence" in caught.value.msg
    assert target(required=False, owner=Ownership("unknown")).evidence()["listener_owned"] == "unknown"


def test_without_proof_it_is_only_noted(target):
    found = target(required=False, owner=Ownership("no", 77)).evidence()
    assert (found["listener_owned"], found["invocation_id"]) == ("no", "a" * 32)


def test_of_a_server_elsewhere_nothing_is_told_that_is_only_known_of_this_machine(monkeypatch):
    """What makes the load may have other GPUs, or none."""
    monkeypatch.setattr(_benchmark_target.ServerSide, "get", lambda self, path: None)
    monkeypatch.setattr(
        _benchmark_target._evidence, "_gpus", lambda root: {"model": "NVIDIA L4", "count": 1, "driver": "1"}
    )
    away, here = (
        BenchmarkTarget(endpoint(url, None, {}), None, None, False).evidence()
        for url in ("http://192.0.2.7:30000", "http://127.0.0.1:1")
    )
    assert (away["host"], away["kernel"]) == ("192.0.2.7", None)
    assert away["gpu"] == {"model": None, "count": None, "driver": None}
    assert (here["host"], here["kernel"]) == (os.uname().nodename, os.uname().release)
    assert here["gpu"]["model"] == "NVIDIA L4"


@pytest.mark.parametrize("version", [5, {"a": 1}, ["x"], True])
def test_what_is_no_text_is_no_version(monkeypatch, version):
    """A record that tells it would hold against no schema, after all has been measured."""
    monkeypatch.setattr(
        _benchmark_target.ServerSide, "get", lambda self, path: (200, {"version": version, "model_path": version})
    )
    found = BenchmarkTarget(endpoint("http://127.0.0.1:1", None, {}), None, None, False).evidence()
    assert (found["sglang_version"], found["model_path"]) == (None, None)


@pytest.mark.parametrize(
    ("environment", "simulated"),
    [
        ({}, False),
        ({"SGLANG_SIMULATE_ACC_LEN": "4"}, True),
        ({"SGLANG_SIMULATE_ACC_LEN": "0.5"}, True),
        ({"SIMULATE_ACC_LEN": "4"}, True),
        ({"SGLANG_SIMULATE_UNIFORM_EXPERTS": "1"}, True),
        ({"SGLANG_SIMULATE_ROUND_ROBIN_EXPERTS": "true"}, True),
        ({"SGLANG_DSPARK_SIMULATE_FOLD": "1"}, True),
        # Switched off, or a way of doing what is not done.
        ({"SGLANG_SIMULATE_ACC_LEN": "-1"}, False),
        ({"SGLANG_SIMULATE_ACC_LEN": "0.0"}, False),
        ({"SGLANG_SIMULATE_UNIFORM_EXPERTS": "false"}, False),
        ({"SGLANG_SIMULATE_ACC_METHOD": "match-expected", "SGLANG_SIMULATE_ACC_TOKEN_MODE": "fixed"}, False),
    ],
)
def test_made_up_acceptance_shows_in_the_unit_where_the_process_is_hidden(target, monkeypatch, environment, simulated):
    monkeypatch.setattr(_benchmark_target._evidence, "read_environ", lambda *words: None)
    assert target(environment=environment).evidence()["simulated_acceptance"] is simulated


def test_nobody_who_answers_is_told_at_once(target):
    with pytest.raises(Failure) as caught:
        target().model("chat", None)
    assert caught.value.failure_class == "connection_refused"
