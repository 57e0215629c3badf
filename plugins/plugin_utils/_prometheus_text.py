# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The last record of each host and unit as a file for the textfile collector of Prometheus' node exporter."""

from __future__ import annotations

import contextlib
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.plugin_utils._record_summary import CellGroup, Record, groups
from ansible_collections.llmops.sglang.plugins.plugin_utils._shared_file import write_shared

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
_LONGEST_LABEL = 200
Sample = tuple[str, dict[str, t.Any], float]


def write_metrics(path: str, host: str, record: Record, ready: t.Optional[float]) -> None:
    """Replace what *path* says of this host and unit; what it says of others stays.

    :arg host: the name in the inventory.
    :arg ready: seconds that the start of the measured process took.
    """
    subject = {"host": host, "unit": record["evidence_after"].get("unit") or ""}
    own = "{" + _labels(subject)
    kept = [line for line in _lines(path) if not line[line.index("{") :].startswith((f"{own},", f"{own}}}"))]
    new = [_line(sample, subject) for sample in samples(record, ready)]
    write_shared(path, _text([*kept, *new]).encode())


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


def _line(sample: Sample, subject: t.Mapping[str, t.Any]) -> str:
    name, labels, number = sample
    return f"{_PREFIX}{name}{{{_labels({**subject, **labels})}}} {float(number)!r}"


def _labels(labels: t.Mapping[str, t.Any]) -> str:
    return ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())


def _escaped(text: t.Any) -> str:
    plain = "" if text is None else str(text)[:_LONGEST_LABEL].encode("utf-8", "replace").decode()
    return plain.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"').replace("\r", " ").replace("\0", " ")


def _lines(path: str) -> list[str]:
    """The samples that are in the file now, as far as they are of this exporter."""
    with contextlib.suppress(OSError, ValueError), open(path, encoding="utf-8", newline="\n") as handle:
        return [line.rstrip("\n") for line in handle if re.match(rf"{_PREFIX}[a-z_]+{{host=", line)]
    return []


def _text(lines: t.Sequence[str]) -> str:
    """All samples of a name stand together below its help, as the format wants it."""
    helps = {**_OTHERS, **{name: text for name, text, dummy, dummy2 in _BY_CELL}}
    parts = []
    for name, text in helps.items():
        own = [line for line in lines if line.startswith(f"{_PREFIX}{name}{{")]
        if own:
            parts += [f"# HELP {_PREFIX}{name} {text}", f"# TYPE {_PREFIX}{name} gauge", *own]
    return "\n".join(parts) + "\n" if parts else ""
