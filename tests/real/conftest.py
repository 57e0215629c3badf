# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One test host for the real servers, and the chain of what is done to it: each fixture stands on the one before."""

from __future__ import annotations

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

from lane import Lane


@pytest.fixture(scope="session")
def lane(tmp_path_factory):
    """The host real1, which sees the installed servers; it goes with this pytest process, however that ends."""
    made = Lane(f"r{os.getpid()}", ["real1"], tmp_path_factory.mktemp("real"), owner_pid=os.getpid())
    created = made.boot()
    if created.returncode:
        pytest.fail(f"the test host could not be made:\n{created.stdout}\n{created.stderr}")
    yield made
    made.destroy()


def pytest_runtest_makereport(item, call):
    """Show the journal of what failed: the host is gone when somebody reads the report."""
    if call.excinfo and call.when != "teardown" and "lane" in item.fixturenames:
        with_host = item.funcargs.get("lane")
        if with_host is not None and with_host.inventory.exists():
            item.add_report_section(call.when, "journal of the host", with_host.journal_tail())
