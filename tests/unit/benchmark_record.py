# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of benchmarks for tests, with all that a real one has."""

from __future__ import annotations

import calendar
import copy
import time

HOSTILE = "</title></style></script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&$x_{\u202e\x1b[31m\x00\ud800 =1+1\nsecond line"
EVIDENCE = {
    "invocation_id": "f7fd7c42365f4e399b0468bdf532bb00",
    "n_restarts": 0,
    "main_pid": 126,
    "argv_sha256": "0120cbe8b4306a73a87b282529bb26fa60e9124141a3fe0582f6e53c8a3aaefe",
    "sglang_version": "0.5.23",
    "served_model": "moonshotai/Kimi-K2.6",
    "model_path": "/models/kimi-k2.6",
    "model_revision": None,
    "draft_model_path": "/models/kimi-k2.6-dflash",
    "draft_model_revision": "main",
    "unit": "sglang-k26.service",
    "scope": "system",
    "simulated_acceptance": False,
    "inputs_sha256": {"files": "ab" * 32, "configs": "cd" * 32},
    "gpu": {"model": "NVIDIA H200", "count": 8, "driver": "580.65.06"},
    "host": "gpu-a",
    "kernel": "6.8.0-60-generic",
}


def distribution(mean, n=40):
    if mean is None:
        return {"n": 0, **dict.fromkeys(("mean", "min", "max", "p50", "p90", "p99"))}
    return {"n": n, "mean": mean, "min": mean * 0.8, "max": mean * 1.5, "p50": mean, "p90": mean * 1.2, "p99": None}


def cell(context=1024, concurrency=8, run=1, speed=1.0, reasons=(), **more):
    """A cell of a server that is *speed* times as fast as the usual one."""
    streams = concurrency or 4
    noise = 1 + 0.02 * (run - 2)
    rate = 95 * streams**0.72 * speed * noise / (1 + (context or 60) / 30000)
    figures = {
        "output_tokens_per_second": round(rate, 3),
        "requests_per_second": round(rate / 512, 3),
        "steady_tokens_per_second": None,
        "duration_s": 20.0,
        "ttft_ms": distribution((18 + (context or 60) * 0.09) * (1 + streams / 12) * noise),
        "ttfo_ms": distribution((18 + (context or 60) * 0.09) * (1 + streams / 12) * noise),
        "tpot_ms": distribution(1000 * streams / rate),
        "chunk_gap_ms": distribution(4000 * streams / rate),
        "e2e_ms": distribution(512000 * streams / rate),
        "dispatch_delay_ms": distribution(0.0),
    }
    return {
        "cell_id": f"{context}-{concurrency}-{run}-{speed}",
        "context": context,
        "concurrency": concurrency,
        "run": run,
        "began_at": 1795983372.5 + run * 100,
        "valid": not reasons,
        "reasons": list(reasons),
        "requests": 5 * streams,
        "succeeded": 5 * streams,
        "errors": {},
        "error_samples": {},
        "finish_reasons": {"length": 5 * streams},
        "short_outputs": 0,
        **figures,
        "tpot_basis": "after_first_chunk",
        "prompt_tokens": {"min": 59, "mean": 60.0, "max": 61},
        "completion_tokens": {"min": 512, "mean": 512.0, "max": 512},
        "client": {"loop_lag_p50_ms": 0.1, "saturated": False},
        "acceptance_length": round(max(1.0, 4.4 - 0.01 * streams**0.5 - (context or 60) / 20000), 3),
        "acceptance_source": "per_request",
        "acceptance_formula": "correct_drafts",
        "acceptance_floor_held": None,
        "acceptance_detail": {"verify_steps": 1200},
        "cached_share": 0.0,
        "cache_flushed": True,
        "shared_prefix_tokens": 3,
        "warmup_requests": 8,
        "prompt_digest": "775ad37a5283bf54",
        "corpus": "documentation and sources of Python 3.11.2",
        "server_running_max": 8,
        "evidence_before": dict(EVIDENCE),
        "evidence_after": dict(EVIDENCE),
        "evidence_changes": [],
        **more,
    }


def record(cells=None, finished="20261129T201618Z", run_id="53e7f8a715a14082bab87e28aac33127", **more):
    """A record of *cells*, by default three contexts at three concurrencies."""
    ended = calendar.timegm(time.strptime(finished, "%Y%m%dT%H%M%SZ"))
    made = {
        "schema_version": 1,
        "label": "window 2048",
        "run_id": run_id,
        "engine": {"name": "builtin", "caveats": []},
        "profile": "standard",
        "proven": True,
        "started_at": ended - 600.0,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ended - 600)),
        "finished_at": float(ended),
        "options": {
            "contexts": [60, 1024, 4096],
            "concurrency": [1, 8, 32],
            "requests": None,
            "settings": {"api": "chat", "max_tokens": 512, "rate": None},
        },
        "server": {
            "arguments": {"tp_size": 8, "speculative_algorithm": "DFLASH"},
            "arguments_from": "server",
            "environment": {},
        },
        "evidence_before": dict(EVIDENCE),
        "evidence_after": dict(EVIDENCE),
        "client": {"host": "gpu-a", "python": "3.11.2", "keep_alive": True, "tcp_nodelay": True},
        "prompts": {"salt": "fa09", "learnt": {"overhead": 9}},
        "resumed_cells": 0,
        "raw_requests": "rows.jsonl.gz",
        "cells": cells or [cell(c, n, r) for r in (1, 2, 3) for c in (60, 1024, 4096) for n in (1, 8, 32)],
        **more,
    }
    return copy.deepcopy(made)


def coding_record():
    """A record of coding_eval with one task of each status."""
    statuses = ("passed", "failed", "refused", "not_run")
    tasks = [
        {
            "name": name,
            "status": name,
            "cases": 8,
            "cases_passed": 8 if name == "passed" else 0,
            "reason": "" if name == "passed" else "why",
            "code": "def f(): pass" if name in ("passed", "failed") else None,
            "all_samples": [{"status": name}],
        }
        for name in statuses
    ]
    return {
        "schema_version": 1,
        "label": "window 2048",
        "run_id": "0a1b2c3d" * 4,
        "finished_at": 1795983378.1,
        "options": {"max_tokens": 512},
        "ok": False,
        "pass_rate": None,
        "sandbox": "systemd",
        **{f"tasks_{name}": 1 for name in statuses},
        "tasks_total": 4,
        "evidence_before": dict(EVIDENCE),
        "evidence_after": dict(EVIDENCE),
        "evidence_changes": [],
        "proven": True,
        "tasks": tasks,
    }
