# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures of the integration tests."""

from __future__ import annotations

from host_fixture import hosts  # noqa: F401
