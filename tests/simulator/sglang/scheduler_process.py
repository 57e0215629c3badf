# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a scheduler process does and prints until it is ready, then until it ends.

Order and wording follow recordings of 0.5.15 (GPU, DFLASH) and 0.5.23 (CPU); see `log_lines` for the prefix.
"""

from __future__ import annotations

import os
import signal
import time

from sglang import exceptions, log_lines, processes, rendezvous
from sglang.faults import strike_process
from sglang.resolution import draft_backend

# What the launcher hands over where it wants the other nodes to end, and no line to print.
SHUTDOWN = "-- ShutdownReq --"
SHARES = {"dist": 0.05, "target": 0.55, "draft": 0.1, "kv": 0.05, "graphs": 0.25}


class SchedulerStartup:
    """The start-up of one rank. Only rank 0 of a group prints what SGLang prints once."""

    def __init__(self, plan, faults, rank):
        self.plan, self.faults, self.rank = plan, faults, rank
        self.release = plan.release
        sizes = {"DP": plan.dp, "PP": plan.pp, "TP": plan.tp, "EP": plan.ep}
        self.prefix = log_lines.rank_prefix(sizes, rank)
        self.first = rank["TP"] == 0
        self.free = 139.13 if plan.device == "cuda" else 21.62
        self.group = None

    def log(self, message, level=20):
        log_lines.log(message, self.prefix, level)

    def spend(self, share):
        """Pass a share of the load time."""
        time.sleep(SHARES[share] * self.plan.settings.load_seconds)

    def fault(self, stage):
        time.sleep(self.faults.drip_seconds(stage))
        for fault in self.faults.at(stage):
            if self.rank["TP"] == self.plan.local_ranks[0] and fault.kind in ("crash", "hang"):
                strike_process(fault, self.fail)

    def fail(self, name, peer=""):
        """Die as a scheduler dies: traceback, SIGQUIT to the launcher."""
        self.log("Scheduler hit an exception: " + exceptions.text(name, self.plan, peer) + "\n", 40)
        os.kill(os.getppid(), signal.SIGQUIT)
        time.sleep(60)
        os._exit(1)

    def run(self):
        plan = self.plan
        self.distributed("0.19", "0.09", self.meet)
        self.spend("dist")
        self.load(plan.args["model_path"], plan.target.architecture, plan.target.shards, "target", "load")
        early_graphs = plan.linear_block and not self.release.since("0.5.14")
        kv_first = not self.release.since("0.5.15")
        if kv_first:
            self.kv_pool("25.25")
        if early_graphs:
            self.graphs_old()
        if plan.draft is not None:
            self.draft()
            if not kv_first:
                self.kv_pool("25.25")
            self.kv_pool("9.47")
        elif not kv_first:
            self.kv_pool("25.25")
        if not early_graphs:
            self.graphs()
        if self.group is not None:
            self.group.barrier("loaded")
        self.capacity()

    def meet(self):
        """Wait for the schedulers of the other nodes."""
        try:
            self.group = rendezvous.meet(self.plan, self.rank, lambda peer: self.fail("peer", peer))
        except OSError:
            self.fail("dist_port", str(rendezvous.address_of(self.plan.args["dist_init_addr"])[1]))
        if self.group is not None:
            self.group.barrier("met")

    def distributed(self, seconds, memory, between=lambda: None):
        if self.plan.device == "cpu" and self.release.since("0.5.20"):
            self.log("Init parallel begin.")
            between()
            self.log("Init parallel ends. elapsed=0.02 s")
            self.log("Memory baseline taken. mem usage=0.00 GB")
            return
        self.log("Init torch distributed begin.")
        between()
        elapsed = "elapsed=%s s, " % seconds if self.release.since("0.5.10") else ""
        self.log("Init torch distributed ends. %smem usage=%s GB" % (elapsed, memory))

    def load(self, path, architecture, shards, share, stage):
        self.log("Load weight begin. avail mem=%.2f GB" % self.free)
        self.fault(stage)
        started = time.monotonic()
        dummy = self.plan.args.get("load_format") == "dummy"
        word = (
            "Multi-thread loading shards" if self.release.since("0.5.15") else "Loading safetensors checkpoint shards"
        )
        total = SHARES[share] * self.plan.settings.load_seconds
        if share == "target" and self.plan.draft is None:
            total += SHARES["draft"] * self.plan.settings.load_seconds
        for done in range(shards):
            if self.first and not dummy:
                percent = 100 * done // shards
                log_lines.progress("%s: %3d%% Completed | %d/%d [00:00<?, ?it/s]" % (word, percent, done, shards))
            time.sleep(total / shards)
        if self.first and not dummy:
            text = "%s: 100%% Completed | %d/%d [00:%02d<00:00, %.2fit/s]"
            log_lines.progress(text % (word, shards, shards, min(total, 59), shards / (total + 0.01)), last=True)
        used = 15.3 if share == "target" else 1.2
        self.free -= used
        elapsed = "elapsed=%.2f s, " % (time.monotonic() - started) if self.release.since("0.5.10") else ""
        self.log(
            "Load weight end. %stype=%s, avail mem=%.2f GB, mem usage=%.2f GB."
            % (elapsed, architecture, self.free, used)
        )

    def kv_pool(self, size):
        self.spend("kv")
        dtype = "dtype: torch.bfloat16, " if self.release.since("0.5.13") else ""
        tokens = self.plan.max_total_tokens
        self.log("KV Cache is allocated. %s#tokens: %d, K size: %s GB, V size: %s GB" % (dtype, tokens, size, size))
        self.log("Memory pool end. avail mem=%.2f GB" % (self.free / 2))

    def draft(self):
        plan, word = self.plan, self.plan.algorithm
        self.distributed("0.00", "0.00")
        architecture = (plan.draft.config.get("architectures") or ["DFlashDraftModel"])[0]
        if not plan.linear_block:
            architecture = (plan.draft.config.get("architectures") or ["LlamaForCausalLMEagle3"])[0]
        self.load(plan.draft.path, architecture, plan.draft.shards, "draft", "draft")
        if not plan.linear_block or not self.first:
            return
        trained = plan.draft.block_size
        if trained is not None and trained != plan.block_size:
            self.log(
                "DFLASH block size mismatch: using speculative_num_draft_tokens=%d but draft config block_size=%d."
                % (plan.block_size, trained),
                30,
            )
        window = (
            None if (self.faults.lies("draft", "window") or self.faults.lies("draft", "window_none")) else plan.window
        )
        self.log(
            "Initialized %s draft runner. attention_backend=%s, model=%s, block_size=%d, draft_window_size=%s, "
            "compact_cache=%s" % (word, draft_backend(plan), architecture, plan.block_size, window, window is not None)
        )
        mask = plan.draft.mask_token_id
        scale = ", noise_embed_scale=1.0" if self.release.since("0.5.18") else ""
        self.log(
            "%s draft runner ready. mask_token=<|MASK|>, mask_token_id=%d, mask_token_id_override=%d%s"
            % (word, mask, mask, scale)
        )
        if plan.device == "cuda":
            self.log("%s fused KV materialization enabled. n_layers=6, num_kv_heads=8, head_dim=128" % word)

    def batch_sizes(self):
        top = min(self.plan.max_running, 256)
        sizes = [1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 64, 96, 128, 192, 256]
        return [size for size in sizes if size <= top] or [1]

    def graphs_old(self):
        self.fault("graphs")
        if self.plan.graphs_off:
            return
        sizes = self.batch_sizes()
        self.log("Capture cuda graph begin. This can take up to several minutes. avail mem=%.2f GB" % (self.free / 2))
        if self.first:
            self.log("Capture cuda graph bs %s" % sizes)
        self.capture(sizes, SHARES["graphs"])
        seconds = SHARES["graphs"] * self.plan.settings.load_seconds
        text = "Capture cuda graph end. Time elapsed: %.2f s. mem usage=1.50 GB. avail mem=%.2f GB."
        self.log(text % (seconds, self.free / 2 - 1.5))

    def capture(self, sizes, share):
        """The progress bar of a capture: carriage returns, from the largest batch to the smallest."""
        seconds = share * self.plan.settings.load_seconds / len(sizes)
        for done, size in enumerate(reversed(sizes)):
            if self.first:
                text = "Capturing batches (bs=%d avail_mem=%.2f GB): %3d%%|          | %d/%d [00:00<?, ?it/s]"
                log_lines.progress(text % (size, self.free / 2, 100 * done // len(sizes), done, len(sizes)))
            time.sleep(seconds)
        if self.first:
            text = "Capturing batches (bs=1 avail_mem=%.2f GB): 100%%|██████████| %d/%d [00:01<00:00, 15.41it/s]"
            log_lines.progress(text % (self.free / 2, len(sizes), len(sizes)), last=True)

    def graphs(self):
        if not self.release.since("0.5.14"):
            return self.graphs_old()
        plan = self.plan
        if plan.linear_block and plan.args.get("attention_backend") == "triton" and self.release.since("0.5.15"):
            self.log("Overriding draft attention backend to %s." % draft_backend(plan))
        self.fault("graphs")
        roles = ["target", "draft"] if plan.linear_block else ["target"]
        for role in roles:
            self.prefill_graph(role)
            if self.plan.graphs_off:
                continue
            if role == "draft" and self.release.since("0.5.15"):
                tp = " (tp=%d)" % plan.tp if self.release.since("0.5.16") else ""
                self.log("%s draft greedy head folded into the draft cuda graph%s." % (plan.algorithm, tp))
            self.decode_graph(role, SHARES["graphs"] / len(roles))
        return None

    def prefill_graph(self, role):
        """From 0.5.15 on the target's prefill is captured too, unless that is switched off."""
        if not self.release.since("0.5.15"):
            return
        if not self.plan.prefill_graph:
            self.log(
                "Disable prefill CUDA graph because cuda_graph_config resolved prefill.backend='disabled' "
                "(e.g. via --cuda-graph-backend-prefill=disabled or auto-disable rules)."
            )
        elif role == "target":
            text = "Capture target prefill CUDA graph begin. backend=breakable, num_tokens=%s, avail mem=%.2f GB"
            self.log(text % ([64, 128, 256, 512, 1024, 2048, 4096, 8192], self.free / 2))
            text = "Capture target prefill CUDA graph end. elapsed=%.2f s, mem usage=0.32 GB, avail mem=%.2f GB."
            self.log(text % (0.01, self.free / 2 - 0.32))

    def decode_graph(self, role, share):
        plan, sizes = self.plan, self.batch_sizes()
        phase = "verify" if plan.speculative else "decode"
        field = "num_tokens_per_req" if self.release.since("0.5.18") else "num_tokens_per_bs"
        self.log(
            "Capture %s %s CUDA graph begin. backend=full, %s=%d, bs=%s, avail mem=%.2f GB"
            % (role, phase, field, plan.block_size, sizes, self.free / 2)
        )
        self.capture(sizes, share)
        text = "Capture %s %s CUDA graph end. elapsed=%.2f s, mem usage=0.22 GB, avail mem=%.2f GB."
        self.log(text % (role, phase, share * plan.settings.load_seconds, self.free / 2 - 0.22))

    def capacity(self):
        plan = self.plan
        if not self.first:
            return
        self.log(
            "max_total_num_tokens=%d, chunked_prefill_size=%s, max_prefill_tokens=%d, max_running_requests=%d, "
            "context_len=%d, available_%s_mem=%.2f GB"
            % (
                plan.max_total_tokens,
                plan.args["chunked_prefill_size"],
                plan.args["max_prefill_tokens"],
                plan.max_running,
                plan.context_length,
                "cpu" if plan.device == "cpu" else "gpu",
                self.free / 2,
            )
        )
        if self.release.since("0.5.20"):
            self.log("Init Unified Radix Cache. Components: (<ComponentType.FULL: 0>,). Tree Core: RustUnifiedTreeCore")
            self.log(
                "Tree cache initialized: source=default impl=UnifiedRadixCache hybrid_swa=False hybrid_ssm=False "
                "hicache_attached=False"
            )
        elif self.release.since("0.5.15"):
            self.log(
                "Tree cache initialized: source=default impl=RadixCache hybrid_swa=False hybrid_ssm=False "
                "hierarchical=False streaming_wrapped=False"
            )


def body(plan, faults, rank, ready_fd, command_fd):
    """The whole life of a scheduler process: load, report, then print what the launcher hands it."""
    time.sleep(plan.settings.child_import_seconds)
    processes.die_with_parent()
    startup = SchedulerStartup(plan, faults, rank)
    startup.run()
    os.write(ready_fd, b"ready\n")
    os.close(ready_fd)
    rest = b""
    while True:
        data = os.read(command_fd, 65536)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            level, _dummy, text = line.decode("utf-8").partition(" ")
            if text == SHUTDOWN and startup.group is not None:
                startup.group.shut_down()
                return
            if text != SHUTDOWN:
                startup.log(text, int(level))
