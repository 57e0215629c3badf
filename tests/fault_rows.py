# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user sees of each fault: a test that is marked as one causes it for real, and leaves a row for the page of all.

``@pytest.mark.fault(words, area=..., shown=...)`` names the fault; ``{id}`` in *words* is the id of the parameters. The row has the
last failure that the collection told while the test ran, or *shown* where the answer to the fault is that all goes on.
"""

from __future__ import annotations

import hashlib
import json
import pathlib

import pytest

MARK = "fault(words, area, shown=''): the test causes this fault, and what a user is shown of it is a row of docs' page of faults"
ROWS = pathlib.Path(__file__).resolve().parent.parent / ".build" / "faults"
AREAS = ("start", "serving", "journal", "network", "host", "change", "several", "controller")

_told: list[dict[str, str]] = []


def told(by: str, failure_class: str | None, msg: str | None) -> None:
    """Take down a failure that the module or plugin *by* told."""
    if msg:
        _told.append({"by": by.rpartition(".")[2], "failure_class": failure_class or "", "msg": str(msg)})


def told_by_ansible(lines: str) -> None:
    """Take down the failures among the results that the callback plugin ``result_file`` wrote."""
    for line in lines.splitlines():
        entry = json.loads(line)
        result = entry["result"]
        if result.get("failed"):
            told(entry["action"], result.get("failure_class"), result.get("msg"))


def begin() -> None:
    _told.clear()


def row_of(item: pytest.Item) -> dict[str, str] | None:
    """The row of a test that has passed; ``None`` for one that causes no fault."""
    mark = item.get_closest_marker("fault")
    if mark is None:
        return None
    (words,) = mark.args
    callspec = getattr(item, "callspec", None)
    row = {
        "fault": words.replace("{id}", callspec.id if callspec else ""),
        "area": mark.kwargs["area"],
        "test": item.nodeid,
    }
    assert row["area"] in AREAS, row
    if mark.kwargs.get("shown"):
        return {**row, "failure_class": "", "msg": mark.kwargs["shown"]}
    assert _told, "a fault was caused and nobody was told"
    word = next((each["failure_class"] for each in reversed(_told) if each["failure_class"]), "")
    return {**row, "failure_class": word, "msg": _told[-1]["msg"]}


def keep(item: pytest.Item) -> None:
    row = row_of(item)
    if row is None:
        return
    ROWS.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(item.nodeid.encode()).hexdigest()[:20]
    (ROWS / f"{name}.json").write_text(json.dumps(row))
