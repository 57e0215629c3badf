# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restarts with an old process that lingers and answers everything."""

from __future__ import annotations

import random

from on_host_run import run_on_host


def race(hosts, restarts, side_by_side=5):
    """Restart units, *side_by_side* of them at a time, and let the module say when each is ready."""
    settings = {"restarts": restarts, "side_by_side": side_by_side, "seed": random.randrange(10**6), "port": 32000}
    counts = run_on_host(hosts, "race.py", settings, timeout=120 + 4 * restarts)
    print(f"\n{settings} {counts}")
    assert counts["restarts"] == restarts and counts["problems"] == [], (settings["seed"], counts["problems"][:3])
    # The comparison proves that there was a race: what polls the model list alone is told of the old process.
    assert counts["polls_wrong"]["models"] > restarts / 4


def test_nothing_is_ready_before_the_new_process_generates(hosts):
    race(hosts, 50)
