# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user sees of each fault: a test that has caused one for real calls ``fault``, which is a row of the page of all of them."""

from __future__ import annotations

import hashlib
import json
import pathlib

ROWS = pathlib.Path(__file__).resolve().parent.parent / ".build" / "faults"
AREAS = {
    "start": "While the server starts",
    "serving": "While it serves",
    "programs": "A program that the model wrote for a coding task",
    "journal": "The journal",
    "network": "Between controller, host and server",
    "host": "The host",
    "change": "A change that fails on its way",
    "several": "Several plays, servers and nodes",
    "controller": "What is kept on the controller",
}

_told: list[tuple[str, str]] = []
_rows: list[dict[str, str]] = []


def told(failure_class: str | None, msg: str | None) -> None:
    """Take down a failure that a module or plugin told."""
    if msg:
        _told.append((failure_class or "", str(msg)))


def told_by_ansible(lines: str) -> None:
    """Take down the failures among the results that the callback plugin ``result_file`` wrote."""
    for line in lines.splitlines():
        result = json.loads(line)["result"]
        if result.get("failed"):
            told(result.get("failure_class"), result.get("msg"))


def fault(area: str, words: str, shown: str = "") -> None:
    """The test has caused the fault *words*: a user was told the last failure, or sees *shown* where all goes on.

    That is the last one with a word, in the words of what came after it where that repeats it, as a role does.
    """
    assert area in AREAS, area
    assert shown or _told, "a fault was caused and nobody was told"
    word = ""
    if not shown:
        word, shown = next((each for each in reversed(_told) if each[0]), _told[-1])
        shown = next((msg for dummy, msg in reversed(_told) if shown in msg), shown)
    _told.clear()
    _rows.append({"area": area, "fault": words, "failure_class": word, "msg": shown})


def begin() -> None:
    _told.clear()
    _rows.clear()


def keep(test: str) -> None:
    """Leave the rows of a test that has passed."""
    if _rows:
        ROWS.mkdir(parents=True, exist_ok=True)
    for row in _rows:
        name = hashlib.sha256(f"{test} {row['fault']}".encode()).hexdigest()[:20]
        (ROWS / f"{name}.json").write_text(json.dumps({**row, "test": test}))
