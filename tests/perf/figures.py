# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures of a run of the measurements: shown as they come, and kept for docs/performance.md."""

from __future__ import annotations

import json
import os
import pathlib
import typing as t

# Set by the program that writes the page.
FILE = "LLMOPS_FIGURES_FILE"


class Figures:
    """What one measurement found, one row after the other."""

    def __init__(self, test: str, title: str) -> None:
        self._test, self._title = test, title

    def add(self, subject: str, ours: str, beside: str = "", aim: str = "") -> None:
        """A row: what was measured, what it was, what the same costs otherwise, and what it was to be."""
        row: dict[str, t.Any] = {"test": self._test, "title": self._title, "subject": subject}
        row.update(ours=ours, beside=beside, aim=aim)
        words = [f"{subject}: {ours}", beside and f"beside {beside}", aim and f"aim {aim}"]
        print("\n" + "; ".join(word for word in words if word))
        if os.environ.get(FILE):
            with pathlib.Path(os.environ[FILE]).open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
