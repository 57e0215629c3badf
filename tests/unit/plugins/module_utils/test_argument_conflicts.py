# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the server runs with against its command line, and that against the inventory."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._argument_conflicts import unlike_inventory, unlike_server


@pytest.mark.parametrize(
    ("asked", "runs", "found"),
    [
        ({"tp_size": 8}, {"tp_size": 8}, 0),
        ({"tp_size": 8}, {"tp_size": 4}, 1),
        ({"tp_size": "8"}, {"tp_size": 8}, 0),
        # Nobody asked, or the server does not tell.
        ({}, {"tp_size": 4}, 0),
        ({"tp_size": 8}, {}, 0),
        ({"model_path": "/models/a/"}, {"model_path": "/models/a"}, 0),
        ({"model_path": "/models/a"}, {"model_path": "/models/b"}, 1),
        ({"model_path": "org/a"}, {"model_path": "/cache/snapshots/1"}, 0),
        # Adjusted by the server itself.
        ({"chunked_prefill_size": 8192}, {"chunked_prefill_size": 4096}, 0),
    ],
)
def test_arguments_that_the_server_takes_as_given(asked, runs, found):
    told = unlike_server(asked, runs)
    assert len(told) == found
    assert all(one["subject"] == "argument" for one in told)


@pytest.mark.parametrize(
    ("wanted", "running", "found"),
    [
        ({}, {"algorithm": "DFLASH", "draft_window_size": 2048}, 0),
        ({"algorithm": "dflash", "draft_window_size": "2048"}, {"algorithm": "DFLASH", "draft_window_size": 2048}, 0),
        ({"algorithm": "NEXTN"}, {"algorithm": "EAGLE"}, 0),
        ({"speculative_draft_window_size": 1024}, {"draft_window_size": 2048}, 1),
        ({"draft_window_size": 1024}, {}, 1),
        ({"draft_window_size": None}, {"draft_window_size": 2048}, 0),
        ({"draft_window_size": "trained"}, {"draft_window_size": 4096}, 0),
        ({"draft_window_size": "trained"}, {"draft_window_size": 1024}, 1),
        ({"algorithm": "DFLASH", "draft_model_path": "/d"}, {"algorithm": "EAGLE", "draft_model_path": "/e"}, 2),
        # A flag of a fork is not looked for.
        ({"tree_budget": 8}, {"ddtree_budget": 8}, 0),
    ],
)
def test_speculation_that_the_inventory_wants(wanted, running, found):
    told = unlike_inventory(wanted, running, 4096)
    assert len(told) == found
    assert all(one["subject"] == "inventory" for one in told)
