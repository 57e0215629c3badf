# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalogue of flags, held to facts that were read in the releases themselves."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _flags

DFLASH_WINDOW, WINDOW = "--speculative-dflash-draft-window-size", "--speculative-draft-window-size"


@pytest.mark.parametrize(
    ("version", "flag", "known"),
    [
        ("0.5.10", DFLASH_WINDOW, False),
        ("0.5.11", DFLASH_WINDOW, True),
        ("0.5.12", DFLASH_WINDOW, True),
        ("0.5.19", DFLASH_WINDOW, True),
        ("0.5.20", DFLASH_WINDOW, False),
        ("0.5.11", WINDOW, False),
        ("0.5.12", WINDOW, True),
        ("0.5.23", WINDOW, True),
        ("0.5.6", "--speculative-draft-attention-backend", False),
        ("0.5.7", "--speculative-draft-attention-backend", True),
        ("0.5.7", "--admin-api-key", False),
        ("0.5.8", "--admin-api-key", True),
        ("0.5.22", "--speculative-skip-dp-mlp-sync", True),
        ("0.5.23", "--speculative-skip-dp-mlp-sync", False),
        ("0.5.6", "--tp-size", True),
        ("0.5.23", "--tensor-parallel-size", True),
    ],
)
def test_flags_by_release(version, flag, known):
    assert (_flags.table_of(version).get_exact(flag) is not None) is known


def test_the_window_flag_is_deprecated_before_it_goes():
    assert not _flags.table_of("0.5.12").get_exact(DFLASH_WINDOW).deprecated
    assert _flags.table_of("0.5.13").get_exact(DFLASH_WINDOW).replacement == WINDOW
    assert _flags.spans()[DFLASH_WINDOW] == ("0.5.11", "0.5.19")
    assert _flags.relatives(WINDOW) == [DFLASH_WINDOW]


@pytest.mark.parametrize("word", ["--pp", "--tokenizer"])
def test_ambiguous_abbreviations(word):
    with pytest.raises(_flags.Ambiguous):
        _flags.table_of("0.5.13").find(word)


def test_an_abbreviation_that_became_ambiguous():
    assert _flags.table_of("0.5.19").find("--cuda-graph-max-bs").dest == "cuda_graph_max_bs_decode"
    with pytest.raises(_flags.Ambiguous) as caught:
        _flags.table_of("0.5.20").find("--cuda-graph-max-bs")
    assert "--cuda-graph-max-bs-decode" in caught.value.args


@pytest.mark.parametrize("word", ["--tp", "--mem-fraction", "--max-running"])
def test_unique_abbreviations(word):
    assert _flags.table_of("0.5.13").find(word) is not None


@pytest.mark.parametrize(
    ("version", "base"),
    [
        ("0.5.15", "0.5.15"),
        ("0.5.15.post1", "0.5.15.post1"),
        ("0.5.15.post2", "0.5.15.post1"),
        ("0.5.15+ddtree", "0.5.15"),
        ("0.5.16rc1", "0.5.15.post1"),
        ("0.5.16.dev3+gabc", "0.5.15.post1"),
        ("0.6.0", "0.5.23"),
        ("0.4.9", "0.5.6"),
    ],
)
def test_nearest_release(version, base):
    table = _flags.table_of(version)
    assert table.base == base
    assert table.origin == ("catalogue" if version == base else "nearest")


def test_every_release_counts_its_flags():
    counts = {v: len(_flags.table_of(v).flags) for v in ("0.5.6", "0.5.11", "0.5.15.post1", "0.5.23")}
    assert counts == {"0.5.6": 288, "0.5.11": 374, "0.5.15.post1": 437, "0.5.23": 531}


def test_one_spelling_for_all_releases():
    old = (
        "/py -m sglang.launch_server --model /m --tp 8 --speculative-dflash-draft-window-size=2048 --trust-remote-code"
    )
    new = "/py -m sglang.launch_server --trust-remote-code --speculative-draft-window-size 2048 --model-path /m --tp-size 8"
    wanted = {"model_path": "/m", "tp_size": 8, "speculative_draft_window_size": 2048, "trust_remote_code": True}
    assert _flags.arguments_of(old.split(), "0.5.11") == wanted
    assert _flags.arguments_of(new.split(), "0.5.23") == wanted


def test_arguments_of_other_shapes():
    words = [
        "--lora-paths",
        "a=b",
        "c",
        "--no-lora-strict-loading",
        "--served-model-name",
        "-1",
        "--foo-bar",
        "x",
        "--port",
        "1",
        "--port",
        "2",
    ]
    assert _flags.arguments_of(words, "0.5.15") == {
        "lora_paths": ["a=b", "c"],
        "lora_strict_loading": False,
        "served_model_name": "-1",
        "foo_bar": "x",
        "port": 2,
    }
    assert _flags.arguments_of(["--port", "1"], "not a version") == {"port": 1}


def test_a_flag_of_another_release_keeps_its_argument():
    assert _flags.arguments_of([DFLASH_WINDOW, "64"], "0.5.23") == {"speculative_draft_window_size": "64"}


@pytest.mark.parametrize("value", ["nan", "inf", "1e999"])
def test_a_number_that_is_none_stays_a_text(value):
    """It would equal not even itself, and look like a change each time."""
    assert _flags.arguments_of(["--mem-fraction-static", value]) == {"mem_fraction_static": value}


def test_a_word_before_a_double_dash_is_not_lost():
    table = _flags.table_of(None)
    (use,) = _flags.uses(["--trust-remote-code", "1", "--"], table)
    assert use.surplus == ["1"]
