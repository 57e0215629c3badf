# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The gate: from the runs of two sides to improved, pass, regressed or inconclusive.

The sample is a run and never a request. Over all cells the runs' geometric means are compared; a cell alone has its floor
always, and a test of its own only with so many runs that a correction for the number of cells leaves it any power.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field
from fractions import Fraction

from ansible_collections.llmops.sglang.plugins.module_utils._compare_figures import Ratio, Series, exact, ratio
from ansible_collections.llmops.sglang.plugins.module_utils._compare_rank_test import holm, rank_test, smallest_p
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure

IMPROVED, PASS, REGRESSED, INCONCLUSIVE = "improved", "pass", "regressed", "inconclusive"
NOT_COMPARABLE = "not_comparable"
FEWEST_RUNS = 3
FEWEST_RUNS_OF_A_CELL = 5


class Rules:
    """What counts as an effect, as a loss that is never let pass, as proof, and as too much noise.

    :raises Failure: ``bad_request`` for a value without sense.
    """

    def __init__(self, min_effect: float, max_drop: float, alpha: float, max_spread: float) -> None:
        for name, value, highest in (
            ("min_effect", min_effect, 1),
            ("max_drop", max_drop, 1),
            ("alpha", alpha, 0.5),
            ("max_spread", max_spread, 1),
        ):
            if not 0 <= value < highest:
                raise Failure(
                    "bad_request", f"The option '{name}' must be at least 0 and below {highest}, and not {value}."
                )
        if max_drop < min_effect:
            raise Failure(
                "bad_request",
                f"The option 'max_drop' ({max_drop}) is below 'min_effect' ({min_effect}): a loss that is too small to count "
                "cannot be too large to pass; raise it.",
            )
        self.min_effect = exact(min_effect)
        self.max_drop = exact(max_drop)
        self.alpha = exact(alpha)
        self.max_spread = max_spread

    def lost(self, change: Ratio) -> bool:
        return change.below(1 - self.min_effect)

    def gained(self, change: Ratio) -> bool:
        return change.above(1 + self.min_effect)


@dataclass
class Judgement:
    """A verdict and what it rests on; ``p_value`` is of the direction in which the medians differ."""

    verdict: str
    change: t.Optional[Ratio]
    runs: tuple[int, int]
    p_value: t.Optional[Fraction] = None
    why: str = ""


@dataclass
class Gate:
    """The verdict over all cells, and that of each cell in the order in which they were given."""

    verdict: str
    whole: Judgement
    cells: list[Judgement] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


def judge(whole: tuple[Series, Series], cells: t.Mapping[str, tuple[Series, Series]], rules: Rules) -> Gate:
    """The gate over *whole*, baseline and candidate by the geometric mean of the cells, and *cells*, each by its title."""
    overall = _judge_whole(*whole, rules)
    judged = _judge_cells(list(cells.values()), rules)
    broken = [f"{title}: {one.why}" for title, one in zip(cells, judged) if one.verdict == REGRESSED]
    reasons = [f"all cells: {overall.why}"] + broken
    return Gate(REGRESSED if broken else overall.verdict, overall, judged, reasons)


def refusal(verdict: str, reasons: t.Sequence[str], fail_on: str) -> t.Optional[Failure]:
    """The failure that *verdict* is by *fail_on*; ``None`` where it may pass.

    What cannot be compared is no pass either: a gate that could not look would let everything through.
    """
    refused = {"never": (), "regressed": (REGRESSED, NOT_COMPARABLE)}.get(
        fail_on, (REGRESSED, NOT_COMPARABLE, INCONCLUSIVE)
    )
    if verdict not in refused:
        return None
    what, remedy = {
        REGRESSED: ("is a regression", "go back to what the baseline ran, or find what else changed"),
        INCONCLUSIVE: ("cannot be judged", "measure more runs of both sides, in turns"),
        NOT_COMPARABLE: (
            "cannot be compared with the baseline",
            "make both sides the same in this, or name it in 'allow_differences' where the comparison is about it",
        ),
    }[verdict]
    return Failure("condition_not_met", f"The candidate {what} ({'; '.join(reasons)}): {remedy}.")


def _judge_whole(baseline: Series, candidate: Series, rules: Rules) -> Judgement:
    runs = (len(baseline), len(candidate))
    change = ratio(candidate, baseline)
    if change is None:
        side = "baseline" if not runs[0] else "candidate"
        return Judgement(INCONCLUSIVE, None, runs, None, f"the {side} has no run in which every cell is valid")
    if change.below(1 - rules.max_drop):
        return Judgement(REGRESSED, change, runs, _p_value(baseline, candidate, change), _floor(rules.max_drop))
    if min(runs) < FEWEST_RUNS:
        why = f"{runs[0]} and {runs[1]} whole runs are fewer than {FEWEST_RUNS} a side"
        return Judgement(INCONCLUSIVE, change, runs, None, why)
    p_value = _p_value(baseline, candidate, change)
    proven = p_value <= rules.alpha
    if proven and rules.lost(change):
        return Judgement(REGRESSED, change, runs, p_value, f"worse by more than {_percent(rules.min_effect)}, proven")
    if proven and rules.gained(change):
        return Judgement(IMPROVED, change, runs, p_value, f"better by more than {_percent(rules.min_effect)}, proven")
    why = _doubt(baseline, candidate, change, rules)
    passed = f"no loss of more than {_percent(rules.min_effect)}, with little spread"
    return Judgement(INCONCLUSIVE if why else PASS, change, runs, p_value, why or passed)


def _judge_cells(cells: t.Sequence[tuple[Series, Series]], rules: Rules) -> list[Judgement]:
    found = [_judge_cell_by_floor(baseline, candidate, rules, len(cells)) for baseline, candidate in cells]
    tested = [i for i, one in enumerate(found) if min(one.runs) >= FEWEST_RUNS_OF_A_CELL]
    raw = [rank_test(cells[i][0].products, cells[i][1].products) for i in tested]
    worse, better = holm([low for low, high in raw]), holm([high for low, high in raw])
    for index, low, high in zip(tested, worse, better):
        one, change = found[index], found[index].change
        one.p_value = low if change.below(Fraction(1)) else high
        if one.verdict == REGRESSED:
            continue
        why = _doubt(*cells[index], change, rules)
        one.verdict, one.why = INCONCLUSIVE if why else PASS, why
        if one.p_value <= rules.alpha and rules.lost(change):
            one.verdict, one.why = REGRESSED, f"worse by more than {_percent(rules.min_effect)}, proven"
        elif one.p_value <= rules.alpha and rules.gained(change):
            one.verdict, one.why = IMPROVED, ""
    return found


def _judge_cell_by_floor(baseline: Series, candidate: Series, rules: Rules, cells: int) -> Judgement:
    runs = (len(baseline), len(candidate))
    change = ratio(candidate, baseline)
    if change is None:
        return Judgement(INCONCLUSIVE, None, runs, None, "no valid run on a side")
    # Of many cells that ran once, one falls by max_drop by chance alone too often (9 cells with a noise of 3 %: 6 % of times).
    floor = rules.max_drop + (rules.min_effect if min(runs) == 1 and cells > 1 else 0)
    if change.below(1 - floor):
        return Judgement(REGRESSED, change, runs, None, _floor(floor))
    return Judgement(INCONCLUSIVE, change, runs, None, f"fewer than {FEWEST_RUNS_OF_A_CELL} runs a side")


def _doubt(baseline: Series, candidate: Series, change: Ratio, rules: Rules) -> str:
    """Why runs that prove nothing do not pass either; empty where they do."""
    noisy = max(s for s in (baseline.spread, candidate.spread) if s is not None)
    if noisy > rules.max_spread:
        return f"a side's runs spread by {100 * noisy:.1f} %, above {100 * rules.max_spread:g} %"
    if rules.lost(change):
        return f"a loss of more than {_percent(rules.min_effect)} shows and is not proven"
    if smallest_p(len(baseline), len(candidate)) > rules.alpha:
        return f"so few runs cannot prove anything at the level {float(rules.alpha):g}"
    return ""


def _p_value(baseline: Series, candidate: Series, change: Ratio) -> t.Optional[Fraction]:
    if min(len(baseline), len(candidate)) < FEWEST_RUNS:
        return None
    low, high = rank_test(baseline.products, candidate.products)
    return low if change.below(Fraction(1)) else high


def _floor(drop: Fraction) -> str:
    return f"worse by more than {_percent(drop)}, which is never let pass"


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):g} %"
