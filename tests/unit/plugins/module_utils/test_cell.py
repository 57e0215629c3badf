# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The measures of a cell and the acceptance length, on requests made by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils import _acceptance, _cell
from ansible_collections.llmops.sglang.plugins.module_utils._acceptance import Counters
from ansible_collections.llmops.sglang.plugins.module_utils._load_generator import Load
from ansible_collections.llmops.sglang.plugins.module_utils._request_sample import RequestSample


def sample(index=0, start=0.0, tokens=33, chunk=4, **fields):
    """A request whose first token comes after 0.1 s, then CHUNK tokens each 0.02 s."""
    counts = [1, *range(1 + chunk, tokens, chunk), tokens]
    chunks = [(start + 0.1 + 0.02 * n, count) for n, count in enumerate(counts)]
    made = RequestSample(
        index,
        start,
        start,
        ended_at=chunks[-1][0],
        first_token_at=chunks[0][0],
        last_token_at=chunks[-1][0],
        token_chunks=chunks,
        prompt_tokens=60,
        completion_tokens=tokens,
        finish_reason="length",
    )
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def speculation(steps, correct=None):
    return {"verify_steps": steps, **({} if correct is None else {"correct_drafts": correct})}


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=60), st.floats(0, 1))
def test_a_quantile_lies_between_its_neighbours(values, p):
    ordered = sorted(values)
    position = p * (len(ordered) - 1)
    assert ordered[int(position)] <= _cell.quantile(ordered, p) <= ordered[min(int(position) + 1, len(ordered) - 1)]


@pytest.mark.parametrize(
    ("count", "known"), [(19, []), (20, ["p50"]), (99, ["p50"]), (100, ["p50", "p90"]), (1000, ["p50", "p90", "p99"])]
)
def test_percentiles_need_enough_samples(count, known):
    found = _cell.distribution([n / 1000 for n in range(count)])
    assert [name for name in ("p50", "p90", "p99") if found[name] is not None] == known
    assert found["mean"] == pytest.approx((count - 1) / 2)


def test_nothing_measured_is_null_and_not_zero():
    found = _cell.measures(Load(samples=[sample(error="reset")]), 33)
    assert found["output_tokens_per_second"] is None and found["ttft_ms"]["mean"] is None
    assert found["errors"] == {"reset": 1}


def test_time_a_token_without_running_counts_says_so():
    one = sample()
    one.token_chunks = [(at, None) for at, dummy in one.token_chunks]
    found = _cell.measures(Load(samples=[one], max_in_flight=1), 33)
    assert found["tpot_basis"] == "after_first_token"
    assert found["tpot_ms"]["mean"] == pytest.approx(0.16 / 32 * 1000)
    assert found["steady_tokens_per_second"] is None


def test_an_answer_in_one_chunk_has_no_time_a_token():
    assert sample(tokens=1).tpot is None


@pytest.mark.parametrize(
    ("chunks", "drift"),
    [
        # Drafts that are accepted more often as the server warms up: three and four tokens a step of equal length.
        ([3] * 5 + [4] * 5, -0.25),
        ([4] * 10, 0.0),
        ([4] * 7, None),
    ],
)
def test_a_server_that_warms_up_while_it_is_measured_shows(chunks, drift):
    done = [sample(index, float(index), tokens=37, chunk=chunk) for index, chunk in enumerate(chunks)]
    found = _cell.measures(Load(samples=done[::-1], max_in_flight=1), 37)["tpot_drift"]
    assert found == (drift if drift is None else pytest.approx(drift, abs=0.001))


def test_the_steady_rate_leaves_ramp_and_drain_out():
    # Two streams of two requests each; the second starts late, so the whole span dilutes the rate.
    starts = [(0.0, 0), (0.2, 1), (0.26, 2), (0.46, 3)]
    done = [sample(index, start, tokens=81, chunk=40) for start, index in starts]
    rate = _cell.steady_rate(done, 2)
    whole = _cell.measures(Load(samples=done, max_in_flight=2), 81)["output_tokens_per_second"]
    assert rate is None or rate >= whole


def timers(lags, interval=0.01):
    """When timers were due and fired, one after the other."""
    made, now = [], 0.0
    for lag in lags:
        made.append((now + interval, now + interval + lag))
        now = made[-1][1]
    return made


@pytest.mark.parametrize(
    ("lags", "cpu", "saturated"),
    [
        ([0.001] * 200, 0.1, False),
        ([0.004] * 200, 0.1, True),
        ([0.001] * 1990 + [0.2] * 10, 0.1, False),
        ([0.001] * 1900 + [0.2] * 100, 0.1, True),
        ([0.001] * 200, 0.95, True),
        # The first token comes at 0.1 s, while a timer is overdue by more than a twentieth of that.
        ([0.001] * 8 + [0.06] + [0.001] * 90, 0.1, True),
        # One hiccup of the same length where no token comes; of 100 lags it is the 99th percentile.
        ([0.06] + [0.001] * 99, 0.1, False),
        # One between two chunks that delays a single one of nine.
        ([0.001] * 10 + [0.012] + [0.001] * 90, 0.1, False),
    ],
)
def test_a_client_that_cannot_keep_up_says_so(lags, cpu, saturated):
    load = Load(samples=[sample()], timers=timers(lags), wall=1.0, cpu=cpu)
    assert _cell.measures(load, 33)["client"]["saturated"] is saturated


def test_it_tells_how_late_tokens_were_noted():
    # Tokens at 0.10, 0.12, ..., 0.26; the loop stood still from 0.09 to 0.13.
    found = _cell.measures(Load(samples=[sample()], timers=[(0.09, 0.13), (0.5, 0.5)]), 33)["client"]
    assert found["first_tokens_noted_late_ms"] == pytest.approx(10)
    assert found["chunks_noted_late_ms"] == pytest.approx((10 + 30) / 9, abs=0.001)


@pytest.mark.parametrize(
    ("cached", "prefix", "counted", "share"),
    [
        ([7, 7], 7, None, 0.0),
        ([7, 67], 7, None, 0.5),
        ([None, None], 7, None, None),
        ([None, None], 7, 14.0, 0.0),
        ([None, None], 0, 30.0, 0.25),
    ],
)
def test_the_shared_prefix_is_no_hit(cached, prefix, counted, share):
    assert _cell.cached_share([sample(cached_tokens=n) for n in cached], prefix, counted) == share


def test_acceptance_by_request_is_a_ratio_of_sums():
    rows = [sample(tokens=33, speculation=speculation(8, 24)), sample(tokens=9, speculation=speculation(8, 0))]
    found = _acceptance.find(rows, Counters())
    assert (found.length, found.source, found.formula) == (2.5, "per_request", "correct_drafts")
    assert found.mean_of_requests == 2.5


def test_a_last_step_cut_by_the_token_limit_does_not_lower_it():
    # 32 tokens with block size 4: one of the prefill, then 31 of eight steps that each accepted all.
    found = _acceptance.of_requests([sample(tokens=32, speculation=speculation(8, 24))])
    assert found.length == 4.0


def test_without_counted_drafts_the_tokens_after_the_prefill_count():
    found = _acceptance.of_requests(
        [sample(tokens=33, speculation=speculation(8)), sample(tokens=33, speculation=speculation(8, 24))]
    )
    assert (found.length, found.formula) == (4.0, "completion_tokens")


@pytest.mark.parametrize("detail", [{}, {"verify_steps": 0}, {"correct_drafts": 5}])
def test_an_absent_or_zero_counter_is_unknown(detail):
    rows = [sample(speculation=detail), sample(speculation=speculation(8, 24))]
    assert _acceptance.find(rows, Counters()).length is None


def test_counters_must_be_of_these_requests_alone():
    rows = [sample(tokens=33), sample(tokens=33)]
    assert _acceptance.find(rows, Counters(2, 66, 16)).length == 4.0
    assert _acceptance.find(rows, Counters(2, 66, 16)).source == "counters"
    for delta in (
        Counters(3, 99, 24),
        Counters(2, 70, 17),
        Counters(None, 66, 16),
        Counters(2, 66, None),
        Counters(2, 66, 0),
    ):
        assert _acceptance.find(rows, delta).source == "unknown"
    assert _acceptance.find([sample(), sample(error="reset")], Counters(2, 66, 16)).source == "unknown"


def test_counters_that_fell_are_unknown_and_new_ones_count_from_zero():
    assert Counters(1, 5, 2).minus(Counters(2, 4, None)) == Counters(None, 1, 2)
    assert Counters(1, 5, None).minus(Counters(0, 0, None)) == Counters(1, 5, None)


def test_counters_that_could_not_be_read_tell_nothing():
    nothing = Counters(readable=False)
    assert Counters(9, 9, 9).minus(nothing) == nothing.minus(Counters(9, 9, 9)) == nothing
