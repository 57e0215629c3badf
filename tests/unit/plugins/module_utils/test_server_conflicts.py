# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where inventory, command line, server, drafter and journal disagree."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._server_conflicts import (
    conflicts,
    unlike_inventory,
    unlike_server,
)


def window(journal=2048, server=2048, argument_window=2048, trained=2048, matches=True, block=8):
    return conflicts(
        {"matches_unit": matches, "differences": ["x"]},
        {"arguments_from": "server", "speculation": {"draft_window_size": server}},
        {"trained_window": trained, "block_size": 8},
        {"draft_runner": {"draft_window_size": journal, "block_size": block}},
        argument_window,
    )


def test_sources_that_agree_have_no_conflict():
    assert window() == []


@pytest.mark.parametrize(
    ("changed", "subjects"),
    [
        ({"journal": None, "server": None, "argument_window": None}, ["trained_window"]),
        ({"journal": None}, ["draft_window", "trained_window"]),
        ({"server": 1024}, ["draft_window"]),
        ({"matches": False}, ["unit"]),
        ({"block": 16}, ["block_size"]),
        ({"trained": None}, []),
    ],
)
def test_each_disagreement_is_named(changed, subjects):
    assert [c["subject"] for c in window(**changed)] == subjects


def test_the_window_of_the_origin_story_is_a_conflict_in_words():
    (conflict,) = window(journal=None, server=None, argument_window=None)
    assert (
        conflict["msg"]
        == "the drafter was trained with a window of 2048 tokens and runs with None: set draft_window_size"
    )


def test_windows_of_any_types_are_compared():
    assert [one["subject"] for one in window(server=[1], block="x")] == ["draft_window"]


@pytest.mark.parametrize(
    ("asked", "running", "told"),
    [
        ("DFLASH", None, True),
        ("DFLASH", "EAGLE", True),
        ("NEXTN", "EAGLE", False),
        ("dflash", "DFLASH", False),
        (None, "EAGLE", False),
        ("none", None, False),
    ],
)
def test_an_algorithm_that_the_server_does_not_run_is_a_conflict(asked, running, told):
    server = {"arguments_from": "server", "speculation": {"draft_window_size": None, "algorithm": running}}
    found = conflicts({"matches_unit": True}, server, None, {"draft_runner": None}, None, asked)
    assert [c["subject"] for c in found] == (["algorithm"] if told else [])


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
