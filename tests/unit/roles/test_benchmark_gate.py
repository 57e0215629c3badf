# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the benchmark role makes of its proof: when it measures, and whose process the figures are of."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.action import benchmark_report
from ansible_collections.llmops.sglang.plugins.modules import benchmark_compare
from ansible_collections.llmops.sglang.tests.unit import role_variables

SKIPPED, PASSED = {"skipped": True, "changed": False}, {"ok": True, "changed": False}


def of_role(name, **variables):
    given = {"inventory_hostname": "gpu1", "playbook_dir": "/p"}
    return role_variables.of_role("benchmark", name, **{**given, **variables})


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


def test_verdict_and_page_let_the_same_differ():
    """Where nobody says what, each module has its own default, which is the same."""
    (task,) = role_variables.read("benchmark/tasks/report.yml")[0]["block"]
    template = task["llmops.sglang.benchmark_report"]["allow_differences"]

    def told(compare, report):
        given = {"benchmark_compare": compare, "benchmark_report": report, "omit": "left out"}
        return role_variables.rendered(template, **given)

    assert told({"allow_differences": ["tp_size"]}, {}) == ["tp_size"]
    assert told({"allow_differences": ["tp_size"]}, {"allow_differences": ["a"]}) == ["a"]
    assert told({}, {}) == told(False, {}) == "left out"
    default = benchmark_report.ActionModule.SPEC["allow_differences"]["default"]
    assert benchmark_compare.argument_spec()["allow_differences"]["default"] == default


@pytest.mark.parametrize(
    ("compared", "problems"),
    [
        ({"verdict": "pass", "markdown": "x"}, []),
        ({"verdict": "regressed", "failure_class": "condition_not_met", "msg": "worse", "failed": False}, ["worse"]),
        # What does not come from the module itself, such as an option that it does not know, has no class.
        ({"msg": "Unsupported parameters", "failed": False}, ["Unsupported parameters"]),
        ({"module_stderr": "Traceback", "failed": False}, ["the comparison itself failed"]),
    ],
)
def test_a_comparison_that_did_not_happen_is_no_pass(compared, problems):
    given = {"benchmark_baseline": ["old.json"], "benchmark_compared": compared, "ansible_check_mode": False}
    assert of_role("benchmark_compare_problems", **given) == problems


def test_coding_alone_is_bound_to_the_proved_process_too():
    """Between the proof and the evaluation the server may have been started again."""
    given = {"benchmark_matrix": False, "server_generation": {"invocation_id": "a"}}
    for invocation, count in (("a", 0), ("b", 1), (None, 1)):
        coded = {"evidence": {"invocation_id": invocation}}
        assert len(of_role("benchmark_proof_problems", benchmark_coded=coded, **given)) == count
    assert of_role("benchmark_proof_problems", benchmark_coding=False, **given) == []
