# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The exact one-sided rank test of two small samples, and Holm's correction for several of them; all in exact fractions."""

from __future__ import annotations

import typing as t
from fractions import Fraction
from math import comb


def rank_test(baseline: t.Sequence[Fraction], candidate: t.Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """How probable ranks as low, and as high, as those of *candidate* are, if both samples are of one kind.

    The distribution of the rank sum over all ways to pick the candidate's places is counted out, ties at their mean ranks.
    """
    ranks = _doubled_ranks([*baseline, *candidate])
    seen = sum(ranks[len(baseline) :])
    ways, bits = _ways(ranks, len(candidate))
    total = comb(len(ranks), len(candidate))
    return (
        Fraction(_count_up_to(ways, bits, seen), total),
        Fraction(total - _count_up_to(ways, bits, seen - 1), total),
    )


def smallest_p(baseline_runs: int, candidate_runs: int) -> Fraction:
    """The least probability that samples of these sizes can show."""
    return Fraction(1, comb(baseline_runs + candidate_runs, candidate_runs))


def holm(p_values: t.Sequence[Fraction]) -> list[Fraction]:
    """The probabilities corrected for their number, each in its place."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [Fraction(1)] * len(p_values)
    largest = Fraction(0)
    for place, index in enumerate(order):
        largest = max(largest, min(Fraction(1), (len(p_values) - place) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def _doubled_ranks(figures: t.Sequence[Fraction]) -> list[int]:
    """Twice the rank of each figure, so that the mean rank of a tie is a whole number."""
    ordered = sorted(figures)
    first: dict[Fraction, int] = {}
    last: dict[Fraction, int] = {}
    for place, figure in enumerate(ordered, 1):
        first.setdefault(figure, place)
        last[figure] = place
    return [first[figure] + last[figure] for figure in figures]


def _ways(ranks: t.Sequence[int], size: int) -> tuple[int, int]:
    """In how many ways *size* of *ranks* have each sum: one number whose digits of so many bits are the counts by sum."""
    # No count, nor all of them together, needs as many bits as there are ranks.
    bits = len(ranks)
    by_size = [1] + [0] * size
    for rank in ranks:
        for picked in range(size, 0, -1):
            by_size[picked] += by_size[picked - 1] << (bits * rank)
    return by_size[size], bits


def _count_up_to(ways: int, bits: int, largest: int) -> int:
    """The ways whose sum is at most *largest*: the sum of the digits up to there."""
    digits = ways & ((1 << (bits * (largest + 1))) - 1)
    # As in casting out nines, a number and the sum of its digits leave the same rest.
    return digits % ((1 << bits) - 1)
