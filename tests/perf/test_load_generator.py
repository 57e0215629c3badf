# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much load one core of a client can put on a server without making up part of the figures: ours beside others.

One core is the clients', another the server's. What is true is what the server did, however late a busy machine let it be:
of our requests from their sending, of others', who do not tell that, from their arrival. The server is a Python process itself:
with many streams it takes requests in one after the other, and sends less than its schedule says.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import pytest
import requests

from ansible_collections.llmops.sglang.plugins.module_utils import _cell
from ansible_collections.llmops.sglang.plugins.module_utils._engine import EngineRunner, Job, timed_sample
from ansible_collections.llmops.sglang.plugins.module_utils._engine_sglang import SglangClient
from ansible_collections.llmops.sglang.plugins.module_utils._load_connection import endpoint
from ansible_collections.llmops.sglang.plugins.module_utils._load_generator import Load, LoadGenerator
from ansible_collections.llmops.sglang.tests.unit.fake_server import FakeServer

REAL = pathlib.Path(__file__).resolve().parents[1] / "real"
sys.path.insert(0, str(REAL))

import real_servers

TOKENS, STEP, SIZE = 129, 0.02, 4
USAGE = {"include_usage": True, "continuous_usage_stats": True}


def run_command(words, environ_update=None, check_rc=False, **dummy):
    done = subprocess.run(
        words, env={**os.environ, **(environ_update or {})}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def own(url, prompts, streams):
    """The collection's client."""
    bodies = [{"prompt": text, "max_tokens": TOKENS, "stream_options": USAGE} for text in prompts]
    return LoadGenerator(endpoint(url, None, {}), "completions", 120.0).closed_loop(bodies, streams)


def threads(url, prompts, streams):
    """A thread a stream and the library requests, as many load clients have it."""

    def one(numbered):
        index, text = numbered
        body, at, usage = {"prompt": text, "max_tokens": TOKENS, "stream_options": USAGE}, [], {}
        sent = time.monotonic()
        with requests.post(f"{url}/v1/completions", json=body, stream=True, timeout=120) as answer:
            for line in answer.iter_lines(chunk_size=1):
                event = json.loads(line[6:]) if line.startswith(b"data: {") else {}
                usage = event.get("usage") or usage
                if any(choice.get("text") for choice in event.get("choices", [])):
                    at.append(time.monotonic())
        gaps = [(after - before, None) for before, after in zip(at, at[1:])]
        return timed_sample(index, at[0] - sent, gaps, usage["completion_tokens"])

    began, cpu = time.monotonic(), time.process_time()
    with concurrent.futures.ThreadPoolExecutor(streams) as pool:
        samples = list(pool.map(one, enumerate(prompts)))
    wall = time.monotonic() - began
    return Load(samples, wall=wall, cpu=time.process_time() - cpu, span=wall, watched=False)


def shipped(url, prompts, streams):
    """The compiled client of SGLang."""
    python = str(real_servers.interpreter("sglang-0.5.23"))
    tokenizer = str(REAL / "models" / "dflash-nano" / "target")
    client = SglangClient(run_command, python, {}, endpoint(url, None, {}), tokenizer)
    job = Job("completions", "fake", prompts, TOKENS, 0.0, True, streams, None, "poisson", 0, 120.0)
    return EngineRunner(client, run_command).measure(job)


CLIENTS = [own, threads]
if real_servers.is_complete(real_servers.ENVIRONMENTS["sglang-0.5.23"]):
    CLIENTS.append(shipped)


@pytest.fixture
def server():
    """The server on the last core, this process and what it starts on the first."""
    made, cores = FakeServer(ttft=0.5, step=STEP, pattern=[SIZE]), sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(made.process.pid, cores[-1:])
    os.sched_setaffinity(0, cores[:1])
    yield made
    os.sched_setaffinity(0, cores)
    made.close()


@pytest.mark.parametrize("streams", [1, 8, 32, 128, 512])
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.__name__)
def test_capacity(server, figures, client, streams):
    prompts = [f"request {index}" for index in range(2 * streams)]
    load = client(server.base_url, prompts, streams)
    truth = {row["text"]: row for row in server.truth()["requests"]}
    found, rows = _cell.measures(load, TOKENS), [truth[text] for text in prompts]
    began = {row["text"]: row["arrived"] for row in rows}
    if load.watched:
        began = {prompts[sample.index]: sample.sent_at for sample in load.samples}
    ttft = statistics.mean(row["sent"][0][0] - began[row["text"]] for row in rows) * 1000
    tpot = statistics.mean((row["sent"][-1][0] - row["sent"][0][0]) / (TOKENS - 1) for row in rows) * 1000
    rate = len(rows) * TOKENS / (max(row["sent"][-1][0] for row in rows) - min(began.values()))
    verdict = {True: ", saturated", False: ", keeps up", None: ""}[found["client"]["saturated"]]
    figures.add(
        f"{streams} streams, {streams / STEP:.0f} chunks/s, {client.__doc__.splitlines()[0].rstrip('.')}",
        f"TTFT {found['ttft_ms']['mean']:.1f} ms, TPOT {found['tpot_ms']['mean']:.3f} ms, "
        f"{found['output_tokens_per_second']:.0f} tokens/s, {load.cpu_share:.0%} of a core{verdict}",
        f"the server itself: TTFT {ttft:.1f} ms, TPOT {tpot:.3f} ms, {rate:.0f} tokens/s",
    )
    assert found["errors"] == {} and found["succeeded"] == 2 * streams
    if client is not own or found["client"]["saturated"]:
        # Where the client cannot keep up it says so; where it says that it does, its figures must be right.
        return
    share = 0.02 if streams <= 128 else 0.05
    late = found["client"]["first_tokens_noted_late_ms"] + 2 * found["client"]["chunks_noted_late_ms"]
    assert found["ttft_ms"]["mean"] == pytest.approx(ttft, abs=max(5, share * ttft) + late)
    assert found["tpot_ms"]["mean"] == pytest.approx(tpot, rel=share, abs=late / TOKENS)
    assert found["output_tokens_per_second"] == pytest.approx(rate, rel=share)
