# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""/metrics in the Prometheus text format: the series that a check of speculation, load or latency reads."""

from __future__ import annotations

BOUNDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)


class Histogram:
    def __init__(self):
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.sum = 0.0

    def add(self, value, weight=1):
        index = next((i for i, bound in enumerate(BOUNDS) if value <= bound), len(BOUNDS))
        self.buckets[index] += weight
        self.sum += value * weight

    def lines(self, name, labels):
        total = 0
        for bound, count in zip(list(BOUNDS) + ["+Inf"], self.buckets):
            total += count
            yield '%s_bucket{le="%s",%s} %s' % (name, bound, labels, float(total))
        yield "%s_count{%s} %s" % (name, labels, float(total))
        yield "%s_sum{%s} %s" % (name, labels, self.sum)


class Latencies:
    """The latency histograms that all releases have."""

    def __init__(self):
        self.first, self.between, self.whole, self.queued = Histogram(), Histogram(), Histogram(), Histogram()

    def token(self, request, clock, count):
        """Tokens of a request at a moment; between tokens of one chunk the gap is shared, as SGLang does."""
        if request.first_at is None:
            self.first.add(clock - request.arrived_clock)
            self.queued.add((request.started_clock or clock) - request.arrived_clock)
        elif count:
            self.between.add((clock - request.last_at) / count, count)

    def end(self, request, clock):
        self.whole.add(clock - request.arrived_clock)


def gauges(plan, engine):
    """(name, value) of all gauges of this release. Those of speculation follow the decode log interval."""
    release, spec = plan.release, plan.speculative
    yield "num_running_reqs", len(engine.active)
    yield "num_queue_reqs", len(engine.waiting)
    yield "num_used_tokens", engine.used_tokens
    yield "token_usage", engine.usage
    yield "gen_throughput", engine.throughput
    yield "cache_hit_rate", 0.0
    yield "max_total_num_tokens", plan.max_total_tokens
    yield "utilization", 0.0
    yield "is_cuda_graph", 0.0 if plan.graphs_off else 1.0
    yield "num_retracted_reqs", 0
    yield "num_paused_reqs", 0
    yield "spec_accept_length", (engine.accept_length or 0.0) if spec else 0.0
    yield "spec_accept_rate", engine.accept_rate if spec else 0.0
    if release.since("0.5.11"):
        yield "kv_used_tokens", engine.used_tokens
        yield "kv_available_tokens", plan.max_total_tokens - engine.used_tokens
        yield "kv_evictable_tokens", 0
        yield "page_size", plan.args.get("page_size") or 1
        yield "context_len", plan.context_length
        yield "startup_available_gpu_memory_gb", 68.35
    if release.since("0.5.13"):
        yield "spec_num_steps", 1 if spec else 0
        yield "spec_num_draft_tokens", plan.block_size if spec else 0
    if release.since("0.5.16"):
        yield "spec_cap_length", 0.0
        yield "spec_block_accept_length", 0.0
    if release.since("0.5.17"):
        seconds = plan.settings.load_seconds
        yield "startup_time_seconds", seconds
        yield "startup_cuda_graph_time_seconds", seconds * 0.25
        yield "kv_cache_memory_usage_gb", 50.5
        yield "weight_memory_usage_gb", 15.3
        yield "graph_memory_usage_gb", 0.22


def counters(plan, engine):
    totals = engine.totals
    yield "prompt_tokens_total", totals["prompt"]
    yield "generation_tokens_total", totals["generated"]
    yield "cached_tokens_total", totals["cached"]
    yield "num_requests_total", totals["requests"]
    if totals["aborted"]:
        # It shows up with its first event.
        yield "num_aborted_requests_total", totals["aborted"]
    if plan.speculative and plan.release.since("0.5.13"):
        yield "spec_verify_calls_total", totals["steps"]


def page(plan, engine, requests):
    """The text of /metrics; `requests` counts HTTP requests by (method, path, status)."""
    labels = 'engine_type="unified",model_name="%s",moe_ep_rank="0",pp_rank="0",tp_rank="0"' % plan.served_name
    lines = []

    def head(name, kind):
        lines.append("# HELP sglang:%s %s" % (name, name.replace("_", " ")))
        lines.append("# TYPE sglang:%s %s" % (name, kind))

    for kind, series in (("gauge", gauges(plan, engine)), ("counter", counters(plan, engine))):
        for name, value in series:
            head(name, kind)
            lines.append("sglang:%s{%s} %s" % (name, labels, float(value)))
    latencies = engine.latencies
    for name, histogram in (
        ("time_to_first_token_seconds", latencies.first),
        ("inter_token_latency_seconds", latencies.between),
        ("e2e_request_latency_seconds", latencies.whole),
        ("queue_time_seconds", latencies.queued),
    ):
        # A histogram has no row before its first observation.
        if any(histogram.buckets):
            head(name, "histogram")
            lines += histogram.lines("sglang:" + name, labels)
    if plan.release.since("0.5.10"):
        head("http_requests_active", "gauge")
        head("http_requests_total", "counter")
        for (method, path, _dummy), count in requests.items():
            lines.append('sglang:http_requests_total{endpoint="%s",method="%s"} %s' % (path, method, float(count)))
        head("http_responses_total", "counter")
        for (method, path, status), count in requests.items():
            row = 'sglang:http_responses_total{endpoint="%s",method="%s",status_code="%d"} %s'
            lines.append(row % (path, method, status, float(count)))
    return "\n".join(lines) + "\n"
