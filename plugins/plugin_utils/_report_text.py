# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Texts, numbers and tables of the report; whatever a record holds becomes text and nothing else."""

from __future__ import annotations

import html
import re
import typing as t

_LONGEST = 600
# Controls, lone surrogates, and what turns the direction of the text around it.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]+")


def plain(value: t.Any, longest: int = _LONGEST) -> str:
    """*value* as one line of at most *longest* characters without controls."""
    try:
        text = "" if value is None else str(value)
    except (RecursionError, ValueError):
        # Nested too deeply, or a number of more digits than Python prints.
        text = "?"
    text = _UNPRINTABLE.sub(" ", text).strip()
    return text if len(text) <= longest else text[: longest - 1] + "\u2026"


def escaped(value: t.Any) -> str:
    """*value* as the text of an element or an attribute."""
    return html.escape(plain(value))


def block(text: str) -> str:
    """Lines of *text* as they are, without controls."""
    return f"<pre><code>{chr(10).join(html.escape(plain_line(line)) for line in text.splitlines())}</code></pre>"


def plain_line(line: str) -> str:
    """A line without controls, its spaces in front kept."""
    return _UNPRINTABLE.sub(" ", line).rstrip()


def number(value: t.Optional[float], digits: int) -> str:
    """A figure, or a dash where it is not known."""
    return "-" if value is None else f"{value:,.{digits}f}"


def row(words: t.Sequence[str], numbers: int = 0, kind: str = "") -> str:
    """A row of escaped *words*, the first of which is its head; the first *numbers* of them stand to the right."""
    cells = []
    for place, word in enumerate(words):
        tag = 'th scope="row"' if place == 0 else "td"
        cells.append(f'<{tag} class="{"number" if place < numbers else "text"}">{escaped(word)}</{tag[:2]}>')
    return f"<tr{f' class={chr(34)}{kind}{chr(34)}' if kind else ''}>{''.join(cells)}</tr>"


def table(heads: t.Sequence[str], rows: t.Sequence[str], caption: str = "", numbers: int = 0, kind: str = "") -> str:
    """A table in a box of its own, which scrolls where the page is narrow; of the *kind* ``stack`` its cells then stand below each other."""
    tops = "".join(
        f'<th scope="col"{" class=" + chr(34) + "number" + chr(34) if place < numbers else ""}>{escaped(head)}</th>'
        for place, head in enumerate(heads)
    )
    said = f"<caption>{escaped(caption)}</caption>" if caption else ""
    table = f"<table>{said}<thead><tr>{tops}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<div class="table{" " + kind if kind else ""}" tabindex="0">{table}</div>'
