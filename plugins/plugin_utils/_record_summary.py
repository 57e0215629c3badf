# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""A record by context and concurrency: the runs of a cell together, invalid ones counted and in no figure."""

from __future__ import annotations

import json
import statistics
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.plugin_utils._report_text import plain

Record = t.Mapping[str, t.Any]
Key = tuple[t.Optional[int], t.Optional[int]]

FIGURES = (
    "output_tokens_per_second",
    "requests_per_second",
    "ttft_ms",
    "tpot_ms",
    "chunk_gap_ms",
    "e2e_ms",
    "acceptance_length",
)
_LATENCIES = ("ttft_ms", "tpot_ms", "chunk_gap_ms", "e2e_ms")
# An artifact of a job is kept in a database row.
_LARGEST_ARTIFACT = 4000
_LONGEST_TEXT = 200


@dataclass
class CellGroup:
    """All runs of one context and one concurrency; null is a user's own prompts and an open loop."""

    context: t.Optional[int]
    concurrency: t.Optional[int]
    cells: list[Record] = field(default_factory=list)

    @property
    def valid(self) -> list[Record]:
        return [cell for cell in self.cells if cell["valid"]]

    @property
    def reasons(self) -> list[str]:
        return sorted({reason for cell in self.cells for reason in cell["reasons"]})

    def runs(self, figure: str) -> list[float]:
        """A figure of each valid run that has it; of a latency its mean."""
        found = (figure_of(cell, figure) for cell in self.valid)
        return [number for number in found if number is not None]

    def median(self, figure: str) -> t.Optional[float]:
        """The median over the runs; null where no valid run has the figure."""
        runs = self.runs(figure)
        return statistics.median(runs) if runs else None


def figure_of(cell: Record, figure: str) -> t.Optional[float]:
    """One of FIGURES of a cell; of a latency its mean."""
    return cell[figure]["mean"] if figure in _LATENCIES else cell[figure]


def order(key: Key) -> tuple[float, float]:
    """Sorts contexts and concurrencies by number, own prompts and the open loop last."""
    context, concurrency = (float("inf") if part is None else part for part in key)
    return context, concurrency


def groups(record: Record) -> list[CellGroup]:
    """The cells of *record* by context and concurrency, in order."""
    found: dict[Key, CellGroup] = {}
    for cell in record["cells"]:
        key = (cell["context"], cell["concurrency"])
        found.setdefault(key, CellGroup(*key)).cells.append(cell)
    return [found[key] for key in sorted(found, key=order)]


def speedups(record: Record, baseline: Record) -> dict[Key, float]:
    """By how much each cell of *record* has more tokens a second than that of *baseline*, where both have a valid run."""
    rates = [
        {(group.context, group.concurrency): group.median("output_tokens_per_second") for group in groups(one)}
        for one in (record, baseline)
    ]
    return {key: rate / rates[1][key] for key, rate in rates[0].items() if rate and rates[1].get(key)}


def artifact(record: Record, record_path: str) -> dict[str, t.Any]:
    """What a job keeps of *record*: small whatever the record holds."""
    evidence = record["evidence_after"]
    cells = record["cells"]
    found: dict[str, t.Any] = {
        "label": plain(record["label"], _LONGEST_TEXT),
        "run_id": plain(record["run_id"], _LONGEST_TEXT),
        "started": plain(record["started"], _LONGEST_TEXT),
        "record_path": plain(record_path, 1000),
        "proven": record["proven"],
        "model": plain(evidence["served_model"], _LONGEST_TEXT) or None,
        "sglang_version": plain(evidence["sglang_version"], _LONGEST_TEXT) or None,
        "invocation_id": plain(evidence["invocation_id"], _LONGEST_TEXT) or None,
        "cells_valid": sum(cell["valid"] for cell in cells),
        "cells_invalid": sum(not cell["valid"] for cell in cells),
        "reasons": sorted({reason for cell in cells for reason in cell["reasons"]}),
        "figures": [],
        "figures_omitted": 0,
    }
    for group in groups(record):
        found["figures"].append(_figures(group))
        if len(json.dumps(found)) > _LARGEST_ARTIFACT:
            found["figures"].pop()
            found["figures_omitted"] += 1
    return found


def _figures(group: CellGroup) -> dict[str, t.Any]:
    shown = ("output_tokens_per_second", "ttft_ms", "tpot_ms", "acceptance_length")
    medians = {figure: group.median(figure) for figure in shown}
    rounded = {figure: None if number is None else round(number, 3) for figure, number in medians.items()}
    return {"context": group.context, "concurrency": group.concurrency, **rounded}
