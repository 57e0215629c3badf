# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the winner of a made-up sweep."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    """The result for some points; without plots, which take most of the time."""
    # A conftest is read before ansible-core's loader of collections is in place.
    from ansible_collections.llmops.sglang.plugins.action import sweep_result
    from ansible_collections.llmops.sglang.tests.unit import controller_task
    from ansible_collections.llmops.sglang.tests.unit.sweep_state import write

    def call(points, check=False, more=None, **options):
        path = points if isinstance(points, str) else write(tmp_path, points, **(more or {}))
        # Without matplotlib nothing is drawn, and the page is made all the same.
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        args = {"state": path, "required": False, **options}
        return controller_task.run(sweep_result, monkeypatch, args, check)

    return call
