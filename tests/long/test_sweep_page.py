# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a sweep in a real browser: no error, no text cut off, nothing wider than the window."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.llmops.sglang.plugins.action import sweep_result as action
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_figures import FIGURE_NAMES
from ansible_collections.llmops.sglang.tests.long.test_report_page import browser, open_page
from ansible_collections.llmops.sglang.tests.unit import controller_task
from ansible_collections.llmops.sglang.tests.unit.benchmark_record import HOSTILE
from ansible_collections.llmops.sglang.tests.unit.plugins.action.test_sweep_report import grid, hostile
from ansible_collections.llmops.sglang.tests.unit.sweep_state import baselines, failed, measured, point, write

__all__ = ["browser"]


def named(folder):
    """Twelve points of one's own, with long names."""
    for number in range(11):
        name = f"configuration number {number} of a long name"
        yield point(
            name, measured(folder, 0.9 + number / 20, acceptance=3 + number / 9), kind="point", parameters={name: 1}
        )
    yield failed("crashes under load", "server_crashed", kind="point")


def one_parameter(folder):
    """Two bars beside a name that is longer than they are high."""
    for value in (1, 2):
        yield point(
            f"p{value}",
            measured(folder, 0.9 + value / 5),
            parameters={"a_parameter_with_a_very_long_name_of_a_fork": value},
        )


MADE = {
    "bars": lambda folder: [*baselines(folder), *one_parameter(folder)],
    "grid": lambda folder: [*baselines(folder), *grid(folder)],
    "named": lambda folder: [*baselines(folder), *named(folder)],
    "hostile": hostile,
}


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("kind", sorted(MADE))
def test_no_error_and_no_text_cut_off(browser, tmp_path, monkeypatch, kind, width):
    more = {"name": HOSTILE, "host": HOSTILE} if kind == "hostile" else {}
    path = write(tmp_path, MADE[kind](tmp_path), **more)
    result = controller_task.run(action, monkeypatch, {"state": path, "plots": False})
    assert not result.get("failed") and result["sweep_winner"], result["reason"]
    text = pathlib.Path(result["page"]).read_text(encoding="utf-8")
    seen = open_page(browser, tmp_path, text, width, dark=False)
    assert (seen["errors"], seen["fetched"], seen["scripts"]) == ([], 0, 1)
    assert list(seen["figures"]) == list(FIGURE_NAMES)
    for name, figure in seen["figures"].items():
        assert figure["marks"] > 5 and figure["width"] > 300 and figure["height"] > 100, (name, figure)
        assert figure["outside"] == [], (name, figure)
    assert seen["window"] == width and seen["width"] <= width
