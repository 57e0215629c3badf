# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""restart.yml over eight hosts behind a real router under constant load loses no request."""

from __future__ import annotations

import contextlib
import re
import time

import pytest
from rolling_fleet import fleet_of

NAMES = [f"host{number}" for number in range(1, 9)]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    with contextlib.ExitStack() as stack:
        yield stack.enter_context(fleet_of(NAMES, tmp_path_factory))


def test_a_full_rolling_restart_loses_no_request(fleet):
    before = fleet.invocations()
    begun = time.monotonic()
    with fleet.loaded(12) as client:
        done = fleet.restart(restart_min_available=7, restart_canary="host4")
    took = time.monotonic() - begun
    assert done.returncode == 0, done.said
    assert fleet.restarted(before) == NAMES
    assert fleet.in_service() == NAMES
    steps = re.findall(r"step (\d): (host\d)", done.stdout)
    assert [host for dummy, host in steps] == ["host4", *[host for host in NAMES if host != "host4"]]
    assert "8 of 8 workers serve now, 7 at the worst moment (step 1); 7 have to" in done.stdout
    gaps = [b - a for a, b in zip(client.ended, client.ended[1:], strict=False)]
    print(
        f"\n{dict(client.whole)} whole, {len(client.lost)} lost in {took:.0f} s, longest time without an end {max(gaps):.1f} s"
    )
