# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Draws with matplotlib what knows how to fill its axes: as a PNG to hand on, and as SVG that takes its colours from the page."""

from __future__ import annotations

import html
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
# Inches.
_TITLE, _FOOTER = 0.3, 0.2
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
    "hatch.linewidth": 0.8,
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


class Margins(t.NamedTuple):
    """Inches around the axes: a layout that measures its texts takes most of the time of a drawing."""

    left: float = 0.72
    right: float = 0.1
    below: float = 0.5
    above: float = 0.12


class Drawing(t.Protocol):
    """What can be drawn; it fills matplotlib's axes."""

    name: str
    title: str

    @property
    def size(self) -> tuple[float, float]: ...

    @property
    def margins(self) -> Margins: ...

    def fill(self, axes: t.Any, palette: Palette) -> None: ...


@dataclass(frozen=True)
class Figure:
    """A drawing, or a sentence where there is nothing to draw, and what is said below it."""

    name: str
    title: str
    plot: t.Optional[Drawing]
    note: str


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
            f"the controller ({exc}): install it for that interpreter or into the execution environment, or do without the plots "
            "('required: false'; a benchmark's report is left out with 'benchmark_report: false').",
        ) from exc


def png(plot: Drawing, footer: str) -> bytes:
    """The drawing on white, with *footer* below it."""
    return _draw(plot, PRINT, "png", footer)


def svg(plot: Drawing) -> str:
    """The drawing as an element for a page whose CSS has the variables ``--ink``, ``--muted``, ``--grid`` and ``--line-1`` to ``-6``."""
    text = _draw(plot, PAGE, "svg", "").decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    label = html.escape(plot.title)
    text = re.sub(
        r'<svg [^>]*viewBox="([^"]*)"[^>]*>',
        lambda found: f'<svg viewBox="{found.group(1)}" role="img" aria-label="{label}">',
        text,
        count=1,
    )
    for stand_in, name in zip(_STAND_INS, _PAGE_NAMES):
        text = text.replace(stand_in, f"var(--{name})")
    # Several plots are in one page, and matplotlib counts anew in each.
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{plot.name}-", text)
    text = re.sub(r"font: (?:[a-z]+ )*([0-9]+ )?([0-9.]+px) [^;\"]*", _font, text)
    return text.replace("xlink:href", "href").strip()


def _font(found: re.Match[str]) -> str:
    """The size and weight of a text; its family is the page's."""
    weight = f"; font-weight: {found.group(1).strip()}" if found.group(1) else ""
    return f"font-size: {found.group(2)}{weight}"


def _draw(plot: Drawing, palette: Palette, form: str, footer: str) -> bytes:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Canvas

    out = io.BytesIO()
    # A character that the font lacks is drawn as a box; that is no news for a terminal.
    with warnings.catch_warnings(), mpl.rc_context({**_SETTINGS, "svg.hashsalt": plot.name}):
        warnings.simplefilter("ignore")
        figure = Canvas(figsize=plot.size)
        (FigureCanvasAgg if form == "png" else FigureCanvasSVG)(figure)
        axes = figure.add_subplot()
        plot.fill(axes, palette)
        _place(figure, plot, with_texts=form == "png")
        if form == "png":
            height = 1 - _TITLE / plot.size[1] / 2
            figure.text(0.02, height, plot.title, color=palette.ink, va="center", fontsize=11, fontweight="bold")
            figure.text(0.02, 0.02, footer, color=palette.muted, fontsize=7)
            figure.savefig(out, format="png", dpi=_DPI, facecolor="white", metadata={"Software": None})
        else:
            figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    return out.getvalue()


def _place(figure: t.Any, plot: Drawing, with_texts: bool) -> None:
    (width, height), margins = plot.size, plot.margins
    top = margins.above + (_TITLE if with_texts else 0)
    below = margins.below + (_FOOTER if with_texts else 0)
    sides = {"left": margins.left / width, "right": 1 - margins.right / width}
    figure.subplots_adjust(**sides, bottom=below / height, top=1 - top / height)


def plain_axes(axes: t.Any, palette: Palette, grid: str = "y") -> None:
    """Ticks, spines and grid as all drawings have them."""
    axes.tick_params(colors=palette.muted, which="both", length=0)
    axes.grid(axis=grid, color=palette.grid, linewidth=0.8)
    for spine in axes.spines.values():
        spine.set_color(palette.grid)


def short(number: float) -> str:
    """At most seven characters."""
    return f"{number:,.0f}" if 10 <= abs(number) < 1e6 else f"{number:.3g}"
