# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From parsed arguments to a plan: SGLang's start-up rules, its resolved values, and the warnings on the way."""

from __future__ import annotations

from sglang import log_lines
from sglang.model_files import ModelFiles


class Refused(Exception):
    """A rule is broken: SGLang prints a traceback that ends in ``kind: message`` and exits 1."""

    def __init__(self, message, kind="ValueError"):
        super().__init__(message)
        self.kind = kind


NAMES = ("EAGLE", "EAGLE3", "STANDALONE", "NGRAM")
NAMES_SINCE = {"DFLASH": "0.5.11", "FROZEN_KV_MTP": "0.5.12", "DSPARK": "0.5.16", "UNO": "0.5.20"}


class Plan:
    """What the server will be: resolved arguments and the few values derived from them."""

    def __init__(self, release, settings, args):
        self.release, self.settings, self.args = release, settings, args
        self.target = ModelFiles(args["model_path"])
        self.draft = None
        self.algorithm = None
        self.block_size = 1
        self.window = None
        self.budget = self.topk = None
        self.api_key, self.admin_api_key = args.get("api_key"), args.get("admin_api_key")
        self.tp, self.pp, self.dp = (int(args.get(name) or 1) for name in ("tp_size", "pp_size", "dp_size"))
        self.nodes, self.node_rank = int(args.get("nnodes") or 1), int(args.get("node_rank") or 0)
        self.ep = int(args.get("ep_size") or 1)
        self.host, self.port = args.get("host") or "127.0.0.1", int(args.get("port") or 30000)
        self.context_length = int(args.get("context_length") or self.target.context_length)
        self.served_name = args.get("served_model_name") or args["model_path"]
        self.tls = bool(args.get("ssl_certfile"))

    @property
    def local_stages(self):
        """The pipeline-parallel ranks of this node (engine.py, _calculate_rank_ranges)."""
        share, nodes = max(self.pp // self.nodes, 1), max(self.nodes // self.pp, 1)
        return range(share * (self.node_rank // nodes), share * (self.node_rank // nodes + 1))

    @property
    def local_ranks(self):
        """The tensor-parallel ranks of this node."""
        nodes = max(self.nodes // self.pp, 1)
        share = self.tp // nodes
        return range(share * (self.node_rank % nodes), share * (self.node_rank % nodes + 1))

    @property
    def world(self):
        """How many schedulers all nodes have together."""
        return self.nodes * self.dp * len(self.local_stages) * len(self.local_ranks)

    @property
    def speculative(self):
        return self.algorithm is not None

    @property
    def linear_block(self):
        """True for DFLASH and for a fork of it: one draft pass proposes a whole block."""
        return self.algorithm == "DFLASH" or (self.algorithm or "").lower() == (self.release.fork or None)

    @property
    def device(self):
        return self.args.get("device") or self.settings.device

    @property
    def trained_window(self):
        """Context up to which the draft was trained, in tokens; 0 when it has no limit."""
        if self.settings.trained_window:
            return self.settings.trained_window
        return (self.draft.sliding_window or 2048) if self.draft is not None else 0

    @property
    def graphs_off(self):
        return bool(self.args.get("disable_cuda_graph")) or self.device == "cpu"

    @property
    def prefill_graph(self):
        """True when the target's prefill runs as a graph (0.5.15 and later, unless switched off)."""
        switched_off = self.args.get("cuda_graph_backend_prefill") == "disabled"
        return self.release.since("0.5.15") and not self.graphs_off and not switched_off

    @property
    def max_running(self):
        return int(self.args["max_running_requests"])

    @property
    def max_total_tokens(self):
        return int(self.args.get("max_total_tokens") or 400000)


def resolve(release, settings, args):
    """The plan, or Refused."""
    plan = Plan(release, settings, args)
    if settings.check_model_files and plan.target.missing:
        raise _no_such_model(plan.target.path)
    if bool(args.get("ssl_certfile")) != bool(args.get("ssl_keyfile")):
        raise Refused("Both --ssl-keyfile and --ssl-certfile must be specified together.")
    if plan.tp * plan.pp % plan.nodes:
        raise Refused("tp_size must be divisible by number of nodes", "AssertionError")
    if plan.dp > 1 and (args.get("nnodes") or 1) > 1 and not args.get("enable_dp_attention"):
        raise Refused("multi-node data parallel is not supported unless dp attention!", "AssertionError")
    if args.get("attention_backend") == "torch_native":
        log_lines.warn("Cuda graph is disabled because of using torch native attention backend")
    if args.get("disable_cuda_graph") is None:
        args["disable_cuda_graph"] = False
    _speculative(plan)
    _defaults(plan)
    return plan


def _no_such_model(path):
    return Refused(
        "Repo id must be in the form 'repo_name' or 'namespace/repo_name': '%s'. Use `repo_type` argument if needed."
        % path,
        "OSError",
    )


def _speculative(plan):
    args, release = plan.args, plan.release
    word = (args.get("speculative_algorithm") or "").upper()
    window_key = "speculative_draft_window_size" if release.since("0.5.12") else "speculative_dflash_draft_window_size"
    window = args.get(window_key)
    if window is not None and int(window) <= 0 and release.since("0.5.12"):
        raise Refused("--speculative-draft-window-size must be positive, got %d." % int(window))
    if not word:
        return
    word = "EAGLE" if word == "NEXTN" else word
    known = word in NAMES or (word in NAMES_SINCE and release.since(NAMES_SINCE[word])) or word.lower() == release.fork
    if not known:
        raise Refused("Unknown speculative algorithm name: %s" % word)
    plan.algorithm = word
    if plan.linear_block:
        _block_draft(plan, word, window)
    else:
        if window is not None and word != "EAGLE3" and release.since("0.5.13"):
            log_lines.warn("--speculative-draft-window-size has no effect with speculative_algorithm=%s." % word)
        plan.draft = ModelFiles(args.get("speculative_draft_model_path") or plan.target.path)
        plan.block_size = int(args.get("speculative_num_draft_tokens") or 4)
        args["speculative_num_draft_tokens"] = plan.block_size
    if args.get("max_running_requests") is None:
        log_lines.warn(
            "Max running requests is reset to 48 for speculative decoding. "
            "You can override this by explicitly setting --max-running-requests."
        )
        args["max_running_requests"] = 48
    if plan.linear_block and not release.since("0.5.14"):
        log_lines.warn(
            "Overlap scheduler is disabled when using %s speculative decoding (spec v2 is not supported yet)." % word
        )
        args["disable_overlap_schedule"] = True


def _block_draft(plan, word, window):
    args, release = plan.args, plan.release
    if plan.device == "cpu" and release.since("0.5.16"):
        raise Refused("%s speculative decoding is not supported by CpuSRTPlatform on device 'cpu'." % word)
    if args.get("enable_dp_attention") or (args.get("attn_dp_size") or 1) > 1:
        if not release.since("0.5.23"):
            raise Refused("Currently %s speculative decoding does not support dp attention." % word)
        if not args.get("enable_dp_lm_head"):
            raise Refused("%s with dp attention requires --enable-dp-lm-head." % word)
    if plan.pp != 1:
        raise Refused("Currently %s speculative decoding only supports pp_size == 1." % word)
    path = args.get("speculative_draft_model_path")
    if path is None:
        raise Refused("%s speculative decoding requires setting --speculative-draft-model-path." % word)
    plan.draft = ModelFiles(path)
    if plan.settings.check_model_files and plan.draft.missing:
        raise _no_such_model(path)
    for name in ("num_steps", "eagle_topk"):
        value = args.get("speculative_" + name)
        if value not in (None, 1):
            log_lines.warn(
                "%s only supports speculative_%s == 1; overriding speculative_%s=%s to 1." % (word, name, name, value)
            )
        args["speculative_" + name] = 1
    args["speculative_draft_model_revision"] = args.get("speculative_draft_model_revision") or "main"
    _block_size(plan, word)
    if window is not None:
        window = int(window)
        if window <= 0:
            raise Refused("%s requires --speculative-dflash-draft-window-size to be positive, got %d." % (word, window))
        if window < plan.block_size:
            flag = "draft-window" if release.since("0.5.12") else "dflash-draft-window"
            raise Refused(
                "--speculative-%s-size must be >= --speculative-num-draft-tokens (block_size). "
                "window_size=%d, block_size=%d." % (flag, window, plan.block_size)
            )
        plan.window = window
    if args.get("speculative_draft_sink_size") is not None and window is None:
        raise Refused("--speculative-draft-sink-size requires --speculative-draft-window-size.")
    if args.get("enable_mixed_chunk") and not release.since("0.5.19"):
        log_lines.warn("Mixed chunked prefill is disabled because of using dflash speculative decoding.")
        args["enable_mixed_chunk"] = False
    if release.fork:
        plan.budget = args.get("speculative_%s_budget" % release.fork)
        plan.topk = args.get("speculative_%s_topk" % release.fork)


def _block_size(plan, word):
    args = plan.args
    block, tokens = args.get("speculative_dflash_block_size"), args.get("speculative_num_draft_tokens")
    if block is not None and int(block) <= 0:
        raise Refused("%s requires --speculative-dflash-block-size to be positive, got %s." % (word, block))
    if block is not None and tokens is not None and int(block) != int(tokens):
        raise Refused(
            "Both --speculative-num-draft-tokens and --speculative-dflash-block-size are set but they differ. "
            "For %s they must match. speculative_num_draft_tokens=%s, speculative_dflash_block_size=%s."
            % (word, tokens, block)
        )
    chosen = block if block is not None else tokens
    if chosen is None:
        chosen = plan.draft.block_size
    if chosen is None:
        log_lines.warn("speculative_num_draft_tokens is not set; defaulting to 16 for %s." % word)
        chosen = 16
    plan.block_size = int(chosen)
    args["speculative_num_draft_tokens"] = plan.block_size


def _defaults(plan):
    """Values that SGLang fills in while it resolves; they show in the log and in /server_info."""
    args = plan.args
    filled = {
        "tokenizer_path": args["model_path"],
        "served_model_name": args["model_path"],
        "device": plan.device,
        "host": plan.host,
        "random_seed": 876736338,
        "mem_fraction_static": 0.88,
        "chunked_prefill_size": 8192 if plan.device == "cuda" else 4096,
        "max_prefill_tokens": 16384,
        "page_size": 1,
        "sampling_backend": "flashinfer" if plan.device == "cuda" else "pytorch",
        "attention_backend": "fa3" if plan.device == "cuda" else "torch_native",
        "grammar_backend": "xgrammar",
        "watchdog_timeout": 300,
    }
    for name, value in filled.items():
        if args.get(name) is None:
            args[name] = value
    if args.get("max_running_requests") is None:
        args["max_running_requests"] = 2048 if plan.device == "cuda" else 4096
    if plan.linear_block and plan.release.since("0.5.15"):
        backend = args.get("speculative_draft_attention_backend")
        args["speculative_draft_attention_backend"] = backend or draft_backend(plan)


def draft_backend(plan):
    """The draft's attention backend: what was asked for where DFLASH can, else a fallback."""
    asked = plan.args.get("speculative_draft_attention_backend") or plan.args.get("attention_backend")
    return (
        asked if asked in ("flashinfer", "fa3", "fa4", "triton", "ascend", "trtllm_mha", "intel_xpu") else "flashinfer"
    )
