# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Speculative options by release, and what a drafter says of itself."""

from __future__ import annotations

import json

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._drafter import Drafter, read_drafter
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._flags import Flag, FlagTable, table_of
from ansible_collections.llmops.sglang.plugins.module_utils._server_arguments import Words
from ansible_collections.llmops.sglang.plugins.module_utils._speculative import check_algorithm, entries, trained_window

DRAFTER = Drafter("/m/draft", sliding_window=2048, block_size=8)


def words(version, speculative, flag_names=None, table=None, drafter=DRAFTER):
    made = Words(table or table_of(version))
    for entry in entries(speculative, made.table, flag_names or {}, speculative.get("algorithm", ""), drafter):
        made.add(entry)
    return made.words()


@pytest.mark.parametrize(
    ("version", "speculative", "expected"),
    [
        ("0.5.11", {"draft_window_size": 2048}, "--speculative-dflash-draft-window-size 2048"),
        ("0.5.12", {"draft_window_size": 2048}, "--speculative-draft-window-size 2048"),
        ("0.5.23", {"draft_window_size": "trained"}, "--speculative-draft-window-size 2048"),
        (
            "0.5.15",
            {"algorithm": "dflash", "block_size": 8},
            "--speculative-algorithm DFLASH --speculative-dflash-block-size 8",
        ),
        (
            "0.5.16",
            {"algorithm": "DSPARK", "block_size": 8},
            "--speculative-algorithm DSPARK --speculative-dspark-block-size 8",
        ),
        (
            "0.5.15",
            {"speculative_num_steps": 3, "eagle_topk": 4},
            "--speculative-eagle-topk 4 --speculative-num-steps 3",
        ),
        ("0.5.15", {"draft_model_path": "/m/d", "num_draft_tokens": None}, "--speculative-draft-model-path /m/d"),
    ],
)
def test_one_intention_by_release(version, speculative, expected):
    assert words(version, speculative) == expected.split()


def test_a_fork_by_its_flag_names():
    speculative = {"algorithm": "DDTREE", "tree_budget": 8}
    assert words("0.5.12", speculative, {"tree_budget": "--speculative-ddtree-budget"}) == [
        "--speculative-algorithm", "DDTREE", "--speculative-ddtree-budget", "8",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "flag", ["--speculative-ddtree-budget", "--speculative-ddtree-tree-budget", "--speculative-x-tree-budget"]
)
def test_a_fork_by_its_own_help(flag):
    base = table_of("0.5.12")
    table = FlagTable(
        "0.5.12+f",
        "0.5.12",
        [*base.flags, Flag(flag, flag[2:].replace("-", "_"), type="int")],
        "help",
        "... DDTREE ...",
    )
    check_algorithm("DDTREE", table, {})
    assert words("", {"algorithm": "DDTREE", "tree_budget": 8}, table=table)[-2:] == [flag, "8"]


def test_a_tree_budget_without_a_flag_is_refused():
    with pytest.raises(Failure, match="flag_names") as caught:
        words("0.5.23", {"algorithm": "DFLASH", "tree_budget": 8})
    assert caught.value.failure_class == "unknown_flag"


@pytest.mark.parametrize(
    ("version", "algorithm", "part"),
    [
        ("0.5.10", "DFLASH", "0.5.11 is the first"),
        ("0.5.15", "DSPARK", "0.5.16 is the first"),
        ("0.5.19", "UNO", "0.5.20 is the first"),
        ("0.5.23", "DDTREE", "nor does any release"),
    ],
)
def test_algorithms_by_release(version, algorithm, part):
    with pytest.raises(Failure, match=part) as caught:
        check_algorithm(algorithm, table_of(version), {})
    assert caught.value.failure_class == "rule_violated"
    assert version in caught.value.msg


@pytest.mark.parametrize(
    ("version", "algorithm", "flag_names"),
    [
        ("0.5.11", "DFLASH", {}),
        ("0.5.11", "dflash", {}),
        ("0.5.6", "NEXTN", {}),
        ("0.5.12", "", {}),
        ("0.5.12", "DDTREE", {"tree_budget": "--speculative-ddtree-budget"}),
        ("0.5.12", "MINE", {"algorithm": "--speculative-algorithm"}),
    ],
)
def test_algorithms_that_are_known(version, algorithm, flag_names):
    check_algorithm(algorithm, table_of(version), flag_names)


@pytest.mark.parametrize(
    ("config", "window", "block"),
    [
        (
            {"sliding_window": 2048, "layer_types": ["sliding_attention"] * 5 + ["full_attention"], "block_size": 8},
            2048,
            8,
        ),
        ({"sliding_window": None, "layer_types": ["full_attention"], "block_size": 4}, None, 4),
        ({"sliding_window": 2048, "layer_types": ["full_attention"]}, None, None),
        ({"sliding_window": 4096, "use_sliding_window": False}, None, None),
        ({"sliding_window": 4096}, 4096, None),
        ({"layer_types": ["sliding_attention"], "dflash_config": {"swa_window_size": 256}}, 256, None),
        (
            {
                "text_config": {"sliding_window": 512, "layer_types": ["sliding_attention"]},
                "dflash_config": {"block_size": 16},
            },
            512,
            16,
        ),
        ({}, None, None),
    ],
)
def test_what_a_drafter_was_trained_for(tmp_path, config, window, block):
    (tmp_path / "config.json").write_text(json.dumps(config))
    drafter = read_drafter(str(tmp_path), {})
    assert (drafter.known, drafter.sliding_window, drafter.block_size) == (True, window, block)


def test_a_hub_name_is_looked_for_in_the_local_cache(tmp_path):
    snapshot = tmp_path / "hub" / "models--org--draft" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text('{"sliding_window": 64, "block_size": 2}')
    (tmp_path / "hub" / "models--org--draft" / "refs").mkdir()
    (tmp_path / "hub" / "models--org--draft" / "refs" / "main").write_text("abc\n")
    assert read_drafter("org/draft", {"HF_HOME": str(tmp_path)}).sliding_window == 64
    assert (
        read_drafter("org/draft", {"HF_HOME": str(tmp_path)}, revision="zzz").reason
        == "it is not in the local hub cache"
    )
    assert not read_drafter("org/other", {"HF_HUB_CACHE": str(tmp_path / "hub")}).known


@pytest.mark.parametrize("text", ["{", "[]", None])
def test_a_config_that_cannot_be_read_says_why(tmp_path, text):
    if text is not None:
        (tmp_path / "config.json").write_text(text)
    drafter = read_drafter(str(tmp_path), {})
    assert not drafter.known
    assert "config.json" in drafter.reason


@pytest.mark.parametrize("drafter", [None, Drafter("/x"), Drafter("/x", reason="it is not there")])
def test_no_trained_window_is_no_guess(drafter):
    with pytest.raises(Failure) as caught:
        trained_window(drafter)
    assert caught.value.failure_class == "rule_violated"


def test_half_a_character_in_a_drafters_names_is_none_that_a_result_cannot_carry(tmp_path):
    (tmp_path / "config.json").write_text(r'{"architectures": ["A\ud800"], "layer_types": ["\udcff"]}')
    drafter = read_drafter(str(tmp_path), {})
    assert (drafter.architectures, drafter.layer_types) == (["A?"], {"?": 1})


@pytest.mark.parametrize("text", ["[" * 100_000, '{"architectures": 5, "layer_types": [{}, 1]}'], ids=range(2))
def test_a_drafters_configuration_of_other_types_is_read(tmp_path, text):
    (tmp_path / "config.json").write_text(text)
    drafter = read_drafter(str(tmp_path), {})
    assert (drafter.architectures, drafter.layer_types) == ([], {}) and drafter.known == text.startswith("{")
