# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the generation routes share: sampling values, waiting for a request, usage, meta_info."""

from __future__ import annotations

import asyncio
import time

from sglang import tokens
from sglang.generation import new_request
from sglang.http_server import ClientGone
from sglang.validation import BadRequest, check_sampling


def sampling_values(body, default_tokens, names=("max_completion_tokens", "max_tokens")):
    """The sampling values that matter here; `asked_tokens` is None when the client named no limit."""
    asked = next((body[name] for name in names if body.get(name) is not None), None)
    stop = body.get("stop") or []
    temperature = body.get("temperature")
    return {
        "temperature": 1.0 if temperature is None else temperature,
        "asked_tokens": asked,
        "max_tokens": default_tokens if asked is None else asked,
        "ignore_eos": bool(body.get("ignore_eos")),
        "stop": [stop] if isinstance(stop, str) else list(stop),
        "seed": body.get("seed"),
    }


def submit(serving, prompt, sampling, thinking=False, pieces=None, index=0):
    """Check and queue one sequence."""
    plan = serving.plan
    pieces = tokens.split(prompt) if pieces is None else pieces
    check_sampling(plan, sampling, len(pieces))
    sampling = dict(sampling)
    sampling["max_tokens"] = max(1, min(sampling["max_tokens"], plan.context_length - len(pieces)))
    for fault in serving.faults.at("serving", "lie"):
        if fault.lie == "short" and serving.strikes(fault):
            sampling["max_tokens"] = max(1, sampling["max_tokens"] // 4)
    seeded = prompt if not index else "%s\0%d" % (prompt, index)
    request = new_request(plan, seeded, pieces, sampling, thinking)
    for fault in serving.faults.at("serving", "lie"):
        if fault.lie == "garbage" and serving.strikes(fault):
            request.output = ["!"] * len(request.output)
            request.reasoning_tokens = 0
    serving.note_request()
    return serving.engine.submit(request)


async def steps(serving, exchange, request):
    """The (start, end, finished) of each step of a request; raises ClientGone when nobody waits any more."""
    exchange.sequences.append(request)
    while True:
        try:
            item = await asyncio.wait_for(request.queue.get(), 0.25)
        except asyncio.TimeoutError:
            if exchange.client_gone:
                raise ClientGone()
            continue
        if item is None:
            if not exchange.answered and not request.done:
                raise BadRequest("Abort in waiting queue", "Service Unavailable", 503)
            yield request.done, request.done, True
            return
        yield item
        if item[2]:
            serving.forget(request)
            return


async def complete(serving, exchange, request):
    """Wait for the last token."""
    async for _dummy in steps(serving, exchange, request):
        pass


def reasoning_done(request):
    return min(request.done, request.reasoning_tokens)


def usage(serving, requests, done=None):
    """The usage object; `done` overrides the completion tokens (continuous usage)."""
    plan = serving.plan
    prompt = len(requests[0].pieces)
    completion = sum(request.done for request in requests) if done is None else done
    details = None
    if plan.args.get("enable_cache_report"):
        details = {"cached_tokens": sum(request.cached for request in requests)}
    value = {
        "prompt_tokens": prompt,
        "total_tokens": prompt + completion,
        "completion_tokens": completion,
        "prompt_tokens_details": details,
        "reasoning_tokens": sum(min(request.reasoning_tokens, request.done) for request in requests),
    }
    if plan.release.since("0.5.23"):
        value["completion_tokens_details"] = None
    return value


def metadata(plan, requests):
    value = {"weight_version": "default"}
    if plan.release.since("0.5.23"):
        value["weight_versions"] = [{"version": "default", "start": 0, "end": requests[0].done}]
    return value


def spec_numbers(plan, request):
    """The meta_info keys of speculation, with the names of the release."""
    release, block = plan.release, plan.block_size
    steps_taken, correct = request.verify_steps, request.correct
    proposed = steps_taken * (block - 1)
    histogram = [request.histogram.get(i, 0) for i in range(block)]
    numbers = {
        "spec_accept_rate": correct / proposed if proposed else 0.0,
        "spec_accept_length": request.done / steps_taken if steps_taken else 0.0,
    }
    if release.since("0.5.12"):
        numbers.update(spec_num_correct_drafts=correct, spec_num_proposed_drafts=proposed)
    numbers["spec_verify_ct"] = steps_taken
    if not release.since("0.5.11"):
        numbers.update(spec_accept_token_num=correct, spec_draft_token_num=proposed)
    elif not release.since("0.5.21"):
        numbers.update(spec_accepted_drafts=correct, spec_proposed_drafts=proposed)
    if release.since("0.5.12"):
        numbers["spec_correct_drafts_histogram"] = histogram
    if release.since("0.5.10") and not release.since("0.5.21"):
        numbers["spec_accept_histogram"] = histogram
    return numbers


def spec_tokens_details(plan, request):
    """`sglext.spec_tokens_details` of 0.5.19 and later."""
    numbers = spec_numbers(plan, request)
    names = (
        "spec_verify_ct",
        "spec_accept_length",
        "spec_num_correct_drafts",
        "spec_num_proposed_drafts",
        "spec_correct_drafts_histogram",
    )
    return {name: numbers[name] for name in names}


def meta_info(plan, request, final=True, done=None):
    """meta_info of /generate: short while it streams, with timings and speculation at the end."""
    release = plan.release
    now = time.time()
    info = {
        "id": request.rid,
        "finish_reason": request.finish if final else None,
        "prompt_tokens": len(request.pieces),
        "weight_version": "default",
        "num_retractions": 0,
        "queue_time": max(0.0, (request.started_at or request.arrived) - request.arrived),
        "reasoning_tokens": reasoning_done(request),
        "completion_tokens": request.done if done is None else done,
        "cached_tokens": request.cached,
        "cached_tokens_details": {"device": request.cached, "host": 0} if request.cached else None,
        "dp_rank": None,
    }
    if release.since("0.5.23"):
        info.update(
            storage_prefetch_wait=0.0,
            storage_staging_wait=0.0,
            forward_entry_time=request.started_at or request.arrived,
            prefill_finished_time=request.started_at or request.arrived,
            weight_versions=[{"version": "default", "start": 0, "end": info["completion_tokens"]}],
        )
    if not final:
        if info["completion_tokens"] == request.chunks[0][0]:
            info["response_sent_to_client_ts"] = now
        return info
    info["e2e_latency"] = now - request.arrived
    if plan.speculative:
        info.update(spec_numbers(plan, request))
    if release.since("0.5.23"):
        info["first_token_latency"] = request.first_at - request.arrived_clock
    span = request.last_at - request.first_at
    info.update(
        request_received_ts=request.arrived,
        api_server_dispatch_finish_ts=request.arrived,
        request_finished_ts=now,
        decode_throughput=(request.done - 1) / span if span > 0 else 40000000.0,
        response_sent_to_client_ts=now,
    )
    return info
