# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long four test hosts take from the command to a systemd that runs in each, beside a playbook that finds all done."""

from __future__ import annotations

import os
import statistics
import time

from host_set import HostSet

ROUNDS = 3
NAMES = [f"host{number}" for number in range(1, 5)]


def seconds(create):
    began = time.monotonic()
    done = create()
    took = time.monotonic() - began
    assert done.returncode == 0, done.stdout + done.stderr
    return took


def test_four_hosts(figures, tmp_path):
    boots, idle = [], []
    for dummy in range(ROUNDS):
        four = HostSet(f"p{os.getpid()}", NAMES, tmp_path, owner_pid=os.getpid())
        try:
            boots.append(seconds(four.create))
            idle.append(seconds(four.create))
        finally:
            four.destroy()
    took, beside = statistics.median(boots), statistics.median(idle)
    figures.add(
        f"four hosts, median of {ROUNDS}", f"{took:.1f} s", f"all is there already: {beside:.1f} s", "5 s, and 5 times"
    )
    assert took < 5 * max(1.0, beside)
