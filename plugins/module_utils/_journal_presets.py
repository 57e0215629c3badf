# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Ready-made expectations about a server's log, as data: each pattern with a line that it is made for."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._expectation import Expectation
from ansible_collections.llmops.sglang.plugins.module_utils._log_facts import DRAFT_RUNNER

# What follows is traffic, not start-up.
READY = r"The server is fired up and ready to roll!$"


# Of every node, by its main process and by each of its ranks; the same in 0.5.6 to 0.5.23.
NODE_ARGUMENTS = r"\bserver_args=(?:\{|ServerArgs\()"
NODE_LOAD = r"\bLoad weight end\. (?:elapsed=|type=)"


class Forbidden(t.NamedTuple):
    """What must not be said, with a line that says it."""

    title: str
    pattern: str
    sample: str


# The server started with another setting than the one that it was given.
SETTING_CHANGED = (
    Forbidden(
        "draft attention backend replaced",
        r"DFLASH (?:draft worker (?:does not support|only supports) |only enables 'trtllm_mha' ).*[Ff]alling back to '",
        "DFLASH draft worker does not support 'trtllm_mha' because the draft path requires non-causal attention. "
        "Falling back to 'flashinfer'.",
    ),
    Forbidden(
        "steps or top-k overridden",
        r"only supports speculative_(?:num_steps|eagle_topk) == 1; overriding",
        "DFLASH only supports speculative_num_steps == 1; overriding speculative_num_steps=3 to 1.",
    ),
    Forbidden(
        "block size is not the drafter's",
        r"block size mismatch: using speculative_num_draft_tokens=",
        "DFLASH block size mismatch: using speculative_num_draft_tokens=8 but draft config block_size=16.",
    ),
    Forbidden(
        "drafter made for another model",
        r"[Dd]raft config num_target_layers=\d+ differs from runtime target",
        "DFLASH draft config num_target_layers=36 differs from runtime target num_hidden_layers=64; ",
    ),
    Forbidden(
        "block size could not be read from the drafter",
        r"Failed to infer \w+ block_size from draft model config",
        "Failed to infer DFLASH block_size from draft model config; defaulting speculative_num_draft_tokens to 16. Error: x",
    ),
    Forbidden(
        "draft window without effect",
        r"has no effect with speculative_algorithm=",
        "--speculative-draft-window-size has no effect with speculative_algorithm=NGRAM",
    ),
    Forbidden(
        "mixed chunked prefill disabled",
        r"Mixed chunked prefill is disabled because of using \w+ speculative decoding",
        "Mixed chunked prefill is disabled because of using dflash speculative decoding.",
    ),
    Forbidden(
        "draft graphs left out",
        r"Disable \w+ draft cuda graph because only ",
        "Disable DFLASH draft cuda graph because only 0.50 GB GPU ",
    ),
)

DEPRECATED = (
    Forbidden(
        "deprecated flag",
        r"'--[a-z0-9-]+' is deprecated and will be removed",
        "'--speculative-dflash-draft-window-size' is deprecated and will be removed in a future release. "
        "Use '--speculative-draft-window-size' instead.",
    ),
    Forbidden(
        "variable without effect",
        r"SGLANG_ENABLE_SPEC_V2 has been removed",
        "SGLANG_ENABLE_SPEC_V2 has been removed: speculative decoding ",
    ),
)

START_ERROR = (
    Forbidden("traceback", r"Traceback \(most recent call last\):", "Traceback (most recent call last):"),
    Forbidden(
        "process failed",
        r"(?:Scheduler|Manager|Controller|Router) hit an exception:|crashed with exit code"
        r"|scheduler (?:died during initialization|is dead\.)",
        "Subprocess scheduler_0 (pid=11) crashed with exit code -9. Triggering SIGQUIT for cleanup...",
    ),
    Forbidden(
        "child failed",
        r"Received sigquit from a child process|SIGQUIT received\.",
        "Received sigquit from a child process. It usually means the child failed.",
    ),
    Forbidden(
        "error of the HTTP server",
        r"^(?:\[[^\]]*\] )?ERROR: ",
        "[2026-05-30 08:20:46] ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 30000): address already in use",
    ),
    Forbidden(
        "out of memory",
        r"OutOfMemoryError|(?:CUDA|HIP) out of memory|Not enough memory\. Please try",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate",
    ),
    Forbidden(
        "argument refused",
        r"^[\w ./-]+: error: (?:unrecognized arguments|ambiguous option|argument |the following arguments are required)",
        "sglang serve: error: unrecognized arguments: --speculative-dflash-draft-window-size 4096",
    ),
    Forbidden(
        "internal port in use",
        r"\b\w+ at \d+ is not available in \d+ seconds",
        "dist_init_port at 5000 is not available in 30 seconds. x",
    ),
    Forbidden(
        "graph capture failed",
        r"Capture [\w ]*graph failed: ",
        "Exception: Capture cuda graph failed: CUDA out of memory",
    ),
    Forbidden(
        "scheduler of another node ended",
        r"Scheduler or DataParallelController \d+ terminated with ",
        "[2026-05-30 08:20:46] Scheduler or DataParallelController 11 terminated with 0",
    ),
    Forbidden("watchdog", r"[Ww]atchdog timeout \(", "Scheduler watchdog timeout (self.watchdog_timeout=300)"),
    Forbidden("memory leak", r"memory leak detected!", "req_to_token_pool memory leak detected!"),
    Forbidden(
        "health check failed",
        r"Health check failed\. Server couldn't get a response",
        "[2026-05-30 08:20:46] Health check failed. Server couldn't get a response from detokenizer for last 20 seconds. tic start time: 1",
    ),
    Forbidden(
        "warm-up failed",
        r"Initialization failed\. warmup error:|post-warmup freeze_gc failed",
        "Initialization failed. warmup error: Traceback",
    ),
    Forbidden(
        "ranks lost each other",
        r"DistBackendError|NCCL error in:|\bnccl(?:System|UnhandledCuda|Remote|Internal)Error|caught collective operation timeout",
        "[rank0]: torch.distributed.DistBackendError: NCCL error in: x",
    ),
    Forbidden(
        "error of llama.cpp",
        r"^\d+\.\d\d\.\d{3}\.\d{3} E ",
        "0.00.005.393 E cmn  common_init_: failed to load model '/none'",
    ),
)

PRESETS = {
    "node": SETTING_CHANGED,
    "dflash": SETTING_CHANGED,
    "clean_start": START_ERROR + SETTING_CHANGED + DEPRECATED,
}


def preset_expectations(name: str, fields: t.Mapping[str, t.Any]) -> list[Expectation]:
    """The expectations of the preset *name*; *fields* is what ``dflash`` and ``node`` compare in their line."""
    expectations = []
    if name == "node":
        expectations += _of_node(fields)
    if name == "dflash":
        # Rank 0 of each group prints it, once for every data-parallel replica: all of them must agree.
        expectations.append(Expectation("draft runner", re.compile(DRAFT_RUNNER), fields=dict(fields)))
    until = re.compile(READY)
    expectations += [
        # Each of them is a warning, an error, or printed before the log has a level.
        Expectation(entry.title, re.compile(entry.pattern), forbidden=True, level="warning", until=until)
        for entry in PRESETS[name]
    ]
    return expectations


def _of_node(fields: t.Mapping[str, t.Any]) -> list[Expectation]:
    """What a node logs by itself, whatever its rank: the arguments that it took, and that each of its own ranks loaded."""

    def number(name: str) -> int:
        value = fields.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 1

    own = max(number("tp_size") * number("pp_size") // number("nnodes"), 1)
    # A drafter is loaded by each rank, too.
    loads = own * (2 if fields.get("speculative_algorithm") else 1)
    return [
        Expectation("arguments of the node", re.compile(NODE_ARGUMENTS), fields=dict(fields)),
        Expectation(f"loads of {own} own ranks", re.compile(NODE_LOAD), min_count=loads),
    ]
