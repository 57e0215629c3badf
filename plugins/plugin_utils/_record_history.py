# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What a host's records tell over time, as CSV: one file a label and cell, and one of how long starts took.

A tool that looks for change points takes each file as it is: one row for each valid run, with every figure of the row a number.
"""

from __future__ import annotations

import math
import os
import re
import time
import typing as t

from ansible_collections.llmops.sglang.plugins.plugin_utils._record_summary import FIGURES, Record, figure_of
from ansible_collections.llmops.sglang.plugins.plugin_utils._shared_file import read_table, write_table

COLUMNS = (
    "time",
    *FIGURES,
    "run",
    "label",
    "unit",
    "model",
    "sglang_version",
    "argv_sha256",
    "invocation_id",
    "profile",
    "run_id",
    "cell_id",
)
STAGES = ("process_started", "port_bound", "first_http_answer", "first_generation", "ready")
STARTS_FILE = "starts.csv"
STARTS_COLUMNS = ("time", *STAGES, "label", "unit", "model", "sglang_version", "argv_sha256", "invocation_id")
_MOST_STARTS = 1000


def add_cells(directory: str, record: Record) -> t.Optional[str]:
    """Add the valid runs of *record* to the history; the folder of its label, null where no run counts.

    A run that is there already is not added again, so that a record may be filed twice.
    """
    rows: dict[str, list[dict[str, t.Any]]] = {}
    for cell in record["cells"]:
        # Without a rate there is nothing to follow, whatever else is known.
        if cell["valid"] and cell["output_tokens_per_second"] is not None:
            rows.setdefault(_file(directory, record["label"], cell), []).append(_row(record, cell))
    for path, new in rows.items():
        known = read_table(path, COLUMNS)
        there = {row["cell_id"] for row in known}
        write_table(path, COLUMNS, [*known, *(row for row in new if row["cell_id"] not in there)])
    return os.path.dirname(next(iter(rows))) if rows else None


def _file(directory: str, label: str, cell: Record) -> str:
    words = re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-.")[:80] or "unnamed"
    context = "own" if cell["context"] is None else cell["context"]
    streams = "open" if cell["concurrency"] is None else cell["concurrency"]
    return os.path.join(directory, "history", words, f"context-{context}_concurrency-{streams}.csv")


def _row(record: Record, cell: Record) -> dict[str, t.Any]:
    return {
        "time": _utc(cell["began_at"]),
        **{figure: figure_of(cell, figure) for figure in FIGURES},
        "run": cell["run"],
        "cell_id": cell["cell_id"],
        "run_id": record["run_id"],
        "profile": record["profile"],
        **_subject(record, cell["evidence_after"]),
    }


def _subject(record: Record, evidence: Record) -> dict[str, t.Any]:
    return {
        "label": record["label"],
        "unit": evidence.get("unit"),
        "model": evidence["served_model"],
        "sglang_version": evidence["sglang_version"],
        "argv_sha256": evidence["argv_sha256"],
        "invocation_id": evidence["invocation_id"],
    }


def add_start(directory: str, record: Record, waited: t.Mapping[str, t.Any]) -> bool:
    """Keep how long the start took of the process that *record* speaks of.

    :arg waited: a result of wait_for_generation.
    :returns: whether it tells: the wait saw the start, and of this very invocation.
    """
    evidence = record["evidence_before"]
    stages = waited.get("stages") or {}
    invocation = evidence["invocation_id"]
    if not (
        waited.get("from_start") and invocation and waited.get("invocation_id") == invocation and stages.get("ready")
    ):
        return False
    path = os.path.join(directory, STARTS_FILE)
    known = read_table(path, STARTS_COLUMNS)
    if all(row["invocation_id"] != invocation for row in known):
        seconds = {stage: stages.get(stage) for stage in STAGES}
        known.append({"time": _utc(record["started_at"]), **seconds, **_subject(record, evidence)})
        write_table(path, STARTS_COLUMNS, known[-_MOST_STARTS:])
    return True


def starts(directory: str, unit: t.Optional[str]) -> list[dict[str, t.Any]]:
    """The starts of *unit* that were seen, oldest first: ``time``, ``ready`` and ``port_bound`` (or null) in seconds, ``invocation_id``."""
    found = []
    for row in read_table(os.path.join(directory, STARTS_FILE), STARTS_COLUMNS):
        if row["unit"] == (unit or "") and _number(row["ready"]) is not None:
            found.append({**row, "ready": _number(row["ready"]), "port_bound": _number(row["port_bound"])})
    return sorted(found, key=lambda row: row["time"])


def ready_seconds(directory: str, record: Record) -> t.Optional[float]:
    """How long the start took of the process that *record* speaks of; null where nobody saw it."""
    evidence = record["evidence_before"]
    own = [row for row in starts(directory, evidence.get("unit")) if row["invocation_id"] == evidence["invocation_id"]]
    return own[0]["ready"] if own else None


def _number(text: str) -> t.Optional[float]:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
