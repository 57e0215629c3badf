# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Some of the measurements use the hosts of the integration tests."""

from __future__ import annotations

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

import host_fixture
import pytest
from figures import Figures


@pytest.fixture(scope="session")
def hosts(tmp_path_factory):
    """Whose modules cost what they cost a user."""
    yield from host_fixture.two_hosts(tmp_path_factory)


@pytest.fixture(scope="module")
def figures(request):
    """Under the first sentence of the file that measures."""
    return Figures(request.path.name, request.module.__doc__.strip().splitlines()[0].rstrip("."))
