# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What every HTML page of a report has: it needs nothing else, no script and no network, and every text is escaped."""

from __future__ import annotations

import html
import os
import typing as t

from ansible_collections.llmops.sglang.plugins.plugin_utils._report_canvas import Figure, svg
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_text import escaped

# Should a text ever come through, it could neither run nor fetch anything.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def document(title: str, parts: t.Sequence[str]) -> str:
    """The whole page of *parts*, which are HTML already."""
    with open(os.path.join(os.path.dirname(__file__), "report.css"), encoding="utf-8") as handle:
        style = handle.read()
    body = "\n".join(part for part in parts if part)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(_POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def badge(kind: str, text: str) -> str:
    """A word of praise or warning; *kind* is ``good``, ``warn`` or ``bad``."""
    return f'<li class="badge {kind}">{escaped(text)}</li>'


def tiles(told: t.Sequence[tuple[str, str, str]]) -> str:
    """The most telling figures: of each a title, the figure, and what is said below it."""
    shown = (
        f'<div><dt>{escaped(title)}</dt><dd>{escaped(figure)}</dd><dd class="muted">{escaped(below)}</dd></div>'
        for title, figure, below in told
    )
    return f'<dl class="tiles">{"".join(shown)}</dl>'


def figures_part(figures: t.Sequence[Figure], drawn: bool = True) -> str:
    """All figures with their captions; without *drawn* the captions alone."""
    shown = []
    for figure in figures:
        plot = svg(figure.plot) if figure.plot and drawn else ""
        kind = "" if plot else ' class="empty"'
        caption = f"<figcaption>{escaped(figure.note)}</figcaption>"
        shown.append(f'<figure id="{figure.name}"{kind}><h3>{escaped(figure.title)}</h3>{plot}{caption}</figure>')
    return '<h2>Figures</h2>\n<div class="figures">\n' + "\n".join(shown) + "\n</div>"
