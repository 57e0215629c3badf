# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures of the integration tests."""

from __future__ import annotations

import host_fixture

hosts = host_fixture.hosts
