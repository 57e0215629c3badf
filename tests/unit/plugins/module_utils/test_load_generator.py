# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The load generator against a server that knows the truth, and against every way in which one can lie.

Both sides share a busy machine, so the truth is what the server did and not what it was to do, and the client may be off by
as much as it says itself that it was late.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import statistics
import time

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _cell, _load_generator
from ansible_collections.llmops.sglang.plugins.module_utils._load_connection import Connection, endpoint
from ansible_collections.llmops.sglang.plugins.module_utils._load_generator import LoadGenerator, arrivals
from ansible_collections.llmops.sglang.tests.unit.fake_server import FakeServer


@contextlib.contextmanager
def serving(**settings):
    server = FakeServer(**{"ttft": 0.06, "step": 0.012, **settings})
    try:
        yield server
    finally:
        server.close()


def generator(server, api="chat", timeout=60.0, **connection):
    return LoadGenerator(endpoint(server.base_url, connection.pop("api_key", None), connection), api, timeout)


def body(api="chat", max_tokens=64, text="hello there"):
    if api == "generate":
        return {"text": text, "sampling_params": {"max_new_tokens": max_tokens}}
    asked = {"max_tokens": max_tokens, "stream_options": {"continuous_usage_stats": True}}
    return (
        {**asked, "prompt": text}
        if api == "completions"
        else {**asked, "messages": [{"role": "user", "content": text}]}
    )


def truth(server, load):
    """What the server really did: mean seconds from the sending to the first token, a token, and tokens a second.

    Client and server are on one machine and so have one monotonic clock.
    """
    rows = {row["text"]: row["sent"] for row in server.truth()["requests"]}
    sent = [(one.sent_at, rows[f"request {one.index}"]) for one in load.samples]
    ttft = statistics.mean(chunks[0][0] - at for at, chunks in sent)
    tpot = statistics.mean((chunks[-1][0] - chunks[0][0]) / sum(n for dummy, n in chunks[1:]) for dummy, chunks in sent)
    span = max(chunks[-1][0] for dummy, chunks in sent) - min(at for at, dummy in sent)
    return ttft, tpot, sum(n for dummy, chunks in sent for dummy2, n in chunks) / span


def bodies(count, api="chat", max_tokens=64):
    return [body(api, max_tokens, f"request {index}") for index in range(count)]


def check_first_token(found, ttft):
    late = found["client"]["first_tokens_noted_late_ms"]
    assert found["ttft_ms"]["mean"] == pytest.approx(ttft * 1000, abs=max(5, ttft * 20) + late)


def check_times(found, server, load):
    """Times to the first token are within 2 % or 5 ms of the truth, times a token within 2 %, and rates within 5 %.

    A rate is of a span of about a second, at both ends of which another process may have the core.
    """
    ttft, tpot, rate = truth(server, load)
    check_first_token(found, ttft)
    ends = _cell.mean_lateness(load, [at for one in load.samples for at in (one.first_token_at, one.last_token_at)])
    span = statistics.mean(one.last_token_at - one.first_token_at for one in load.samples)
    assert found["tpot_ms"]["mean"] == pytest.approx(tpot * 1000, rel=0.02 + 2 * ends / span)
    last = _cell.mean_lateness(load, [max(one.last_token_at for one in load.samples)])
    assert found["output_tokens_per_second"] == pytest.approx(rate, rel=0.05 + last / found["duration_s"])


@pytest.mark.parametrize(("api", "streams"), [("chat", 1), ("chat", 32), ("completions", 8), ("generate", 8)])
def test_figures_are_those_of_the_server(api, streams):
    with serving(pattern=[1, 7, 2, 6], ttft=0.2, step=0.04) as server:
        load = generator(server, api).closed_loop(bodies(max(4, 2 * streams), api, 33), streams)
        found = _cell.measures(load, 33)
        check_times(found, server, load)
    assert found["errors"] == {} and found["short_outputs"] == 0 and found["tpot_basis"] == "after_first_chunk"
    assert found["chunk_gap_ms"]["mean"] > 2 * found["tpot_ms"]["mean"]
    assert load.max_in_flight == streams


def test_a_first_chunk_of_many_tokens_does_not_make_the_server_faster():
    with serving(first_chunk=16, pattern=[4], ttft=0.2, step=0.04) as server:
        load = generator(server).closed_loop(bodies(4, max_tokens=40), 2)
        found = _cell.measures(load, 40)
        check_times(found, server, load)


def test_one_hiccup_of_the_client_where_no_token_comes_leaves_its_figures_valid():
    """In a short cell it is the 99th percentile of all lags."""

    async def hiccup(load):
        await asyncio.sleep(0.05)
        time.sleep(0.15)

    with serving(ttft=0.3, step=0.04) as server:
        runner = LoadGenerator(endpoint(server.base_url, None, {}), "chat", 60.0, [hiccup])
        load = runner.closed_loop(bodies(4, max_tokens=33), 4)
        found = _cell.measures(load, 33)
        check_times(found, server, load)
    assert found["client"]["loop_lag_p99_ms"] > found["client"]["loop_lag_p99_allowed_ms"]
    assert found["client"]["first_tokens_noted_late_ms"] < 0.05 * 300


def test_hiccups_that_delay_tokens_make_a_client_saturated():
    async def hiccups(load):
        while True:
            await asyncio.sleep(0.02)
            time.sleep(0.06)

    with serving(ttft=0.3, step=0.04) as server:
        runner = LoadGenerator(endpoint(server.base_url, None, {}), "chat", 60.0, [hiccups])
        load = runner.closed_loop(bodies(4, max_tokens=33), 4)
    assert _cell.measures(load, 33)["client"]["saturated"]


def test_a_stream_is_busy_from_one_request_to_the_next_on_one_connection():
    with serving(ttft=0.0, step=0.0) as server:
        load = generator(server).closed_loop([body(max_tokens=8)] * 20, 2)
        truth = server.truth()
    # One of the connections is that of the question itself.
    assert (len(truth["requests"]), truth["connections"]) == (20, 2 + 1)
    assert [sample.error for sample in load.samples] == [""] * 20


@pytest.mark.parametrize("streams", [1, 3])
@pytest.mark.parametrize("ending", ["close", "http_1.0", "until_eof", "silent", "1"])
def test_a_connection_that_the_server_ends_after_a_stream_is_no_failed_request(ending, streams):
    with serving(ttft=0.0, step=0.0, ending=ending) as server:
        load = generator(server).closed_loop([body(max_tokens=8)] * 12, streams)
        assert len(server.truth()["requests"]) == 12
    assert [sample.error for sample in load.samples] == [""] * 12


def test_small_packets_are_not_held_back():
    async def option():
        connection = await Connection.open(endpoint(server.base_url, None, {}))
        sock = connection._transport.get_extra_info("socket")
        found = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        connection.close()
        return found

    with serving() as server:
        assert asyncio.run(option()) == 1


def test_what_is_learnt_of_a_server_holds_for_the_next_load():
    with serving(ttft=0.0, step=0.0, ending="silent") as server:
        one = generator(server)
        one.closed_loop([body(max_tokens=8)], 1)
        assert one.server.keeps_connections is False
        load = LoadGenerator(one.server, "chat", 60).closed_loop([body(max_tokens=8)] * 8, 4)
    assert [sample.error for sample in load.samples] == [""] * 8


def test_a_connection_that_ended_while_it_idled_is_not_used():
    with serving(ttft=0.0, step=0.0, ending="2") as server:
        one = generator(server)
        one.server.keeps_connections = True
        load = one.open_loop([body(max_tokens=8)] * 6, [0.1 * index for index in range(6)])
    assert [sample.error for sample in load.samples] == [""] * 6


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("in_band_error", "in_band_error"),
        ("empty", "no_token"),
        ("no_usage", "no_usage"),
        ("no_finish", "no_finish_reason"),
        ("no_done", "no_end_of_stream"),
        ("drop", "reset"),
        ("http_500", "http_500"),
    ],
)
def test_a_fault_is_one_failure_of_its_kind_and_touches_no_figure(fault, kind):
    with serving(fault=fault, usage="final") as server:
        load = generator(server).closed_loop([body()] * 16, 4)
        # Nothing is sent twice; a request that is refused at once leaves no row of its own.
        assert len(server.truth()["requests"]) == 16 - 4 * (fault == "http_500")
    found = _cell.measures(load, 64)
    assert found["errors"] == {kind: 4}
    assert (found["requests"], found["succeeded"]) == (16, 12)
    assert found["completion_tokens"] == {"min": 64, "mean": 64.0, "max": 64}
    assert found["ttft_ms"]["n"] == 12 and found["ttft_ms"]["min"] > 50
    assert found["error_samples"][kind]


def test_short_answers_are_counted_by_their_real_length():
    with serving(fault="eos", fault_every=1) as server:
        found = _cell.measures(generator(server).closed_loop([body(max_tokens=128)] * 8, 4), 128)
    assert (found["errors"], found["short_outputs"], found["completion_tokens"]["max"]) == ({}, 8, 40)
    assert found["finish_reasons"] == {"stop": 8}


def test_a_thinking_model_has_its_first_token_before_its_first_content():
    with serving(fault="reasoning", fault_every=1) as server:
        load = generator(server).closed_loop(bodies(4), 4)
        found = _cell.measures(load, 64)
        ttft = truth(server, load)[0]
    check_first_token(found, ttft)
    assert found["ttfo_ms"]["mean"] > found["ttft_ms"]["mean"] + 50


def test_what_is_not_answered_in_time_is_a_timeout():
    with serving(fault="drip") as server:
        load = generator(server, timeout=1.5).closed_loop([body()] * 8, 4)
    assert load.timed_out
    assert _cell.measures(load, 64)["errors"] == {"timeout": 2}


def test_nobody_there_is_refused():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        load = LoadGenerator(endpoint(f"http://127.0.0.1:{taken.getsockname()[1]}", None, {}), "chat", 10).closed_loop(
            [body()] * 3, 2
        )
    assert _cell.measures(load, 64)["errors"] == {"refused": 3}


def test_a_key_is_sent_and_not_shown():
    with serving(api_key="sk-the-secret") as server:
        assert _cell.measures(generator(server, api_key="sk-the-secret").closed_loop([body()], 1), 64)["errors"] == {}
        wrong = generator(server, api_key="sk-the-other").closed_loop([body()], 1)
    assert _cell.measures(wrong, 64)["errors"] == {"http_401": 1}
    assert "sk-the-other" not in repr(wrong.samples)


def test_an_open_loop_counts_from_the_scheduled_time():
    with serving() as server:
        load = generator(server).open_loop([body(max_tokens=8)] * 12, arrivals(12, 50.0, "constant", 0))
    starts = [sample.clock_start for sample in sorted(load.samples, key=lambda one: one.index)]
    assert [after - before for before, after in zip(starts, starts[1:])] == pytest.approx([0.02] * 11, abs=1e-6)
    assert all(sample.sent_at >= sample.clock_start for sample in load.samples)


def test_poisson_arrivals_have_their_rate_and_their_seed():
    offsets = arrivals(4000, 5.0, "poisson", 1)
    assert offsets == arrivals(4000, 5.0, "poisson", 1) != arrivals(4000, 5.0, "poisson", 2)
    gaps = [after - before for before, after in zip(offsets, offsets[1:])]
    assert statistics.mean(gaps) == pytest.approx(0.2, rel=0.1)
    assert statistics.stdev(gaps) == pytest.approx(0.2, rel=0.1)


def test_a_task_that_swallows_a_cancellation_is_ended_all_the_same():
    """As a task in wait_for may do before Python 3.12; the measurement would then never end."""

    async def deaf():
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            await asyncio.sleep(3600)

    async def scenario():
        task = asyncio.ensure_future(deaf())
        await asyncio.sleep(0)
        await asyncio.wait_for(_load_generator.end_all([task]), 10)
        return task.cancelled()

    assert asyncio.run(scenario())
