# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Holds points against a baseline by the gate of benchmark_compare."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._compare_report import compare
from ansible_collections.llmops.sglang.plugins.module_utils._compare_side import Metric
from ansible_collections.llmops.sglang.plugins.module_utils._compare_verdict import Rules
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_text import plain
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_points import DFLASH, LINEAR, Point


@dataclass(frozen=True)
class Comparison:
    """What the gate says of a point; ``verdict`` is null where there was nothing to compare."""

    verdict: t.Optional[str] = None
    speedup: t.Optional[float] = None
    p_value: t.Optional[float] = None
    reasons: t.Sequence[str] = field(default_factory=tuple)

    @property
    def why(self) -> str:
        return plain("; ".join(self.reasons))


class Gate:
    """The rules of benchmark_compare.

    :raises Failure: ``bad_request`` for values without sense.
    """

    def __init__(self, options: t.Mapping[str, t.Any]) -> None:
        self.rules = Rules(*(options[name] for name in ("min_effect", "max_drop", "alpha", "max_spread")))
        self.metric = Metric(options["metric"]).name
        self.allow = list(options["allow_differences"])

    def compare(self, baseline: Point, point: Point) -> Comparison:
        """*point* against *baseline*; what they set themselves may differ, since that is what a sweep is about.

        What a baseline of the sweep's own sets beside its drafting is there to make it equal, and must be.
        """
        if not baseline.paths or not point.paths:
            return Comparison(reasons=("a side has no record",))
        allow = [*self.allow, *set_by(baseline), *set_by(point)]
        try:
            found = compare(baseline.paths, point.paths, self.metric, self.rules, allow)
        except Failure as failure:
            return Comparison(reasons=(failure.msg,))
        return Comparison(found["verdict"], found["geometric_mean_speedup"], found["p_value"], tuple(found["reasons"]))


def set_by(point: Point) -> list[str]:
    """The names of what a point sets, as a comparison names them."""
    found = ["speculative_*"] if point.overrides["speculative"] else []
    if point.kind in (LINEAR, DFLASH):
        return found
    found += [str(name).lstrip("-").replace("-", "_") for name in point.overrides["args"]]
    return found + [f"environment.{name}" for name in point.overrides["environment"]]
