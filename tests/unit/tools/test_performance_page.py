# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of what the collection costs holds what the measurements found, and nothing where one of them failed."""

from __future__ import annotations

import importlib.util
import pathlib
import subprocess
import sys

import pytest

PERF = pathlib.Path(__file__).resolve().parents[2] / "perf"


@pytest.fixture
def write_page(monkeypatch):
    """The program, with the folder of the measurements in reach as when it is started there."""
    monkeypatch.syspath_prepend(str(PERF))
    spec = importlib.util.spec_from_file_location("write_page", PERF / "write_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def measured(write_page, monkeypatch, tmp_path):
    """Runs the program in an empty clone whose measurements end with a status; gives its status and the page."""

    def run(status):
        figures = sys.modules["figures"]

        def measure(words, **options):
            if "pytest" not in words:
                return subprocess.CompletedProcess(words, 0, "v1", "")
            monkeypatch.setenv(figures.FILE, options["env"][figures.FILE])
            first = figures.Figures("test_a.py", "What a costs")
            first.add("a run", "1 s", beside="by hand | 2 s", aim="3 s")
            first.add("another", "2 s")
            figures.Figures("test_b.py", "What b costs").add("b", "5 KiB")
            return subprocess.CompletedProcess(words, status)

        monkeypatch.setattr(write_page, "CLONE", tmp_path)
        monkeypatch.setattr(write_page, "PAGE", tmp_path / "performance.md")
        monkeypatch.setattr(write_page.subprocess, "run", measure)
        return write_page.main(), tmp_path / "performance.md"

    return run


def test_each_figure_stands_under_its_test_beside_what_it_is_compared_with(measured):
    status, path = measured(0)
    text = path.read_text()
    assert status == 0 and "## What a costs\n\n`tests/perf/test_a.py`" in text
    assert "| What | Measured | Otherwise | Aim |" in text
    assert r"| a run | 1 s | by hand \| 2 s | 3 s |" in text and "| another | 2 s | - | - |" in text
    # Where no row has one, there is no such column.
    assert "## What b costs\n\n`tests/perf/test_b.py`\n\n| What | Measured |\n| --- | --- |\n| b | 5 KiB |" in text
    assert "| Command | `make performance` |" in text and "| Revision | `v1` |" in text


def test_a_measurement_that_missed_its_aim_leaves_the_page_as_it_was(measured, capsys):
    status, path = measured(1)
    assert status == 1 and not path.exists() and "left as it was" in capsys.readouterr().err
