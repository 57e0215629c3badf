# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The race of a restart with an old process that lingers, hundreds of times."""

from __future__ import annotations

import random

from restart_race import race


def test_nothing_is_ready_before_the_new_process_generates(hosts):
    race(hosts, 500, seed=random.randrange(10**6))
