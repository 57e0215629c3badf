# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""A drawing of marks over two figures, with the front of those that no other beats in both."""

from __future__ import annotations

import itertools
import math
import typing as t
from dataclasses import dataclass

from ansible_collections.llmops.sglang.plugins.plugin_utils._report_canvas import (
    SIZE,
    Margins,
    Palette,
    plain_axes,
    short,
)

# Above this ratio of the largest to the least, equal steps would hide the small ones.
_LOGARITHMIC_FROM = 20
_LEGEND_COLUMNS = 3
# Inches.
_LEGEND_ROW = 0.21
_LABEL = (0.105, 0.13)
_AWAY = 0.1
_MOST_LABELS = 40
# What comes later is drawn above.
_STYLES = {
    "point": ("o", 5, None),
    "linear": ("^", 7, 2),
    "dflash": ("s", 6.5, 1),
    "winner": ("D", 7, 0),
}
_NAMES = {"point": "other points", "linear": "no speculation", "dflash": "plain DFLASH", "winner": "winner"}


@dataclass(frozen=True)
class Mark:
    """One mark; its label is short, empty for none. ``kind`` is one of point, linear, dflash, winner."""

    x: float
    y: float
    label: str = ""
    kind: str = "point"


@dataclass(frozen=True)
class Scatter:
    """Marks, and the front where ``front`` is set: more is better on both axes."""

    name: str
    title: str
    x_label: str
    y_label: str
    marks: t.Sequence[Mark]
    front: bool = False
    from_zero: bool = False

    @property
    def size(self) -> tuple[float, float]:
        return SIZE

    @property
    def margins(self) -> Margins:
        entries = len({mark.kind for mark in self.marks}) + self.front
        return Margins(above=0.12 + _LEGEND_ROW * -(-entries // _LEGEND_COLUMNS))

    def fill(self, axes: t.Any, palette: Palette) -> None:
        if self.front:
            front = pareto(self.marks)
            xs, ys = [mark.x for mark in front], [mark.y for mark in front]
            axes.plot(xs, ys, color=palette.ink, linewidth=1.1, linestyle="--", label="Pareto front")
        for kind, (marker, size, line) in _STYLES.items():
            own = [mark for mark in self.marks if mark.kind == kind]
            if own:
                colour = palette.muted if line is None else palette.lines[line]
                style = {"marker": marker, "markersize": size, "color": colour, "alpha": 0.6 if line is None else 1}
                axes.plot([m.x for m in own], [m.y for m in own], linestyle="none", label=_NAMES[kind], **style)
        plain_axes(axes, palette, "both")
        for axis, numbers in (("x", [mark.x for mark in self.marks]), ("y", [mark.y for mark in self.marks])):
            _scale(axes, axis, numbers, self.from_zero)
        axes.set_xlabel(self.x_label, color=palette.muted)
        axes.set_ylabel(self.y_label, color=palette.muted)
        place = {"loc": "lower left", "bbox_to_anchor": (-0.02, 1.0), "ncols": _LEGEND_COLUMNS}
        legend = axes.legend(**place, fontsize=9, handlelength=1.8, borderaxespad=0.2, columnspacing=1.2)
        for text in legend.get_texts():
            text.set_color(palette.ink)
        self._label(axes, palette)

    def _label(self, axes: t.Any, palette: Palette) -> None:
        """Each label where neither a mark nor another label is; one for which there is no such place is left out."""
        sides = self.margins
        room = (self.size[0] - sides.left - sides.right, self.size[1] - sides.below - sides.above)
        at = [_inches(axes, mark, room) for mark in self.marks]
        taken = list(at)
        for mark, (x, y) in itertools.islice(((m, p) for m, p in zip(self.marks, at) if m.label), _MOST_LABELS):
            for right, up in itertools.product((1, -1, 0), (1, -1)):
                spot = (x + right * _AWAY * (0.6 + 0.4 * len(mark.label)), y + up * _AWAY * (1 if right else 1.5))
                own = [other for other in taken if other != (x, y)]
                if all(abs(spot[0] - a) > _LABEL[0] or abs(spot[1] - b) > _LABEL[1] for a, b in own):
                    offset = ((spot[0] - x) * 72, (spot[1] - y) * 72)
                    style = {"color": palette.ink, "fontsize": 8, "ha": "center", "va": "center"}
                    axes.annotate(mark.label, (mark.x, mark.y), offset, textcoords="offset points", **style)
                    taken.append(spot)
                    break


def pareto(marks: t.Sequence[Mark]) -> list[Mark]:
    """The marks that no other beats in one figure without losing in the other, by x."""
    front: list[Mark] = []
    for mark in sorted(marks, key=lambda one: (-one.x, -one.y)):
        if not front or mark.y > front[-1].y:
            front.append(mark)
    return front[::-1]


def _scale(axes: t.Any, axis: str, numbers: t.Sequence[float], from_zero: bool) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    least, most = min(numbers), max(numbers)
    its = axes.xaxis if axis == "x" else axes.yaxis
    limit = axes.set_xlim if axis == "x" else axes.set_ylim
    if least > 0 and most / least >= _LOGARITHMIC_FROM:
        (axes.set_xscale if axis == "x" else axes.set_yscale)("log")
        its.set_major_locator(LogLocator(subs=(1, 2, 5)))
        its.set_minor_formatter(NullFormatter())
        edge = (most / least) ** 0.08
        limit(least / edge, most * edge)
    else:
        edge = (most - least) * 0.12 or abs(most) * 0.1 or 1
        limit(0 if from_zero and least >= 0 else least - edge, most + edge)
        its.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    its.set_major_formatter(FuncFormatter(lambda number, dummy: short(number)))


def _inches(axes: t.Any, mark: Mark, room: tuple[float, float]) -> tuple[float, float]:
    found = []
    for number, (low, high), scale, length in zip(
        (mark.x, mark.y), (axes.get_xlim(), axes.get_ylim()), (axes.get_xscale(), axes.get_yscale()), room
    ):
        if scale == "log":
            number, low, high = math.log(number), math.log(low), math.log(high)
        found.append((number - low) / (high - low) * length)
    return found[0], found[1]
