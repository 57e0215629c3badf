# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The winner of a sweep: from a state and records on disk to the result."""

from __future__ import annotations

import copy
import json
import pathlib
import re
import sys

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.action import sweep_result as action
from ansible_collections.llmops.sglang.plugins.modules import sweep_result as module
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_decision import decide
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_expressions import Expression
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_gate import Comparison
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_objective import Objective
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_points import points_of
from ansible_collections.llmops.sglang.tests.unit import controller_task
from ansible_collections.llmops.sglang.tests.unit.benchmark_record import HOSTILE
from ansible_collections.llmops.sglang.tests.unit.sweep_state import (
    CELLS,
    baselines,
    failed,
    measured,
    point,
    rejected,
    run,
    state,
    write,
)

CLONE = pathlib.Path(__file__).resolve().parents[4]
CODING = "coding.pass_rate >= baseline.coding.pass_rate"


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    """The result for some points; without plots, which take most of the time."""

    def call(points, check=False, more=None, **options):
        path = points if isinstance(points, str) else write(tmp_path, points, **(more or {}))
        # Without matplotlib nothing is drawn, and the page is made all the same.
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        return controller_task.run(action, monkeypatch, {"state": path, "required": False, **options}, check)

    return call


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Runs by speed, measured once for all examples."""
    folder = tmp_path_factory.mktemp("records")
    return folder, {
        speed: measured(folder, speed, repeats=1, cells=CELLS[:2]) for speed in (0.5, 0.9, 1.0, 1.1, 1.3, 1.30001, 2.0)
    }


def rows(result):
    return {one["name"]: one for one in result["sweep_results"]}


def test_options_and_results_are_the_documented_ones():
    options, always = controller_task.documented(module)
    assert options == action.ActionModule.SPEC
    assert always == set(action.ActionModule.NOTHING)


def test_entries_of_the_result_have_the_documented_keys(sweep, tmp_path):
    documented = yaml.safe_load(module.RETURN)
    result = sweep([*baselines(tmp_path), point("fast", measured(tmp_path, 1.3))])
    assert set(result["sweep_results"][0]) == set(documented["sweep_results"]["contains"])
    assert set(result["sweep_winner"]) == set(documented["sweep_winner"]["contains"])


def test_a_task_leaves_the_options_of_the_next_alone(sweep):
    before = copy.deepcopy(action.ActionModule.SPEC)
    sweep([])
    assert before == action.ActionModule.SPEC


def test_in_check_mode_nothing_is_read_or_written(sweep):
    result = sweep("/nowhere/state.json", check=True)
    assert result["sweep_winner"] is None and "check mode" in result["skipped_reason"]
    for wrong in ({"objective": "cells["}, {"constraints": ["("]}, {"gate": {"alpha": 2}}):
        assert sweep("/nowhere/state.json", check=True, **wrong)["failure_class"] == "bad_request"


def test_the_best_point_that_beats_plain_dflash_wins(sweep, tmp_path):
    points = [
        *baselines(tmp_path),
        point("good", measured(tmp_path, 1.2)),
        point("best", measured(tmp_path, 1.3), parameters={"draft_window_size": 2048}),
        point("slow", measured(tmp_path, 0.8)),
        failed("dead"),
        rejected("wrong"),
        point("later"),
    ]
    result = sweep(points)
    winner = result["sweep_winner"]
    assert winner["name"] == "best" and winner["verdict"] == "improved" and winner["p_value"] == 0.05
    assert winner["speedup_dflash"] == pytest.approx(1.3, abs=0.01)
    assert winner["speedup_linear"] == pytest.approx(1.3 / 0.6, abs=0.02)
    assert winner["argv"][-1] == "best" and len(winner["record_paths"]) == 3
    assert result["baseline"] == "dflash"
    assert result["counts"] == {"measured": 5, "failed": 1, "rejected": 1, "not_run": 1}
    found = rows(result)
    assert [one["status"] for one in result["sweep_results"]] == [one["status"] for one in points]
    assert found["dead"]["failure_class"] == "out_of_memory" and "GPU memory" in found["dead"]["why_not"]
    assert "smaller than its block" in found["wrong"]["why_not"] and found["wrong"]["objective"] is None
    assert found["slow"]["verdict"] == "regressed" and not found["slow"]["eligible"]
    assert found["good"]["eligible"] and found["good"]["record_path"].endswith(".json")
    for said in ("| 4 | best | measured |", "rejected (rule_violated)", "out_of_memory", "**window**"):
        assert said in result["markdown"]
    assert result["reason"].startswith("'best' won")


def test_without_plain_dflash_the_server_without_speculation_must_be_beaten(sweep, tmp_path):
    linear, dflash = baselines(tmp_path)
    gone = failed("dflash", kind="baseline_dflash")
    result = sweep([linear, gone, point("good", measured(tmp_path, 0.9))])
    assert result["baseline"] == "linear" and result["sweep_winner"]["name"] == "good"
    assert result["sweep_winner"]["speedup_dflash"] is None and "out_of_memory" in str(result["caveats"])
    assert sweep([linear, point("good", measured(tmp_path, 0.9))])["baseline"] == "linear"


def test_without_a_baseline_nothing_wins(sweep, tmp_path):
    result = sweep([point("good", measured(tmp_path, 2.0))])
    assert result["sweep_winner"] is None and "no baseline was measured" in result["reason"]


def test_a_sweep_of_which_nothing_was_measured_has_no_winner(sweep, tmp_path):
    for points in ([], [failed("a")], [*baselines(tmp_path), rejected("b")]):
        result = sweep(points)
        assert result["sweep_winner"] is None and "no point" in result["reason"]
        assert result["page"]


def test_a_named_baseline_must_be_beaten_and_must_be_there(sweep, tmp_path):
    points = [*baselines(tmp_path), point("now", measured(tmp_path, 1.2)), point("good", measured(tmp_path, 1.22))]
    assert sweep(points)["sweep_winner"]["name"] == "good"
    result = sweep(points, baseline="now")
    assert result["sweep_winner"] is None and "'now'" in result["reason"] and result["baseline"] == "now"
    result = sweep(points, baseline="no")
    assert result["failed"] and result["failure_class"] == "bad_request" and "now" in result["msg"]
    result = sweep([*points, failed("dead")], baseline="dead")
    assert result["sweep_winner"] is None and "'dead' cannot be used" in str(result["caveats"])


def test_an_inconclusive_point_is_passed_over_and_the_reason_said(sweep, tmp_path):
    """A single run proves nothing, however fast it was."""
    lucky, sure = point("lucky", measured(tmp_path, 1.5, repeats=1)), point("sure", measured(tmp_path, 1.2))
    result = sweep([*baselines(tmp_path), lucky])
    assert result["sweep_winner"] is None and rows(result)["lucky"]["verdict"] == "inconclusive"
    assert "inconclusive" in result["reason"] and "fewer than 3 a side" in result["reason"]
    result = sweep([*baselines(tmp_path), lucky, sure])
    assert result["sweep_winner"]["name"] == "sure" and "'lucky' has a better one" in result["reason"]


def test_a_point_that_failed_in_one_repeat_does_not_win(sweep, tmp_path):
    runs = measured(tmp_path, 1.5)
    runs.append(run(4, None, None, status="failed", failure_class="server_crashed", msg="The scheduler died."))
    result = sweep([*baselines(tmp_path), point("shaky", runs)])
    assert result["sweep_winner"] is None
    assert "repeat 4 failed (server_crashed: The scheduler died.)" in rows(result)["shaky"]["why_not"]


def test_a_point_that_was_not_run_in_each_repeat_does_not_win_and_tells_why_the_sweep_stopped(sweep, tmp_path):
    points = [*baselines(tmp_path), point("begun", measured(tmp_path, 1.5), status="not_run"), point("late")]
    result = sweep(
        points, more={"stopped": {"why": "time", "msg": "The time budget of 60 s does not hold another run."}}
    )
    assert result["sweep_winner"] is None and result["counts"]["not_run"] == 2
    begun, late = rows(result)["begun"], rows(result)["late"]
    assert "not wholly run: Only 3 of its repeats were run. The time budget" in begun["why_not"] and begun["objective"]
    assert late["why_not"] == "it was not run: The time budget of 60 s does not hold another run"


def test_a_baseline_that_was_not_made_equal_is_not_comparable(sweep, tmp_path):
    """What the sweep sets for its own baseline is no thing that may differ."""
    linear = point("linear", measured(tmp_path, 0.5, arguments={"max_running_requests": 4096}), "baseline_linear")
    linear["overrides"]["args"] = {"max_running_requests": 48}
    fast = point("fast", measured(tmp_path, 1.5, arguments={"max_running_requests": 48}))
    result = sweep([linear, fast])
    assert result["sweep_winner"] is None and "max_running_requests" in result["reason"]
    fast["overrides"]["args"] = {"max_running_requests": 48}
    assert sweep([linear, fast])["sweep_winner"]["name"] == "fast"


def test_a_point_with_a_cell_that_never_worked_does_not_win(sweep, tmp_path):
    """Without its slow cell a point would look better than it is."""

    def spoil(made, repeat):
        made["cells"][-1].update(valid=False, reasons=["errors"])

    result = sweep([*baselines(tmp_path), point("partly", measured(tmp_path, 1.5, change=spoil))])
    assert result["sweep_winner"] is None
    assert "1 of 6 cells have no valid run (errors)" in rows(result)["partly"]["why_not"]


def test_of_points_with_one_command_line_the_one_that_ran_counts(sweep, tmp_path):
    points = [
        *baselines(tmp_path),
        point("ran", measured(tmp_path, 1.3)),
        point("same", same_as="ran", status="not_run"),
    ]
    for order in (points, points[::-1]):
        result = sweep(order)
        assert result["sweep_winner"]["name"] == "ran"
        same = rows(result)["same"]
        assert same["same_as"] == "ran" and same["status"] == "measured" and not same["eligible"]
        assert same["objective"] == rows(result)["ran"]["objective"]


def test_a_point_that_is_the_baseline_does_not_beat_itself(sweep, tmp_path):
    linear, dflash = baselines(tmp_path)
    ran = point("ran", dflash["runs"])
    dflash.update(runs=[], same_as="ran", status="not_run")
    result = sweep([linear, dflash, ran])
    assert result["baseline"] == "dflash" and result["sweep_winner"] is None
    assert rows(result)["ran"]["why_not"] == "it is a baseline itself"


def test_points_that_are_the_same_as_each_other_in_a_circle_are_no_endless_loop(sweep, tmp_path):
    result = sweep([*baselines(tmp_path), point("a", same_as="b"), point("b", same_as="a"), point("c", same_as="c")])
    assert result["sweep_winner"] is None and len(result["sweep_results"]) == 5


@pytest.mark.parametrize(
    ("constraint", "said"),
    [
        (CODING, "it is false"),
        ("worst.acceptance_length >= `3.5`", "it is false"),
        ("worst.ttft_ms.p99 <= `500`", "it is null"),
        ("worst.ttft_ms.p90", "it is "),
        ("max(coding) > `1`", "max"),
        ("'true'", "it is true"),
    ],
)
def test_a_constraint_that_is_not_true_rules_a_point_out(sweep, tmp_path, constraint, said):
    points = [*baselines(tmp_path), point("fast", measured(tmp_path, 1.5, acceptance=3.0, coding=(8, 10)))]
    assert sweep(points)["sweep_winner"]["name"] == "fast"
    result = sweep(points, constraints=["coding.total > `0`", constraint])
    why = rows(result)["fast"]["why_not"]
    assert result["sweep_winner"] is None and why.startswith("constraint not met") and said in why
    assert constraint in result["reason"]


def test_constraints_see_the_point_and_both_baselines(sweep, tmp_path):
    points = [*baselines(tmp_path), point("fast", measured(tmp_path, 1.5), parameters={"block_size": 16})]
    held = [
        CODING,
        "objective > baseline_linear.objective && baseline_dflash.objective == baseline.objective",
        "point.name == 'fast' && point.parameters.block_size == `16`",
        "length(record.cells) == `18` && length(record.invalid_cells) == `0`",
        "worst.ttft_ms.p90 <= `500` && record.evidence_before.sglang_version == '0.5.23'",
    ]
    assert sweep(points, constraints=held)["sweep_winner"]["name"] == "fast"
    alone = [points[1], points[2]]
    assert sweep(alone, constraints=["baseline_linear == null"])["sweep_winner"]["name"] == "fast"


def test_the_constraints_of_the_guide_hold_for_a_good_point(sweep, tmp_path):
    guide = (CLONE / "docs" / "docsite" / "rst" / "sweep_report_guide.rst").read_text(encoding="utf-8")
    (block,) = re.findall(r"constraints:\n((?: {6}.*\n)+)", guide)
    held = yaml.safe_load(block)

    def enough(made, repeat):
        for cell in made["cells"]:
            cell["ttft_ms"]["p99"] = 700.0

    points = [*baselines(tmp_path), point("fast", measured(tmp_path, 1.5, change=enough))]
    assert len(held) == 3 and sweep(points, constraints=held)["sweep_winner"]["name"] == "fast"
    for expression in re.findall(r"^    objective: (.*)", guide, re.MULTILINE):
        assert sweep(points, objective=expression)["sweep_results"][2]["objective"] > 0


def test_an_evaluation_that_one_repeat_lacks_is_unknown(sweep, tmp_path):
    runs = measured(tmp_path, 1.5)
    runs[1]["coding"] = None
    points = [*baselines(tmp_path), point("fast", runs)]
    assert "it is null" in rows(sweep(points, constraints=[CODING]))["fast"]["why_not"]


def test_an_objective_of_ones_own(sweep, tmp_path):
    """Lowest time to the first token; invalid cells are not among the cells."""

    def slower(made, repeat):
        for cell in made["cells"]:
            cell["ttft_ms"]["mean"] *= 0.5
        # Would be the best figure of all, were it one.
        made["cells"].append(
            {**made["cells"][0], "cell_id": f"x{made['run_id']}", "run": 2, "valid": False, "reasons": ["cached"]}
        )
        made["cells"][-1]["ttft_ms"] = {**made["cells"][0]["ttft_ms"], "mean": 0.001}

    points = [
        *baselines(tmp_path),
        point("quick", measured(tmp_path, 1.1, change=slower)),
        point("fast", measured(tmp_path, 1.5)),
    ]
    result = sweep(points, objective="min(cells[].ttft_ms.mean)", objective_goal="lowest")
    assert result["sweep_winner"]["name"] == "quick" and result["sweep_winner"]["objective"] > 1
    assert result["objective"]["goal"] == "lowest"
    listed = sweep(points, objective="cells[?concurrency==`1`].output_tokens_per_second")
    assert listed["sweep_winner"]["name"] == "fast"


def test_repeats_count_by_their_median(sweep, tmp_path):
    runs = [
        *measured(tmp_path, 1.3, repeats=1),
        *measured(tmp_path, 9.0, repeats=1),
        *measured(tmp_path, 1.31, repeats=1),
    ]
    points = [*baselines(tmp_path), point("odd", runs)]
    for objective in (None, "cells[].output_tokens_per_second"):
        result = sweep(points, **({"objective": objective} if objective else {}))
        assert rows(result)["odd"]["objective"] == pytest.approx(1.31 * rows(result)["dflash"]["objective"], rel=0.01)


@pytest.mark.parametrize(
    ("objective", "said"),
    [
        ("cells[0].nothing", "it is null"),
        ("label", "no number"),
        ("cells[]", "no number"),
        ("`[0, 1]`", "above 0"),
        ("max(label)", "max"),
    ],
)
def test_a_point_without_an_objective_does_not_win(sweep, tmp_path, objective, said):
    result = sweep([*baselines(tmp_path), point("fast", measured(tmp_path, 1.5))], objective=objective)
    assert result["sweep_winner"] is None and said in rows(result)["fast"]["why_not"], rows(result)["fast"]


@pytest.mark.parametrize("option", ["objective", "constraints"])
def test_what_is_no_expression_is_refused(sweep, option):
    result = sweep([], **{option: "cells[" if option == "objective" else ["cells["]})
    assert result["failed"] and result["failure_class"] == "bad_request" and option in result["msg"]


@pytest.mark.parametrize("option", [{"min_effect": -1}, {"metric": "speed"}])
def test_a_gate_without_sense_is_refused(sweep, option):
    result = sweep([], gate=option)
    assert result["failed"] and result["failure_class"] == "bad_request"


def test_jmespath_is_needed_only_for_an_expression(sweep, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jmespath", None)
    points = [*baselines(tmp_path), point("fast", measured(tmp_path, 1.5))]
    assert sweep(points)["sweep_winner"]["name"] == "fast"
    for options in ({"objective": "label"}, {"constraints": [CODING]}):
        result = sweep(points, **options)
        assert result["failed"] and result["failure_class"] == "missing_dependency"
        assert "'jmespath'" in result["msg"] and sys.executable in result["msg"]


def test_what_a_point_sets_may_differ_and_nothing_else(sweep, tmp_path):
    own = point("own", measured(tmp_path, 1.3, arguments={"chunked_prefill_size": 1}))
    own["overrides"]["args"] = {"chunked_prefill_size": 1}
    other = point("other", measured(tmp_path, 1.4, arguments={"tp_size": 4}))
    result = sweep([*baselines(tmp_path), own, other])
    assert result["sweep_winner"]["name"] == "own"
    assert rows(result)["other"]["verdict"] == "not_comparable" and "tp_size" in result["reason"]
    result = sweep([*baselines(tmp_path), own, other], gate={"allow_differences": ["tp_size"]})
    assert result["sweep_winner"]["name"] == "other"


def test_several_releases_are_told_and_never_compared(sweep, tmp_path):
    def newer(made, repeat):
        for part in (made, *made["cells"]):
            for key in ("evidence_before", "evidence_after"):
                part[key]["sglang_version"] = "0.5.24"

    result = sweep([*baselines(tmp_path), point("new", measured(tmp_path, 1.5, change=newer))])
    assert result["sweep_winner"] is None and rows(result)["new"]["verdict"] == "not_comparable"
    assert "several releases of SGLang" in str(result["caveats"]) and "0.5.24 (new)" in str(result["caveats"])
    mixed = measured(tmp_path, 1.5, change=lambda made, repeat: newer(made, repeat) if repeat == 2 else None)
    result = sweep([*baselines(tmp_path), point("mixed", mixed)])
    assert result["sweep_winner"] is None and "within the candidate" in rows(result)["mixed"]["why_not"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read"),
        ("", "no JSON"),
        ('{"schema_version": 1', "no JSON"),
        ("[]", "does not hold"),
        ("NaN", "no number of JSON"),
        ("cut", "no JSON"),
        ("empty", "cells"),
        ("nan", "NaN is no number"),
    ],
)
def test_a_record_that_cannot_be_used_is_told_and_is_no_crash(sweep, tmp_path, text, said):
    runs = measured(tmp_path, 1.5)
    path = tmp_path / runs[1]["record_path"]
    whole = json.loads(path.read_text())
    text = {
        "cut": path.read_text()[:5000],
        "empty": json.dumps({**whole, "cells": []}),
        "nan": json.dumps({**whole, "started_at": float("nan")}),
    }.get(text, text)
    path.unlink() if text is None else path.write_text(text)
    result = sweep([*baselines(tmp_path), point("spoilt", runs), point("fine", measured(tmp_path, 1.2))])
    assert not result.get("failed") and result["sweep_winner"]["name"] == "fine"
    why = rows(result)["spoilt"]["why_not"]
    assert "repeat 2" in why and said in str(result["caveats"]) and result["page"]


def test_records_of_invalid_cells_alone_have_no_figure(sweep, tmp_path):
    def spoil(made, repeat):
        for cell in made["cells"]:
            cell.update(valid=False, reasons=["evidence_changed"])

    points = [*baselines(tmp_path, change=spoil), point("bad", measured(tmp_path, 1.5, change=spoil))]
    result = sweep(points)
    assert result["sweep_winner"] is None and "'dflash' cannot be used: 6 of 6 cells" in str(result["caveats"])
    assert rows(result)["bad"]["objective"] is None and "evidence_changed" in rows(result)["bad"]["why_not"]


@pytest.mark.parametrize(
    "spoilt",
    ["{", "[]", '{"format": 1}', '{"format": 2, "points": []}', '{"format": 1, "points": {}}', None],
)
def test_what_is_no_state_is_refused(sweep, tmp_path, spoilt):
    path = tmp_path / "state.json"
    if spoilt is not None:
        path.write_text(spoilt)
    result = sweep(str(path))
    assert result["failed"] and result["failure_class"] == "bad_request" and str(path) in result["msg"]


@pytest.mark.parametrize("value", [None, 5, "x", [], {}, [None], {"a": [1]}, True, [[]], 1e400])
@pytest.mark.parametrize(
    "key", ["name", "kind", "overrides", "parameters", "argv", "same_as", "status", "msg", "runs", "log_tail"]
)
def test_a_spoilt_entry_of_the_state_is_no_crash(prepared, key, value):
    folder, by_speed = prepared
    baseline = point("dflash", by_speed[1.0], "baseline_dflash")
    entries = [baseline, point("odd", [run(1, "gone.json")]), point("fine")]
    entries[1][key] = value
    found = points_of(state([*entries, value]), str(folder))
    decided = decide(found, Objective(None, "highest"), [], lambda baseline, one: Comparison("improved", 1.1, 0.05))
    assert decided.winner is None and decided.reason


def test_the_inventory_of_the_winner_has_only_what_differs(sweep, tmp_path):
    best = point("best", measured(tmp_path, 1.3))
    best["overrides"] = {
        "speculative": {"draft_window_size": 2048, "block_size": 16},
        "args": {"note": "{{ 7 * 7 }}", "tp_size": 8, "quiet": None, "loud": None},
        "environment": {"SGLANG_X": "a: b\n# \x1b[31m"},
    }
    now = {"speculative": {"block_size": 16}, "args": {"tp_size": 8, "loud": True}}
    text = sweep([*baselines(tmp_path), best], current=now)["sweep_winner"]["inventory"]

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!unsafe", lambda loader, node: node.value)
    assert yaml.load(text, Loader) == {
        "server_speculative": {"draft_window_size": 2048},
        "server_args": {"note": "{{ 7 * 7 }}", "loud": None},
        "server_environment": {"SGLANG_X": "a: b\n# \x1b[31m"},
    }
    assert "note: !unsafe" in text and "\x1b" not in text
    again = sweep([*baselines(tmp_path), best], current=best["overrides"])
    assert again["sweep_winner"]["inventory"] == "" and "says already" in (tmp_path / "report.html").read_text()


def test_the_artifact_is_small_and_the_metrics_are_those_of_the_host_and_the_sweep(sweep, tmp_path):
    metrics = tmp_path / "sglang.prom"
    metrics.write_text(
        "# HELP llmops_sglang_benchmark_info x\n# TYPE llmops_sglang_benchmark_info gauge\n"
        'llmops_sglang_benchmark_info{host="gpu1",unit="u"} 1.0\nforeign 1\n'
        'llmops_sglang_sweep_points{host="gpu2",sweep="window",status="measured"} 4.0\n'
        'llmops_sglang_sweep_points{host="gpu1",sweep="window",status="failed"} 9.0\n'
    )
    long = "x" * 5000 + HOSTILE
    result = sweep(
        [*baselines(tmp_path), point(long, measured(tmp_path, 1.3)), failed(long + "2", msg=long)],
        more={"name": "window"},
        prometheus_file=str(metrics),
    )
    artifact = result["artifact"]
    assert len(json.dumps(artifact)) < 4000 and artifact["winner"].startswith("xxx") and artifact["page"]
    assert artifact["counts"]["failed"] == 1 and artifact["best_objective"] == result["sweep_winner"]["objective"]
    text = metrics.read_text()
    assert 'benchmark_info{host="gpu1",unit="u"} 1.0' in text and "# TYPE llmops_sglang_benchmark_info gauge" in text
    assert 'points{host="gpu2",sweep="window",status="measured"} 4.0' in text and "foreign" not in text
    assert 'points{host="gpu1",sweep="window",status="failed"} 1.0' in text and "9.0" not in text
    assert 'winner_speedup{host="gpu1",sweep="window",baseline="dflash"} 1.3' in text
    assert len({line for line in text.splitlines() if line.startswith("# HELP llmops_sglang_sweep_points")}) == 1


def test_a_large_sweep_stays_small(sweep, tmp_path):
    points = [failed(f"point {number}", msg="x" * 600) for number in range(300)]
    result = sweep([*baselines(tmp_path), *points, point("best", measured(tmp_path, 1.3))])
    assert result["sweep_winner"]["name"] == "best"
    assert result["results_omitted"] == 303 - len(result["sweep_results"])
    assert len(json.dumps(result)) < 100000


MADE_UP = st.lists(
    st.tuples(
        st.sampled_from([0.5, 0.9, 1.0, 1.1, 1.3, 1.30001, 2.0]),
        st.booleans(),
        st.sampled_from(["improved", "pass", "regressed", "inconclusive", "not_comparable"]),
        st.sampled_from(["measured", "measured", "measured", "failed", "rejected", "not_run"]),
    ),
    min_size=1,
    max_size=7,
)


@settings(deadline=None, derandomize=True, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=MADE_UP, order=st.randoms(use_true_random=False))
def test_the_winner_holds_everything_and_does_not_depend_on_the_order(prepared, made, order):
    folder, by_speed = prepared
    entries = [point("dflash", by_speed[1.0], "baseline_dflash")]
    verdicts, held = {}, {}
    for number, (speed, holds, verdict, status) in enumerate(made):
        name = f"point {number}"
        entries.append(
            point(name, by_speed[speed] if status == "measured" else (), status=status, parameters={"ok": holds})
        )
        verdicts[name], held[name] = verdict, holds and status == "measured"
    constraints = [Expression("point.parameters.ok", "constraints")]
    objective = Objective(None, "highest")

    def choose(entries):
        points = points_of(state(entries), str(folder))
        return decide(
            points,
            objective,
            constraints,
            lambda baseline, one: Comparison(verdicts.get(one.name), 1.1, 0.05, ("said",)),
        )

    first = choose(entries)
    order.shuffle(entries)
    second = choose(entries)
    assert (first.winner and first.winner.point.name) == (second.winner and second.winner.point.name)
    able = [name for name in held if held[name] and verdicts[name] == "improved"]
    assert (first.winner is None) == (not able)
    if first.winner:
        assert first.winner.point.name in able and not first.winner.unmet
        assert all(first.winner.objective >= one.objective for one in first.judged if one.point.name in able)
    else:
        assert first.reason.startswith("There is no winner")
