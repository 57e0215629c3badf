# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""A comparison from its records to the module's result: comparability first, and only then figures."""

from __future__ import annotations

import statistics
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils import _compare_verdict as verdicts
from ansible_collections.llmops.sglang.plugins.module_utils._compare_differences import (
    differences,
    forbidden,
    in_words,
    within,
)
from ansible_collections.llmops.sglang.plugins.module_utils._compare_figures import Series, geometric_mean
from ansible_collections.llmops.sglang.plugins.module_utils._compare_markdown import markdown
from ansible_collections.llmops.sglang.plugins.module_utils._compare_records import read_baseline, read_sides
from ansible_collections.llmops.sglang.plugins.module_utils._compare_side import (
    CellKey,
    Metric,
    Side,
    interleaved,
    title_of,
)
from ansible_collections.llmops.sglang.plugins.module_utils._compare_subject import variables_of
from ansible_collections.llmops.sglang.plugins.module_utils._result_budget import first_that_fit

# Acceptance reproduces to 5 % where a speedup does only to 11 %; answers must be alike in length to a tenth.
_ACCEPTANCE_REPRODUCES = 0.05
_LENGTHS_ALIKE = 0.10
# A result must stay below 64 kB.
_CELLS_BUDGET = 24000
_DIFFERENCES_BUDGET = 12000
_MOST_REMARKS = 12


def compare(
    baseline: t.Sequence[str],
    candidate: t.Sequence[str],
    metric: str,
    rules: verdicts.Rules,
    allow: t.Sequence[str],
) -> dict[str, t.Any]:
    """The result of comparing the records at *candidate* with those at *baseline*.

    :arg allow: names of what may differ; the rest must be the same.
    :raises Failure: ``bad_request`` for records that cannot be read or counted.
    """
    measure = Metric(metric)
    old, new = read_sides(baseline, candidate)
    sides = (Side("baseline", old, measure), Side("candidate", new, measure))
    found = differences(*sides, allow)
    result = {
        **nothing(),
        "metric": metric,
        "interleaved": interleaved(*sides),
        "caveats": _caveats(*sides),
        "differences": first_that_fit([one.as_result() for one in found], _DIFFERENCES_BUDGET),
    }
    if forbidden(found):
        result.update(verdict=verdicts.NOT_COMPARABLE, reasons=in_words(forbidden(found)))
    else:
        result.update(_judged(*sides, rules))
    result["markdown"] = markdown(result, sides[0].title, sides[1].title)
    return result


def check_baseline(baseline: t.Sequence[str], metric: str) -> dict[str, t.Any]:
    """The result of looking whether the records at *baseline* are of one thing that a candidate could be held against.

    :raises Failure: ``bad_request`` for records that cannot be read or counted.
    """
    found = list(within(Side("baseline", read_baseline(baseline), Metric(metric))))
    result = {**nothing(), "metric": metric}
    if found:
        told = first_that_fit([one.as_result() for one in found], _DIFFERENCES_BUDGET)
        result.update(verdict=verdicts.NOT_COMPARABLE, reasons=in_words(found), differences=told)
    return result


def nothing() -> dict[str, t.Any]:
    """The result of a comparison that could not be made."""
    return {
        "verdict": None, "reasons": [], "differences": [], "cells": [], "cells_omitted": 0, "by_concurrency": [],
        "geometric_mean_speedup": None, "p_value": None, "runs": {"baseline": 0, "candidate": 0},
        "spread": {"baseline": None, "candidate": None}, "metric": None, "interleaved": None, "caveats": [], "markdown": "",
    }  # fmt: skip


def _judged(baseline: Side, candidate: Side, rules: verdicts.Rules) -> dict[str, t.Any]:
    keys = [key for key in baseline.cells if key in candidate.cells]
    pairs = [(_alone(baseline, key), _alone(candidate, key)) for key in keys]
    whole = (baseline.series(keys), candidate.series(keys))
    gate = verdicts.judge(whole, {title_of(key): pair for key, pair in zip(keys, pairs)}, rules)
    cells = [_cell(key, pair, one, baseline, candidate) for key, pair, one in zip(keys, pairs, gate.cells)]
    kept = first_that_fit(cells, _CELLS_BUDGET)
    change = gate.whole.change
    return {
        "verdict": gate.verdict,
        "reasons": gate.reasons[:_MOST_REMARKS],
        "cells": kept,
        "cells_omitted": len(cells) - len(kept),
        "by_concurrency": _by_concurrency(cells),
        "geometric_mean_speedup": None if change is None else round(change.number, 4),
        "p_value": _probability(gate.whole),
        "runs": {"baseline": len(whole[0]), "candidate": len(whole[1])},
        "spread": {"baseline": _rounded(whole[0].spread), "candidate": _rounded(whole[1].spread)},
    }


def _alone(side: Side, key: CellKey) -> Series:
    return Series([[figure] for figure in side.figures(key).values()])


def _cell(
    key: CellKey, pair: tuple[Series, Series], judged: verdicts.Judgement, baseline: Side, candidate: Side
) -> dict[str, t.Any]:
    medians = [
        None if not len(one) else side.metric.as_measured(one.median.number)
        for one, side in zip(pair, (baseline, candidate))
    ]
    return {
        "context": key[0],
        "concurrency": key[1],
        "baseline": _rounded(medians[0]),
        "candidate": _rounded(medians[1]),
        "speedup": None if judged.change is None else round(judged.change.number, 4),
        "p_value": _probability(judged),
        "verdict": judged.verdict,
        "reason": judged.why,
        "baseline_runs": judged.runs[0],
        "candidate_runs": judged.runs[1],
        "baseline_acceptance": _median(baseline.acceptance(key)),
        "candidate_acceptance": _median(candidate.acceptance(key)),
    }


def _by_concurrency(cells: t.Sequence[t.Mapping[str, t.Any]]) -> list[dict[str, t.Any]]:
    """Speedup and acceptance over all contexts, by concurrency: a speedup by drafting decays with it."""
    found = []
    for concurrency in dict.fromkeys(cell["concurrency"] for cell in cells):
        own = [cell for cell in cells if cell["concurrency"] == concurrency]
        figures = {
            # What rounds to nothing has no logarithm either.
            name: geometric_mean([cell[name] for cell in own if cell[name]])
            for name in ("speedup", "baseline_acceptance", "candidate_acceptance")
        }
        found.append({"concurrency": concurrency, **{name: _rounded(one) for name, one in figures.items()}})
    return found


def _caveats(baseline: Side, candidate: Side) -> list[str]:
    """What a reader must know beside the verdict."""
    found = []
    sides = (baseline, candidate)
    for side in sides:
        unproven = [record["path"] for record in side.records if not record.get("proven")]
        if unproven:
            found.append(f"the {side.name} is not bound to an invocation (unproven): {', '.join(unproven[:3])}")
        if variables_of(side.records[0]) is None:
            found.append(f"the variables of the {side.name}'s process are unknown")
    if not interleaved(*sides):
        found.append("the sides did not take turns: a drift of the host would look like an effect")
    found += _answers_unlike(baseline, candidate)
    invalid = [line for side in sides for line in side.invalid(list(side.cells))]
    found += invalid[:_MOST_REMARKS]
    if len(invalid) > _MOST_REMARKS:
        found.append(f"and {len(invalid) - _MOST_REMARKS} more measurements that do not count")
    return found


def _answers_unlike(baseline: Side, candidate: Side) -> t.Iterator[str]:
    for key in baseline.cells:
        if key not in candidate.cells:
            continue
        # Not rounded: a figure above 0 must stay above 0, since it divides.
        lengths = [side.answer_tokens(key) for side in (baseline, candidate)]
        if all(lengths):
            before, after = map(statistics.median, lengths)
            if abs(after / before - 1) > _LENGTHS_ALIKE:
                yield f"{title_of(key)}: answers of {before:.6g} and {after:.6g} tokens are not the same work"
        accepted = [side.acceptance(key) for side in (baseline, candidate)]
        if all(accepted):
            before, after = map(statistics.median, accepted)
            if after / before < 1 - _ACCEPTANCE_REPRODUCES:
                yield f"{title_of(key)}: the acceptance length fell from {before:.6g} to {after:.6g}"


def _probability(judged: verdicts.Judgement) -> t.Optional[float]:
    return None if judged.p_value is None else round(float(judged.p_value), 6)


def _median(numbers: t.Sequence[float]) -> t.Optional[float]:
    return _rounded(statistics.median(numbers)) if numbers else None


def _rounded(number: t.Optional[float]) -> t.Optional[float]:
    return None if number is None else round(number, 4)
