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
