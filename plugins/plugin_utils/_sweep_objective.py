# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The objective of a sweep: by which figure its points are ranked."""

from __future__ import annotations

import statistics
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._compare_figures import geometric_mean
from ansible_collections.llmops.sglang.plugins.module_utils._compare_records import usable_number
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_expressions import Expression, number_of
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_points import Point, valid_alone

_DEFAULT = "output tokens/s, geometric mean over the cells"


class Objective:
    """Ranks points.

    :arg expression: None for the throughput; else an expression over the record.
    """

    def __init__(self, expression: t.Optional[str], goal: str) -> None:
        self.expression = Expression(expression, "objective") if expression else None
        self.highest = goal == "highest"

    @property
    def name(self) -> str:
        return self.expression.text if self.expression else _DEFAULT

    def of(self, point: Point) -> tuple[t.Optional[float], str]:
        """The point's objective, and why there is none; empty where there is one."""
        if not point.records:
            return None, "it has no record that can be used"
        return self._by_expression(point, self.expression) if self.expression else throughput(point)

    @staticmethod
    def _by_expression(point: Point, expression: Expression) -> tuple[t.Optional[float], str]:
        """The median of the repeats: a figure of all cells together would depend on how many repeats there are."""
        found = []
        for record in point.records:
            value, error = expression.of(valid_alone(record))
            number, why = (None, error) if error else number_of(value)
            if number is None:
                return None, f"the objective cannot be told: {why}"
            found.append(number)
        return statistics.median(found), ""

    def better(self, one: float, other: float) -> bool:
        return one > other if self.highest else one < other

    def rank(self, number: float) -> float:
        """Sorts the best first."""
        return -number if self.highest else number


def throughput(point: Point) -> tuple[t.Optional[float], str]:
    """Geometric mean over the cells with a valid run, of each the median of its runs."""
    medians = [group.median("output_tokens_per_second") for group in point.groups]
    usable = [median for median in medians if usable_number(median)]
    return geometric_mean(usable), "" if usable else "no valid cell has a throughput"
