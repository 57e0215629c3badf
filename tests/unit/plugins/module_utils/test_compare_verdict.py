# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gate: every verdict, its edges, and how often it is wrong on noise."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils._compare_figures import Series, exact
from ansible_collections.llmops.sglang.plugins.module_utils._compare_verdict import Rules, judge, refusal
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure

RULES = Rules(0.03, 0.10, 0.05, 0.05)


def gate(baseline, candidate, rules=RULES):
    """The gate over runs of several cells: lists of runs, each a list of one figure a cell."""
    sides = [[[exact(float(figure)) for figure in run] for run in side] for side in (baseline, candidate)]
    cells = {
        f"cell {index}": tuple(Series([[run[index]] for run in side]) for side in sides)
        for index in range(len((baseline or candidate)[0]))
    }
    return judge((Series(sides[0]), Series(sides[1])), cells, rules)


def single(baseline, candidate, rules=RULES):
    return gate([[figure] for figure in baseline], [[figure] for figure in candidate], rules)


@pytest.mark.parametrize(
    ("baseline", "candidate", "verdict", "why"),
    [
        # Proven by three runs without overlap.
        ((100, 101, 99), (95, 94, 96), "regressed", "worse by more than 3 %, proven"),
        ((100, 101, 99), (105, 106, 104), "improved", "better by more than 3 %, proven"),
        # Proven, and too small to count.
        ((100, 101, 99.5), (98, 98.5, 97.5), "pass", "no loss"),
        ((100, 101, 99), (102, 101.5, 102.5), "pass", "no loss"),
        # A change of exactly the least effect is not above it.
        ((100, 100, 100), (97, 97, 97), "pass", "no loss"),
        ((100, 100, 100), (103, 103, 103), "pass", "no loss"),
        ((100, 100, 100), (96.999, 96.999, 96.999), "regressed", "proven"),
        # The same, and the same to the digit.
        ((100, 101, 99), (100.5, 99.5, 101), "pass", "no loss"),
        ((100, 100, 100), (100, 100, 100), "pass", "no loss"),
        # A loss that overlaps is neither proven nor let pass.
        ((100, 101, 95), (95.5, 96, 97), "inconclusive", "shows and is not proven"),
        # Too few runs, however clear.
        ((100, 101), (120, 121), "inconclusive", "fewer than 3"),
        ((100, 101, 102), (100, 101), "inconclusive", "2 whole runs are fewer"),
        ((100,), (100,), "inconclusive", "fewer than 3"),
        # Much spread proves nothing, unless all runs are on one side.
        ((100, 110, 95), (100, 98, 112), "inconclusive", "spread by"),
        ((100, 112, 106), (135, 120, 128), "improved", "proven"),
        # The floor, from one run on and at its edge.
        ((100,), (89.9,), "regressed", "never let pass"),
        ((100,), (90,), "inconclusive", "fewer than 3"),
        ((100, 130, 70), (89, 72, 131), "regressed", "never let pass"),
    ],
)
def test_verdicts_over_all_cells(baseline, candidate, verdict, why):
    found = single(baseline, candidate)
    assert (found.verdict, why in found.reasons[0]) == (verdict, True), found.reasons


def test_a_level_that_the_runs_cannot_reach_lets_nothing_pass():
    rules = Rules(0.03, 0.10, 0.01, 0.05)
    assert single((100, 101, 99), (100, 101, 99.5), rules).verdict == "inconclusive"
    assert single((100, 101, 99), (95, 94, 96), rules).verdict == "inconclusive"
    assert single((100, 101, 99, 100, 100), (95, 94, 96, 95, 95), rules).verdict == "regressed"


@pytest.mark.parametrize("missing", [0, 1])
def test_a_side_without_a_whole_run_is_inconclusive(missing):
    sides = [Series([[exact(100.0)]])] * 2
    sides[missing] = Series([])
    found = judge(tuple(sides), {"cell": tuple(sides)}, RULES)
    assert found.verdict == "inconclusive" and ("baseline", "candidate")[missing] in found.reasons[0]
    assert found.whole.change is None and found.cells[0].verdict == "inconclusive"


def test_one_cell_below_the_floor_is_a_regression_however_fast_the_others_are():
    for runs in (1, 2, 3, 5):
        found = gate([[100, 100, 100]] * runs, [[150, 150, 80]] * runs)
        assert found.verdict == "regressed" and "cell 2" in found.reasons[1], runs
        assert found.cells[2].verdict == "regressed" and found.cells[0].verdict != "regressed"


def test_of_several_cells_that_ran_once_one_has_a_wider_floor():
    for runs, verdict in ((1, "inconclusive"), (2, "regressed")):
        assert gate([[100, 100]] * runs, [[100, 88]] * runs).verdict == verdict
        assert gate([[100, 100]] * runs, [[100, 86]] * runs).verdict == "regressed"
        assert gate([[100, 100]] * runs, [[88, 88]] * runs).verdict == "regressed"
        assert gate([[100]] * runs, [[88]] * runs).verdict == "regressed"


def test_a_cell_is_tested_alone_from_five_runs_a_side_on():
    for runs, verdict in ((4, "pass"), (5, "regressed")):
        baseline = [[100 + n / 10, 100 + n / 10, 100] for n in range(runs)]
        candidate = [[95 + n / 10, 103 + n / 10, 100] for n in range(runs)]
        found = gate(baseline, candidate)
        assert found.verdict == verdict
        assert (found.cells[0].p_value is None) is (runs < 5)
    assert [cell.verdict for cell in found.cells] == ["regressed", "pass", "pass"]
    # Three cells at the smallest probability of five runs a side.
    assert found.cells[0].p_value == Fraction(3, 252) and found.cells[2].p_value == 1
    better = gate(baseline, [[110 + n, 100 + n / 10, 100] for n in range(5)])
    assert [cell.verdict for cell in better.cells] == ["improved", "pass", "pass"]


def test_holm_s_correction_counts_the_cells():
    """13 cells at 1/252 are 0.0516: one of them is not proven any more."""
    for cells, verdict in ((12, "regressed"), (13, "inconclusive")):
        found = gate(
            [[100 + n / 10] * cells for n in range(5)], [[95] + [100 + n / 10] * (cells - 1) for n in range(5)]
        )
        assert found.cells[0].verdict == verdict
        assert found.cells[0].p_value == Fraction(cells, 252)


FIGURES = st.integers(9000, 11000).map(lambda n: n / 100)
SIDES = st.integers(1, 3).flatmap(
    lambda cells: st.tuples(
        *[st.lists(st.lists(FIGURES, min_size=cells, max_size=cells), min_size=1, max_size=6) for dummy in range(2)]
    )
)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(SIDES)
def test_neither_order_nor_unit_of_the_figures_decides(sides):
    baseline, candidate = sides
    found = gate(baseline, candidate)
    assert gate(baseline[::-1], candidate[::-1]).verdict == found.verdict
    scaled = [[[figure * 8 for figure in run] for run in side] for side in sides]
    assert gate(*scaled).verdict == found.verdict
    proven = found.whole.p_value is not None and found.whole.p_value <= RULES.alpha
    if found.whole.verdict == "regressed" and proven:
        assert gate(candidate, baseline).whole.verdict == "improved"


@settings(deadline=None, derandomize=True, max_examples=60)
@given(SIDES, st.integers(1, 20))
def test_a_faster_candidate_is_never_judged_worse(sides, percent):
    order = ["regressed", "inconclusive", "pass", "improved"]
    baseline, candidate = sides
    faster = [[figure * (1 + percent / 100) for figure in run] for run in candidate]
    before, after = gate(baseline, candidate), gate(baseline, faster)
    assert order.index(after.whole.verdict) >= order.index(before.whole.verdict)
    assert order.index(after.verdict) >= order.index(before.verdict)


def noisy(rng, runs, cells, shared, change=1.0):
    """Runs with a noise of 3 % a cell, of which the share *shared* is that of the whole run."""
    side = []
    for dummy in range(runs):
        run = rng.gauss(0, 0.03 * math.sqrt(shared))
        own = [rng.gauss(0, 0.03 * math.sqrt(1 - shared)) for dummy2 in range(cells)]
        side.append([round(change * 1000 * math.exp(run + one), 3) for one in own])
    return side


@pytest.mark.parametrize(
    ("runs", "cells", "shared", "trials"),
    [
        (1, 1, 0, 1000),
        (1, 9, 0, 400),
        (2, 9, 0, 400),
        (3, 1, 0, 1000),
        (3, 9, 0.5, 400),
        (3, 9, 1, 400),
        (5, 1, 0, 1000),
        (5, 9, 0, 250),
        (5, 9, 0.5, 250),
    ],
)
def test_false_alarms_are_at_most_five_percent_on_a_noise_of_three(runs, cells, shared, trials):
    rng = random.Random(4711)
    found = [gate(noisy(rng, runs, cells, shared), noisy(rng, runs, cells, shared)).verdict for dummy in range(trials)]
    assert found.count("regressed") <= 0.05 * trials
    assert found.count("improved") <= 0.05 * trials


@pytest.mark.parametrize(("runs", "cells", "shared", "least"), [(3, 1, 0, 0.85), (3, 9, 0.5, 0.95), (5, 1, 0, 0.95)])
def test_a_loss_of_a_tenth_is_found(runs, cells, shared, least):
    rng, trials = random.Random(4711), 100
    found = [
        gate(noisy(rng, runs, cells, shared), noisy(rng, runs, cells, shared, 0.9)).verdict for dummy in range(trials)
    ]
    assert found.count("regressed") >= least * trials


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((-0.1, 0.1, 0.05, 0.05), "min_effect"),
        ((0.03, 1.0, 0.05, 0.05), "max_drop"),
        ((0.03, 0.02, 0.05, 0.05), "max_drop"),
        ((0.03, 0.1, 0.5, 0.05), "alpha"),
        ((0.03, 0.1, 0.05, math.nan), "max_spread"),
    ],
)
def test_rules_without_sense_are_refused(values, said):
    with pytest.raises(Failure, match=said) as caught:
        Rules(*values)
    assert caught.value.failure_class == "bad_request"


@pytest.mark.parametrize(
    ("fail_on", "refused"),
    [
        ("never", set()),
        ("regressed", {"regressed", "not_comparable"}),
        ("inconclusive", {"regressed", "not_comparable", "inconclusive"}),
    ],
)
def test_what_fails_the_task(fail_on, refused):
    verdicts = ("improved", "pass", "regressed", "inconclusive", "not_comparable")
    failures = {verdict: refusal(verdict, ["why"], fail_on) for verdict in verdicts}
    assert {verdict for verdict, failure in failures.items() if failure} == refused
    assert all("why" in failure.msg and failure.msg.endswith(".") for failure in failures.values() if failure)
