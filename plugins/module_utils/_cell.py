# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The measures of one cell, from its requests alone."""

from __future__ import annotations

import bisect
import math
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._load_generator import Load
from ansible_collections.llmops.sglang.plugins.module_utils._prompt_fit import TOLERANCE
from ansible_collections.llmops.sglang.plugins.module_utils._request_sample import RequestSample

_PERCENTILES = ((50, "p50"), (90, "p90"), (99, "p99"))
# A generated length below this share of what was asked for is another workload (the bound that MLPerf Inference uses).
SHORTEST_OUTPUT_SHARE = 0.9
# Scheduling noise below these is no sign of a client that cannot keep up, however short the server's steps are.
_LAG_FLOOR = 0.005
_USUAL_LAG_FLOOR = 0.002
_LAG_SHARE = 0.1
_FIRST_TOKEN_SHARE = 0.05
_CPU_CEILING = 0.9
_FEWEST_FOR_DRIFT = 4


def distribution(samples: t.Sequence[t.Optional[float]]) -> dict[str, t.Any]:
    """Count, mean, extremes and percentiles of *samples* in seconds, given in milliseconds.

    A percentile that their count cannot bear is null.
    """
    known = sorted(s for s in samples if s is not None)
    found: dict[str, t.Any] = {"n": len(known), "mean": None, "min": None, "max": None}
    if known:
        found.update(mean=_ms(math.fsum(known) / len(known)), min=_ms(known[0]), max=_ms(known[-1]))
    for percent, label in _PERCENTILES:
        found[label] = _ms(quantile(known, percent / 100)) if _bears(len(known), percent) else None
    return found


def _bears(count: int, percent: int) -> bool:
    """Whether enough samples stand behind a percentile: 10 / (1 - p)."""
    return count * (100 - percent) >= 1000


def quantile(ordered: t.Sequence[float], p: float) -> float:
    """The *p*-quantile of an ordered, non-empty sequence, interpolated between neighbours."""
    position = p * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def measures(load: Load, max_tokens: int) -> dict[str, t.Any]:
    """What the requests of a cell show; figures are of the successful ones, errors are counted by kind."""
    done = [s for s in load.samples if s.ok]
    return {
        "requests": len(load.samples),
        "succeeded": len(done),
        "errors": _counts(s.error for s in load.samples if s.error),
        "error_samples": _first_messages(load.samples),
        "finish_reasons": _counts(s.finish_reason for s in done if s.finish_reason),
        "short_outputs": sum((s.completion_tokens or 0) < max_tokens for s in done),
        "ttft_ms": distribution([s.ttft for s in done]),
        "ttfo_ms": distribution(
            [None if s.first_content_at is None else s.first_content_at - s.clock_start for s in done]
        ),
        "tpot_ms": distribution([s.tpot for s in done]),
        "tpot_basis": _tpot_basis(done),
        "tpot_drift": tpot_drift(done),
        "chunk_gap_ms": distribution([gap for s in done for gap in s.chunk_gaps]),
        "e2e_ms": distribution([s.ended_at - s.clock_start for s in done]),
        "dispatch_delay_ms": distribution([s.sent_at - s.clock_start for s in done] if load.watched else []),
        **_throughput(done, load.span),
        "steady_tokens_per_second": steady_rate(done, load.max_in_flight),
        "prompt_tokens": _span([s.prompt_tokens for s in done]),
        "completion_tokens": _span([s.completion_tokens for s in done]),
        "client": client_health(load, done),
    }


def _throughput(done: t.Sequence[RequestSample], told: t.Optional[float]) -> dict[str, t.Any]:
    """Rates over the time from the first sending to the last token, which is *told* or else seen in the samples."""
    ends = [s.last_token_at for s in done if s.last_token_at is not None]
    span = (max(ends) - min(s.sent_at for s in done) if told is None else told) if ends else 0.0
    if span <= 0:
        return {"duration_s": None, "output_tokens_per_second": None, "requests_per_second": None}
    return {
        "duration_s": round(span, 3),
        "output_tokens_per_second": _three(sum(s.completion_tokens or 0 for s in done) / span),
        "requests_per_second": _three(len(done) / span),
    }


def steady_rate(done: t.Sequence[RequestSample], streams: int) -> t.Optional[float]:
    """Tokens a second while all *streams* were busy: without the ramp at the start and the drain at the end.

    Null where the server gives no running counts, or where that span holds less than half of the tokens.
    """
    if streams < 1 or len(done) < 2 * streams or any(n is None for s in done for dummy, n in s.token_chunks):
        return None
    starts = sorted(s.first_token_at for s in done if s.first_token_at is not None)
    begin = starts[streams - 1]
    end = sorted(s.ended_at for s in done)[-streams]
    if end <= begin:
        return None
    tokens = sum(_tokens_within(s, begin, end) for s in done)
    if tokens < 0.5 * sum(s.completion_tokens or 0 for s in done):
        return None
    return _three(tokens / (end - begin))


def tpot_drift(done: t.Sequence[RequestSample]) -> t.Optional[float]:
    """By which share the median time a token of the later half of the requests is above that of the earlier half.

    Far below 0 tells of a server that still warmed up while it was measured. Null for fewer than 8 requests.
    """
    times = [s.tpot for s in sorted(done, key=lambda one: (one.sent_at, one.index))]
    known = [one for one in times if one is not None]
    half = len(known) // 2
    if half < _FEWEST_FOR_DRIFT or min(known) <= 0:
        return None
    early, late = (quantile(sorted(part), 0.5) for part in (known[:half], known[-half:]))
    return _three(late / early - 1)


def _tokens_within(sample: RequestSample, begin: float, end: float) -> int:
    before, within = 0, 0
    for at, count in sample.token_chunks:
        if begin < at <= end:
            within += (count or 0) - before
        before = count or 0
    return within


def client_health(load: Load, done: t.Sequence[RequestSample]) -> dict[str, t.Any]:
    """How well the client kept up; ``saturated`` when its own delays may be part of the figures.

    A lag that is usual shifts every chunk, so it is held against the gap between chunks; a rare one spoils single first
    tokens, so it is held against the time to the first token where that is longer. How rare it is, few lags cannot tell.
    What the figures themselves carry is judged always: how late tokens were noted, at the most.
    """
    if not load.watched:
        keys = ("loop_lag_p50_ms", "loop_lag_p99_ms", "loop_lag_p99_allowed_ms", "first_tokens_noted_late_ms",
                "chunks_noted_late_ms", "max_in_flight", "saturated")  # fmt: skip
        return {**dict.fromkeys(keys), "cpu_share": round(load.cpu_share, 3)}
    lags = sorted(load.loop_lags) or [0.0]
    gaps = sorted(gap for s in done for gap in s.chunk_gaps)
    gap = quantile(gaps, 0.5) if gaps else 0.0
    ttfts = sorted(s.ttft for s in done if s.ttft is not None)
    ttft = quantile(ttfts, 0.5) if ttfts else 0.0
    usual, rare = quantile(lags, 0.5), quantile(lags, 0.99)
    allowed = max(_LAG_FLOOR, _LAG_SHARE * max(gap, ttft))
    usual_allowed = max(_USUAL_LAG_FLOOR, _LAG_SHARE * gap)
    first = mean_lateness(load, [s.first_token_at for s in done if s.first_token_at is not None])
    chunk = mean_lateness(load, [at for s in done for at, dummy in s.token_chunks])
    late = (
        max(usual, chunk) > usual_allowed
        or first > max(_LAG_FLOOR, _FIRST_TOKEN_SHARE * ttft)
        or (_bears(len(lags), 99) and rare > allowed)
    )
    return {
        "loop_lag_p50_ms": _ms(usual),
        "loop_lag_p99_ms": _ms(rare),
        "loop_lag_p99_allowed_ms": _ms(allowed),
        "first_tokens_noted_late_ms": _ms(first),
        "chunks_noted_late_ms": _ms(chunk),
        "cpu_share": round(load.cpu_share, 3),
        "max_in_flight": load.max_in_flight,
        "saturated": bool(done) and (late or load.cpu_share > _CPU_CEILING),
    }


def mean_lateness(load: Load, noted: t.Sequence[float]) -> float:
    """How late the times in *noted* may be on the average: each since a timer of the event loop was overdue."""
    fired = [at for dummy, at in load.timers]
    total = 0.0
    for at in noted:
        index = bisect.bisect_left(fired, at)
        total += max(0.0, at - load.timers[index][0]) if index < len(fired) else 0.0
    return total / len(noted) if noted else 0.0


def outputs_too_short(done: t.Sequence[RequestSample], max_tokens: int) -> bool:
    """Whether the answers are so short that the load was not the one that was asked for."""
    return bool(done) and sum(s.completion_tokens or 0 for s in done) < SHORTEST_OUTPUT_SHARE * max_tokens * len(done)


def prompts_off(prompt_tokens: t.Mapping[str, t.Any], wanted: t.Optional[int]) -> bool:
    """Whether the mean of the *prompt_tokens* that a server counted is not the *wanted* one, within 2 % or one token."""
    mean = prompt_tokens["mean"]
    return wanted is not None and mean is not None and abs(mean - wanted) > max(1.0, TOLERANCE * wanted)


def cached_share(
    samples: t.Sequence[RequestSample],
    shared_prefix: int,
    counted: t.Optional[float] = None,
    prompt_tokens: t.Optional[float] = None,
) -> t.Optional[float]:
    """Share of the prompt tokens that came from the prefix cache, beyond the prefix that all prompts share.

    :arg counted: cached tokens of all *samples* together by the server's counter, for servers that report none by request.
    :arg prompt_tokens: their prompt tokens by the server's counter, for clients that note none.
    :returns: ``None`` where nobody reported any.
    """
    done = [s for s in samples if s.ok]
    prompt = sum(s.prompt_tokens or 0 for s in done) or prompt_tokens
    if not prompt:
        return None
    if all(s.cached_tokens is not None for s in done):
        return sum(max(0, (s.cached_tokens or 0) - shared_prefix) for s in done) / prompt
    return None if counted is None else max(0.0, counted - shared_prefix * len(done)) / prompt


def _tpot_basis(done: t.Sequence[RequestSample]) -> t.Optional[str]:
    if not done:
        return None
    return "after_first_chunk" if all(s.token_chunks[0][1] is not None for s in done) else "after_first_token"


def _counts(words: t.Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for word in words:
        found[word] = found.get(word, 0) + 1
    return found


def _first_messages(samples: t.Sequence[RequestSample]) -> dict[str, str]:
    found: dict[str, str] = {}
    for sample in samples:
        if sample.error:
            found.setdefault(sample.error, sample.message[:200])
    return found


def _span(counts: t.Sequence[t.Optional[int]]) -> dict[str, t.Any]:
    known = [n for n in counts if n is not None]
    if not known:
        return {"min": None, "mean": None, "max": None}
    return {"min": min(known), "mean": _three(sum(known) / len(known)), "max": max(known)}


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


def _three(number: float) -> float:
    return round(number, 3)
