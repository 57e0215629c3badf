# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What benchmark_compare tells beside its verdict, and what it refuses to compare."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils._compare_report import compare
from ansible_collections.llmops.sglang.plugins.module_utils._compare_verdict import Rules
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.modules import benchmark_compare
from ansible_collections.llmops.sglang.tests.unit.compared_records import merge, record, write

SAME, FAST = (100.0, 100.5, 99.5), (120.0, 121.0, 119.0)


def test_unproven_records_and_unknown_variables_are_told(compared):
    unproven = {"proven": False, "server": {"environment": None}}
    result = compared([record(SAME, **unproven)], [record(SAME, **unproven)])
    assert result["verdict"] == "pass"
    assert sum("unproven" in caveat for caveat in result["caveats"]) == 2
    assert sum("variables" in caveat for caveat in result["caveats"]) == 2


def test_answers_of_other_lengths_are_told(compared):
    longer = record(SAME)
    for cell in longer["cells"]:
        cell["completion_tokens"]["mean"] = 300.0
    assert "not the same work" in str(compared([record(SAME)], [longer])["caveats"])


def test_figures_that_round_to_nothing_divide_nothing(compared):
    tiny, slow = record(SAME), record([0.00001] * 3)
    for cell in tiny["cells"]:
        cell.update(acceptance_length=0.00001, completion_tokens={"mean": 0.00001})
    assert "not the same work" in str(compared([tiny], [record(SAME)])["caveats"])
    assert "acceptance length fell" in str(compared([record(SAME)], [tiny])["caveats"])
    result = compared([record(SAME)], [slow], fail_on="never")
    assert result["verdict"] == "regressed" and result["by_concurrency"][0]["speedup"] is None


def test_a_figure_below_all_reason_is_none(compared):
    """Its ratio to a usual one is beyond what a float can hold."""
    result = compared([record([1e-300] * 3)], [record([9e14] * 3)], fail_on="never")
    assert result["verdict"] == "inconclusive" and "no output_tokens_per_second" in str(result["caveats"])


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
        *(
            (
                json.dumps({**record(), "cells": [{k: v for k, v in record()["cells"][0].items() if k != key}]}),
                f"'{key}'",
            )
            for key in ("cell_id", "run", "valid", "reasons")
        ),
        (json.dumps({**record(), "run_id": 5}), "'run_id'"),
        (json.dumps({**record(), "evidence_before": None}), "'evidence_before'"),
    ],
)
def test_what_is_no_record_is_refused_whatever_fail_on_says(compared, tmp_path, text, said):
    path = tmp_path / "some.json"
    if text is not None:
        path.write_text(text)
    result = compared([record(SAME)], [str(path)], fail_on="never")
    assert result["failed"] and result["failure_class"] == "bad_request"
    assert said in result["msg"] and str(path) in result["msg"] and result["verdict"] is None
    assert result["log_tail"] == []


def test_a_pattern_that_matches_nothing_is_refused(compared, tmp_path):
    result = compared([str(tmp_path / "*_none_*")], [record()], fail_on="never")
    assert result["failure_class"] == "bad_request" and "No record matches" in result["msg"]
    assert compared([], [record()])["failure_class"] == "bad_request"


def test_a_baseline_is_looked_at_before_anything_is_measured(run_module, tmp_path):
    def look(*paths, **options):
        return run_module(benchmark_compare, {"baseline": list(paths), "check_only": True, **options})

    (one,) = write(tmp_path, record(SAME))
    result = look(str(tmp_path / "a_*.json"))
    assert not result.get("failed") and result["verdict"] is None and result["metric"] == "output_tokens_per_second"
    for paths, said in (
        (["*_old_*"], "No record matches the baseline '*_old_*'"),
        ([one, "/none"], "'/none' cannot be read"),
        ([], ""),
    ):
        result = look(*paths, fail_on="never")
        assert result["failed"] and result["failure_class"] == "bad_request" and said in result["msg"]
    assert look(one, metric="speed")["failure_class"] == look(one, alpha=0.9)["failure_class"] == "bad_request"
    (other,) = write(tmp_path, record(SAME, server={"arguments": {"tp_size": 4}}))
    result = look(one, other)
    assert result["failed"] and result["verdict"] == "not_comparable" and "tp_size within the baseline" in result["msg"]
    assert "candidate" in run_module(benchmark_compare, {"baseline": [one]})["msg"]


def test_no_measurement_counts_twice(compared, tmp_path):
    one = write(tmp_path, record(SAME))[0]
    copy = tmp_path / "copy.json"
    copy.write_text((tmp_path / one).read_text())
    for baseline, candidate in (([one], [one]), ([one], [str(copy)]), ([one, str(copy)], [record(SAME)])):
        result = compared(baseline, candidate, fail_on="never")
        assert result["failure_class"] == "bad_request" and "count twice" in result["msg"]
    # The same path twice on one side is one record.
    assert compared([one, one], [record(SAME)])["runs"] == {"baseline": 3, "candidate": 3}


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
def test_options_without_sense_are_refused(compared, options, said):
    result = compared([record(SAME)], [record(SAME)], **options)
    assert result["failure_class"] == "bad_request" and said in result["msg"]


def test_more_runs_than_can_be_counted_out_are_refused(compared):
    assert compared([record([100.0] * 51)], [record(SAME)])["failure_class"] == "bad_request"
    assert compared([record([100.0] * 50)], [record([100.0] * 50)])["verdict"] == "pass"


def test_a_large_result_stays_small(compared):
    cells = [(context, streams) for context in range(1, 41) for streams in range(1, 11)]
    changed = {"server": {"arguments": {f"speculative_{n}": "x" * 500 for n in range(100)}}}
    result = compared([record(SAME, cells=cells)], [record(FAST, cells=cells, **changed)])
    assert result["verdict"] == "improved" and result["cells_omitted"] == 400 - len(result["cells"])
    assert len(json.dumps(result)) < 64000


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
