# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The record of a benchmark on the host that ran it, whole or still growing, and its Markdown table.

A matrix that is under way lies in a partial record; when it is whole it becomes ``NAME.json`` with the raw requests in
``NAME.jsonl.gz`` and the table in ``NAME.md`` beside it, each written in one step.
"""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import hashlib
import json
import os
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._markdown_text import as_text
from ansible_collections.llmops.sglang.plugins.module_utils._record_file import (
    make_directory,
    record_name,
    remove,
    unwritable,
    write_atomically,
)
from ansible_collections.llmops.sglang.plugins.module_utils._result_budget import first_that_fit

SCHEMA_VERSION = 1
_RESULT_KEYS = (
    "context", "concurrency", "run", "valid", "reasons", "output_tokens_per_second", "requests_per_second", "acceptance_length",
    "acceptance_source", "acceptance_formula", "acceptance_floor_held", "cached_share", "short_outputs", "errors",
    "error_samples", "requests", "succeeded", "evidence_changes",
)  # fmt: skip
_DISTRIBUTIONS = ("ttft_ms", "tpot_ms", "chunk_gap_ms", "e2e_ms")
# Module results must stay below 64 kB; the rest is evidence and paths.
_CELLS_BUDGET = 32000
_MARKDOWN_BUDGET = 8000


class PartialRecord:
    """A matrix under way: what was asked (by its hash), what was learnt, and the cells that are measured."""

    def __init__(self, directory: str, key: t.Mapping[str, t.Any]) -> None:
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
        self.directory = directory
        self.path = os.path.join(directory, f".partial-{digest}.json")
        self.rows_path = os.path.join(directory, f".partial-{digest}.jsonl")
        self.lock_path = os.path.join(directory, f".partial-{digest}.lock")
        self.state: dict[str, t.Any] = {}

    @contextlib.contextmanager
    def held(self) -> t.Iterator[None]:
        """Be the only one that measures this very matrix: another would take up these cells and write between them.

        :raises Failure: ``condition_not_met`` while somebody else does.
        """
        make_directory(self.directory)
        while True:
            try:
                lock = os.open(self.lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as exc:
                raise unwritable(self.lock_path, exc) from exc
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(lock, self.lock_path):
                    break
            except BlockingIOError as exc:
                os.close(lock)
                raise Failure(
                    "condition_not_met",
                    f"The matrix of '{self.path}' is not measured, because another run measures the very same, or the rest of an "
                    "interrupted one: wait for its end, or set another label.",
                ) from exc
            except OSError as exc:
                os.close(lock)
                raise unwritable(self.lock_path, exc) from exc
            os.close(lock)
        try:
            yield
        finally:
            remove(self.lock_path)
            os.close(lock)

    def read(self) -> bool:
        """Take up what lies there; false where there is nothing usable."""
        try:
            with open(self.path, encoding="utf-8") as handle:
                state = json.load(handle)
        except (OSError, ValueError, RecursionError):
            return False
        if not isinstance(state, dict) or state.get("schema_version") != SCHEMA_VERSION:
            return False
        cells = state.get("cells")
        if not isinstance(cells, list) or not all(
            isinstance(c, dict) and isinstance(c.get("cell_id"), str) for c in cells
        ):
            return False
        self.state = state
        return True

    def begin(self, state: t.Mapping[str, t.Any]) -> None:
        """Start over with *state*."""
        make_directory(self.directory)
        self.state = {"schema_version": SCHEMA_VERSION, "cells": [], **state}
        remove(self.rows_path)
        self.save()

    def add(self, cell: t.Mapping[str, t.Any], rows: t.Sequence[t.Mapping[str, t.Any]]) -> None:
        """Keep a measured cell: rows first, so that a record never names rows that are not there."""
        try:
            with open(self.rows_path, "a", encoding="utf-8") as handle:
                for row in rows:
                    handle.write(json.dumps(row, separators=(",", ":")) + "\n")
        except OSError as exc:
            raise unwritable(self.rows_path, exc) from exc
        self.state["cells"].append(dict(cell))
        self.save()

    def save(self) -> None:
        """Write the state in one step."""
        write_atomically(self.path, json.dumps(self.state).encode())

    def rows(self) -> t.Iterator[str]:
        """The raw rows of the cells that count, one JSON line each."""
        wanted = {cell["cell_id"] for cell in self.state["cells"]}
        try:
            with open(self.rows_path, encoding="utf-8", errors="replace") as handle:
                for line in handle:
                    # A host that lost its power may leave anything in the middle of a file.
                    try:
                        row = json.loads(line)
                    except (ValueError, RecursionError):
                        continue
                    if isinstance(row, dict) and isinstance(row.get("cell_id"), str) and row["cell_id"] in wanted:
                        yield line if line.endswith("\n") else line + "\n"
        except OSError:
            return

    def remove(self) -> None:
        """Forget the matrix."""
        remove(self.path)
        remove(self.rows_path)


def _is_at(descriptor: int, path: str) -> bool:
    """Whether an open file is still the one at *path*, which its last holder may have removed."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def write_record(directory: str, label: str, record: dict[str, t.Any], rows: t.Iterable[str], table: str) -> str:
    """Write record, raw rows and table; the path of the record, which is written last."""
    make_directory(directory)
    base = os.path.join(directory, record_name(label, record["run_id"], record["finished_at"]))
    record["raw_requests"] = os.path.basename(base) + ".jsonl.gz"
    write_atomically(base + ".jsonl.gz", gzip.compress("".join(rows).encode(), 6))
    write_atomically(base + ".md", table.encode())
    write_atomically(base + ".json", (json.dumps(record, indent=1) + "\n").encode())
    return base + ".json"


def result_cells(cells: t.Sequence[t.Mapping[str, t.Any]]) -> tuple[list[dict[str, t.Any]], int]:
    """The cells as the module returns them, and how many were left out because a result must stay small."""
    short = [result_cell(cell) for cell in cells]
    if len(json.dumps(short)) > _CELLS_BUDGET:
        for cell in short:
            for key in ("error_samples", "evidence_changes", "acceptance_formula"):
                cell.pop(key, None)
    kept = first_that_fit(short, _CELLS_BUDGET)
    return kept, len(short) - len(kept)


def result_cell(cell: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """One cell without what only the record needs."""
    short = {key: cell.get(key) for key in _RESULT_KEYS}
    for name in _DISTRIBUTIONS:
        short[name] = {key: (cell.get(name) or {}).get(key) for key in ("mean", "p50", "p90", "p99")}
    return short


def markdown(record: t.Mapping[str, t.Any]) -> str:
    """The cells as a table, runs of one cell in one row; invalid runs are counted and not averaged."""
    lines = [
        f"**{as_text(record.get('label') or 'benchmark')}**: {as_text(_subject(record))}, profile {record['profile']}, {record['started']}",
        "",
        "| context | concurrency | valid runs | tokens/s | requests/s | TTFT ms | TPOT ms | chunk gap ms | acceptance | invalid because |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for (context, concurrency), cells in _grouped(record["cells"]).items():
        valid = [cell for cell in cells if cell["valid"]]
        reasons = sorted({reason for cell in cells for reason in cell["reasons"]})
        words = [
            "own" if context is None else str(context),
            "open" if concurrency is None else str(concurrency),
            f"{len(valid)}/{len(cells)}",
            _figure([cell["output_tokens_per_second"] for cell in valid]),
            _figure([cell["requests_per_second"] for cell in valid], 2),
            *(_figure([cell[name]["mean"] for cell in valid]) for name in ("ttft_ms", "tpot_ms", "chunk_gap_ms")),
            _figure([cell["acceptance_length"] for cell in valid], 2),
            ", ".join(reasons) or "-",
        ]
        lines.append(f"| {' | '.join(words)} |")
    text = "\n".join(lines) + "\n"
    return text if len(text) <= _MARKDOWN_BUDGET else text[: text.rfind("\n", 0, _MARKDOWN_BUDGET) + 1] + "\n(cut)\n"


def _grouped(cells: t.Sequence[t.Mapping[str, t.Any]]) -> dict[tuple[t.Any, t.Any], list[t.Mapping[str, t.Any]]]:
    groups: dict[tuple[t.Any, t.Any], list[t.Mapping[str, t.Any]]] = {}
    for cell in cells:
        groups.setdefault((cell["context"], cell["concurrency"]), []).append(cell)
    return groups


def _subject(record: t.Mapping[str, t.Any]) -> str:
    evidence = record.get("evidence_after") or {}
    version = evidence.get("sglang_version")
    model = evidence.get("served_model") or evidence.get("model_path") or "unknown model"
    engine = record.get("engine") or {}
    # This collection's own client is no other one.
    client = f", load by {engine['name']} {engine['version'] or ''}".rstrip() if engine.get("client") else ""
    proof = "" if record.get("proven") else ", unproven"
    server = f"SGLang {version}" if version else "an unknown server version"
    return f"{model} on {server} at {evidence.get('host') or 'an unknown host'}{client}{proof}"


def _figure(samples: t.Sequence[t.Optional[float]], digits: int = 1) -> str:
    """The median of the runs."""
    known = sorted(s for s in samples if s is not None)
    if not known:
        return "-"
    middle = len(known) // 2
    median = known[middle] if len(known) % 2 else (known[middle - 1] + known[middle]) / 2
    return f"{median:.{digits}f}"
