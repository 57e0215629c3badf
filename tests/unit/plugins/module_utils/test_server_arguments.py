# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments by name and value, as words for one release."""

from __future__ import annotations

import re

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._flags import VERSIONS, arguments_of, spans, table_of
from ansible_collections.llmops.sglang.plugins.module_utils._server_arguments import Entry, Words, check_extra


def words(version, **args):
    made = Words(table_of(version))
    for name, value in args.items():
        made.add(Entry(f"args.{name}", name, value))
    return made.words()


def failure(version, **args):
    with pytest.raises(Failure) as caught:
        words(version, **args)
    return caught.value.failure_class, caught.value.msg


@pytest.mark.parametrize(
    ("version", "args", "expected"),
    [
        ("0.5.15", {"tp_size": 8}, "--tp-size 8"),
        ("0.5.6", {"tp_size": "8"}, "--tp-size 8"),
        ("0.5.15", {"tensor_parallel_size": 8}, "--tp-size 8"),
        ("0.5.15", {"trust_remote_code": True, "enable_metrics": False, "port": None}, "--trust-remote-code"),
        ("0.5.15", {"mem_fraction_static": 0.85}, "--mem-fraction-static 0.85"),
        ("0.5.15", {"model": "/m"}, "--model-path /m"),
        ("0.5.13", {"cuda_graph_bs": [1, 2, 4]}, "--cuda-graph-bs 1 2 4"),
        ("0.5.15", {"lora_strict_loading": False}, "--no-lora-strict-loading"),
        ("0.5.11", {"speculative_draft_window_size": 64}, "--speculative-dflash-draft-window-size 64"),
        ("0.5.12", {"speculative_dflash_draft_window_size": 64}, "--speculative-draft-window-size 64"),
        ("0.5.20", {"speculative_dflash_draft_window_size": 64}, "--speculative-draft-window-size 64"),
        ("0.5.13", {"cuda_graph_max_bs_decode": 5}, "--cuda-graph-max-bs 5"),
        ("0.5.23", {"cuda_graph_max_bs": 5}, "--cuda-graph-max-bs-decode 5"),
        ("0.5.12", {"dsa_prefill_backend": "fa3"}, "--nsa-prefill-backend fa3"),
        ("0.5.15", {"fp8_gemm_runner_backend": "triton"}, "--fp8-gemm-backend triton"),
        ("0.5.15", {"max_total_tokens": 20000}, "--max-total-tokens 20000"),
        ("0.5.15", {"b": None}, ""),
    ],
)
def test_words_by_release(version, args, expected):
    assert words(version, **args) == expected.split()


def test_mappings_are_json_whatever_their_order():
    made = words("0.5.15", json_model_override_args={"b": [1, "ü"], "a": {"x": None}})
    assert made == ["--json-model-override-args", '{"a": {"x": null}, "b": [1, "ü"]}']


def test_an_adapter_is_a_word_or_a_mapping_of_its_name_and_path():
    made = words("0.5.23", lora_paths=["sql=/a", {"lora_path": "/b", "lora_name": "b"}])
    assert made == ["--lora-paths", "sql=/a", '{"lora_name": "b", "lora_path": "/b"}']


def test_the_order_of_the_options_does_not_matter():
    one = words("0.5.15", port=1, model_path="/m", host="h")
    assert one == words("0.5.15", host="h", model_path="/m", port=1)
    assert one[0] == "--model-path"


def test_a_value_that_looks_like_an_option_is_joined():
    assert words("0.5.15", served_model_name="-x") == ["--served-model-name=-x"]
    assert words("0.5.15", served_model_name="-1") == ["--served-model-name", "-1"]


@pytest.mark.parametrize(
    ("version", "args", "parts"),
    [
        ("0.5.15", {"tpsize": 8}, ["0.5.15", "args.tpsize", "'tp_size'"]),
        ("0.5.15", {"tp": 8}, ["'tp_size'"]),
        ("0.5.15", {"tp-size": 8}, ["tp_size"]),
        ("0.5.15", {"speculative_ngram_branch_length": 8}, ["0.5.9 was the last"]),
        ("0.5.15", {"speculative_domino_candidate_pool_size": 8}, ["0.5.20 is the first"]),
        (
            "0.5.20",
            {"enable_expert_distribution_metrics": True},
            ["0.5.19 was the last", "--expert-balancedness-report-mode"],
        ),
    ],
)
def test_unknown_names(version, args, parts):
    failure_class, msg = failure(version, **args)
    assert failure_class == "unknown_flag"
    assert all(part in msg for part in parts), msg


@pytest.mark.parametrize(
    ("version", "args", "part"),
    [
        ("0.5.15", {"tp_size": "eight"}, "a whole number"),
        ("0.5.15", {"tp_size": 2.5}, "a whole number"),
        ("0.5.15", {"tp_size": True}, "a whole number"),
        ("0.5.15", {"tp_size": [1]}, "one value"),
        ("0.5.15", {"tp_size": {"a": 1}}, "a whole number"),
        ("0.5.15", {"mem_fraction_static": "much"}, "a number"),
        ("0.5.15", {"trust_remote_code": "yes"}, "true or false"),
        ("0.5.15", {"tokenizer_mode": "fast"}, "auto, slow"),
        ("0.5.11", {"speculative_algorithm": "dflash"}, "the nearest is 'DFLASH'"),
        ("0.5.15", {"cuda_graph_bs_decode": []}, "at least one"),
        ("0.5.15", {"tp_size": 1, "tensor_parallel_size": 1}, "both set"),
        ("0.5.15", {"lora_paths": [{"sql": "/adapters/sql"}]}, "NAME=PATH"),
        ("0.5.23", {"lora_paths": {"sql": "/adapters/sql"}}, "'lora_name' and 'lora_path'"),
    ],
)
def test_values_that_do_not_fit(version, args, part):
    failure_class, msg = failure(version, **args)
    assert failure_class == "rule_violated"
    assert part in msg


def test_a_switch_that_became_a_choice_is_translated_with_a_warning():
    made = Words(table_of("0.5.23"))
    made.add(Entry("args.disable_piecewise_cuda_graph", "disable_piecewise_cuda_graph", True))
    assert made.words() == ["--cuda-graph-backend-prefill", "disabled"]
    assert "cuda_graph_backend_prefill" in made.warnings[0]


def sample(flag):
    """A value that *flag* takes."""
    if not flag.takes_value:
        return True
    plain = {"int": 1, "float": 0.5, "human_readable_int": "4k", "json": "{}", "json_list_type": "[]"}
    value = flag.choices[0] if flag.choices else plain.get(flag.type, "x")
    return [value] if flag.nargs in ("+", "*") else value


@pytest.mark.parametrize("version", VERSIONS)
def test_every_name_of_any_release_is_taken_translated_or_told(version):
    """Nothing is guessed: words that this release takes, or a failure that names it and says what to do."""
    table = table_of(version)
    for word in spans():
        name = word[2:].replace("-", "_")
        known = table.get_exact(word)
        flag = known or table_of(spans()[word][1]).get_exact(word)
        made = Words(table)
        try:
            made.add(Entry(f"args.{name}", name, sample(flag)))
        except Failure as caught:
            assert known is None or known.deprecated, caught.msg
            assert version in caught.msg or "correct the value" in caught.msg
            if caught.failure_class == "unknown_flag":
                assert any(part in caught.msg for part in ("is the first that has it", "was the last that had it")), (
                    caught.msg
                )
                advised = re.search(r"; use (--[a-z0-9-]+)", caught.msg)
                assert advised is None or table.get_exact(advised[1]), caught.msg
            continue
        check_extra(made.words(), table, ())
        assert made.words() or name.startswith("no_") or not flag.takes_value
        assert len(arguments_of(made.words(), table=table)) <= 1


def test_a_replacement_that_is_gone_as_well_is_told():
    failure_class, msg = failure("0.5.23", enforce_piecewise_cuda_graph=True)
    assert failure_class == "unknown_flag"
    assert "0.5.19 was the last that had it" in msg
    assert "--cuda-graph-backend-prefill replaced it, which takes breakable, disabled, full" in msg


def test_a_value_of_a_later_release_is_no_switch_of_this_one():
    failure_class, msg = failure("0.5.10", cuda_graph_backend_prefill="breakable")
    assert failure_class == "unknown_flag"
    assert "0.5.14 is the first that has it" in msg


def test_a_deprecated_value_that_became_a_switch():
    made = Words(table_of("0.5.23"))
    made.add(Entry("args.monokernel_backend", "monokernel_backend", "amd"))
    assert made.words() == ["--monokernel-backend", "amd"]
    assert "--enable-amd-monokernel" in made.warnings[0]
    assert arguments_of(made.words(), "0.5.23") == arguments_of(["--enable-amd-monokernel"], "0.5.23")


def test_a_deprecated_flag_warns_with_its_replacement():
    made = Words(table_of("0.5.23"))
    made.add(Entry("args.enable_dp_attention", "enable_dp_attention", True))
    assert made.words() == ["--enable-dp-attention"]
    assert "--attn-dp-size" in made.warnings[0]


def test_a_flag_of_a_fork_is_taken_as_given():
    made = Words(table_of("0.5.12"))
    made.add(Entry("speculative.tree_budget", "tree_budget", 8, "--speculative-ddtree-budget"))
    made.add(Entry("args.odd", "odd", True, "--odd_one"))
    assert made.words() == ["--odd_one", "--speculative-ddtree-budget", "8"]


@pytest.mark.parametrize(
    ("version", "extra", "failure_class", "part"),
    [
        ("0.5.15", ["--tp_size", "8"], "unknown_flag", "write --tp-size"),
        ("0.5.15", ["--nonsense"], "unknown_flag", "--nonsense"),
        ("0.5.13", ["--pp", "2"], "unknown_flag", "ambiguous"),
        ("0.5.20", ["--cuda-graph-max-bs", "2"], "unknown_flag", "--cuda-graph-max-bs-decode"),
        (
            "0.5.20",
            ["--speculative-dflash-draft-window-size", "2"],
            "unknown_flag",
            "write --speculative-draft-window-size",
        ),
        ("0.5.15", ["--tp-size"], "rule_violated", "needs a value"),
        ("0.5.15", ["--tp-size", "x"], "rule_violated", "a whole number"),
        ("0.5.15", ["--trust-remote-code", "true"], "rule_violated", "'true'"),
        ("0.5.15", ["stray"], "rule_violated", "'stray'"),
    ],
)
def test_extra_words_are_checked(version, extra, failure_class, part):
    with pytest.raises(Failure) as caught:
        check_extra(extra, table_of(version), ())
    assert caught.value.failure_class == failure_class
    assert part in caught.value.msg


def test_extra_words_that_the_server_takes():
    assert (
        check_extra(
            ["--tp", "8", "--trust-remote-code", "--served-model-name=a b", "--fork_flag", "1"],
            table_of("0.5.15"),
            ("--fork_flag",),
        )
        == []
    )
    assert "deprecated" in check_extra(["--disable-cuda-graph"], table_of("0.5.15"), ())[0]
