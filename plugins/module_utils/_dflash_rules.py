# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""SGLang's own start-up rules for DFLASH (arg_groups/speculative_hook.py and its neighbours, 0.5.11 to 0.5.23)."""

from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.module_utils._planned_start import DEFAULT_BLOCK_SIZE, Start, violated
from ansible_collections.llmops.sglang.plugins.module_utils._version import at_least

# What each release drafts with; another backend falls back without an error.
_DRAFT_BACKENDS = (
    ("0.5.20", "flashinfer fa3 fa4 triton ascend trtllm_mha intel_xpu"),
    ("0.5.17", "flashinfer fa3 fa4 triton ascend trtllm_mha"),
    ("0.5.13", "flashinfer fa3 fa4 triton ascend"),
    ("0.5.11", "flashinfer fa3 fa4 triton"),
)
_DEVICES = (("0.5.20", "cuda npu xpu"), ("0.5.17", "cuda npu"), ("0.5.16", "cuda"))
# From 0.5.21 on a platform that is not SGLang's own decides for itself; these two are its own.
_REFUSED_DEVICES = ("cpu", "hpu")
# kv_cache_hook.py: what reads through the unified pool's indices.
_UNIFIED_BACKENDS = (("0.5.23", "fa3 flashinfer triton trtllm_mha"), ("0.5.22", "fa3 flashinfer triton"))


def _of_release(start: Start, table: tuple[tuple[str, str], ...]) -> list[str]:
    """The words of the newest row that the release has reached."""
    return next((words for since, words in table if at_least(start.version, since)), "").split()


def errors(start: Start) -> None:
    """Raise for what the server refuses before it loads anything, or in its scheduler after the weights."""
    _parallel_errors(start)
    args = start.arguments
    if start.complete and not args.get("speculative_draft_model_path"):
        raise violated(
            start, "a draft model (--speculative-draft-model-path)", "none is set", "set 'speculative.draft_model_path'"
        )
    block, tokens = start.number("speculative_dflash_block_size"), start.number("speculative_num_draft_tokens")
    if block is not None and block <= 0:
        raise violated(start, "a positive block size", f"it is {block}", "correct 'speculative.block_size'")
    if block is not None and tokens is not None and block != tokens:
        raise violated(
            start,
            "--speculative-dflash-block-size and --speculative-num-draft-tokens to be equal where both are set",
            f"they are {block} and {tokens}",
            "leave 'speculative.num_draft_tokens' out",
        )
    devices = _of_release(start, _DEVICES)
    open_to_others = at_least(start.version, "0.5.21") and start.device not in _REFUSED_DEVICES
    if devices and start.device and start.device not in devices and not open_to_others:
        raise violated(start, f"the device {' or '.join(devices)}", f"it is {start.device}", "correct 'args.device'")


def _parallel_errors(start: Start) -> None:
    args, version = start.arguments, start.version
    pp_size = start.number("pp_size") or 1
    if pp_size != 1:
        raise violated(start, "pp_size == 1", f"it is {pp_size}", "set 'args.pp_size' to 1 and use tensor parallelism")
    if not start.attention_parallel or (start.device == "npu" and at_least(version, "0.5.20")):
        return
    if not at_least(version, "0.5.23"):
        raise violated(
            start, "no DP attention", "it is switched on", "take 'args.enable_dp_attention' or 'args.attn_dp_size' out"
        )
    if start.device not in ("", "cuda"):
        raise violated(
            start, "CUDA or NPU where DP attention is on", f"the device is {start.device}", "correct 'args.device'"
        )
    if start.complete and not args.get("enable_dp_lm_head"):
        raise violated(
            start, "--enable-dp-lm-head where DP attention is on", "it is off", "set 'args.enable_dp_lm_head: true'"
        )
    if (start.number("attn_cp_size") or 1) != 1:
        raise violated(start, "attn_cp_size == 1 where DP attention is on", "it is not", "set 'args.attn_cp_size' to 1")


def conflicts(start: Start) -> None:
    """Raise for what DFLASH does not go together with."""
    args, version = start.arguments, start.version
    if at_least(version, "0.5.21") and start.switched_on("SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION"):
        raise violated(
            start, "SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION=0", "it is on", "take it out of 'environment'"
        )
    if (args.get("enable_lora") or args.get("lora_paths")) and not at_least(version, "0.5.19"):
        raise violated(
            start,
            "no LoRA",
            "it is on (0.5.19 is the first that has both)",
            "take 'args.enable_lora' and 'lora_paths' out",
        )
    if args.get("mamba_radix_cache_strategy") == "extra_buffer_lazy" and not at_least(version, "0.5.18"):
        raise violated(
            start,
            "another cache strategy than extra_buffer_lazy",
            "that is set (0.5.18 is the first that has both)",
            "set 'args.mamba_radix_cache_strategy' to extra_buffer",
        )
    if args.get("disaggregation_mode") == "decode" and args.get("disaggregation_decode_enable_radix_cache"):
        raise violated(
            start,
            "no --disaggregation-decode-enable-radix-cache",
            "it is on",
            "take 'args.disaggregation_decode_enable_radix_cache' out",
        )
    if args.get("enable_unified_memory"):
        _unified_memory_errors(start)
    _drafter_errors(start)


def _unified_memory_errors(start: Start) -> None:
    allowed = _of_release(start, _UNIFIED_BACKENDS)
    if not allowed:
        raise violated(
            start,
            "no unified memory pool",
            "'args.enable_unified_memory' is set (0.5.22 is the first that has both)",
            "take it out",
        )
    if (start.number("dcp_size") or 1) > 1:
        allowed.remove("flashinfer")
    other = [backend for backend in start.attention_backends if backend and backend not in allowed]
    if other:
        raise violated(
            start,
            f"one of the attention backends {', '.join(allowed)} with a unified memory pool",
            f"'{other[0]}' is set",
            "correct 'args.attention_backend' or take 'args.enable_unified_memory' out",
        )


def _drafter_errors(start: Start) -> None:
    """What the scheduler finds out of the drafter's config.json, after the weights."""
    drafter = start.drafter
    if drafter is None or not drafter.known:
        return
    if start.arguments.get("skip_tokenizer_init") and drafter.mask_token_id is None:
        raise violated(
            start,
            "a tokenizer where the drafter's config.json has no dflash_config.mask_token_id",
            "'args.skip_tokenizer_init' is set",
            "take it out",
        )
    if (
        "sliding_attention" in drafter.layer_types
        and drafter.sliding_window is None
        and at_least(start.version, "0.5.14")
    ):
        raise violated(
            start,
            "a sliding_window beside the layers of sliding_attention in the drafter's config.json",
            f"that of '{drafter.path}' has none",
            "complete it or choose another drafter",
        )


def warnings(start: Start) -> list[str]:
    """What the server would change by itself, or ignore."""
    args, version = start.arguments, start.version
    found = [
        f"SGLang {version} sets {name} to 1 with DFLASH; its value {args[name]} has no effect."
        for name in ("speculative_num_steps", "speculative_eagle_topk")
        if args.get(name) not in (None, 1)
    ]
    if start.drafter is not None and start.drafter.known and start.block_size_is_a_guess:
        found.append(
            f"Neither 'speculative' nor the drafter '{start.drafter.path}' tells the block size: SGLang {version} assumes a block size of "
            f"{DEFAULT_BLOCK_SIZE}; set 'speculative.block_size'."
        )
    if args.get("enable_mixed_chunk") and not at_least(version, "0.5.19"):
        found.append(
            f"SGLang {version} switches mixed chunked prefill off with DFLASH: 'args.enable_mixed_chunk' has no effect."
        )
    if args.get("speculative_use_rejection_sampling"):
        found.append(
            f"SGLang {version} samples by rejection with EAGLE and EAGLE3 alone: 'speculative.use_rejection_sampling' has no effect."
        )
    if args.get("speculative_draft_sink_size") is not None:
        found.append(f"SGLang {version} ignores 'speculative.draft_sink_size' with DFLASH: take it out.")
    if not at_least(version, "0.5.14") and not args.get("disable_overlap_schedule"):
        found.append(
            f"SGLang {version} switches the overlap scheduler off with DFLASH (0.5.14 is the first that keeps it); "
            "'args.disable_overlap_schedule: true' says so openly."
        )
    if "SGLANG_ENABLE_SPEC_V2" in start.environment:
        found.append("SGLANG_ENABLE_SPEC_V2 in 'environment' has no effect on DFLASH: take it out.")
    return found + _draft_backend_warnings(start)


def _draft_backend_warnings(start: Start) -> list[str]:
    """Without a backend of its own the drafter has that of the target's prefill."""
    own = str(start.arguments.get("speculative_draft_attention_backend") or "")
    backend, allowed, drafter = own or start.attention_backends[0], _of_release(start, _DRAFT_BACKENDS), start.drafter
    if not backend or not allowed:
        return []
    if backend not in allowed:
        return [
            f"SGLang {start.version} does not draft with '{backend}' and falls back: set "
            f"'speculative.draft_attention_backend' to one of {', '.join(allowed)}."
        ]
    if backend == "trtllm_mha" and drafter is not None and drafter.known and not drafter.sliding_throughout:
        return [
            f"SGLang {start.version} drafts with '{backend}' only where all layers of the drafter are causal or of sliding attention, which those "
            f"of '{drafter.path}' are not, and falls back: set 'speculative.draft_attention_backend' to another."
        ]
    return []
