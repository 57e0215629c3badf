# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The report of one record as an HTML page."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.plugin_utils._record_summary import CellGroup, Record, groups
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_canvas import Figure
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_evidence import evidence_table, options_table
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_figures import cell_name, streams_name
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_frame import badge, document, figures_part, tiles
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_text import escaped, number, plain, row, table

_MOST_INVALID = 200
MEANINGS = {
    "evidence_changed": "another process, model or server version answered at the end than at the start",
    "errors": "a request failed, and nothing is sent twice",
    "no_usage": "the server did not report token counts",
    "short_outputs": "the answers have less than nine tenths of the wanted tokens",
    "prompt_length": "the prompts have another length than the context that was asked for",
    "cached": "too many of the prompts' tokens came from the prefix cache",
    "client_saturated": "the load generator could not keep up, so the figures may be its own",
    "foreign_traffic": "the server had more requests than this benchmark sent",
    "unknown_acceptance": "a floor is set and nobody tells the acceptance length",
    "simulated_acceptance": "the server makes its acceptance up",
    "timeout": "requests were not answered within the cell's time",
}


def page(record: Record, record_name: str, figures: t.Sequence[Figure], baseline: t.Optional[Record] = None) -> str:
    """The whole page.

    :arg record_name: name of the record's file, beside which the page lies.
    """
    title = plain(record["label"]) or "benchmark"
    found = groups(record)
    parts = [
        _head(record, title),
        _tiles(found),
        figures_part(figures),
        _cells(found),
        _invalid(record),
        "<h2>Evidence</h2>",
        evidence_table(record, baseline),
        "<h2>What was asked for</h2>",
        options_table(record),
        f'<footer class="muted"><p>Made of <code>{escaped(record_name)}</code>, schema version {record["schema_version"]}, '
        f"run <code>{escaped(record['run_id'])}</code>.</p></footer>",
    ]
    return document(title, parts)


def _head(record: Record, title: str) -> str:
    evidence = record["evidence_after"]
    valid, total = sum(cell["valid"] for cell in record["cells"]), len(record["cells"])
    version = evidence["sglang_version"]
    badges = [
        badge("good" if valid == total else "bad", f"{valid} of {total} cells valid"),
        badge("good", "bound to one invocation") if record["proven"] else badge("warn", "unproven"),
    ]
    if any(cell["acceptance_floor_held"] is False for cell in record["cells"]):
        badges.append(badge("bad", "below the floor of the acceptance length"))
    badges += [badge("warn", caveat) for caveat in record["engine"]["caveats"]]
    model = evidence["served_model"] or evidence.get("model_path") or "unknown model"
    server = f"SGLang {plain(version)}" if version else "unknown server version"
    return (
        f"<h1>{escaped(title)}</h1>\n<p>{escaped(model)}</p>\n"
        f'<p class="muted">{escaped(server)} on {escaped(evidence["host"] or "an unknown host")}, profile '
        f"{escaped(record['profile'])}, measured {escaped(record['started'])} with the engine {escaped(record['engine']['name'])}</p>\n"
        f'<ul class="badges">{"".join(badges)}</ul>'
    )


def _tiles(found: t.Sequence[CellGroup]) -> str:
    shown_tiles = []
    for title, figure, digits, unit, best in (
        ("Most tokens/s", "output_tokens_per_second", 0, "", max),
        ("Least time to first token", "ttft_ms", 0, " ms", min),
        ("Least time a token", "tpot_ms", 2, " ms", min),
        ("Highest acceptance length", "acceptance_length", 2, "", max),
    ):
        known = [(median, group) for group in found for median in [group.median(figure)] if median is not None]
        if known:
            value, group = best(known, key=lambda one: one[0])
            where = cell_name(group.context, group.concurrency)
            shown = f"{number(value, digits)}{unit}"
        else:
            shown, where = "-", "not known of any valid cell"
        shown_tiles.append((title, shown, where))
    return tiles(shown_tiles)


def _cells(found: t.Sequence[CellGroup]) -> str:
    heads = [
        "context",
        "concurrency",
        "valid runs",
        "tokens/s",
        "requests/s",
        "TTFT ms",
        "TPOT ms",
        "chunk gap ms",
        "acceptance",
    ]
    figures = (
        ("output_tokens_per_second", 1),
        ("requests_per_second", 2),
        ("ttft_ms", 1),
        ("tpot_ms", 2),
        ("chunk_gap_ms", 1),
        ("acceptance_length", 2),
    )
    rows = []
    for group in found:
        words = ["own" if group.context is None else str(group.context), streams_name(group.concurrency)]
        words.append(f"{len(group.valid)}/{len(group.cells)}")
        words += [number(group.median(figure), digits) for figure, digits in figures]
        rows.append(row(words, numbers=len(words)))
    caption = "Medians of the valid runs; of latencies those of the means."
    return "<h2>Cells</h2>\n" + table(heads, rows, caption, numbers=len(heads))


def _invalid(record: Record) -> str:
    cells = [cell for cell in record["cells"] if not cell["valid"]]
    if not cells:
        return '<h2>Invalid cells</h2>\n<p class="muted">None: every cell is in the figures.</p>'
    rows = [row([_where(cell), _why(cell), _seen(cell)]) for cell in cells[:_MOST_INVALID]]
    caption = "None of these is in any figure above."
    if len(cells) > _MOST_INVALID:
        caption += f" {len(cells) - _MOST_INVALID} more are in the record."
    return "<h2>Invalid cells</h2>\n" + table(["cell", "why", "what was seen"], rows, caption, kind="stack")


def _where(cell: Record) -> str:
    return f"{cell_name(cell['context'], cell['concurrency'])}, run {cell['run']}"


def _why(cell: Record) -> str:
    return "; ".join(f"{reason}: {MEANINGS.get(reason, 'see the record')}" for reason in cell["reasons"]) or "not told"


def _seen(cell: Record) -> str:
    told = [f"{cell['succeeded']} of {cell['requests']} requests were answered whole", *cell["evidence_changes"]]
    samples = cell.get("error_samples") or {}
    for kind, count in cell["errors"].items():
        told.append(f"{count} x {kind}" + (f" ({samples[kind]})" if samples.get(kind) else ""))
    return "; ".join(told)
