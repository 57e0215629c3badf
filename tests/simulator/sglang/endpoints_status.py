# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What SGLang says about itself: health, models, /server_info, loads, metrics."""

from __future__ import annotations

import asyncio
import datetime
import os
import time

from sglang import log_lines, metrics

NOT_FOUND = {"detail": "Not Found"}


async def health(serving, exchange):
    """One token from the scheduler, looked for once a second: a healthy answer takes a second."""
    plan = serving.plan
    if serving.draining:
        log_lines.warn("Health check request received during shutdown. Returning 503.")
        return await exchange.reply(503)
    if serving.faults.lies("serving", "health"):
        return await exchange.reply(200)
    if serving.status == "Starting":
        return await exchange.reply(503)
    asks = os.environ.get("SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION", "true").lower() in ("1", "true", "yes")
    if exchange.path == "/health" and not asks:
        return await exchange.reply(200)
    began = time.monotonic()
    seconds = float(os.environ.get("SGLANG_HEALTH_CHECK_TIMEOUT") or 20)
    limit = seconds * plan.settings.pace
    while time.monotonic() - began < limit:
        await asyncio.sleep(1.0 * plan.settings.pace)
        if not serving.engine.frozen:
            serving.engine.last_output = time.monotonic()
            serving.status = "Up"
            return await exchange.reply(200)
    tic = time.strftime("%H:%M:%S", time.localtime(time.time() - limit))
    log_lines.error(
        "Health check failed. Server couldn't get a response from detokenizer for last %d seconds. "
        "tic start time: %s. last_heartbeat time: %s" % (seconds, tic, tic)
    )
    serving.status = "UnHealthy"
    return await exchange.reply(503)


async def ready(serving, exchange):
    if not serving.plan.release.since("0.5.20"):
        return await exchange.json(404, NOT_FOUND)
    return await exchange.reply(200 if serving.status == "Up" and not serving.draining else 503)


async def ping(serving, exchange):
    up = serving.status == "Up" or not serving.plan.release.since("0.5.23")
    return await exchange.reply(200 if up else 503)


async def root(serving, exchange):
    return await exchange.json(200, "SGLang is running")


def served_name(serving):
    for fault in serving.faults.at("serving", "lie"):
        if fault.lie == "models":
            return fault.detail or "another-model"
    return serving.plan.served_name


def _card(serving):
    name = served_name(serving)
    return {
        "id": name,
        "object": "model",
        "created": int(time.time()),
        "owned_by": "sglang",
        "root": name,
        "parent": None,
        "max_model_len": serving.plan.context_length,
    }


async def models(serving, exchange):
    return await exchange.json(200, {"object": "list", "data": [_card(serving)]})


async def model(serving, exchange):
    name = exchange.path[len("/v1/models/") :]
    if name == served_name(serving):
        return await exchange.json(200, _card(serving))
    error = {
        "message": "The model '%s' does not exist" % name,
        "type": "invalid_request_error",
        "param": "model",
        "code": "model_not_found",
    }
    return await exchange.json(404, {"error": error})


async def api_tags(serving, exchange):
    """Ollama's list, which SGLang has had since some release between 0.5.15 and 0.5.23."""
    if not serving.plan.release.since("0.5.19"):
        return await exchange.json(404, NOT_FOUND)
    name = served_name(serving)
    entry = {
        "name": name,
        "model": name,
        "modified_at": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "size": 0,
        "digest": "sha256:sglang" + "0" * 58,
        "details": {"format": "sglang", "family": name.rpartition("/")[2], "parameter_size": "unknown"},
    }
    return await exchange.json(200, {"models": [entry]})


async def model_info(serving, exchange):
    plan, args = serving.plan, serving.plan.args
    if exchange.path == "/get_model_info":
        _deprecated("/get_model_info", "/model_info")
    info = {
        "model_path": args["model_path"],
        "tokenizer_path": args["tokenizer_path"],
        "is_generation": True,
        "preferred_sampling_params": args.get("preferred_sampling_params"),
        "weight_version": args.get("weight_version") or "default",
        "has_image_understanding": False,
        "has_audio_understanding": False,
        "model_type": plan.target.model_type,
        "architectures": [plan.target.architecture],
    }
    if plan.release.since("0.5.23"):
        info.update(
            served_model_name=plan.served_name,
            load_format=args.get("load_format"),
            reasoning_parser=args.get("reasoning_parser"),
            tool_call_parser=args.get("tool_call_parser"),
            disaggregation_mode="null",
        )
    return await exchange.json(200, info)


def _deprecated(old, new):
    log_lines.warn(
        "Endpoint '%s' is deprecated and will be removed in a future version. Please use '%s' instead." % (old, new)
    )


async def weight_version(serving, exchange):
    message = "Endpoint '/get_weight_version' or '/weight_version' is deprecated. Please use '/model_info' instead."
    error = {"object": "error", "message": message, "type": "404", "param": None, "code": 404}
    return await exchange.json(404, error)


def shown_args(plan):
    """The arguments as SGLang shows them: resolved, keys in clear."""
    extra = {"custom_sigquit_handler": None, "stat_loggers": None, "uses_mamba_radix_cache": False}
    if plan.release.since("0.5.23"):
        extra.update(
            grpc_worker_threads=4,
            watermark_key="<redacted>",
            watermark_key_b="<redacted>",
            watermark_context_window=4,
            watermark_mixing_probability=0.5,
            watermark_max_probability=1.0,
            watermark_default_enabled=False,
            watermark_enforce_all=False,
            aux_hidden_state_capture=None,
            enable_cp_tp_group_sharing=False,
            speculative_boundary_reduction="rs+rsv",
            _speculative_draft_quantization_explicitly_set=False,
            _radix_eviction_policy_explicitly_set=False,
            _swa_full_tokens_ratio_explicitly_set=False,
        )
    shown = {name: value for name, value in plan.args.items() if name != "config"}
    for name in ("collect_tokens_histogram", "prefill_round_robin_balance"):
        if shown.get(name) is None:
            shown.pop(name, None)
    return {**shown, **extra}


def startup_time(serving):
    seconds = serving.plan.settings.load_seconds
    names = ("prefill", "decode", "target_verify", "draft_prefill", "draft_decode", "draft_extend")
    return {
        "load_weight": seconds * 0.65,
        "kv_cache_allocation": seconds * 0.05,
        "scheduler_e2e": seconds,
        "cuda_graph": dict.fromkeys(names, 0.0),
        "tokenizer_e2e": seconds,
    }


def internal_state(serving):
    plan, engine = serving.plan, serving.engine
    state = shown_args(plan)
    graph = 0.22
    if plan.release.since("0.5.18"):
        graph = dict.fromkeys(
            ("prefill", "decode", "target_verify", "draft_prefill", "draft_decode", "draft_extend"), 0.0
        )
    state["last_gen_throughput"] = engine.throughput
    if not plan.release.since("0.5.19"):
        state.update(
            _resolved_overrides=[],
            enable_grpc=False,
            grpc_port=plan.port + 10000,
            _quantization_explicitly_unset=False,
            _cuda_graph_config_locked=[],
            _declarations_materialized=True,
            _mx_config_cache={},
            max_speculative_num_draft_tokens=plan.block_size if plan.speculative else None,
        )
    else:
        state.pop("custom_sigquit_handler")
    state["memory_usage"] = {"weight": 15.3, "kvcache": 50.5, "token_capacity": plan.max_total_tokens, "graph": graph}
    if plan.release.since("0.5.23"):
        state["memory_usage"].update(startup_available=21.544, token_capacity_swa=None)
        state.update(world_size=plan.tp, decode_cuda_graph_bs=[], decode_cuda_graph_memory_gb=0.0)
        state["startup_time"] = {k: v for k, v in startup_time(serving).items() if k != "tokenizer_e2e"}
    if plan.release.since("0.5.8"):
        state["effective_max_running_requests_per_dp"] = plan.max_running
    if plan.speculative and engine.accept_length is not None:
        state["avg_spec_accept_length"] = engine.accept_length
    return state


async def server_info(serving, exchange):
    """Waits for the scheduler, as the real one does: it hangs while the scheduler is stuck."""
    plan = serving.plan
    if exchange.path == "/get_server_info":
        _deprecated("/get_server_info", "/server_info")
    await serving.scheduler_answers(exchange)
    info = shown_args(plan)
    info.update(
        status="ready",
        max_total_num_tokens=plan.max_total_tokens,
        max_req_input_len=plan.context_length - 6,
        internal_states=[internal_state(serving) for _dummy in range(plan.dp)],
        version=plan.release.version,
    )
    if plan.release.since("0.5.13"):
        info["kv_events"] = None
    if plan.release.since("0.5.18"):
        info["startup_time"] = startup_time(serving)
    if plan.release.since("0.5.20"):
        info["launch_command"] = " ".join(serving.launcher.argv)
    if plan.release.since("0.5.21"):
        info["frontend"] = "python"
    if plan.release.since("0.5.23"):
        info["hicache_object_layout"] = {
            "enabled": False,
            "backend": None,
            "page_size": 1,
            "hicache_object_layout": {"pools": []},
            "reason": "Hierarchical cache is disabled",
        }
    return await exchange.json(200, info)


def load_entry(serving):
    plan, engine = serving.plan, serving.engine
    used = engine.used_tokens
    entry = {
        "dp_rank": 0,
        "num_running_reqs": len(engine.active),
        "num_waiting_reqs": len(engine.waiting),
        "num_waiting_uncached_tokens": 0,
        "num_used_tokens": used,
        "num_total_tokens": used,
        "max_total_num_tokens": plan.max_total_tokens,
        "max_running_requests": plan.max_running,
        "token_usage": round(engine.usage, 4),
        "gen_throughput": round(engine.throughput, 2),
        "cache_hit_rate": 0.0,
        "utilization": 0.0,
        "memory": {"weight_gb": 15.3, "kv_cache_gb": 50.5, "graph_gb": 0.219, "token_capacity": plan.max_total_tokens},
    }
    if plan.speculative:
        entry["speculative"] = {"accept_length": engine.accept_length or 0.0, "accept_rate": engine.accept_rate}
    entry["disaggregation"] = {
        "mode": "null",
        "prefill_bootstrap_queue_reqs": 0,
        "prefill_inflight_queue_reqs": 0,
        "decode_prealloc_queue_reqs": 0,
        "decode_transfer_queue_reqs": 0,
        "decode_retracted_queue_reqs": 0,
        "kv_transfer_speed_gb_s": 0.0,
        "kv_transfer_latency_ms": 0.0,
    }
    entry["queues"] = {"waiting": len(engine.waiting), "grammar": 0, "paused": 0, "retracted": 0}
    if plan.release.since("0.5.23"):
        entry.update(
            timestamp=time.time(),
            num_active_tokens=used,
            num_prealloc_ready_tokens=0,
            total_prefill_uncached_tokens=engine.totals["prompt"] - engine.totals["cached"],
            total_prefill_busy_us=0,
            decode_moments=[0.0] * 6,
        )
        entry["queues"]["prealloc_ready"] = 0
    return entry


async def loads(serving, exchange):
    if not serving.plan.release.since("0.5.8"):
        return await exchange.json(404, NOT_FOUND)
    await serving.scheduler_answers(exchange)
    now = datetime.datetime.now(datetime.timezone.utc).isoformat()
    body = {"timestamp": now, "version": serving.plan.release.version}
    if serving.plan.release.since("0.5.23"):
        body.update(accelerator=None, num_accelerators=1)
    body["loads"] = [load_entry(serving)]
    return await exchange.json(200, body)


async def get_load(serving, exchange):
    if serving.plan.release.since("0.5.21"):
        return await exchange.json(404, NOT_FOUND)
    engine = serving.engine
    entry = {
        "dp_rank": 0,
        "num_reqs": len(engine.active) + len(engine.waiting),
        "num_waiting_reqs": len(engine.waiting),
        "num_tokens": engine.used_tokens,
        "num_pending_tokens": 0,
        "ts_tic": time.perf_counter(),
    }
    return await exchange.json(200, [entry])


async def metrics_page(serving, exchange):
    if not serving.plan.args.get("enable_metrics"):
        return await exchange.json(404, NOT_FOUND)
    text = metrics.page(serving.plan, serving.engine, serving.http.answered)
    return await exchange.reply_chunked(200, text, "text/plain; version=0.0.4; charset=utf-8")


GET = {
    "/health": health,
    "/health_generate": health,
    "/ready": ready,
    "/ping": ping,
    "/": root,
    "/v1/models": models,
    "/api/tags": api_tags,
    "/model_info": model_info,
    "/get_model_info": model_info,
    "/get_weight_version": weight_version,
    "/server_info": server_info,
    "/get_server_info": server_info,
    "/v1/loads": loads,
    "/get_load": get_load,
    "/metrics": metrics_page,
}
