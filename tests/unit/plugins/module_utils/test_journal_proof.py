# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the journal is asked for by the speculation of a command line."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._journal_proof import journal_proof

DRAFT = {"draft_model_path": "/models/draft"}


@pytest.mark.parametrize("algorithm", ["DFLASH", "dflash", "DDTREE", "DFLASH_TREE"])
@pytest.mark.parametrize(
    ("window", "fields"),
    [
        ({}, {}),
        ({"draft_window_size": None}, {}),
        ({"draft_window_size": 2048}, {"compact_cache": True, "draft_window_size": 2048}),
        ({"draft_window_size": "2048"}, {"compact_cache": True, "draft_window_size": 2048}),
        ({"draft_window_size": "2k"}, {"compact_cache": True, "draft_window_size": {"min": 1}}),
    ],
)
def test_dflash_and_its_forks_must_log_their_window(algorithm, window, fields):
    asked = journal_proof({"algorithm": algorithm, **DRAFT, **window})
    assert asked == {"preset": ["dflash"], "preset_fields": fields}


@pytest.mark.parametrize(
    "algorithm", ["EAGLE", "eagle3", "NEXTN", "STANDALONE", "NGRAM", "FROZEN_KV_MTP", "DSPARK", "UNO"]
)
def test_others_log_no_window(algorithm):
    asked = journal_proof({"algorithm": algorithm, **DRAFT, "draft_window_size": 2048})
    assert asked == {"preset": [], "preset_fields": {}}


@pytest.mark.parametrize("speculation", [{}, {"algorithm": "DFLASH"}, {"algorithm": "NGRAM"}])
def test_without_a_drafter_nothing_is_asked(speculation):
    assert journal_proof(speculation) == {"preset": [], "preset_fields": {}}


NODE = {"node_rank": 1, "nnodes": 2, "tp_size": 16, "port": 30000}


def test_a_node_above_rank_0_is_asked_for_what_it_logs_itself():
    asked = journal_proof({"algorithm": "dflash", **DRAFT, "draft_window_size": 2048}, NODE, "0.5.23")
    assert asked == {
        "preset": ["node"],
        "preset_fields": {
            "nnodes": 2,
            "node_rank": 1,
            "tp_size": 16,
            "speculative_algorithm": "DFLASH",
            "speculative_draft_window_size": 2048,
        },
    }
    old = journal_proof({"algorithm": "DFLASH", **DRAFT, "draft_window_size": "trained"}, NODE, "0.5.11")
    assert old["preset_fields"]["speculative_dflash_draft_window_size"] == {"min": 1}
    plain = journal_proof({}, NODE)
    assert plain == {"preset": ["node"], "preset_fields": {"nnodes": 2, "node_rank": 1, "tp_size": 16}}
    assert "speculative_algorithm" not in journal_proof({"algorithm": "EAGLE3", **DRAFT}, NODE)["preset_fields"]


def test_rank_0_of_several_nodes_is_asked_for_its_draft_runner():
    first = {**NODE, "node_rank": 0}
    assert journal_proof({"algorithm": "DFLASH", **DRAFT}, first, "0.5.23")["preset"] == ["dflash"]
