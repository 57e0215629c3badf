# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""One side of a comparison: its runs, and of each the figures of its valid cells."""

from __future__ import annotations

import typing as t
from fractions import Fraction

from ansible_collections.llmops.sglang.plugins.module_utils._compare_figures import Series, exact
from ansible_collections.llmops.sglang.plugins.module_utils._compare_records import Record, mapping, usable_number
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure

# Context and concurrency; either may be None.
CellKey = t.Tuple[t.Optional[int], t.Optional[int]]
RunKey = t.Tuple[str, int]

_MORE_IS_BETTER = ("output_tokens_per_second", "steady_tokens_per_second", "requests_per_second", "acceptance_length")
_LESS_IS_BETTER = ("ttft_ms", "ttfo_ms", "tpot_ms", "chunk_gap_ms", "e2e_ms")
_PARTS = ("mean", "p50", "p90", "p99")
# What says how such a figure was made.
_BASES = {"acceptance_length": "acceptance_formula", "tpot_ms": "tpot_basis"}
_MOST_RUNS = 50


class Metric:
    """Which figure of a cell is compared, and in which direction it is good.

    :arg name: a figure of a cell; of a distribution also one of its parts, as in ``ttft_ms.p90``; its mean otherwise.
    :raises Failure: ``bad_request`` for another name.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.key, dot, part = name.partition(".")
        self.part = part or "mean"
        self.less_is_better = self.key in _LESS_IS_BETTER
        if not (name in _MORE_IS_BETTER or (self.less_is_better and self.part in _PARTS and bool(dot) == bool(part))):
            raise Failure(
                "bad_request",
                f"The metric '{name}' is no figure of a cell: use one of {', '.join(_MORE_IS_BETTER)}, or of "
                f"{', '.join(_LESS_IS_BETTER)} (or a part of those, such as ttft_ms.p90).",
            )

    def number(self, cell: t.Mapping[str, t.Any]) -> t.Optional[float]:
        """The figure as measured; null where there is none that can be compared."""
        value = cell.get(self.key)
        if self.less_is_better:
            value = mapping(value).get(self.part)
        return value if usable_number(value) else None

    @property
    def basis(self) -> t.Optional[str]:
        """The name of what says how the figure was made, where it can be made in more than one way."""
        return _BASES.get(self.key)

    def as_measured(self, speed: float) -> float:
        """A median of speeds as the figure that it comes from."""
        return 1 / speed if self.less_is_better else speed

    def speed(self, number: float) -> Fraction:
        """The figure turned so that more is better."""
        return 1 / exact(number) if self.less_is_better else exact(number)


class Side:
    """The records of one side.

    :raises Failure: ``bad_request`` if they hold more runs than the exact test counts out.
    """

    def __init__(self, name: str, records: t.Sequence[Record], metric: Metric) -> None:
        self.name = name
        self.records = list(records)
        self.metric = metric
        self.cells: dict[CellKey, dict[RunKey, t.Mapping[str, t.Any]]] = {}
        for record in records:
            for cell in record["cells"]:
                runs = self.cells.setdefault((cell["context"], cell["concurrency"]), {})
                runs[(record["run_id"], cell["run"])] = cell
        self.runs = sorted({run for runs in self.cells.values() for run in runs}, key=self.began_at)
        if len(self.runs) > _MOST_RUNS:
            raise Failure(
                "bad_request",
                f"The {name} has {len(self.runs)} runs, and no more than {_MOST_RUNS} a side are compared: name fewer records.",
            )

    def began_at(self, run: RunKey) -> float:
        """When a run's first cell began, in seconds since 1970."""
        begun = [cells[run].get("began_at") for cells in self.cells.values() if run in cells]
        return min((float(at) for at in begun if usable_number(at)), default=0.0)

    def figures(self, cell: CellKey) -> dict[RunKey, Fraction]:
        """The speeds of a cell by run, as far as they are valid and known."""
        found = {}
        for run, measured in self.cells.get(cell, {}).items():
            number = self.metric.number(measured) if measured["valid"] else None
            if number is not None:
                found[run] = self.metric.speed(number)
        return found

    def series(self, cells: t.Sequence[CellKey]) -> Series:
        """The runs in which all of *cells* are valid."""
        figures = [self.figures(cell) for cell in cells]
        return Series([[one[run] for one in figures] for run in self.runs if all(run in one for one in figures)])

    def acceptance(self, cell: CellKey) -> list[float]:
        """The acceptance lengths of a cell's valid runs, as far as they are known."""
        measured = [one for one in self.cells.get(cell, {}).values() if one["valid"]]
        return [one["acceptance_length"] for one in measured if usable_number(one.get("acceptance_length"))]

    @property
    def bases(self) -> list[str]:
        """How the valid figures were made."""
        cells = [cell for runs in self.cells.values() for cell in runs.values() if cell["valid"]]
        return sorted({str(cell[self.metric.basis]) for cell in cells if cell.get(self.metric.basis) is not None})

    def answer_tokens(self, cell: CellKey) -> list[float]:
        """Mean lengths of a cell's answers in tokens, of each valid run."""
        measured = [one for one in self.cells.get(cell, {}).values() if one["valid"]]
        means = [mapping(one.get("completion_tokens")).get("mean") for one in measured]
        return [mean for mean in means if usable_number(mean)]

    def invalid(self, cells: t.Sequence[CellKey]) -> list[str]:
        """What tells of each cell that does not count, and why."""
        found = []
        for cell in cells:
            for run, measured in sorted(self.cells.get(cell, {}).items()):
                if not measured["valid"]:
                    why = ", ".join(map(str, measured["reasons"])) or "no reason given"
                    found.append(f"{self.name}, {title_of(cell)}, run {run[1]} of {run[0][:8]}: invalid ({why})")
                elif self.metric.number(measured) is None:
                    found.append(f"{self.name}, {title_of(cell)}, run {run[1]} of {run[0][:8]}: no {self.metric.name}")
        return found

    @property
    def title(self) -> str:
        """The labels of the records, for people."""
        labels = dict.fromkeys(str(r.get("label") or r["run_id"][:8]) for r in self.records)
        return ", ".join(labels)


def title_of(cell: CellKey) -> str:
    """A cell in words."""
    context = "own prompts" if cell[0] is None else f"context {cell[0]}"
    return f"{context}, {'open loop' if cell[1] is None else f'concurrency {cell[1]}'}"


def interleaved(baseline: Side, candidate: Side) -> bool:
    """Whether the sides took turns: a host that drifts then changes both alike."""
    begun = [[side.began_at(run) for run in side.runs] for side in (baseline, candidate)]
    return max(begun[0]) > min(begun[1]) and max(begun[1]) > min(begun[0])
