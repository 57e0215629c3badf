# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which wait tells the role how long the start took."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.tests.unit import role_variables

SEEN = {"from_start": True, "invocation_id": "a" * 32, "stages": {"ready": 340.0}}
LATE = {"from_start": False, "invocation_id": "a" * 32, "stages": {"ready": 900.0}}


def start(**variables):
    return role_variables.of_role("benchmark", "benchmark_start", **variables)


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({}, {}),
        ({"server_generation": LATE}, {}),
        ({"server_generation": SEEN}, SEEN),
        # The proof of the benchmark itself comes after the start that the server role waited for.
        ({"server_generation": LATE, "benchmark_start_seen": SEEN}, SEEN),
        ({"server_generation": {"skipped": True}, "benchmark_start_seen": SEEN}, SEEN),
    ],
)
def test_the_wait_that_saw_the_start_is_taken(variables, told):
    assert start(**variables) == told
