# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engine: continuous batching on an absolute schedule, in the launcher's event loop.

The scheduler process prints the batch lines; when it is stopped or dead, no step happens.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid

from sglang import acceptance, answers, processes, tokens
from sglang.metrics import Latencies
from sglang.prefix_cache import PrefixCache


class Request:
    """One sequence from arrival to its last token."""

    def __init__(self, prompt, pieces, sampling, output, natural_end):
        """`natural_end` is the finish reason if the output is not cut by the token limit, else None."""
        self.rid = uuid.uuid4().hex
        self.prompt, self.pieces, self.sampling = prompt, pieces, sampling
        self.temperature = sampling["temperature"]
        self.rng = acceptance.rng_for(prompt, self.temperature, sampling.get("seed"))
        self.output = output
        self.limit = min(len(output), sampling["max_tokens"])
        self.finish = natural_end if natural_end and self.limit == len(output) else None
        self.finish = self.finish or {"type": "length", "length": self.limit}
        self.reasoning_tokens = 0
        self.done, self.verify_steps, self.correct = 0, 0, 0
        self.histogram = {}
        self.carry = [0.0]
        self.cached = 0
        self.aborted = False
        self.arrived = time.time()
        self.arrived_clock = time.monotonic()
        self.first_at = self.last_at = self.started_at = self.started_clock = None
        self.chunks = []
        self.queue = asyncio.Queue()

    @property
    def context(self):
        return len(self.pieces) + self.done

    def text(self, start, end):
        return "".join(self.output[start:end])


class Engine:
    """Admits, prefills and steps requests."""

    def __init__(self, plan, schedulers, truth_log=""):
        self.plan, self.schedulers, self.truth_log = plan, schedulers, truth_log
        self.scheduler = schedulers[0]
        self.model = acceptance.AcceptanceModel(plan)
        self.cache = PrefixCache(not plan.args.get("disable_radix_cache"))
        self.waiting, self.prefilling, self.running, self.known = [], [], [], {}
        self.wake = asyncio.Event()
        self.hung = False
        self.totals = {"prompt": 0, "cached": 0, "generated": 0, "steps": 0, "drafts": 0, "requests": 0, "aborted": 0}
        self.interval_tokens, self.interval_steps, self.interval_start = 0, 0, time.monotonic()
        self.interval_rounds = 0
        self.accept_length = None
        self.accept_rate = 0.0
        self.throughput = 0.0
        self.last_output = 0.0
        self.latencies = Latencies()
        self.cold_seconds = 0.0

    @property
    def frozen(self):
        """True while a scheduler is stopped or dead: all ranks step together or not at all."""
        return self.hung or any(processes.state(each.pid) in ("T", "t", "Z", "") for each in self.schedulers)

    def submit(self, request):
        self.known[request.rid] = request
        self.waiting.append(request)
        self.totals["requests"] += 1
        self.wake.set()
        return request

    def abort(self, request):
        """Forget a request whose client has gone, or that /abort_request names."""
        request.aborted = True
        if request in self.waiting:
            self.waiting.remove(request)
        if request in self.running:
            self.running.remove(request)
        self.totals["aborted"] += 1
        self.known.pop(request.rid, None)
        request.queue.put_nowait(None)

    async def run(self):
        """The scheduler's loop; times are absolute, so that a late wake-up does not add up."""
        now = time.monotonic()
        while True:
            if not self.waiting and not self.running:
                self.wake.clear()
                await self.wake.wait()
                now = time.monotonic()
            if self.frozen:
                await asyncio.sleep(0.05)
                now = time.monotonic()
                continue
            now = await self.prefill(now)
            if self.running:
                now += acceptance.step_seconds(self.plan, [request.context for request in self.running])
                await self.until(now)
                if not self.frozen:
                    self.step(now)
            if time.monotonic() - now > 1.0:
                now = time.monotonic()

    @staticmethod
    async def until(moment):
        delay = moment - time.monotonic()
        await asyncio.sleep(delay if delay > 0 else 0)

    async def prefill(self, now):
        """Admit what fits and yield each new request's first token; returns the schedule's time."""
        room = self.plan.max_running - len(self.running)
        batch, self.waiting = self.waiting[:room], self.waiting[room:]
        if not batch:
            return now
        self.prefilling = batch
        fresh = 0
        for request in batch:
            hashes = self.cache.hashes(request.pieces)
            request.cached = self.cache.match(hashes)
            self.cache.insert(hashes)
            fresh += len(request.pieces) - request.cached
            request.started_at, request.started_clock = time.time(), time.monotonic()
        self.print_prefill(batch, fresh)
        now = max(now, time.monotonic() - 0.002) + acceptance.prefill_seconds(self.plan, fresh) + self.cold_seconds
        self.cold_seconds = 0.0
        await self.until(now)
        self.prefilling = []
        for request in batch:
            if request.aborted:
                continue
            self.totals["prompt"] += len(request.pieces)
            self.totals["cached"] += request.cached
            self.running.append(request)
            self.emit(request, 1, now)
        return now

    def step(self, now):
        for request in list(self.running):
            count = self.model.draw(request.rng, request.context, request.temperature, request.carry)
            if self.plan.speculative:
                request.verify_steps += 1
                request.correct += count - 1
                request.histogram[count - 1] = request.histogram.get(count - 1, 0) + 1
            self.totals["steps"] += 1
            self.totals["drafts"] += count - 1
            self.interval_tokens += count
            self.interval_steps += 1
            self.emit(request, count, now)
        self.interval_rounds += 1
        if self.interval_rounds >= self.plan.args.get("decode_log_interval", 40):
            self.print_decode()

    def emit(self, request, count, scheduled):
        """Hand `count` tokens to the request; the last chunk is cut at the limit."""
        start, end = request.done, min(request.done + count, request.limit)
        request.done = end
        clock = time.monotonic()
        self.latencies.token(request, clock, end - start)
        if request.first_at is None:
            request.first_at = clock
        request.last_at = self.last_output = clock
        request.chunks.append((end - start, clock, scheduled))
        self.totals["generated"] += end - start
        finished = end >= request.limit
        if finished:
            if request in self.running:
                self.running.remove(request)
            self.cache.insert(self.cache.hashes(request.pieces + request.output[:end]))
            self.latencies.end(request, clock)
            self.record(request)
        request.queue.put_nowait((start, end, finished))

    def record(self, request):
        """One line of truth for each finished request: what a meter should have measured."""
        if not self.truth_log:
            return
        line = {
            "rid": request.rid,
            "arrived": request.arrived,
            "arrived_monotonic": request.arrived_clock,
            "first_token_monotonic": request.first_at,
            "last_token_monotonic": request.last_at,
            "prompt_tokens": len(request.pieces),
            "cached_tokens": request.cached,
            "completion_tokens": request.done,
            "verify_steps": request.verify_steps,
            "chunk_sizes": [size for size, _dummy, _dummy in request.chunks],
            "chunk_monotonic": [moment for _dummy, moment, _dummy in request.chunks],
            "scheduled_monotonic": [moment for _dummy, _dummy, moment in request.chunks],
            "finish_reason": request.finish["type"],
        }
        with open(self.truth_log, "a", encoding="utf-8") as handle:
            handle.write(json.dumps(line) + "\n")

    def print_prefill(self, batch, fresh):
        cached = sum(request.cached for request in batch)
        graph = "cpu graph" if self.plan.device == "cpu" else "cuda graph"
        pending = ", #pending-token: 0" if self.plan.release.since("0.5.15") else ""
        self.scheduler.print_line(
            "Prefill batch, #new-seq: %d, #new-token: %d, #cached-token: %d, token usage: %.2f, #running-req: %d, "
            "#queue-req: %d%s, %s: %s, input throughput (token/s): %.2f"
            % (
                len(batch),
                fresh,
                cached,
                self.usage,
                len(self.running),
                len(self.waiting),
                pending,
                graph,
                self.plan.prefill_graph,
                fresh / 0.1,
            )
        )

    @property
    def active(self):
        """Requests that have a place, those of the prefill in progress included."""
        return self.running + self.prefilling

    @property
    def used_tokens(self):
        return sum(request.context for request in self.active)

    @property
    def usage(self):
        return self.used_tokens / self.plan.max_total_tokens

    def print_decode(self):
        plan, clock = self.plan, time.monotonic()
        self.throughput = self.interval_tokens / max(clock - self.interval_start, 1e-6)
        self.interval_start = clock
        spec = ""
        if plan.speculative:
            length = self.interval_tokens / self.interval_steps
            self.accept_rate = (length - 1) / max(1, plan.block_size - 1)
            self.accept_length = (self.totals["steps"] + self.totals["drafts"]) / self.totals["steps"]
            rate = self.accept_rate if plan.release.since("0.5.11") else length / plan.block_size
            spec = "accept len: %.2f, accept rate: %.2f, " % (length, rate)
        self.interval_tokens = self.interval_steps = self.interval_rounds = 0
        graph = "cpu graph: False" if plan.device == "cpu" else "cuda graph: True"
        self.scheduler.print_line(
            "Decode batch, #running-req: %d, #token: %d, token usage: %.2f, %s%s, gen throughput (token/s): %.2f, "
            "#queue-req: %d%s"
            % (
                len(self.running),
                self.used_tokens,
                self.usage,
                spec,
                graph,
                self.throughput,
                len(self.waiting),
                "" if plan.release.since("0.5.7") else ", ",
            )
        )


def new_request(plan, prompt, pieces, sampling, thinking=False):
    """A request with its whole answer decided: the words and where they end."""
    settings, seed = plan.settings, sampling.get("seed")
    key = seed if sampling["temperature"] == 0 or seed is not None else uuid.uuid4().hex
    rng = answers.seeded(prompt, key)
    natural = settings.answer_tokens or rng.randint(500, 900)
    wanted = sampling["max_tokens"] if sampling["ignore_eos"] else min(sampling["max_tokens"], natural)
    text = answers.answer(prompt, rng, settings, wanted)
    thought = []
    if thinking:
        thought = tokens.split(answers.prose(rng, 1 + rng.randint(2, 4))) + ["</think>", "\n\n"]
    output = thought + tokens.split(text)
    while sampling["ignore_eos"] and len(output) < sampling["max_tokens"]:
        output += tokens.split(" " + answers.prose(rng, 40))
    stopped = stop_at(output, sampling["stop"])
    if stopped is not None:
        output, natural_end = output[: stopped[0]], {"type": "stop", "matched": stopped[1]}
    elif sampling["ignore_eos"]:
        natural_end = None
    else:
        if settings.answer_tokens or len(output) > natural + len(thought) + 40:
            output = output[: natural + len(thought)]
        # The end-of-sequence token counts and has no text.
        output, natural_end = output + [""], {"type": "stop", "matched": 2}
    request = Request(prompt, pieces, sampling, output, natural_end)
    request.reasoning_tokens = len(thought)
    return request


def stop_at(output, stops):
    """(tokens to keep, stop string) of the first stop string, or None."""
    text, best = "".join(output), None
    for stop in stops:
        at = text.find(stop)
        if at >= 0 and (best is None or at < best[0]):
            best = (at, stop)
    if best is None:
        return None
    length, kept = 0, 0
    for piece in output:
        if length + len(piece) > best[0]:
            break
        length += len(piece)
        kept += 1
    return max(kept, 1), best[1]
