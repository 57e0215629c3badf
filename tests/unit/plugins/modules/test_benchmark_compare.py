# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdicts of benchmark_compare from records on disk to its result."""

from __future__ import annotations

import pathlib

import pytest
import yaml

from ansible_collections.llmops.sglang.plugins.modules import benchmark_compare, benchmark_matrix
from ansible_collections.llmops.sglang.tests.unit.compared_records import record, write
from ansible_collections.llmops.sglang.tests.unit.fake_server import FakeServer

CLONE = pathlib.Path(__file__).resolve().parents[4]
SLOW, SAME, FAST = (90.5, 91.0, 91.5), (100.0, 100.5, 99.5), (120.0, 121.0, 119.0)
DRAFTED = {"arguments": {"speculative_algorithm": "DFLASH"}}


@pytest.mark.parametrize(
    ("speeds", "verdict", "failed"),
    [(SAME, "pass", False), (FAST, "improved", False), (SLOW, "regressed", True), (SAME[:2], "inconclusive", False)],
)
@pytest.mark.parametrize("check", [False, True])
def test_every_verdict_in_check_mode_as_well(compared, speeds, verdict, failed, check):
    result = compared([record(SAME)], [record(speeds, server=DRAFTED)], check)
    assert (result["verdict"], result.get("failed", False), result["changed"]) == (verdict, failed, False), result
    assert result["differences"] == [
        {
            "name": "speculative_algorithm",
            "baseline": None,
            "candidate": "DFLASH",
            "where": "sides",
            "allowed": True,
        }
    ]
    assert result["runs"] == {"baseline": 3, "candidate": len(speeds)}
    assert result["geometric_mean_speedup"] == pytest.approx(sorted(speeds)[1] / 100, abs=0.005)
    if failed:
        assert result["failure_class"] == "condition_not_met" and "worse by more than 3 %" in result["msg"]
        assert result["p_value"] == 0.05


def test_results_have_the_documented_keys_and_no_other(compared):
    documented = yaml.safe_load(benchmark_compare.RETURN)
    result = compared([record(SAME)], [record(FAST, server=DRAFTED)])
    for key in ("cells", "differences"):
        assert set(result[key][0]) == set(documented[key]["contains"])
    always = {key for key, entry in documented.items() if entry["returned"] == "always"}
    assert set(result) - {"changed", "invocation", "warnings"} == always
    assert always <= set(compared([record(SAME)], ["/nowhere"]))


def test_defaults_of_the_group_of_modules_that_take_a_unit_do_not_reach_it():
    groups = yaml.safe_load((CLONE / "meta" / "runtime.yml").read_text(encoding="utf-8"))["action_groups"]
    assert "name" not in benchmark_compare.argument_spec() and "benchmark_compare" not in groups["sglang"]


@pytest.mark.parametrize(
    ("fail_on", "failing"),
    [
        ("regressed", {"regressed", "not_comparable"}),
        ("inconclusive", {"regressed", "not_comparable", "inconclusive"}),
        ("never", set()),
    ],
)
def test_fail_on(compared, fail_on, failing):
    other = {"arguments": {"tp_size": 4}}
    for candidate in (record(SAME), record(FAST), record(SLOW), record(SAME[:1]), record(SAME, server=other)):
        result = compared([record(SAME)], [candidate], fail_on=fail_on)
        assert result.get("failed", False) is (result["verdict"] in failing), result


def test_runs_may_lie_in_several_records_and_in_wildcards(compared, tmp_path):
    write(tmp_path, *(record([speed], label="old") for speed in SAME))
    result = compared([str(tmp_path / "old_*")], [record([speed], label="new") for speed in FAST])
    assert result["verdict"] == "improved" and result["runs"] == {"baseline": 3, "candidate": 3}
    assert "new against old" in result["markdown"]


def test_sides_that_took_turns_are_told_from_those_that_did_not(compared):
    turns = [record([speed]) for pair in zip(SAME, FAST) for speed in pair]
    assert compared(turns[::2], turns[1::2])["interleaved"] is True
    result = compared([record(SAME)], [record(FAST)])
    assert result["interleaved"] is False and "take turns" in str(result["caveats"])


def test_cells_concurrency_and_acceptance_are_told(compared):
    old, new = record(SAME, cells=((60, 1), (60, 8), (1024, 8))), record(FAST, cells=((60, 1), (60, 8), (1024, 8)))
    for cell in new["cells"]:
        cell["acceptance_length"] = 3.0 if cell["concurrency"] == 8 else 4.1
    result = compared([old], [new])
    assert [(c["context"], c["concurrency"], c["baseline"], c["candidate"]) for c in result["cells"]] == [
        (60, 1, 100.0, 120.0),
        (60, 8, 100.0, 120.0),
        (1024, 8, 100.0, 120.0),
    ]
    assert [row["speedup"] for row in result["by_concurrency"]] == [1.2, 1.2]
    assert [row["candidate_acceptance"] for row in result["by_concurrency"]] == [4.1, 3.0]
    assert sum("acceptance length fell from 4 to 3" in caveat for caveat in result["caveats"]) == 2
    for said in ("**improved**", "| 60 | 1 | 3/3 | 100.0 | 120.0 | 1.200 |", "| 8 | 1.200 | 4.00 → 3.00 |"):
        assert said in result["markdown"]


@pytest.mark.parametrize(("metric", "verdict"), [("ttft_ms", "improved"), ("tpot_ms.p90", "inconclusive")])
def test_of_a_latency_less_is_better(compared, metric, verdict):
    result = compared([record(SAME)], [record(FAST)], metric=metric)
    assert result["verdict"] == verdict
    if metric == "ttft_ms":
        assert result["cells"][0]["baseline"] == 100.0 and result["cells"][0]["candidate"] == pytest.approx(83.33, 0.01)
        assert result["cells"][0]["speedup"] == 1.2
    else:
        assert "no tpot_ms.p90" in str(result["caveats"])


@pytest.mark.parametrize(
    ("metric", "basis", "ways"),
    [
        ("acceptance_length", "acceptance_formula", ("correct_drafts", "completion_tokens")),
        ("tpot_ms", "tpot_basis", ("after_first_chunk", "after_first_token")),
    ],
)
def test_figures_that_were_made_in_two_ways_are_not_compared(compared, metric, basis, ways):
    sides = [record(SAME), record(SAME)]
    for one, way in zip(sides, ways):
        for cell in one["cells"]:
            cell.update({basis: way, "tpot_ms": {"mean": 5.0}})
    found = compared(sides[:1], sides[1:], metric=metric)
    assert found["verdict"] == "not_comparable" and [one["name"] for one in found["differences"]] == [basis]
    assert compared(sides[:1], sides[1:])["verdict"] == "pass"
    assert compared(sides[:1], sides[1:], metric=metric, allow_differences=[basis])["verdict"] == "pass"


def test_a_run_with_an_invalid_cell_does_not_count_and_is_told(compared):
    result = compared([record(SAME)], [record([100.0, [100.0, None], 100.0])])
    assert result["verdict"] == "inconclusive" and result["runs"] == {"baseline": 3, "candidate": 2}
    assert [cell["candidate_runs"] for cell in result["cells"]] == [3, 2]
    assert any("concurrency 8, run 2" in caveat and "(errors)" in caveat for caveat in result["caveats"])


def test_a_cell_that_never_worked_is_never_a_pass(compared):
    result = compared([record(SAME)], [record([[100.0, None]] * 3)], fail_on="inconclusive")
    assert result["failed"] and result["verdict"] == "inconclusive"
    assert result["geometric_mean_speedup"] is None and result["cells"][1]["speedup"] is None
    assert "the candidate has no run in which every cell is valid" in result["msg"]


def test_records_that_the_module_benchmark_matrix_wrote(compared, run_module, tmp_path):
    """The figures of a busy machine prove nothing; what is asked is that its records are understood."""
    server, paths = FakeServer(ttft=0.01, step=0.003), []
    try:
        for label in ("one", "two"):
            options = {
                "base_url": server.base_url,
                "require_evidence": False,
                "results_dir": str(tmp_path),
                "label": label,
            }
            load = {"contexts": [60], "concurrency": [1, 2], "max_tokens": 8, "requests": 2}
            paths.append(run_module(benchmark_matrix, {**options, **load})["record_path"])
    finally:
        server.close()
    result = compared(paths[:1], paths[1:], fail_on="never")
    assert [one["name"] for one in result["differences"]] == ["arguments"]
    result = compared(paths[:1], paths[1:], fail_on="never", allow_differences=["arguments"])
    assert result["verdict"] != "not_comparable"
    assert [(cell["context"], cell["concurrency"]) for cell in result["cells"]] == [(60, 1), (60, 2)]
    assert "two against one" in result["markdown"]
