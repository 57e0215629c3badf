# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module benchmark_compare from records on disk to its result."""

from __future__ import annotations

import json
import pathlib

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils._compare_report import compare
from ansible_collections.llmops.sglang.plugins.module_utils._compare_subject import subject_of
from ansible_collections.llmops.sglang.plugins.module_utils._compare_verdict import Rules
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.modules import benchmark_compare, benchmark_matrix
from ansible_collections.llmops.sglang.tests.unit.compared_records import CELLS, merge, record, write
from ansible_collections.llmops.sglang.tests.unit.fake_server import FakeServer

CLONE = pathlib.Path(__file__).resolve().parents[4]
SLOW, SAME, FAST = (90.5, 91.0, 91.5), (100.0, 100.5, 99.5), (120.0, 121.0, 119.0)
DRAFTED = {"arguments": {"speculative_algorithm": "DFLASH"}}


@pytest.fixture
def run(tmp_path, run_module):
    """Compare records, or paths, given for each side; returns the module's result."""

    def paths(side):
        return [one if isinstance(one, str) else write(tmp_path, one)[0] for one in side]

    def call(baseline, candidate, check=False, **options):
        return run_module(
            benchmark_compare, {"baseline": paths(baseline), "candidate": paths(candidate), **options}, check
        )

    return call


@pytest.mark.parametrize(
    ("speeds", "verdict", "failed"),
    [(SAME, "pass", False), (FAST, "improved", False), (SLOW, "regressed", True), (SAME[:2], "inconclusive", False)],
)
@pytest.mark.parametrize("check", [False, True])
def test_every_verdict_in_check_mode_as_well(run, speeds, verdict, failed, check):
    result = run([record(SAME)], [record(speeds, server=DRAFTED)], check)
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


def test_results_have_the_documented_keys_and_no_other(run):
    documented = yaml.safe_load(benchmark_compare.RETURN)
    result = run([record(SAME)], [record(FAST, server=DRAFTED)])
    for key in ("cells", "differences"):
        assert set(result[key][0]) == set(documented[key]["contains"])
    always = {key for key, entry in documented.items() if entry["returned"] == "always"}
    assert set(result) - {"changed", "invocation", "warnings"} == always
    assert always <= set(run([record(SAME)], ["/nowhere"]))


def test_defaults_of_the_group_of_modules_that_take_a_unit_do_not_reach_it():
    groups = yaml.safe_load((CLONE / "meta" / "runtime.yml").read_text(encoding="utf-8"))["action_groups"]
    assert "name" not in benchmark_compare.argument_spec() and "benchmark_compare" not in groups["sglang"]


def test_every_name_of_a_difference_is_documented():
    guide = (CLONE / "docs" / "docsite" / "rst" / "benchmark_comparison.rst").read_text(encoding="utf-8")
    names = {*DIFFERENT, *DIFFERENT_CELLS, *subject_of(record())} - {"tp_size", "max_running_requests"}
    assert [name for name in names if f"``{name.partition('.')[0]}``" not in guide] == []


@pytest.mark.parametrize(
    ("fail_on", "failing"),
    [
        ("regressed", {"regressed", "not_comparable"}),
        ("inconclusive", {"regressed", "not_comparable", "inconclusive"}),
        ("never", set()),
    ],
)
def test_fail_on(run, fail_on, failing):
    other = {"arguments": {"tp_size": 4}}
    for candidate in (record(SAME), record(FAST), record(SLOW), record(SAME[:1]), record(SAME, server=other)):
        result = run([record(SAME)], [candidate], fail_on=fail_on)
        assert result.get("failed", False) is (result["verdict"] in failing), result


def test_runs_may_lie_in_several_records_and_in_wildcards(run, tmp_path):
    write(tmp_path, *(record([speed], label="old") for speed in SAME))
    result = run([str(tmp_path / "old_*")], [record([speed], label="new") for speed in FAST])
    assert result["verdict"] == "improved" and result["runs"] == {"baseline": 3, "candidate": 3}
    assert "new against old" in result["markdown"]


def test_sides_that_took_turns_are_told_from_those_that_did_not(run):
    turns = [record([speed]) for pair in zip(SAME, FAST) for speed in pair]
    assert run(turns[::2], turns[1::2])["interleaved"] is True
    result = run([record(SAME)], [record(FAST)])
    assert result["interleaved"] is False and "take turns" in str(result["caveats"])


def test_cells_concurrency_and_acceptance_are_told(run):
    old, new = record(SAME, cells=((60, 1), (60, 8), (1024, 8))), record(FAST, cells=((60, 1), (60, 8), (1024, 8)))
    for cell in new["cells"]:
        cell["acceptance_length"] = 3.0 if cell["concurrency"] == 8 else 4.1
    result = run([old], [new])
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
def test_of_a_latency_less_is_better(run, metric, verdict):
    result = run([record(SAME)], [record(FAST)], metric=metric)
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
def test_figures_that_were_made_in_two_ways_are_not_compared(run, metric, basis, ways):
    sides = [record(SAME), record(SAME)]
    for one, way in zip(sides, ways):
        for cell in one["cells"]:
            cell.update({basis: way, "tpot_ms": {"mean": 5.0}})
    found = run(sides[:1], sides[1:], metric=metric)
    assert found["verdict"] == "not_comparable" and [one["name"] for one in found["differences"]] == [basis]
    assert run(sides[:1], sides[1:])["verdict"] == "pass"
    assert run(sides[:1], sides[1:], metric=metric, allow_differences=[basis])["verdict"] == "pass"


def test_a_run_with_an_invalid_cell_does_not_count_and_is_told(run):
    result = run([record(SAME)], [record([100.0, [100.0, None], 100.0])])
    assert result["verdict"] == "inconclusive" and result["runs"] == {"baseline": 3, "candidate": 2}
    assert [cell["candidate_runs"] for cell in result["cells"]] == [3, 2]
    assert any("concurrency 8, run 2" in caveat and "(errors)" in caveat for caveat in result["caveats"])


def test_a_cell_that_never_worked_is_never_a_pass(run):
    result = run([record(SAME)], [record([[100.0, None]] * 3)], fail_on="inconclusive")
    assert result["failed"] and result["verdict"] == "inconclusive"
    assert result["geometric_mean_speedup"] is None and result["cells"][1]["speedup"] is None
    assert "the candidate has no run in which every cell is valid" in result["msg"]


DIFFERENT = {
    "tp_size": {"server": {"arguments": {"tp_size": 4}}},
    "max_running_requests": {"server": {"arguments": {"max_running_requests": 4096}}},
    "environment.SGLANG_X": {"server": {"environment": {"SGLANG_X": "2"}}},
    "environment": {"server": {"environment": None}},
    "sglang_version": {"evidence_before": {"sglang_version": "0.5.24"}},
    "sglang_files": {"evidence_before": {"inputs_sha256": {"sglang": "9" * 64}}},
    "model_path": {"evidence_before": {"model_path": "/models/n"}},
    "model_files": {"evidence_before": {"inputs_sha256": {"model": "9" * 64}}},
    "revision": {"evidence_before": {"model_revision": "main"}},
    "chat_template_file": {"evidence_before": {"inputs_sha256": {"chat_template": "9" * 64}}},
    "gpu": {"evidence_before": {"gpu": {"model": "NVIDIA H100"}}},
    "gpu_count": {"evidence_before": {"gpu": {"count": 4}}},
    "gpu_driver": {"evidence_before": {"gpu": {"driver": "580.1"}}},
    "host_name": {"evidence_before": {"host": "gpu2"}, "client": {"host": "gpu2"}},
    "kernel": {"evidence_before": {"kernel": "6.2.0"}},
    "client_host": {"client": {"host": "laptop"}},
    "engine": {"engine": {"name": "sglang", "version": "0.5.23"}},
    "api": {"options": {"settings": {"api": "generate"}}},
    "max_tokens": {"options": {"settings": {"max_tokens": 128}}},
    "arrival": {"options": {"settings": {"arrival": "constant"}}},
    "temperature": {"options": {"settings": {"temperature": 0.7}}},
    "ignore_eos": {"options": {"settings": {"ignore_eos": False}}},
    "load_model": {"options": {"settings": {"load_model": "open"}}},
    "rate": {"options": {"settings": {"rate": 4.0}}},
    "seed": {"options": {"settings": {"seed": 1}}},
}
DIFFERENT_CELLS = {
    "corpus": {"corpus": "documentation and sources of Python 3.13.0"},
    "requests": {"requests": 8},
    "warmup_requests": {"warmup_requests": 1},
}


def different(name):
    made = record(FAST, **DIFFERENT.get(name, {}))
    for cell in made["cells"]:
        cell.update(DIFFERENT_CELLS.get(name, {}))
    return made


@pytest.mark.parametrize("name", [*DIFFERENT, *DIFFERENT_CELLS])
def test_nothing_may_differ_but_what_is_allowed(run, name):
    result = run([record(SAME)], [different(name)])
    assert result["failed"] and result["verdict"] == "not_comparable"
    assert [(one["name"], one["where"], one["allowed"]) for one in result["differences"]] == [(name, "sides", False)]
    assert name in result["msg"] and "allow_differences" in result["msg"] and name in result["markdown"]
    assert (result["cells"], result["geometric_mean_speedup"], result["p_value"]) == ([], None, None)
    allowed = run([record(SAME)], [different(name)], allow_differences=[name])
    assert allowed["verdict"] == "improved" and [one["allowed"] for one in allowed["differences"]] == [True]
    within = run([record(SAME)], [record(FAST), different(name)], allow_differences=[name])
    assert within["verdict"] == "not_comparable" and within["differences"][0]["where"] == "candidate"


@pytest.mark.parametrize(
    ("ours", "theirs", "names"),
    [
        # Measured by one client: the server of each is another machine.
        ({"host": "laptop", "same_host": False}, {"host": "laptop", "same_host": False}, ["host_name"]),
        ({"host": "laptop", "same_host": False}, {"host": "desk", "same_host": False}, ["client_host", "host_name"]),
        ({"host": "gpu1", "same_host": True}, {"host": "gpu2", "same_host": True}, ["host_name"]),
        # A name does not tell whether the load came from the server's own machine.
        ({"host": "gpu1", "same_host": True}, {"host": "gpu2", "same_host": False}, ["client_host", "host_name"]),
    ],
)
def test_where_the_load_came_from_is_told_by_the_record(run, ours, theirs, names):
    sides = [record(SAME, client=ours), record(SAME, client=theirs, evidence_before={"host": "gpu2"})]
    assert [one["name"] for one in run(sides[:1], sides[1:])["differences"]] == names


def test_another_model_of_one_server_is_another_model(run):
    """A server with adapters answers under several names."""
    named = [record(SAME, options={"settings": {"model": name}}) for name in ("model", "model:adapter")]
    result = run(named[:1], named[1:])
    assert [(one["name"], one["candidate"]) for one in result["differences"]] == [("model", "model:adapter")]
    alias = record(SAME, options={"settings": {"model": "alias"}}, evidence_before={"served_model": "alias"})
    assert run(named[:1], [alias])["differences"] == []


def test_an_own_list_of_what_may_differ_replaces_the_speculative_arguments(run):
    result = run([record(SAME)], [record(FAST, server=DRAFTED)], allow_differences=["tp_size"])
    assert result["verdict"] == "not_comparable"


@pytest.mark.parametrize(
    "changed",
    [
        {"server": {"arguments": {"random_seed": 7, "port": 1}}, "evidence_before": {"argv_sha256": "e" * 64}},
        {"evidence_before": {"invocation_id": "b" * 32, "main_pid": 1, "n_restarts": 3}},
        # What the server and its process tell, the script that started them need not tell again.
        {"evidence_before": {"inputs_sha256": {"script": "9" * 64}}},
        {"options": {"profile": "long", "label": "x"}, "client": {"python": "3.13.0"}},
    ],
)
def test_what_changes_no_figure_may_differ(run, changed):
    result = run([record(SAME)], [record(FAST, **changed)])
    assert (result["verdict"], result["differences"]) == ("improved", [])


def test_drafting_and_what_it_brings_along_are_allowed(run):
    drafted = {
        "server": DRAFTED,
        "evidence_before": {"draft_model_path": "/models/d", "inputs_sha256": {"drafter": "5" * 64}},
    }
    result = run([record(SAME)], [record(FAST, **drafted)])
    assert result["verdict"] == "improved" and {one["name"] for one in result["differences"]} == {
        "speculative_algorithm",
        "speculative_draft_model_path",
        "speculative_draft_model_files",
    }


def test_another_release_brings_its_own_arguments_along(run):
    newer = {
        "evidence_before": {"sglang_version": "0.5.24", "inputs_sha256": {"sglang": "7" * 64}},
        "server": {"arguments": {"a_new_one": True}},
    }
    result = run([record(SAME)], [record(FAST, **newer)], allow_differences=["sglang_version"])
    assert result["verdict"] == "improved" and len(result["differences"]) == 3
    newer["server"]["arguments"]["tp_size"] = 4
    result = run([record(SAME)], [record(FAST, **newer)], allow_differences=["sglang_version"])
    assert [one["name"] for one in result["differences"] if not one["allowed"]] == ["tp_size"]


def test_arguments_that_nobody_told_are_the_same_only_with_the_same_command_line(run):
    old = {"server": {"arguments": None, "arguments_from": None}}
    assert run([record(SAME, **old)], [record(FAST, **old)])["verdict"] == "improved"
    for other in ("e" * 64, None):
        unlike = {**old, "evidence_before": {"argv_sha256": other}}
        result = run([record(SAME, **unlike)], [record(FAST, **old)])
        assert result["verdict"] == "not_comparable" and result["differences"][0]["name"] == "arguments"
    unknown = {**old, "evidence_before": {"argv_sha256": None}}
    assert run([record(SAME, **unknown)], [record(FAST, **unknown)])["verdict"] == "not_comparable"
    allowed = run([record(SAME, **unknown)], [record(FAST, **unknown)], allow_differences=["arguments"])
    assert allowed["verdict"] == "improved"


def test_where_the_server_does_not_tell_its_arguments_the_script_that_starts_it_counts(run):
    given = {"server": {"arguments_from": "command_line"}}
    other = {**given, "evidence_before": {"inputs_sha256": {"script": "9" * 64, "config_file": "9" * 64}}}
    result = run([record(SAME, **given)], [record(FAST, **other)])
    assert [one["name"] for one in result["differences"]] == ["config_file", "launch_script"]
    assert result["verdict"] == "not_comparable"


def test_resolved_and_given_arguments_are_not_held_against_each_other(run):
    given = {"server": {"arguments": {"tp_size": 8}, "arguments_from": "command_line"}}
    assert run([record(SAME)], [record(FAST, **given)])["verdict"] == "improved"
    other = {**given, "evidence_before": {"argv_sha256": "e" * 64}}
    assert run([record(SAME)], [record(FAST, **other)])["differences"][0]["name"] == "arguments"


def test_other_cells_are_a_difference_and_then_the_common_ones_count(run):
    small, other = record(FAST, cells=CELLS[:1]), record(FAST, cells=((4096, 1),))
    assert run([record(SAME)], [small])["differences"][0]["name"] == "cells"
    result = run([record(SAME)], [small], allow_differences=["cells"])
    assert result["verdict"] == "improved" and len(result["cells"]) == 1
    # Nothing in common cannot be allowed.
    assert run([record(SAME)], [other], allow_differences=["*"])["verdict"] == "not_comparable"


def test_prompts_of_the_user_must_be_the_same(run):
    old, new = record(SAME, cells=((None, 1),)), record(FAST, cells=((None, 1),))
    assert run([old], [new])["verdict"] == "improved"
    new = record(FAST, cells=((None, 1),))
    for cell in new["cells"]:
        cell["prompt_digest"] = "e" * 16
    assert run([record(SAME, cells=((None, 1),))], [new])["differences"][0]["name"] == "prompts"


def test_a_record_whose_valid_cells_are_of_another_server_is_of_no_one_thing(run):
    mixed = record(FAST)
    mixed["cells"][-1]["evidence_before"]["argv_sha256"] = "e" * 64
    result = run([record(SAME)], [mixed], allow_differences=["*"])
    assert result["verdict"] == "not_comparable"
    assert (result["differences"][0]["name"], result["differences"][0]["where"]) == ("arguments", "candidate")
    mixed["cells"][-1].update(valid=False, reasons=["evidence_changed"])
    assert run([record(SAME)], [mixed])["verdict"] != "not_comparable"


def test_unproven_records_and_unknown_variables_are_told(run):
    unproven = {"proven": False, "server": {"environment": None}}
    result = run([record(SAME, **unproven)], [record(SAME, **unproven)])
    assert result["verdict"] == "pass"
    assert sum("unproven" in caveat for caveat in result["caveats"]) == 2
    assert sum("variables" in caveat for caveat in result["caveats"]) == 2


def test_answers_of_other_lengths_are_told(run):
    longer = record(SAME)
    for cell in longer["cells"]:
        cell["completion_tokens"]["mean"] = 300.0
    assert "not the same work" in str(run([record(SAME)], [longer])["caveats"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read"),
        ("{", "no JSON"),
        ("[]", "no record"),
        ("{}", "no record"),
        (json.dumps({**record(), "schema_version": 2}), "schema version 2"),
        (json.dumps({**record(), "cells": []}), "no cell"),
        (json.dumps({**record(), "cells": [{"cell_id": "x"}]}), "'context'"),
        (json.dumps({**record(), "run_id": 5}), "'run_id'"),
        (json.dumps({**record(), "evidence_before": None}), "'evidence_before'"),
    ],
)
def test_what_is_no_record_is_refused_whatever_fail_on_says(run, tmp_path, text, said):
    path = tmp_path / "some.json"
    if text is not None:
        path.write_text(text)
    result = run([record(SAME)], [str(path)], fail_on="never")
    assert result["failed"] and result["failure_class"] == "bad_request"
    assert said in result["msg"] and str(path) in result["msg"] and result["verdict"] is None
    assert result["log_tail"] == []


def test_a_pattern_that_matches_nothing_is_refused(run, tmp_path):
    result = run([str(tmp_path / "*_none_*")], [record()], fail_on="never")
    assert result["failure_class"] == "bad_request" and "No record matches" in result["msg"]
    assert run([], [record()])["failure_class"] == "bad_request"


def test_no_measurement_counts_twice(run, tmp_path):
    one = write(tmp_path, record(SAME))[0]
    copy = tmp_path / "copy.json"
    copy.write_text((tmp_path / one).read_text())
    for baseline, candidate in (([one], [one]), ([one], [str(copy)]), ([one, str(copy)], [record(SAME)])):
        result = run(baseline, candidate, fail_on="never")
        assert result["failure_class"] == "bad_request" and "count twice" in result["msg"]
    # The same path twice on one side is one record.
    assert run([one, one], [record(SAME)])["runs"] == {"baseline": 3, "candidate": 3}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"metric": "speed"}, "'speed'"),
        ({"metric": "ttft_ms.p42"}, "'ttft_ms.p42'"),
        ({"metric": "ttft_ms."}, "'ttft_ms.'"),
        ({"metric": "acceptance_length.mean"}, "acceptance_length.mean"),
        ({"min_effect": -1.0}, "min_effect"),
        ({"max_drop": 0.01}, "max_drop"),
        ({"alpha": 0.9}, "alpha"),
    ],
)
def test_options_without_sense_are_refused(run, options, said):
    result = run([record(SAME)], [record(SAME)], **options)
    assert result["failure_class"] == "bad_request" and said in result["msg"]


def test_more_runs_than_can_be_counted_out_are_refused(run):
    assert run([record([100.0] * 51)], [record(SAME)])["failure_class"] == "bad_request"
    assert run([record([100.0] * 50)], [record([100.0] * 50)])["verdict"] == "pass"


def test_a_large_result_stays_small(run):
    cells = [(context, streams) for context in range(1, 41) for streams in range(1, 11)]
    changed = {"server": {"arguments": {f"speculative_{n}": "x" * 500 for n in range(100)}}}
    result = run([record(SAME, cells=cells)], [record(FAST, cells=cells, **changed)])
    assert result["verdict"] == "improved" and result["cells_omitted"] == 400 - len(result["cells"])
    assert len(json.dumps(result)) < 64000


def test_records_that_the_module_benchmark_matrix_wrote(run, run_module, tmp_path):
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
    result = run(paths[:1], paths[1:], fail_on="never")
    assert [one["name"] for one in result["differences"]] == ["arguments"]
    result = run(paths[:1], paths[1:], fail_on="never", allow_differences=["arguments"])
    assert result["verdict"] != "not_comparable"
    assert [(cell["context"], cell["concurrency"]) for cell in result["cells"]] == [(60, 1), (60, 2)]
    assert "two against one" in result["markdown"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
PLACES = st.sampled_from(
    [(key,) for key in record()]
    + [("cells", key) for key in record()["cells"][0]]
    + [("evidence_before", key) for key in record()["evidence_before"]]
    + [("server", key) for key in record()["server"]]
    + [("options", "settings")]
)


@settings(deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PLACES, JSON)
def test_a_spoilt_record_is_refused_or_compared_and_nothing_else(tmp_path, place, value):
    spoilt, change = record(SAME), value
    if place[0] == "cells" and len(place) == 2:
        spoilt["cells"][1][place[1]] = value
    else:
        for key in reversed(place):
            change = {key: change}
        merge(spoilt, change)
    paths = [write(tmp_path, one) for one in (record(SAME), spoilt) if isinstance(one.get("run_id"), str)]
    if len(paths) == 2:
        try:
            result = compare(*paths, "output_tokens_per_second", Rules(0.03, 0.1, 0.05, 0.05), ["*"])
        except Failure as failure:
            assert failure.failure_class == "bad_request"
        else:
            assert result["verdict"] in ("improved", "pass", "regressed", "inconclusive", "not_comparable")
