# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The plots of a report, drawn with matplotlib: as a PNG to hand on, and as SVG that takes its colours from the page."""

from __future__ import annotations

import io
import logging
import re
import sys
import typing as t
import warnings
from dataclasses import dataclass

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure

SIZE = (5.4, 3.6)
_DPI = 170
_LEGEND_COLUMNS = 3
# Inches.
_LEGEND_ROW, _TITLE, _FOOTER = 0.2, 0.3, 0.2
_MARKERS = ("o", "s", "^", "D", "v", "P")
_DASHES = ("-", "--", ":", "-.")
# Points of the last line's markers, and how much larger those of the two lines before it are, each.
_MARKER, _MARKER_STEP = 5, 2.5
# Above this ratio of the largest to the least, equal steps would hide the small ones.
_LOGARITHMIC_FROM = 20
_SETTINGS = {
    # Names of models and labels are no formulas.
    "text.parse_math": False,
    "svg.fonttype": "none",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "lines.linewidth": 2,
    "legend.frameon": False,
}


@dataclass(frozen=True)
class Palette:
    """Colours; those of the page are stand-ins that become its CSS variables."""

    ink: str
    muted: str
    grid: str
    lines: tuple[str, ...]


PRINT = Palette("#1f2430", "#5b6475", "#d9dde5", ("#2563c9", "#c2410c", "#0f766e", "#9333a8", "#a16207", "#be123c"))
_PAGE_NAMES = ("ink", "muted", "grid", *(f"line-{number}" for number in range(1, 7)))
_STAND_INS = tuple(f"#0fa0{number:02x}" for number in range(len(_PAGE_NAMES)))
PAGE = Palette(*_STAND_INS[:3], _STAND_INS[3:])


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


def require_matplotlib() -> None:
    """Raise Failure where matplotlib cannot be used by the interpreter that runs Ansible."""
    # Without a home of its own matplotlib tells of the directory that it makes, each time.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        import matplotlib  # noqa: F401
    except ImportError as exc:
        raise Failure(
            "missing_dependency",
            f"The Python package 'matplotlib' draws the report and cannot be imported by '{sys.executable}', which runs Ansible on "
            f"the controller ({exc}): install it for that interpreter or into the execution environment, or leave the report out "
            "with 'benchmark_report: false'.",
        ) from exc


def png(plot: Plot, footer: str) -> bytes:
    """The plot on white, with *footer* below it."""
    return _draw(plot, PRINT, "png", footer)


def svg(plot: Plot) -> str:
    """The plot as an element for a page whose CSS has the variables ``--ink``, ``--muted``, ``--grid`` and ``--line-1`` to ``-6``."""
    text = _draw(plot, PAGE, "svg", "").decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(
        r'<svg [^>]*viewBox="([^"]*)"[^>]*>', rf'<svg viewBox="\1" role="img" aria-label="{plot.title}">', text, count=1
    )
    for stand_in, name in zip(_STAND_INS, _PAGE_NAMES):
        text = text.replace(stand_in, f"var(--{name})")
    # Several plots are in one page, and matplotlib counts anew in each.
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{plot.name}-", text)
    text = re.sub(r"font: ([0-9.]+px) [^;\"]*", r"font-size: \1", text)
    return text.replace("xlink:href", "href").strip()


def _draw(plot: Plot, palette: Palette, form: str, footer: str) -> bytes:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    out = io.BytesIO()
    # A character that the font lacks is drawn as a box; that is no news for a terminal.
    with warnings.catch_warnings(), mpl.rc_context({**_SETTINGS, "svg.hashsalt": plot.name}):
        warnings.simplefilter("ignore")
        figure = Figure(figsize=SIZE)
        (FigureCanvasAgg if form == "png" else FigureCanvasSVG)(figure)
        axes = figure.add_subplot()
        _fill(axes, plot, palette)
        _place(figure, plot, with_texts=form == "png")
        if form == "png":
            figure.text(
                0.02,
                1 - _TITLE / SIZE[1] / 2,
                plot.title,
                color=palette.ink,
                va="center",
                fontsize=11,
                fontweight="bold",
            )
            figure.text(0.02, 0.02, footer, color=palette.muted, fontsize=7)
            figure.savefig(out, format="png", dpi=_DPI, facecolor="white", metadata={"Software": None})
        else:
            figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    return out.getvalue()


def _place(figure: t.Any, plot: Plot, with_texts: bool) -> None:
    """Margins in inches: a layout that measures its texts takes most of the time of a drawing."""
    legend = _LEGEND_ROW * -(-len(plot.lines) // _LEGEND_COLUMNS) if plot.lines[0].name else 0
    top = 0.12 + legend + (_TITLE if with_texts else 0)
    below = 0.5 + (0.16 if any("\n" in name for dummy, name in plot.ticks) else 0) + (_FOOTER if with_texts else 0)
    width, height = SIZE
    figure.subplots_adjust(left=0.72 / width, right=1 - 0.1 / width, bottom=below / height, top=1 - top / height)


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
    axes.tick_params(colors=palette.muted, which="both", length=0)
    axes.grid(axis="y", color=palette.grid, linewidth=0.8)
    for spine in axes.spines.values():
        spine.set_color(palette.grid)
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
    axes.yaxis.set_major_formatter(FuncFormatter(lambda number, dummy: _short(number)))


def _short(number: float) -> str:
    """At most seven characters."""
    return f"{number:,.0f}" if 10 <= abs(number) < 1e6 else f"{number:.3g}"
