# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Which plots a record gives, with what they show; and for each that cannot be drawn, why."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.plugin_utils._record_summary import (
    CellGroup,
    Record,
    groups,
    order,
    speedups,
)
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_canvas import Figure
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_plots import Line, Plot

Point = tuple[float, float, float]
_MOST_STARTS = 10
_STREAMS = "concurrency (streams)"


def figures(
    record: Record, baseline: t.Optional[Record], starts: t.Sequence[t.Mapping[str, t.Any]], unlike: str = ""
) -> list[Figure]:
    """All figures of a report in their order.

    :arg starts: what is known of earlier starts of the unit, oldest first.
    :arg unlike: why *baseline* cannot be compared; empty where it can.
    """
    found = groups(record)
    runs = max(len(group.cells) for group in found)
    spread = (
        "Each point is the median of the valid runs; bars show the least and the most."
        if runs > 1
        else "Each point is one run."
    )
    throughput = _over_concurrency(found, "output_tokens_per_second")
    latency = _over_concurrency(found, "ttft_ms")
    acceptance = _over_concurrency(found, "acceptance_length")
    nothing = "No cell is valid, so there is nothing to draw."
    return [
        _figure(
            "throughput",
            "Throughput over concurrency",
            "output tokens/s, all streams",
            found,
            throughput,
            spread,
            nothing,
        ),
        _figure("ttft", "Time to first token over concurrency", "mean TTFT in ms", found, latency, spread, nothing),
        _speedup(record, baseline, found, unlike),
        _figure(
            "acceptance",
            "Acceptance length over concurrency",
            "tokens a verify step",
            found,
            acceptance,
            f"With the bonus token. {spread}",
            "No valid cell has a known acceptance length: the server drafts nothing, or does not tell it.",
        ),
        _starts(starts, record),
    ]


def cell_name(context: t.Optional[int], concurrency: t.Optional[int]) -> str:
    streams = "open loop" if concurrency is None else f"concurrency {concurrency}"
    return f"{context_name(context)}, {streams}"


def context_name(context: t.Optional[int]) -> str:
    return "own prompts" if context is None else f"context {context}"


def streams_name(concurrency: t.Optional[int]) -> str:
    return "open loop" if concurrency is None else str(concurrency)


def _over_concurrency(found: t.Sequence[CellGroup], figure: str) -> dict[t.Optional[int], dict[t.Optional[int], Point]]:
    """By context and concurrency the median with the least and the most, where it is known."""
    lines: dict[t.Optional[int], dict[t.Optional[int], Point]] = {}
    for group in found:
        runs = group.runs(figure)
        middle = group.median(figure)
        if middle is not None:
            lines.setdefault(group.context, {})[group.concurrency] = (middle, min(runs), max(runs))
    return lines


def _figure(
    name: str,
    title: str,
    y_label: str,
    found: t.Sequence[CellGroup],
    points: t.Mapping[t.Optional[int], t.Mapping[t.Optional[int], Point]],
    note: str,
    nothing: str,
    level: t.Optional[float] = None,
) -> Figure:
    if not points:
        return Figure(name, title, None, nothing)
    ticks = sorted({group.concurrency for group in found}, key=lambda streams: order((None, streams)))
    lines = [
        Line(context_name(context), points[context]) for context in sorted(points, key=lambda one: order((one, None)))
    ]
    plot = Plot(name, title, _STREAMS, y_label, [(streams, streams_name(streams)) for streams in ticks], lines, level)
    return Figure(name, title, plot, note)


def _speedup(record: Record, baseline: t.Optional[Record], found: t.Sequence[CellGroup], unlike: str) -> Figure:
    name, title = "speedup", "Speedup against the baseline by concurrency"
    if baseline is None:
        return Figure(name, title, None, "No baseline is named.")
    if unlike:
        return Figure(name, title, None, f"The baseline cannot be compared with this record ({unlike}).")
    points: dict[t.Optional[int], dict[t.Optional[int], Point]] = {}
    for (context, streams), ratio in speedups(record, baseline).items():
        points.setdefault(context, {})[streams] = (ratio, ratio, ratio)
    note = "Output tokens/s of this record over those of the baseline, medians of the valid runs. Above 1 is faster."
    nothing = "The baseline and this record have no valid cell in common."
    return _figure(name, title, "times the baseline", found, points, note, nothing, level=1.0)


def _starts(starts: t.Sequence[t.Mapping[str, t.Any]], record: Record) -> Figure:
    name, title = "starts", "Time from start to ready"
    if not starts:
        return Figure(
            name, title, None, "No start of this unit was seen from its beginning by a play that measured it."
        )
    shown = list(starts)[-_MOST_STARTS:]
    ticks = [(place, f"{row['time'][5:10]}\n{row['time'][11:16]}") for place, row in enumerate(shown)]
    ready = {place: (row["ready"],) * 3 for place, row in enumerate(shown)}
    bound = {place: (row["port_bound"],) * 3 for place, row in enumerate(shown) if row["port_bound"] is not None}
    lines = [Line("ready", ready), *([Line("port bound", bound)] if bound else [])]
    own = record["evidence_before"]["invocation_id"]
    here = [row["ready"] for row in shown if row["invocation_id"] == own]
    note = f"Starts of the unit on this host that were seen, the last {len(shown)}."
    note += (
        f" The process of this record took {here[0]:.1f} s."
        if here
        else " The start of this record's process was not seen."
    )
    return Figure(name, title, Plot(name, title, "start (UTC)", "seconds", ticks, lines, from_zero=True), note)
