# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The server's own rules for a start, release by release."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._drafter import Drafter
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._planned_start import Start
from ansible_collections.llmops.sglang.plugins.module_utils._rules import check

DRAFTER = Drafter("/m/draft", sliding_window=2048, block_size=8)


def start(version="0.5.15", drafter=DRAFTER, environment=None, tree_budget=None, **args):
    known = {"speculative_algorithm": "DFLASH", "speculative_draft_model_path": "org/draft", "max_running_requests": 4}
    if drafter is not None and drafter.path == "/m/draft":
        drafter = Drafter("org/draft", sliding_window=drafter.sliding_window, block_size=drafter.block_size)
    return Start(
        {**known, "speculative_draft_window_size": 2048, **args}, version, drafter, environment or {}, tree_budget
    )


def test_the_job_itself_breaks_no_rule():
    assert check(start()) == []


@pytest.mark.parametrize(
    ("case", "part"),
    [
        ({"speculative_draft_model_path": None, "drafter": None}, "speculative.draft_model_path"),
        ({"pp_size": 2}, "pp_size == 1"),
        ({"enable_dp_attention": True, "dp_size": 2}, "no DP attention"),
        ({"attn_dp_size": 2, "version": "0.5.22"}, "no DP attention"),
        ({"enable_dp_attention": True, "dp_size": 2, "version": "0.5.23"}, "--enable-dp-lm-head"),
        (
            {"attn_dp_size": 2, "enable_dp_lm_head": True, "attn_cp_size": 2, "version": "0.5.23"},
            "attn_cp_size == 1",
        ),
        ({"speculative_dflash_block_size": 0}, "positive block size"),
        ({"speculative_dflash_block_size": 8, "speculative_num_draft_tokens": 4}, "8 and 4"),
        ({"speculative_draft_window_size": 0}, "positive"),
        ({"speculative_draft_window_size": 4}, "the window is 4 and the block size 8"),
        (
            {"speculative_draft_window_size": 7, "speculative_dflash_block_size": 16, "version": "0.5.11"},
            "block size 16",
        ),
        ({"speculative_draft_window_size": 8, "drafter": Drafter("org/d")}, "block size 16"),
        ({"device": "cpu", "version": "0.5.16"}, "the device cuda"),
        (
            {"speculative_draft_sink_size": 4, "speculative_draft_window_size": None, "version": "0.5.21"},
            "no window is set",
        ),
        ({"drafter": Drafter("/nowhere/draft")}, "/nowhere/draft"),
        ({"enable_lora": True, "version": "0.5.18"}, "no LoRA"),
        ({"lora_paths": ["a=b"]}, "no LoRA"),
        ({"mamba_radix_cache_strategy": "extra_buffer_lazy", "version": "0.5.17"}, "extra_buffer_lazy"),
        ({"skip_tokenizer_init": True}, "mask_token_id"),
        ({"speculative_use_block_verification": True, "device": "npu", "version": "0.5.23"}, "the device is npu"),
        (
            {"speculative_use_block_verification": True, "speculative_algorithm": "NGRAM", "version": "0.5.23"},
            "the algorithm is another one",
        ),
        (
            {"environment": {"SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION": "Y"}, "version": "0.5.21"},
            "SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION=0",
        ),
        ({"device": "cpu", "version": "0.5.23"}, "the device cuda or npu or xpu"),
        ({"device": "xpu", "version": "0.5.19"}, "the device cuda or npu"),
        (
            {"attn_dp_size": 2, "enable_dp_lm_head": True, "device": "xpu", "version": "0.5.23"},
            "CUDA or NPU where DP attention is on",
        ),
        ({"enable_unified_memory": True, "version": "0.5.21"}, "0.5.22 is the first"),
        (
            {"enable_unified_memory": True, "attention_backend": "trtllm_mha", "version": "0.5.22"},
            "fa3, flashinfer, triton",
        ),
        (
            {
                "enable_unified_memory": True,
                "attention_backend": "fa3",
                "decode_attention_backend": "flashinfer",
                "dcp_size": 2,
                "version": "0.5.23",
            },
            "fa3, triton, trtllm_mha",
        ),
        (
            {"disaggregation_mode": "decode", "disaggregation_decode_enable_radix_cache": True},
            "--disaggregation-decode-enable-radix-cache",
        ),
        ({"enable_return_aux_hidden_states": True, "version": "0.5.23"}, "no draft model"),
        (
            {
                "enable_return_aux_hidden_states": True,
                "speculative_draft_model_path": None,
                "drafter": None,
                "version": "0.5.23",
            },
            "--return-aux-hidden-state-layer-ids",
        ),
        (
            {"drafter": Drafter("org/d", block_size=8, layer_types={"sliding_attention": 5}), "version": "0.5.15"},
            "a sliding_window",
        ),
    ],
)
def test_rules_of_the_server(case, part):
    with pytest.raises(Failure) as caught:
        check(start(**case))
    assert caught.value.failure_class == "rule_violated"
    assert part in caught.value.msg


@pytest.mark.parametrize(
    "case",
    [
        {"speculative_draft_window_size": 8},
        {"device": "cpu", "version": "0.5.15.post1"},
        {"enable_dp_attention": True, "dp_size": 2, "device": "npu", "version": "0.5.20"},
        {"enable_dp_attention": True, "dp_size": 2, "enable_dp_lm_head": True, "version": "0.5.23"},
        # The server takes the switch back where there is one replica alone.
        {"enable_dp_attention": True},
        {"device": "cuda:1", "version": "0.5.16"},
        # A platform of somebody else decides for itself.
        {"device": "some_tpu", "version": "0.5.21"},
        {"environment": {"SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION": "1"}, "version": "0.5.20"},
        {"enable_unified_memory": True, "version": "0.5.22"},
        {"enable_unified_memory": True, "attention_backend": "trtllm_mha", "version": "0.5.23"},
        {"disaggregation_decode_enable_radix_cache": True},
        {"speculative_algorithm": "EAGLE", "speculative_draft_window_size": -1, "version": "0.5.12", "drafter": None},
        {"speculative_draft_window_size": 8, "drafter": Drafter("org/d", reason="it is not there")},
        {"enable_lora": True, "version": "0.5.19"},
        {"mamba_radix_cache_strategy": "extra_buffer_lazy", "version": "0.5.18"},
        {"skip_tokenizer_init": True, "drafter": Drafter("org/d", block_size=8, mask_token_id=5)},
        {"speculative_use_block_verification": True, "version": "0.5.23"},
    ],
)
def test_what_the_server_allows(case):
    check(start(**case))


@pytest.mark.parametrize(
    ("case", "part"),
    [
        ({"speculative_draft_window_size": None}, "speculative.draft_window_size: trained"),
        ({"speculative_draft_window_size": 1024}, "2048"),
        ({"drafter": Drafter("org/d", block_size=8)}, "trained without a window"),
        ({"max_running_requests": None}, "48"),
        ({"speculative_num_steps": 3}, "speculative_num_steps to 1"),
        ({"speculative_eagle_topk": 4}, "speculative_eagle_topk to 1"),
        ({"enable_mixed_chunk": True}, "mixed chunked"),
        ({"version": "0.5.13"}, "overlap"),
        ({"speculative_draft_attention_backend": "torch_native"}, "falls back"),
        ({"speculative_draft_attention_backend": "torch_native", "version": "0.5.23"}, "falls back"),
        ({"speculative_draft_attention_backend": "trtllm_mha", "version": "0.5.16"}, "falls back"),
        ({"speculative_draft_attention_backend": "intel_xpu", "version": "0.5.19"}, "falls back"),
        ({"attention_backend": "torch_native"}, "falls back"),
        ({"attention_backend": "triton", "prefill_attention_backend": "flashmla"}, "falls back"),
        ({"speculative_draft_attention_backend": "trtllm_mha", "version": "0.5.23"}, "all layers"),
        ({"speculative_draft_sink_size": 4, "version": "0.5.21"}, "speculative.draft_sink_size"),
        ({"environment": {"SGLANG_ENABLE_SPEC_V2": "1"}}, "SGLANG_ENABLE_SPEC_V2"),
        ({"drafter": Drafter("org/d", sliding_window=2048)}, "block size of 16"),
        ({"speculative_algorithm": None}, "no 'speculative.algorithm'"),
        (
            {
                "speculative_algorithm": "DSPARK",
                "drafter": None,
                "max_running_requests": None,
                "version": "0.5.21",
                "speculative_draft_window_size": None,
            },
            "48",
        ),
        (
            {
                "speculative_algorithm": "NGRAM",
                "drafter": None,
                "max_running_requests": None,
                "speculative_draft_window_size": None,
            },
            "48",
        ),
        (
            {
                "enable_return_aux_hidden_states": True,
                "return_aux_hidden_state_layer_ids": [1],
                "speculative_draft_model_path": None,
                "drafter": None,
                "version": "0.5.23",
            },
            "does not speculate at all",
        ),
        ({"speculative_use_rejection_sampling": True}, "rejection"),
        ({"tree_budget": 7}, "linear chain"),
        ({"speculative_ddtree_budget": "3"}, "linear chain"),
        ({"environment": {"SGLANG_SIMULATE_ACC_LEN": "3"}}, "pretend"),
        ({"model_path": "/nowhere/m"}, "/nowhere/m"),
        ({"drafter": Drafter("org/d", reason="it is not there")}, "not checked"),
    ],
)
def test_what_the_server_would_change_is_a_warning(case, part):
    (warning,) = check(start(**case))
    assert part in warning


@pytest.mark.parametrize(
    ("case", "version"),
    [
        ({"speculative_draft_attention_backend": "ascend"}, "0.5.13"),
        ({"speculative_draft_attention_backend": "intel_xpu"}, "0.5.20"),
        ({"attention_backend": "torch_native", "prefill_attention_backend": "fa3"}, "0.5.15"),
        ({"environment": {"SGLANG_SIMULATE_ACC_LEN": "-2.5"}}, "0.5.15"),
        ({"environment": {"SGLANG_SIMULATE_ACC_LEN": "0.0"}}, "0.5.15"),
        ({"speculative_algorithm": "UNO", "max_running_requests": None, "speculative_draft_window_size": None, "drafter": None}, "0.5.20"),
        ({"speculative_draft_attention_backend": "trtllm_mha", "layers": 5}, "0.5.17"),
        ({"speculative_draft_attention_backend": "trtllm_mha", "causal": True}, "0.5.17"),
    ],
)  # fmt: skip
def test_what_the_server_takes_as_it_is_told_is_no_warning(case, version):
    drafter = {"sliding_window": 2048, "block_size": 8, "layer_types": {"sliding_attention": 5}}
    drafter.update({k: case.pop(k) for k in ("layers", "causal") if k in case})
    shown = check(start(**{"version": version, "drafter": Drafter("org/d", **drafter), **case}))
    assert [w for w in shown if "overlap" not in w] == []


SLIDING = Drafter("org/d", sliding_window=2048, block_size=8, layer_types={"sliding_attention": 5}, layers=5)
WINDOWLESS = Drafter("org/d", block_size=8, layer_types={"sliding_attention": 5}, layers=5)


@pytest.mark.parametrize(
    ("case", "part", "told", "silent"),
    [
        ({"speculative_draft_attention_backend": "trtllm_mha", "drafter": SLIDING}, "does not draft with", "0.5.16", "0.5.17"),
        ({"speculative_draft_attention_backend": "ascend"}, "does not draft with", "0.5.12", "0.5.13"),
        ({"speculative_draft_attention_backend": "intel_xpu"}, "does not draft with", "0.5.19", "0.5.20"),
        ({"speculative_draft_attention_backend": "ascend"}, "does not draft with", "0.5.11", "0.5.23"),
        ({"device": "cpu"}, "the device", "0.5.16", "0.5.15.post1"),
        ({"device": "npu"}, "the device", "0.5.16", "0.5.17"),
        ({"device": "xpu"}, "the device", "0.5.19", "0.5.20"),
        ({"device": "some_tpu"}, "the device", "0.5.20", "0.5.21"),
        ({"enable_dp_attention": True, "dp_size": 2, "device": "npu"}, "no DP attention", "0.5.19", "0.5.20"),
        ({"attn_dp_size": 2, "enable_dp_lm_head": True}, "no DP attention", "0.5.22", "0.5.23"),
        ({"drafter": WINDOWLESS}, "a sliding_window", "0.5.14", "0.5.13"),
        ({"enable_lora": True}, "no LoRA", "0.5.18", "0.5.19"),
        ({"enable_unified_memory": True}, "unified memory", "0.5.21", "0.5.22"),
        ({"enable_unified_memory": True, "attention_backend": "trtllm_mha", "drafter": SLIDING}, "unified memory", "0.5.22", "0.5.23"),
        ({"mamba_radix_cache_strategy": "extra_buffer_lazy"}, "extra_buffer_lazy", "0.5.17", "0.5.18"),
        ({"environment": {"SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION": "1"}}, "COORDINATION", "0.5.21", "0.5.20"),
        ({"enable_return_aux_hidden_states": True}, "hidden states", "0.5.23", "0.5.22"),
        ({"enable_mixed_chunk": True}, "mixed chunked", "0.5.18", "0.5.19"),
        ({}, "overlap", "0.5.13", "0.5.14"),
        ({"speculative_algorithm": "EAGLE", "speculative_draft_window_size": 0}, "positive", "0.5.13", "0.5.12"),
        ({"speculative_algorithm": "EAGLE"}, "ignores", "0.5.20", "0.5.21"),
    ],
)  # fmt: skip
def test_a_rule_begins_and_ends_with_its_release(case, part, told, silent):
    def said(version):
        try:
            return " ".join(check(start(version=version, **case)))
        except Failure as failure:
            return failure.msg

    assert part in said(told)
    assert part not in said(silent)


def test_what_is_told_elsewhere_is_no_guess():
    silent = Drafter("org/d", sliding_window=2048)
    assert check(start(drafter=silent, speculative_num_draft_tokens=8)) == []
    assert check(start(drafter=silent, speculative_dflash_block_size=8)) == []
    assert check(start(drafter=silent, config="/own.yaml")) == []
    assert check(start(config="/own.yaml", speculative_algorithm=None)) == []
    assert check(start(speculative_algorithm=None, speculative_num_steps=None))[0].count("speculative_num_steps") == 0


def test_what_a_configuration_file_may_set_is_not_missed():
    missing = {
        "speculative_draft_model_path": None,
        "max_running_requests": None,
        "speculative_draft_window_size": None,
    }
    more = {"attn_dp_size": 2, "version": "0.5.23", "drafter": None}
    assert check(start(config="/own.yaml", **missing, **more)) == []
    sink = {"speculative_draft_sink_size": 4, "speculative_algorithm": "EAGLE"}
    assert check(start(config="/own.yaml", **{**missing, **more, **sink})) == []
    assert check(start(config="/own.yaml", **{**missing, "speculative_algorithm": None, "drafter": None})) == []


def test_a_branching_tree_is_no_warning():
    assert check(start(tree_budget=8, speculative_algorithm="DDTREE")) == []


def test_a_window_that_is_ignored():
    assert any("ignores" in w for w in check(start(speculative_algorithm="EAGLE", drafter=None)))
    assert not any("ignores" in w for w in check(start(version="0.5.21", speculative_algorithm="EAGLE", drafter=None)))


def test_without_the_paths_of_this_host_a_missing_drafter_is_a_warning():
    (warning,) = check(start(drafter=Drafter("/nowhere/draft", sliding_window=2048, block_size=8)), local=False)
    assert "/nowhere/draft" in warning
