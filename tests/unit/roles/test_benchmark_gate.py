# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the benchmark role makes of its proof: when it measures, and whose process the figures are of."""

from __future__ import annotations

import pathlib

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

ROLE = pathlib.Path(__file__).resolve().parents[3] / "roles" / "benchmark"
SKIPPED, PASSED = {"skipped": True, "changed": False}, {"ok": True, "changed": False}


def of_role(name, **variables):
    loader = DataLoader()
    files = [
        loader.load_from_file(str(ROLE / folder / "main.yml"), trusted_as_template=True)
        for folder in ("defaults", "vars")
    ]
    given = {"inventory_hostname": "gpu1", "playbook_dir": "/p", **files[0], **files[1], **variables}
    return Templar(loader, variables=given).template(files[1][name])


@pytest.mark.parametrize(
    ("journal", "proof", "dropped"),
    [
        ({}, PASSED, False),
        # A server without a drafter has nothing to log.
        ({}, SKIPPED, False),
        ({"preset": []}, SKIPPED, True),
        ({"preset": [], "expect": [{"contains": "ready"}]}, PASSED, False),
    ],
)
def test_a_proof_that_was_dropped_is_no_proof(journal, proof, dropped):
    assert of_role("benchmark_proof_dropped", server_journal=journal, server_journal_proof=proof) is dropped


@pytest.mark.parametrize("delegate", ["", "client1"])
@pytest.mark.parametrize(("measured", "problems"), [("a", 0), ("b", 1), (None, 1)])
def test_the_process_that_was_measured_must_be_the_proved_one(delegate, measured, problems):
    evidence = {"invocation_id": measured}
    found = of_role(
        "benchmark_proof_problems",
        benchmark_delegate_to=delegate,
        server_generation={"invocation_id": "a"},
        # Another host sees no process.
        benchmark_measured={"evidence_before": {"invocation_id": None} if delegate else evidence},
        benchmark_served={"evidence": evidence},
    )
    assert len(found) == problems


def test_another_host_asks_the_server_where_ansible_knows_it():
    assert of_role("benchmark_base_url") == "http://gpu1:30000"
    assert of_role("benchmark_base_url", ansible_host="10.0.0.7", server_args={"port": 4201}) == "http://10.0.0.7:4201"
    assert of_role("benchmark_base_url", benchmark_matrix={"base_url": "https://llm.example"}) == "https://llm.example"
