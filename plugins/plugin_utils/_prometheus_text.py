# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The last record of each host and unit as metrics for Prometheus."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.plugin_utils._metrics_file import Sample, replace
from ansible_collections.llmops.sglang.plugins.plugin_utils._record_summary import CellGroup, Record, groups

# Name without its prefix, help, figure of a cell, and what turns that into the base unit.
_BY_CELL = (
    (
        "output_tokens_per_second",
        "Generated tokens a second of all streams, median of the valid runs.",
        "output_tokens_per_second",
        1.0,
    ),
    ("requests_per_second", "Answered requests a second, median of the valid runs.", "requests_per_second", 1.0),
    ("ttft_seconds", "Mean time to the first token, median of the valid runs.", "ttft_ms", 0.001),
    ("tpot_seconds", "Mean time of a token after the first chunk, median of the valid runs.", "tpot_ms", 0.001),
    (
        "acceptance_length",
        "Tokens of a verify step with the bonus token, median of the valid runs.",
        "acceptance_length",
        1.0,
    ),
)
_OTHERS = {
    "info": "What the last benchmark measured; always 1.",
    "timestamp_seconds": "When the last benchmark ended, in seconds since 1970.",
    "cells": "Cells of the last benchmark by whether their figures count.",
    "invalid_cells": "Invalid cells of the last benchmark by reason; a cell may have several.",
    "start_seconds": "Seconds from the start of the measured process until it generated, where that was seen.",
}
_PREFIX = "llmops_sglang_benchmark_"


def write_metrics(path: str, host: str, record: Record, ready: t.Optional[float]) -> None:
    """Replace what *path* says of this host and unit; what it says of others stays.

    :arg host: the name in the inventory.
    :arg ready: seconds that the start of the measured process took.
    """
    subject = {"host": host, "unit": record["evidence_after"].get("unit") or ""}
    helps = {**_OTHERS, **{name: text for name, text, dummy, dummy2 in _BY_CELL}}
    replace(path, _PREFIX, helps, subject, samples(record, ready))


def samples(record: Record, ready: t.Optional[float]) -> list[Sample]:
    """The samples without the labels that all of them share."""
    evidence = record["evidence_after"]
    known = {"model": evidence["served_model"], "sglang_version": evidence["sglang_version"], "label": record["label"]}
    cells = record["cells"]
    found: list[Sample] = [
        ("info", {**known, "run_id": record["run_id"], "proven": str(record["proven"]).lower()}, 1),
        ("timestamp_seconds", {}, record["finished_at"]),
        ("cells", {"valid": "true"}, sum(cell["valid"] for cell in cells)),
        ("cells", {"valid": "false"}, sum(not cell["valid"] for cell in cells)),
    ]
    for reason in sorted({reason for cell in cells for reason in cell["reasons"]}):
        found.append(("invalid_cells", {"reason": reason}, sum(reason in cell["reasons"] for cell in cells)))
    if ready is not None:
        found.append(("start_seconds", {}, ready))
    return found + [sample for group in groups(record) for sample in _of_group(group)]


def _of_group(group: CellGroup) -> t.Iterator[Sample]:
    labels = {
        "context": "own" if group.context is None else group.context,
        "concurrency": "open" if group.concurrency is None else group.concurrency,
    }
    for name, dummy, figure, factor in _BY_CELL:
        number = group.median(figure)
        if number is not None:
            yield name, labels, round(number * factor, 9)
