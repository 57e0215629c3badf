# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""A plot of lines over equally spaced places, such as throughput over concurrency."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ansible_collections.llmops.sglang.plugins.plugin_utils._report_canvas import (
    SIZE,
    Margins,
    Palette,
    plain_axes,
    short,
)

_LEGEND_COLUMNS = 3
# Inches.
_LEGEND_ROW = 0.2
_MARKERS = ("o", "s", "^", "D", "v", "P")
_DASHES = ("-", "--", ":", "-.")
# Points of the last line's markers, and how much larger those of the two lines before it are, each.
_MARKER, _MARKER_STEP = 5, 2.5
# Above this ratio of the largest to the least, equal steps would hide the small ones.
_LOGARITHMIC_FROM = 20


@dataclass(frozen=True)
class Line:
    """One line: its name, and of each x the value with its least and most, where there are several runs."""

    name: str
    points: t.Mapping[t.Any, tuple[float, float, float]]


@dataclass(frozen=True)
class Plot:
    """What is drawn. ``ticks`` are the places on the x axis with their names, equally far apart.

    ``level`` is a value of y that is marked, such as a speedup of 1.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    ticks: t.Sequence[tuple[t.Any, str]]
    lines: t.Sequence[Line]
    level: t.Optional[float] = None
    from_zero: bool = False

    @property
    def size(self) -> tuple[float, float]:
        return SIZE

    @property
    def margins(self) -> Margins:
        legend = _LEGEND_ROW * -(-len(self.lines) // _LEGEND_COLUMNS) if self.lines[0].name else 0
        below = 0.5 + (0.16 if any("\n" in name for dummy, name in self.ticks) else 0)
        return Margins(below=below, above=0.12 + legend)

    def fill(self, axes: t.Any, palette: Palette) -> None:
        _fill(axes, self, palette)


def _fill(axes: t.Any, plot: Plot, palette: Palette) -> None:
    places = {x: place for place, (x, dummy) in enumerate(plot.ticks)}
    for number, line in enumerate(plot.lines):
        style = {
            "color": palette.lines[number % len(palette.lines)],
            "marker": _MARKERS[number % len(_MARKERS)],
            "linestyle": _DASHES[number // len(palette.lines) % len(_DASHES)],
            # Lines of the same values lie upon each other: the markers of those below stand out around the later ones.
            "markersize": _MARKER + _MARKER_STEP * min(2, len(plot.lines) - 1 - number),
        }
        _line(axes, line, places, style)
    if plot.level is not None:
        axes.axhline(plot.level, color=palette.muted, linewidth=1, linestyle="--", zorder=1)
    axes.set_xticks(range(len(plot.ticks)), [name for dummy, name in plot.ticks])
    axes.set_xlim(-0.4, max(len(plot.ticks) - 0.6, 0.4))
    axes.set_xlabel(plot.x_label, color=palette.muted)
    axes.set_ylabel(plot.y_label, color=palette.muted)
    _scale(axes, plot)
    plain_axes(axes, palette)
    if plot.lines[0].name:
        place = {"loc": "lower left", "bbox_to_anchor": (-0.02, 1.0), "ncols": _LEGEND_COLUMNS}
        legend = axes.legend(**place, fontsize=10, handlelength=2.2, borderaxespad=0.2)
        for text in legend.get_texts():
            text.set_color(palette.ink)


def _line(axes: t.Any, line: Line, places: t.Mapping[t.Any, int], style: dict[str, str]) -> None:
    xs = sorted((x for x in line.points if x in places), key=places.__getitem__)
    at = [places[x] for x in xs]
    middle = [line.points[x][0] for x in xs]
    axes.plot(at, middle, label=line.name, **style)
    below = [line.points[x][0] - line.points[x][1] for x in xs]
    above = [line.points[x][2] - line.points[x][0] for x in xs]
    if any(below) or any(above):
        axes.errorbar(at, middle, yerr=[below, above], fmt="none", ecolor=style["color"], elinewidth=1.2, capsize=3)


def _scale(axes: t.Any, plot: Plot) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

    seen = [number for line in plot.lines for point in line.points.values() for number in point]
    if plot.from_zero or min(seen) <= 0 or max(seen) / min(seen) < _LOGARITHMIC_FROM:
        axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        axes.set_ylim(bottom=0, top=max([*seen, plot.level or 0]) * 1.08 or 1)
    else:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.minorticks_off()
    axes.yaxis.set_major_formatter(FuncFormatter(lambda number, dummy: short(number)))
