# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Exact arithmetic on the figures of runs: geometric means over cells, their medians, and the ratio of two medians.

A geometric mean is kept as the product that it is the root of, so that nothing is rounded before it is compared.
"""

from __future__ import annotations

import math
import statistics
import typing as t
from fractions import Fraction


def exact(number: float) -> Fraction:
    """The decimal number that a record or an option shows, and not the binary one behind it."""
    return Fraction(repr(number))


class Ratio:
    """A positive number, kept as its *degree*-th power."""

    def __init__(self, power: Fraction, degree: int) -> None:
        self.power = power
        self.degree = degree

    def below(self, bound: Fraction) -> bool:
        return self.power < bound**self.degree

    def above(self, bound: Fraction) -> bool:
        return self.power > bound**self.degree

    @property
    def number(self) -> float:
        return _root(self.power, self.degree)


class Series:
    """The runs of one side, each by the product of its cells' figures, by which runs are ordered as by their geometric mean.

    :arg runs: of each run the figures of its cells; above 0, and as many in each run.
    """

    def __init__(self, runs: t.Sequence[t.Sequence[Fraction]]) -> None:
        self.products = [_product(run) for run in runs]
        self.cells = len(runs[0]) if runs else 1

    def __len__(self) -> int:
        return len(self.products)

    @property
    def median(self) -> Ratio:
        """The median of the runs; of an even number of runs the geometric mean of the two in the middle."""
        ordered = sorted(self.products)
        middle = len(ordered) // 2
        return Ratio(ordered[middle] * ordered[middle if len(ordered) % 2 else middle - 1], 2 * self.cells)

    @property
    def spread(self) -> t.Optional[float]:
        """Standard deviation over mean of the runs; null with fewer than two."""
        means = [_root(product, self.cells) for product in self.products]
        return statistics.stdev(means) / statistics.fmean(means) if len(means) > 1 else None


def ratio(candidate: Series, baseline: Series) -> t.Optional[Ratio]:
    """The candidate's median over the baseline's; null where a side has no run."""
    if not len(candidate) or not len(baseline):
        return None
    return Ratio(candidate.median.power / baseline.median.power, candidate.median.degree)


def geometric_mean(numbers: t.Sequence[float]) -> t.Optional[float]:
    return math.exp(math.fsum(map(math.log, numbers)) / len(numbers)) if numbers else None


def _product(figures: t.Sequence[Fraction]) -> Fraction:
    product = Fraction(1)
    for figure in figures:
        product *= figure
    return product


def _root(power: Fraction, degree: int) -> float:
    # Either part may be too long for a float, but its logarithm is not.
    return math.exp((math.log(power.numerator) - math.log(power.denominator)) / degree)
