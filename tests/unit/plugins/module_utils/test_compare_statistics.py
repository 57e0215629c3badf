# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The exact statistics of a comparison against references that count out every case."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils._compare_figures import Series, exact, ratio
from ansible_collections.llmops.sglang.plugins.module_utils._compare_rank_test import holm, rank_test, smallest_p

# Few values, so that ties are as frequent as strict orders.
SAMPLES = st.lists(st.integers(1, 9).map(Fraction), min_size=1, max_size=5)
FIGURES = st.integers(1, 10**7).map(lambda n: Fraction(n, 1000))


def by_counting(baseline, candidate):
    """The same probabilities by every way to tell the figures apart, by wins and not by ranks."""

    def wins(low, high):
        return sum((b > a) + Fraction(b == a, 2) for a in low for b in high)

    figures = [*baseline, *candidate]
    seen = wins(baseline, candidate)
    all_ways = []
    for picked in itertools.combinations(range(len(figures)), len(candidate)):
        chosen = [figures[i] for i in picked]
        others = [figures[i] for i in range(len(figures)) if i not in picked]
        all_ways.append(wins(others, chosen))
    low, high = sum(w <= seen for w in all_ways), sum(w >= seen for w in all_ways)
    return Fraction(low, len(all_ways)), Fraction(high, len(all_ways))


def by_closure(p_values):
    """Holm as the closed test that it is a short cut of: the worst of all sets with the hypothesis in it."""
    adjusted = []
    for index in range(len(p_values)):
        worst = Fraction(0)
        for size in range(1, len(p_values) + 1):
            for chosen in itertools.combinations(range(len(p_values)), size):
                if index in chosen:
                    worst = max(worst, min(Fraction(1), size * min(p_values[i] for i in chosen)))
        adjusted.append(worst)
    return adjusted


@settings(deadline=None, derandomize=True)
@given(SAMPLES, SAMPLES)
def test_the_rank_test_is_that_of_all_ways_counted_out(baseline, candidate):
    assert rank_test(baseline, candidate) == by_counting(baseline, candidate)


@settings(deadline=None, derandomize=True)
@given(SAMPLES, SAMPLES)
def test_the_rank_test_has_two_sides_alike(one, other):
    low, high = rank_test(one, other)
    assert (high, low) == rank_test(other, one)
    assert low + high >= 1 and min(low, high) >= smallest_p(len(one), len(other))


@settings(deadline=None, derandomize=True)
@given(st.lists(st.fractions(0, 1, max_denominator=50), max_size=6))
def test_holm_is_the_closed_test(p_values):
    assert holm(p_values) == by_closure(p_values)


@pytest.mark.parametrize("runs", [1, 2, 3, 4, 5, 50])
def test_samples_without_overlap_show_the_smallest_probability(runs):
    low, high = [Fraction(n) for n in range(runs)], [Fraction(n + 100) for n in range(runs)]
    assert rank_test(low, high)[1] == rank_test(high, low)[0] == smallest_p(runs, runs)
    assert rank_test(low, high)[0] == 1


def test_three_runs_a_side_reach_five_percent_exactly():
    assert smallest_p(3, 3) == exact(0.05) == Fraction(1, 20)


@settings(deadline=None, derandomize=True)
@given(st.integers(1, 5).flatmap(lambda n: st.lists(st.lists(FIGURES, min_size=n, max_size=n), min_size=1, max_size=6)))
def test_the_median_is_that_of_geometric_means(runs):
    means = sorted(math.exp(sum(map(math.log, run)) / len(run)) for run in runs)
    middle = len(means) // 2
    median = means[middle] if len(means) % 2 else math.sqrt(means[middle - 1] * means[middle])
    assert Series(runs).median.number == pytest.approx(median)


@settings(deadline=None, derandomize=True)
@given(st.lists(FIGURES, min_size=1, max_size=6), st.integers(1, 200), st.integers(1, 6))
def test_a_ratio_at_the_bound_is_neither_below_nor_above(figures, percent, runs):
    """However many cells and runs there are: no rounding decides."""
    factor = Fraction(percent, 100)
    baseline = Series([figures] * runs)
    found = ratio(Series([[factor * figure for figure in figures]] * runs), baseline)
    assert not found.below(factor) and not found.above(factor)
    assert found.below(factor + Fraction(1, 10**9)) and found.above(factor - Fraction(1, 10**9))


def test_a_side_without_runs_has_no_ratio():
    assert ratio(Series([]), Series([[Fraction(1)]])) is None
    assert Series([[Fraction(1)]]).spread is None
