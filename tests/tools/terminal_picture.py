# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make a picture of a terminal of what ``make demo-quick`` printed: an excerpt of it, chosen by rules, as one SVG.

``python tests/tools/terminal_picture.py RECORDING docs/demo.svg``; without a recording it reads its standard input.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import sys
import typing as t
from dataclasses import dataclass
from xml.sax.saxutils import escape

COMMAND = "make demo-quick"
COLUMNS = 110
TITLE = "The quick demo of llmops.sglang in a terminal"
CAPTION = f"{COMMAND}, an excerpt, on a stand-in server"
DESCRIPTION = (
    "An excerpt of what the command prints. The unit is written, lines tell how far the start is until this invocation "
    "generates, the draft window is proved from its journal, a table has the figures of the benchmark, and then three "
    "lies are caught: a window that was not applied, an old process that answers, and a unit's name with a typing error."
)

HEADER = re.compile(r"(PLAY|TASK) \[(?:llmops\.sglang\.\w+ : )?(.*)\] \**$")
STATUS = re.compile(r"(ok|changed|failed|fatal): ")
# A status alone; one with a text ends with an arrow, and the text says more than it.
DONE = r"(ok|changed): \[[^\]]+\]$"
# Matches no line.
NONE = r"(?!)"
LIVE = re.compile(r"\[ *\d+ s\] (.*)")
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# XML has no way to write most control characters.
CONTROL = re.compile(r"[^\t\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# What the demo puts on its host is the same on each machine; any other path is one of the machine that recorded.
ABSOLUTE_PATH = re.compile(r"(?<![\w./:~-])/(?!opt/demo/)[\w.-]+/[\w./-]+")


class PictureError(Exception):
    """There is no picture of this recording; the message says why."""


@dataclass(frozen=True)
class Line:
    """One line of the recording, and what colours it: ``section``, ``play``, ``task``, a status, or ``plain``."""

    kind: str
    text: str


@dataclass
class Block:
    """What one heading of the recording has below it."""

    section: str
    kind: str
    title: str
    lines: list[Line]


@dataclass(frozen=True)
class Part:
    """A rule: of which blocks the picture shows the heading and which lines, and how many of each there must be."""

    section: str
    kind: str
    title: str
    lines: str
    least: int = 1
    blocks: int = 1

    def matches(self, block: Block) -> bool:
        return (
            block.section.startswith(self.section)
            and block.kind == self.kind
            and re.match(self.title, block.title) is not None
        )

    def __str__(self) -> str:
        where = f"--- {self.section}"
        return where if self.kind == "section" else f"{self.kind.upper()} [{self.title}] below '{where}'"


PARTS = (
    Part("The main job", "section", "", NONE, 0),
    Part("The main job", "task", "Write the unit$", DONE),
    Part("The main job", "task", "Wait until this invocation generates$", rf"{LIVE.pattern}|{DONE}"),
    Part("The main job", "task", "Prove the draft window from the journal", DONE),
    # Without the line below the heads: it is for what reads Markdown.
    Part("What was measured", "section", "", r"\| |Coding: ", 3),
    Part("Three lies", "section", "", NONE, 0),
    Part("Three lies", "play", r"Lie \d", NONE, 0, 3),
    Part("Three lies", "task", "It generates, so a script would say|The usual ", DONE, 1, 3),
    Part("Three lies", "task", "Caught$", r" {4,}\S", 1, 3),
    Part("Everything is stopped and removed", "section", "", NONE, 0),
)


def plain(line: str) -> str:
    """The text of a line as a terminal would show it, without colours and what XML cannot hold."""
    return CONTROL.sub("\ufffd", ANSI.sub("", line)).expandtabs().rstrip()


def read(recording: str) -> list[Block]:
    """The recording as blocks, in its order."""
    blocks = [Block("", "section", "", [])]
    status = "plain"
    for text in map(plain, recording.split("\n")):
        header, told = HEADER.match(text), STATUS.match(text)
        section = text.startswith("--- ")
        if section or header:
            kind = "section" if section else header[1].lower()
            title = text[4:] if section else header[2]
            blocks.append(Block(title if section else blocks[-1].section, kind, title, [Line(kind, text)]))
            status = "plain"
        elif text:
            # What is indented belongs to the status above it.
            status = told[1] if told else status if text.startswith(" ") else "plain"
            blocks[-1].lines.append(Line(status, text))
    return blocks


def excerpt(recording: str) -> list[Line]:
    """The lines of the picture, not yet cut."""
    chosen = [Line("command", f"$ {COMMAND}")]
    found = dict.fromkeys(PARTS, 0)
    for block in read(recording):
        for part in filter(lambda part: part.matches(block), PARTS):
            lines = [one for one in block.lines[1:] if re.match(part.lines, one.text)]
            lines = _aligned(_without_repetitions(lines))
            # An include has the name of the task that it is for, and no end of its own.
            if len(lines) >= part.least:
                found[part] += 1
                chosen += [Line("plain", "")] * (block.kind == "section") + block.lines[:1] + lines
    missing = [str(part) for part in PARTS if found[part] < part.blocks]
    if missing:
        raise PictureError(
            f"this is no whole recording of '{COMMAND}': it lacks {', '.join(missing)}. Did the demo fail?"
        )
    paths = [path[0] for line in chosen for path in [ABSOLUTE_PATH.search(line.text)] if path]
    if paths:
        raise PictureError(
            f"the excerpt would show '{paths[0]}', a path of the machine that recorded it: record it with a test host"
        )
    return chosen


def _without_repetitions(lines: list[Line]) -> list[Line]:
    """Of live lines that differ only in their time the first."""
    kept: list[Line] = []
    before = ""
    for line in lines:
        live = LIVE.match(line.text)
        if not live or live[1] != before:
            kept.append(line)
        before = live[1] if live else ""
    return kept


def _aligned(lines: list[Line]) -> list[Line]:
    """With the columns of a Markdown table below each other, which the demo leaves to who shows it."""
    rows = [[cell.strip() for cell in line.text.strip("|").split("|")] for line in lines if line.text.startswith("|")]
    widths = [max(map(len, column)) for column in zip(*rows)]
    texts = iter(["| " + " | ".join(map(str.rjust, row, widths)) + " |" for row in rows])
    return [Line(line.kind, next(texts)) if line.text.startswith("|") else line for line in lines]


SIZE, ADVANCE, LEADING, MARGIN, BAR = 13, 7.8, 18, 16, 34
COLOURS = {
    "command": "#ffffff",
    "section": "#8be9fd",
    "play": "#ffffff",
    "task": "#ffffff",
    "ok": "#8ae68a",
    "changed": "#f0d878",
    "failed": "#ff9c9c",
    "fatal": "#ff9c9c",
    "plain": "#d0d4da",
}


def picture(lines: t.Sequence[Line]) -> str:
    """The SVG; each line is stretched to its columns, because every machine has another monospaced font."""
    width, height = MARGIN * 2 + COLUMNS * ADVANCE, BAR + MARGIN * 2 + len(lines) * LEADING
    styles = "".join(f".{kind}{{fill:{colour}}}" for kind, colour in COLOURS.items())
    rows = []
    for number, line in enumerate(lines):
        text = line.text if len(line.text) <= COLUMNS else line.text[: COLUMNS - 1] + "…"
        shown = text.lstrip()
        if shown:
            x, y = MARGIN + (len(text) - len(shown)) * ADVANCE, BAR + MARGIN + number * LEADING + SIZE
            rows.append(_text(line.kind, x, y, f' textLength="{len(shown) * ADVANCE:g}"', shown))
    buttons = [
        f'<circle cx="{MARGIN + 6 + 18 * place}" cy="{BAR / 2:g}" r="5.5" fill="#4a505c"/>' for place in range(3)
    ]
    return "\n".join(
        [
            "<!--",
            "Copyright (c) 2026 The llmops.sglang contributors",
            "SPDX-License-Identifier: GPL-3.0-or-later",
            "-->",
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
            ' role="img" aria-labelledby="title description">',
            f'<title id="title">{escape(TITLE)}</title>',
            f'<desc id="description">{escape(DESCRIPTION)}</desc>',
            f"<style>text{{font:{SIZE}px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace}}"
            f".play,.section,.command{{font-weight:bold}}.caption{{fill:#9aa2ae}}{styles}</style>",
            f'<rect width="{width:g}" height="{height:g}" rx="8" fill="#1d2027"/>',
            *buttons,
            _text("caption", MARGIN + 70, BAR / 2 + 5, "", CAPTION),
            *rows,
            "</svg>\n",
        ]
    )


def _text(kind: str, x: float, y: float, more: str, text: str) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}"{more} xml:space="preserve">{escape(text)}</text>'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording", nargs="?", type=pathlib.Path, help="what the demo printed; else standard input")
    parser.add_argument("picture", type=pathlib.Path, help="the file to write")
    options = parser.parse_args()
    recorded = options.recording.read_bytes() if options.recording else sys.stdin.buffer.read()
    try:
        svg = picture(excerpt(recorded.decode("utf-8", errors="replace")))
    except PictureError as error:
        print(f"No picture was made: {error}", file=sys.stderr)
        return 1
    options.picture.write_text(svg, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
