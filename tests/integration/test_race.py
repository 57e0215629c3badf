# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restarts with an old process that lingers and answers everything."""

from __future__ import annotations

from restart_race import race


def test_nothing_is_ready_before_the_new_process_generates(hosts):
    race(hosts, 50, seed=20261130)
