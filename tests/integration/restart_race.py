# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restarts with an old process that lingers and answers everything, and what says ready too early."""

from __future__ import annotations

from host_set import HostSet
from on_host_run import run_on_host


def race(hosts: HostSet, restarts: int, seed: int, side_by_side: int = 5) -> None:
    """Restart units as *seed* draws it, *side_by_side* of them at a time, and let the module say when each is ready.

    More of them at a time would have the module begin only after the old processes are gone.
    """
    settings = {"restarts": restarts, "side_by_side": side_by_side, "seed": seed, "port": 32000}
    counts = run_on_host(hosts, "race.py", settings, timeout=600 + 4 * restarts)
    print(f"\n{settings} {counts}")
    assert counts["restarts"] == restarts and counts["problems"] == [], (settings["seed"], counts["problems"][:3])
    # The comparison proves that there was a race: what polls the model list alone is told of the old process.
    assert counts["polls_wrong"]["models"] > restarts / 4
