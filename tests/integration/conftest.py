# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures of the integration tests, and what can only be said of all of them together."""

from __future__ import annotations

import hand_written_unit
import host_fixture
import pytest
from conformance import known_differences

hosts = host_fixture.hosts
unit = hand_written_unit.unit
# One of them that began last would keep every process but its own waiting.
SLOWEST = ["test_sweep", "test_demo_without_root", "test_rolling_restart", "test_demo_from_artifact"]


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.stem not in SLOWEST)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    known_differences.add(getattr(node, "workeroutput", {}).get("conformance", {"used": [], "ran": []}))


def pytest_sessionfinish(session):
    """The comparisons of the stand-in may have been shared out among several processes."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["conformance"] = known_differences.met()
        return
    left = known_differences.out_of_date()
    if left:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        said = f"FAILED: differences that are listed in known_differences.yml and no longer occur: {left}"
        session.config.pluginmanager.get_plugin("terminalreporter").write_line(f"\n{said}", red=True)
