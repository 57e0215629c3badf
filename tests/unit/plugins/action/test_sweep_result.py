# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The winner of a sweep: from a state and records on disk to the result."""

from __future__ import annotations

import copy
import pathlib
import re
import sys

import pytest
import yaml

from ansible_collections.llmops.sglang.plugins.action import sweep_result as action
from ansible_collections.llmops.sglang.plugins.modules import sweep_result as module
from ansible_collections.llmops.sglang.tests.unit import controller_task
from ansible_collections.llmops.sglang.tests.unit.sweep_state import (
    baselines,
    failed,
    measured,
    point,
    rejected,
    rows,
    run,
)

CLONE = pathlib.Path(__file__).resolve().parents[4]
CODING = "coding.pass_rate >= baseline.coding.pass_rate"


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
