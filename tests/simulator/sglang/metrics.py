# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""/metrics in the Prometheus text format: the series that a check of speculation or load reads."""

from __future__ import annotations


def page(plan, engine):
    """The text of /metrics. Gauges of speculation follow the decode log interval, as SGLang's do."""
    release, totals = plan.release, engine.totals
    spec = plan.speculative
    series = [
        ("num_running_reqs", "gauge", len(engine.running)),
        ("num_queue_reqs", "gauge", len(engine.waiting)),
        ("num_used_tokens", "gauge", engine.used_tokens),
        ("token_usage", "gauge", engine.usage),
        ("gen_throughput", "gauge", engine.throughput),
        ("cache_hit_rate", "gauge", 0.0),
        ("max_total_num_tokens", "gauge", plan.max_total_tokens),
        ("utilization", "gauge", 0.0),
        ("is_cuda_graph", "gauge", 0.0 if plan.args.get("disable_cuda_graph") else 1.0),
        ("num_retracted_reqs", "gauge", 0),
        ("num_paused_reqs", "gauge", 0),
        ("spec_accept_length", "gauge", (engine.accept_length or 0.0) if spec else 0.0),
        ("spec_accept_rate", "gauge", engine.accept_rate if spec else 0.0),
        ("prompt_tokens_total", "counter", totals["prompt"]),
        ("generation_tokens_total", "counter", totals["generated"]),
        ("cached_tokens_total", "counter", totals["cached"]),
        ("num_requests_total", "counter", totals["requests"]),
        ("num_aborted_requests_total", "counter", totals["aborted"]),
    ]
    if release.since("0.5.13"):
        series.append(("spec_num_steps", "gauge", 1 if spec else 0))
        series.append(("spec_num_draft_tokens", "gauge", plan.block_size if spec else 0))
        series.append(("spec_verify_calls_total", "counter", totals["steps"] if spec else 0))
    labels = '{engine_type="unified",model_name="%s",moe_ep_rank="0",pp_rank="0",tp_rank="0"}' % plan.served_name
    lines = []
    for name, kind, value in series:
        lines.append("# HELP sglang:%s %s" % (name, name.replace("_", " ")))
        lines.append("# TYPE sglang:%s %s" % (name, kind))
        lines.append("sglang:%s%s %s" % (name, labels, float(value)))
    return "\n".join(lines) + "\n"
