# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""SGLang's own start-up rules, checked from the arguments before a restart costs minutes."""

from __future__ import annotations

import os
import re

from ansible_collections.llmops.sglang.plugins.module_utils import _dflash_rules
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._node_rules import check_nodes
from ansible_collections.llmops.sglang.plugins.module_utils._planned_start import Start, violated
from ansible_collections.llmops.sglang.plugins.module_utils._speculative import ALGORITHMS
from ansible_collections.llmops.sglang.plugins.module_utils._version import at_least

# Which name a convention of capture, where hidden states are returned without a drafter.
_CAPTURES = ("EAGLE3", "DFLASH", "DSPARK")


def check(start: Start, local: bool = True) -> list[str]:
    """Check all rules; returns warnings about what the server would change or ignore.

    :arg local: whether the server's paths are on this host; where not, a missing path is a warning.
    :raises Failure: ``rule_violated`` with the server's own condition and a remedy.
    """
    check_nodes(start)
    warnings = _paths(start, local)
    if not start.algorithm:
        return warnings + _without_algorithm(start)
    if at_least(start.version, "0.5.23") and start.arguments.get("enable_return_aux_hidden_states"):
        return warnings + _capture(start)
    # A fork's own algorithm with a DFlash drafter has DFLASH's limits on the window.
    if start.algorithm == "DFLASH" or start.algorithm not in ALGORITHMS:
        if start.algorithm == "DFLASH":
            _dflash_rules.errors(start)
        _window_errors(start)
        warnings += _window_warnings(start) + _tree_warnings(start)
    elif start.window is not None and start.window <= 0 and at_least(start.version, "0.5.13"):
        raise _not_positive(start)
    if start.algorithm == "DFLASH":
        _dflash_rules.conflicts(start)
        warnings += _dflash_rules.warnings(start)
    _block_verification_errors(start)
    warnings += _other_warnings(start)
    _sink_errors(start)
    return warnings


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


def _without_algorithm(start: Start) -> list[str]:
    """Options of speculation that nothing reads."""
    named = sorted(n for n, value in start.arguments.items() if n.startswith("speculative_") and value is not None)
    if not named or not start.complete:
        return []
    return [
        f"SGLang {start.version} does not speculate: there is no 'speculative.algorithm', so that {', '.join(named)} has no effect."
    ]


def _capture(start: Start) -> list[str]:
    """With --enable-return-aux-hidden-states an algorithm only says which hidden states are captured."""
    args, remedy = start.arguments, "or take 'args.enable_return_aux_hidden_states' out"
    if start.algorithm not in _CAPTURES:
        raise violated(start, f"one of {', '.join(_CAPTURES)} to return hidden states", "it is another", remedy[3:])
    if args.get("speculative_draft_model_path"):
        raise violated(
            start,
            "no draft model where it returns hidden states",
            "one is set",
            f"take 'speculative.draft_model_path' out, {remedy}",
        )
    if (start.number("pp_size") or 1) != 1:
        raise violated(
            start, "pp_size == 1 where it returns hidden states", "it is more", f"set 'args.pp_size' to 1, {remedy}"
        )
    if start.complete and start.algorithm != "EAGLE3" and not args.get("return_aux_hidden_state_layer_ids"):
        raise violated(
            start,
            "--return-aux-hidden-state-layer-ids where it returns hidden states",
            "none are set",
            f"set 'args.return_aux_hidden_state_layer_ids', {remedy}",
        )
    return [
        f"SGLang {start.version} does not speculate at all with 'args.enable_return_aux_hidden_states': take it out."
    ]


def _not_positive(start: Start) -> Failure:
    return violated(
        start, "the draft window to be positive", f"it is {start.window}", "correct 'speculative.draft_window_size'"
    )


def _block_verification_errors(start: Start) -> None:
    allowed = ("EAGLE", "EAGLE3", "NEXTN", "DFLASH", "DSPARK")
    if not start.arguments.get("speculative_use_block_verification") or start.algorithm not in ALGORITHMS:
        return
    device = str(start.arguments.get("device") or "cuda")
    if start.algorithm not in allowed or device != "cuda":
        found = f"the device is {device}" if start.algorithm in allowed else "the algorithm is another one"
        raise violated(
            start,
            f"{', '.join(allowed)} and CUDA or ROCm for block verification",
            found,
            "take 'speculative.use_block_verification' out",
        )


def _window_errors(start: Start) -> None:
    if start.window is None:
        return
    if start.window <= 0:
        raise _not_positive(start)
    if start.block_size is not None and start.window < start.block_size:
        raise violated(
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
        raise violated(
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


def _other_warnings(start: Start) -> list[str]:
    warnings = []
    args, version = start.arguments, start.version
    limited = start.algorithm in ALGORITHMS and start.algorithm != "UNO"
    if start.complete and args.get("max_running_requests") is None and limited:
        warnings.append(
            f"SGLang {version} limits max_running_requests to 48 with {start.algorithm}: set 'args.max_running_requests' to choose."
        )
    honours = {"DFLASH", "EAGLE3"} | ({"EAGLE", "NEXTN"} if at_least(version, "0.5.21") else set())
    if start.window is not None and start.algorithm in ALGORITHMS and start.algorithm not in honours:
        warnings.append(f"SGLang {version} ignores 'speculative.draft_window_size' with {start.algorithm}.")
    if _number(start.environment.get("SGLANG_SIMULATE_ACC_LEN", "")) > 0:
        warnings.append(
            "SGLANG_SIMULATE_ACC_LEN in 'environment' makes the server pretend its acceptance: no figure will be true."
        )
    return warnings


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
