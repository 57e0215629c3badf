# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""SGLang's own start-up rules, checked from the arguments before a restart costs minutes."""

from __future__ import annotations

import os
import re
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._drafter import Drafter
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._speculative import ALGORITHMS
from ansible_collections.llmops.sglang.plugins.module_utils._version import at_least

# The server's default where neither the arguments nor the drafter's config.json say it (speculative_hook.py, _handle_dflash).
DEFAULT_BLOCK_SIZE = 16
# arg_groups/speculative_hook.py and choices.py; another backend falls back without an error.
_DRAFT_BACKENDS = (
    ("0.5.11", "flashinfer fa3 fa4 triton"),
    ("0.5.15", "flashinfer fa3 fa4 triton ascend"),
    # What the newest takes: which of these came when is not read from every release.
    ("0.5.16", "flashinfer fa3 fa4 triton ascend trtllm_mha intel_xpu"),
)
_DEVICES = (("0.5.21", ""), ("0.5.20", "cuda npu xpu"), ("0.5.17", "cuda npu"), ("0.5.16", "cuda"))


@dataclass(frozen=True)
class Start:
    """One start of a server: its arguments under the newest names, its release, its drafter and its environment."""

    arguments: t.Mapping[str, t.Any]
    version: str
    drafter: t.Optional[Drafter] = None
    environment: t.Mapping[str, str] = field(default_factory=dict)
    tree_budget: t.Optional[int] = None

    @property
    def algorithm(self) -> str:
        return str(self.arguments.get("speculative_algorithm") or "").upper()

    def number(self, name: str) -> t.Optional[int]:
        """An argument as a whole number; ``None`` where it is not set or is none."""
        value = self.arguments.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def complete(self) -> bool:
        """Whether what is not among the arguments is not set: a configuration file may set it."""
        return "config" not in self.arguments

    @property
    def window(self) -> t.Optional[int]:
        return self.number("speculative_draft_window_size")

    @property
    def block_size(self) -> t.Optional[int]:
        """The verify window as the server will resolve it; ``None`` where the drafter's config.json is needed and unread."""
        given = self.number("speculative_dflash_block_size") or self.number("speculative_num_draft_tokens")
        if given is not None or self.drafter is None or not self.drafter.known:
            return given
        return self.drafter.block_size or DEFAULT_BLOCK_SIZE


def check(start: Start, local: bool = True) -> list[str]:
    """Check all rules; returns warnings about what the server would change or ignore.

    :arg local: whether the server's paths are on this host; where not, a missing path is a warning.
    :raises Failure: ``rule_violated`` with the server's own condition and a remedy.
    """
    warnings = _paths(start, local)
    if not start.algorithm:
        return warnings
    # A fork's own algorithm with a DFlash drafter has DFLASH's limits on the window.
    if start.algorithm == "DFLASH" or start.algorithm not in ALGORITHMS:
        if start.algorithm == "DFLASH":
            _dflash_errors(start)
        _window_errors(start)
        warnings += _window_warnings(start) + _tree_warnings(start)
    elif start.window is not None and start.window <= 0:
        raise _violated(
            start, "the draft window to be positive", f"it is {start.window}", "correct 'speculative.draft_window_size'"
        )
    if start.algorithm == "DFLASH":
        _other_dflash_errors(start)
        warnings += _dflash_warnings(start)
    _block_verification_errors(start)
    warnings += _other_warnings(start)
    _sink_errors(start)
    return warnings


def _violated(start: Start, wants: str, found: str, remedy: str) -> Failure:
    return Failure(
        "rule_violated", f"SGLang {start.version} with {start.algorithm} requires {wants}, and {found}: {remedy}."
    )


def _paths(start: Start, local: bool) -> list[str]:
    warnings = []
    drafter = start.drafter
    if drafter is not None and os.path.isabs(drafter.path) and not os.path.isdir(drafter.path):
        msg = f"The draft model '{drafter.path}' is not there: copy it to this host or correct 'speculative.draft_model_path'."
        if local:
            raise Failure("rule_violated", msg)
        warnings.append(msg)
    model = start.arguments.get("model_path")
    if isinstance(model, str) and os.path.isabs(model) and not os.path.exists(model):
        warnings.append(f"The model '{model}' is not on this host: the server cannot start before it is.")
    return warnings


def _dflash_errors(start: Start) -> None:
    args = start.arguments
    if start.complete and not args.get("speculative_draft_model_path"):
        raise _violated(
            start, "a draft model (--speculative-draft-model-path)", "none is set", "set 'speculative.draft_model_path'"
        )
    pp_size = start.number("pp_size") or 1
    if pp_size != 1:
        raise _violated(start, "pp_size == 1", f"it is {pp_size}", "set 'args.pp_size' to 1 and use tensor parallelism")
    _attention_parallel_errors(start)
    block, tokens = start.number("speculative_dflash_block_size"), start.number("speculative_num_draft_tokens")
    if block is not None and block <= 0:
        raise _violated(start, "a positive block size", f"it is {block}", "correct 'speculative.block_size'")
    if block is not None and tokens is not None and block != tokens:
        raise _violated(
            start,
            "--speculative-dflash-block-size and --speculative-num-draft-tokens to be equal where both are set",
            f"they are {block} and {tokens}",
            "leave 'speculative.num_draft_tokens' out",
        )
    devices = next((d for since, d in _DEVICES if at_least(start.version, since)), "").split()
    device = str(args.get("device") or "")
    if devices and device and device.partition(":")[0] not in devices:
        raise _violated(start, f"the device {' or '.join(devices)}", f"it is {device}", "correct 'args.device'")


def _attention_parallel_errors(start: Start) -> None:
    args = start.arguments
    if not (args.get("enable_dp_attention") or (start.number("attn_dp_size") or 1) > 1) or (
        args.get("device") == "npu" and at_least(start.version, "0.5.20")
    ):
        return
    if not at_least(start.version, "0.5.23"):
        raise _violated(
            start, "no DP attention", "it is switched on", "take 'args.enable_dp_attention' or 'args.attn_dp_size' out"
        )
    if start.complete and not args.get("enable_dp_lm_head"):
        raise _violated(
            start, "--enable-dp-lm-head where DP attention is on", "it is off", "set 'args.enable_dp_lm_head: true'"
        )
    if (start.number("attn_cp_size") or 1) != 1:
        raise _violated(
            start, "attn_cp_size == 1 where DP attention is on", "it is not", "set 'args.attn_cp_size' to 1"
        )


def _other_dflash_errors(start: Start) -> None:
    """What DFLASH does not go together with."""
    args, version = start.arguments, start.version
    coordination = start.environment.get("SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION", "0").lower()
    if at_least(version, "0.5.23") and coordination in ("1", "true", "yes"):
        raise _violated(
            start, "SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION=0", "it is on", "take it out of 'environment'"
        )
    if (args.get("enable_lora") or args.get("lora_paths")) and not at_least(version, "0.5.19"):
        raise _violated(
            start,
            "no LoRA",
            "it is on (0.5.19 is the first that has both)",
            "take 'args.enable_lora' and 'lora_paths' out",
        )
    if args.get("mamba_radix_cache_strategy") == "extra_buffer_lazy" and not at_least(version, "0.5.18"):
        raise _violated(
            start,
            "another cache strategy than extra_buffer_lazy",
            "that is set (0.5.18 is the first that has both)",
            "set 'args.mamba_radix_cache_strategy' to extra_buffer",
        )
    # The server finds this out in its scheduler, after the weights.
    drafter = start.drafter
    if args.get("skip_tokenizer_init") and drafter is not None and drafter.known and drafter.mask_token_id is None:
        raise _violated(
            start,
            "a tokenizer where the drafter's config.json has no dflash_config.mask_token_id",
            "'args.skip_tokenizer_init' is set",
            "take it out",
        )


def _block_verification_errors(start: Start) -> None:
    allowed = ("EAGLE", "EAGLE3", "NEXTN", "DFLASH", "DSPARK")
    if not start.arguments.get("speculative_use_block_verification") or start.algorithm not in ALGORITHMS:
        return
    device = str(start.arguments.get("device") or "cuda")
    if start.algorithm not in allowed or device != "cuda":
        found = f"the device is {device}" if start.algorithm in allowed else "the algorithm is another one"
        raise _violated(
            start,
            f"{', '.join(allowed)} and CUDA or ROCm for block verification",
            found,
            "take 'speculative.use_block_verification' out",
        )


def _window_errors(start: Start) -> None:
    if start.window is None:
        return
    if start.window <= 0:
        raise _violated(
            start, "the draft window to be positive", f"it is {start.window}", "correct 'speculative.draft_window_size'"
        )
    if start.block_size is not None and start.window < start.block_size:
        raise _violated(
            start,
            "the draft window to be at least the block size (--speculative-num-draft-tokens)",
            f"the window is {start.window} and the block size {start.block_size}",
            f"set 'speculative.draft_window_size' to {start.block_size} or more",
        )


def _sink_errors(start: Start) -> None:
    sink = start.number("speculative_draft_sink_size")
    if sink is None:
        return
    if sink < 0 or (start.complete and start.window is None):
        found = f"the sink size is {sink}" if sink < 0 else "no window is set"
        raise _violated(
            start, "a draft sink size of 0 or more together with a draft window", found, "correct 'speculative'"
        )


def _window_warnings(start: Start) -> list[str]:
    drafter = start.drafter
    if drafter is None:
        return []
    if not drafter.known:
        return [f"What the drafter '{drafter.path}' was trained for is not checked: {drafter.reason}."]
    if drafter.sliding_window is None:
        if start.window is None:
            return []
        return [
            f"The drafter '{drafter.path}' was trained without a window and 'speculative.draft_window_size' is {start.window}."
        ]
    if start.window is None:
        return [
            f"The drafter '{drafter.path}' was trained with a window of {drafter.sliding_window} tokens and none is set: it will attend to the full "
            f"context, outside its training; set 'speculative.draft_window_size: trained'."
        ]
    if start.window != drafter.sliding_window:
        return [
            f"The drafter '{drafter.path}' was trained with a window of {drafter.sliding_window} tokens "
            f"and 'speculative.draft_window_size' is {start.window}."
        ]
    return []


def _tree_warnings(start: Start) -> list[str]:
    budget, block = start.tree_budget, start.block_size
    if budget is None:
        named = [n for n in start.arguments if re.fullmatch(r"speculative_.*tree.*budget", n)]
        value = start.arguments[named[0]] if named else None
        budget = int(value) if isinstance(value, (int, str)) and str(value).isdigit() else None
    if budget is None or block is None or budget > block - 1:
        return []
    return [
        f"The tree budget {budget} is at most the block size {block} less one: the tree is a linear chain, without a branch; "
        f"set 'speculative.tree_budget' to {block} or more."
    ]


def _dflash_warnings(start: Start) -> list[str]:
    args, version = start.arguments, start.version
    warnings = [
        f"SGLang {version} sets {name} to 1 with DFLASH; its value {args[name]} has no effect."
        for name in ("speculative_num_steps", "speculative_eagle_topk")
        if args.get(name) not in (None, 1)
    ]
    if args.get("enable_mixed_chunk") and not at_least(version, "0.5.19"):
        warnings.append(
            f"SGLang {version} switches mixed chunked prefill off with DFLASH: 'args.enable_mixed_chunk' has no effect."
        )
    if args.get("speculative_use_rejection_sampling"):
        warnings.append(
            f"SGLang {version} samples by rejection with EAGLE and EAGLE3 alone: 'speculative.use_rejection_sampling' has no effect."
        )
    if not at_least(version, "0.5.14") and not args.get("disable_overlap_schedule"):
        warnings.append(
            f"SGLang {version} switches the overlap scheduler off with DFLASH (0.5.14 is the first that keeps it); "
            "'args.disable_overlap_schedule: true' says so openly."
        )
    backend = args.get("speculative_draft_attention_backend")
    allowed = next((names for since, names in reversed(_DRAFT_BACKENDS) if at_least(version, since)), "").split()
    if backend and allowed and backend not in allowed:
        warnings.append(
            f"SGLang {version} does not draft with '{backend}' and falls back: use one of {', '.join(allowed)}."
        )
    return warnings


def _other_warnings(start: Start) -> list[str]:
    warnings = []
    args, version = start.arguments, start.version
    if (
        start.complete
        and args.get("max_running_requests") is None
        and start.algorithm
        in (
            "DFLASH",
            "EAGLE",
            "EAGLE3",
            "NEXTN",
            "STANDALONE",
        )
    ):
        warnings.append(
            f"SGLang {version} limits max_running_requests to 48 with {start.algorithm}: set 'args.max_running_requests' to choose."
        )
    honours = {"DFLASH", "EAGLE3"} | ({"EAGLE", "NEXTN"} if at_least(version, "0.5.21") else set())
    if start.window is not None and start.algorithm in ALGORITHMS and start.algorithm not in honours:
        warnings.append(f"SGLang {version} ignores 'speculative.draft_window_size' with {start.algorithm}.")
    if at_least(version, "0.5.23") and args.get("enable_return_aux_hidden_states") and start.algorithm == "DFLASH":
        warnings.append(
            f"SGLang {version} does not speculate at all with 'args.enable_return_aux_hidden_states': take it out."
        )
    if start.environment.get("SGLANG_SIMULATE_ACC_LEN", "0") not in ("", "0", "-1"):
        warnings.append(
            "SGLANG_SIMULATE_ACC_LEN in 'environment' makes the server pretend its acceptance: no figure will be true."
        )
    return warnings
