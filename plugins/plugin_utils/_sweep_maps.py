# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Drawings of values by place: a heat map over two parameters, and bars."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ansible_collections.llmops.sglang.plugins.plugin_utils._report_canvas import (
    SIZE,
    Drawing,
    Margins,
    Palette,
    plain_axes,
    short,
)

# Inches.
_CELL, _ROW, _BAR, _CHARACTER = 0.92, 0.56, 0.27, 0.078
_WIDEST = 12.0
# The size of labels in points, and how wide a character is in terms of it.
_POINTS, _WIDTH = 10, 0.68
_DARK_BELOW = 0.5
# Of Rec. 709, from linear enough colours.
_LUMINANCE = (0.2126, 0.7152, 0.0722)
# Seen as different by people who do not see all colours, and in grey.
_COLOURS = "cividis"


@dataclass(frozen=True)
class Place:
    """What is in one place: a value, or words where there is none. ``kind`` is winner, baseline or point."""

    value: t.Optional[float]
    words: str = ""
    kind: str = "point"


@dataclass(frozen=True)
class HeatMap:
    """Values over two parameters; the places that have none are hatched, with their words."""

    name: str
    title: str
    x_label: str
    y_label: str
    x_names: t.Sequence[str]
    y_names: t.Sequence[str]
    places: t.Mapping[tuple[int, int], Place]
    unit: str
    highest: bool = True

    @property
    def margins(self) -> Margins:
        longest = max(len(name) for name in self.y_names)
        return Margins(left=0.5 + _CHARACTER * longest, right=0.15, below=0.55, above=0.34)

    @property
    def size(self) -> tuple[float, float]:
        sides = self.margins
        wide = sides.left + sides.right + _CELL * len(self.x_names)
        high = sides.above + sides.below + _ROW * len(self.y_names)
        return min(max(SIZE[0], wide), _WIDEST), max(SIZE[1] - 0.7, high)

    def fill(self, axes: t.Any, palette: Palette) -> None:
        from matplotlib import colormaps

        values = [place.value for place in self.places.values() if place.value is not None]
        least, span = min(values), max(values) - min(values)
        colours = colormaps[_COLOURS]
        for at, place in self.places.items():
            if place.value is None:
                self._box(axes, at, facecolor="none", edgecolor=palette.grid, hatch="///")
                axes.text(*at, place.words, color=palette.ink, ha="center", va="center", fontsize=7.5)
                continue
            share = (place.value - least) / span if span else 0.5
            colour = colours(share if self.highest else 1 - share)[:3]
            self._box(axes, at, facecolor=colour, edgecolor="none")
            dark = sum(part * weight for part, weight in zip(colour, _LUMINANCE)) < _DARK_BELOW
            text = f"{short(place.value)}{place.words}"
            weight = "bold" if place.kind == "winner" else "normal"
            axes.text(*at, text, color="#ffffff" if dark else "#000000", ha="center", va="center", weight=weight)
        for at, place in self.places.items():
            if place.kind == "winner":
                self._box(axes, at, facecolor="none", edgecolor=palette.ink, linewidth=2.5, zorder=3)
        axes.set_xlim(-0.5, len(self.x_names) - 0.5)
        axes.set_ylim(-0.5, len(self.y_names) - 0.5)
        axes.set_xticks(range(len(self.x_names)), self.x_names)
        axes.set_yticks(range(len(self.y_names)), self.y_names)
        axes.set_xlabel(self.x_label, color=palette.muted)
        axes.set_ylabel(self.y_label, color=palette.muted, fontsize=_that_fits(self.y_label, self))
        axes.set_title(self.unit, loc="left", color=palette.muted, fontsize=9)
        plain_axes(axes, palette)
        axes.grid(False)

    @staticmethod
    def _box(axes: t.Any, at: tuple[int, int], **style: t.Any) -> None:
        from matplotlib.patches import Rectangle

        axes.add_patch(Rectangle((at[0] - 0.47, at[1] - 0.46), 0.94, 0.92, **style))


@dataclass(frozen=True)
class Bars:
    """One bar a name, from above; of a name without a value its words."""

    name: str
    title: str
    x_label: str
    y_label: str
    names: t.Sequence[str]
    places: t.Sequence[Place]

    @property
    def margins(self) -> Margins:
        longest = max(len(name) for name in self.names)
        return Margins(left=(0.38 if self.y_label else 0.15) + _CHARACTER * longest, right=0.2, below=0.5, above=0.12)

    @property
    def size(self) -> tuple[float, float]:
        high = self.margins.above + self.margins.below + _BAR * len(self.names)
        return max(SIZE[0], self.margins.left + 3.4), max(SIZE[1] - 1.2, high)

    def fill(self, axes: t.Any, palette: Palette) -> None:
        styles = {
            "winner": {"color": palette.lines[0]},
            "baseline": {"facecolor": "none", "edgecolor": palette.lines[1], "hatch": "////"},
            "point": {"color": palette.muted},
        }
        most = max((place.value for place in self.places if place.value is not None), default=0) or 1
        for row, place in enumerate(self.places):
            at = len(self.places) - 1 - row
            if place.value is None:
                axes.text(most * 0.012, at, place.words, color=palette.muted, va="center", fontsize=8.5, style="italic")
                continue
            axes.barh(at, place.value, height=0.66, **styles[place.kind])
            text = f"{short(place.value)}{place.words}"
            weight = "bold" if place.kind == "winner" else "normal"
            side = max(place.value, 0) + most * 0.012
            axes.text(side, at, text, color=palette.ink, va="center", fontsize=9, weight=weight)
        axes.set_yticks(range(len(self.names)), list(reversed(self.names)))
        axes.set_ylim(-0.6, len(self.names) - 0.4)
        # Room for the number behind the longest bar.
        axes.set_xlim(right=most * 1.14 if most > 0 else None)
        axes.set_xlabel(self.x_label, color=palette.muted, fontsize=9)
        if self.y_label:
            axes.set_ylabel(self.y_label, color=palette.muted, fontsize=_that_fits(self.y_label, self))
        plain_axes(axes, palette, "x")


def _that_fits(label: str, drawing: Drawing) -> float:
    """The size in points of a text that stands upright beside the axes."""
    room = drawing.size[1] - drawing.margins.above - drawing.margins.below
    return min(_POINTS, room * 72 / (_WIDTH * max(len(label), 1)))
