# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The long tests use the hosts of the integration tests, and the servers of the real lane."""

from __future__ import annotations

import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "integration"))
sys.path.append(str(TESTS / "real"))

import host_fixture

hosts = host_fixture.hosts
