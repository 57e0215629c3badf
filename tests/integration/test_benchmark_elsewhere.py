# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmark role with another host that makes the load: here the controller, for a host that nobody can log in to."""

from __future__ import annotations

import json

import pytest
import yaml
from host_set import REPOSITORY, run_ansible

from ansible_collections.llmops.sglang.tests.unit.fake_server import FakeServer


@pytest.fixture
def server():
    made = FakeServer(ttft=0.3, step=0.04)
    yield made
    made.close()


def test_another_host_makes_the_load(server, tmp_path):
    variables = {
        # The address is that of the server, and nothing there answers to SSH.
        "ansible_host": "127.0.0.1",
        "ansible_port": server.port,
        "server_args": {"port": server.port},
        "benchmark_delegate_to": "localhost",
        "benchmark_require_evidence": False,
        "benchmark_host_dir": str(tmp_path / "client"),
        "benchmark_results_dir": str(tmp_path / "records"),
        "benchmark_matrix": {"contexts": [60], "concurrency": [2], "max_tokens": 17, "requests": 4},
        "benchmark_coding": False,
        "benchmark_report": False,
    }
    inventory = tmp_path / "inventory.yml"
    inventory.write_text(yaml.safe_dump({"sglang": {"hosts": {"gpu1": variables}}}))
    done = run_ansible("playbook", ["-i", str(inventory), str(REPOSITORY / "playbooks" / "benchmark.yml")], {}, {}, 300)
    said = done.stdout + done.stderr
    (path,) = (tmp_path / "records" / "gpu1").glob("*.json")
    record = json.loads(path.read_text())
    (cell,) = record["cells"]
    # A busy machine may be told as a saturated client; that is another test's matter.
    assert (done.returncode == 0) is cell["valid"], said
    assert (cell["succeeded"], cell["errors"]) == (4, {}), said
    assert record["proven"] is False and record["options"]["identity"]["base_url"].endswith(f":{server.port}")
    assert "gpu1" in said and "context 60, concurrency 2, run 1:" in said
