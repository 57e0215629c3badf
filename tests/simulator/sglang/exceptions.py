# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tracebacks of a scheduler that fails: the last line is SGLang's or torch's, the frames are trimmed."""

from __future__ import annotations

from sglang import log_lines

FRAMES = [
    ("sglang/srt/managers/scheduler.py", 4325, "run_scheduler_process", "scheduler = Scheduler("),
    ("sglang/srt/managers/scheduler.py", 424, "__init__", "self.init_model_worker()"),
    ("sglang/srt/managers/tp_worker.py", 385, "_init_model_runner", "self._model_runner = ModelRunner("),
    ("sglang/srt/model_executor/model_runner.py", 581, "__init__", "self.initialize()"),
]


def last_line(name, plan, peer=""):
    """The exception line of a named failure; *peer* is the other side of a lost connection, or the port that is taken."""
    fraction = plan.args.get("mem_fraction_static") if plan else 0.88
    path = plan.args["model_path"] if plan else "model"
    lines = {
        "oom": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 302.00 MiB. GPU 0 has a total capacity of "
        "139.80 GiB of which 170.31 MiB is free. Including non-PyTorch memory, this process has 139.62 GiB memory in use. "
        "Of the allocated memory 138.88 GiB is allocated by PyTorch, and 16.68 MiB is reserved by PyTorch but unallocated. "
        "If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid "
        "fragmentation.  See documentation for Memory Management  "
        "(https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)",
        "kv_memory": "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. "
        "Current value: mem_fraction_static=%s" % fraction,
        "missing_weights": "RuntimeError: Cannot find any model weights with `%s`" % path,
        "missing_draft_weights": "RuntimeError: Cannot find any model weights with `%s`"
        % (plan.draft.path if plan and plan.draft else path),
        "nccl": "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3690, unhandled cuda error, "
        "NCCL version 2.27.5",
        "graph": "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 1.00 GiB.",
        "unsupported_model": "ValueError: Model %s does not implement set_dflash_layers_to_capture, which is required for "
        "DFLASH." % (plan.target.architecture if plan else "X"),
        "assertion": "AssertionError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes.",
        "peer": "RuntimeError: [/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer "
        "[%s]:32408. This is typically caused by a remote worker crashing. Check the logs of the remote worker before reporting "
        "an error." % peer,
        "dist_port": "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. "
        "port: %s, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use" % peer,
        "import": "ImportError: cannot import name 'bmm_fp8' from 'flashinfer'",
    }
    return lines.get(name, "RuntimeError: simulated failure (%s)" % name)


def text(name, plan=None, peer=""):
    return log_lines.traceback_text(FRAMES, last_line(name, plan, peer))
