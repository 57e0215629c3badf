# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make this clone importable as ``ansible_collections.llmops.sglang`` under every Python, with or without ansible-core's loader."""

from __future__ import annotations

import os
import pathlib
import sys

import fault_rows
import pytest

CLONE = pathlib.Path(__file__).resolve().parent.parent
COLLECTIONS = CLONE / ".build" / "collections"

link = COLLECTIONS / "ansible_collections" / "llmops" / "sglang"
link.parent.mkdir(parents=True, exist_ok=True)
if not link.is_symlink():
    link.symlink_to(CLONE)
if str(COLLECTIONS) not in sys.path:
    sys.path.insert(0, str(COLLECTIONS))
os.environ.setdefault("ANSIBLE_COLLECTIONS_PATH", str(COLLECTIONS))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    fault_rows.begin()
    result = yield
    fault_rows.keep(item.nodeid)
    return result
