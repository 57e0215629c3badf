# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The load client that ships with SGLang and this collection's own measure the same cell of a server that knows the truth.

Times are long, so that a busy machine's delays are small beside them.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess

import pytest
from real_servers import HERE, interpreter

from ansible_collections.llmops.sglang.plugins.module_utils import _cell
from ansible_collections.llmops.sglang.plugins.module_utils._engine import EngineRunner, Job
from ansible_collections.llmops.sglang.plugins.module_utils._engine_sglang import SglangClient
from ansible_collections.llmops.sglang.plugins.module_utils._load_connection import endpoint
from ansible_collections.llmops.sglang.plugins.module_utils._load_generator import LoadGenerator
from ansible_collections.llmops.sglang.tests.unit.fake_server import FakeServer

STREAMS, TOKENS = 4, 33


def run_command(words, environ_update=None, check_rc=False, **dummy):
    environ = {**os.environ, **(environ_update or {})}
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=check_rc)
    return done.returncode, done.stdout, done.stderr


def own(server):
    bodies = [
        {
            "messages": [{"role": "user", "content": f"request {index}"}],
            "max_tokens": TOKENS,
            "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        }
        for index in range(STREAMS)
    ]
    return LoadGenerator(server, "chat", 120.0).closed_loop(bodies, STREAMS)


def shipped(server):
    tokenizer = str(HERE / "models" / "dflash-nano" / "target")
    client = SglangClient(run_command, str(interpreter("sglang-0.5.23")), {}, server, tokenizer)
    assert client.client.startswith("_bench."), client.client
    prompts = [f"request {index} of the client that ships with the server" for index in range(STREAMS)]
    job = Job("chat", "fake", prompts, TOKENS, 0.0, True, STREAMS, None, "poisson", 0, 120.0)
    return EngineRunner(client, run_command).measure(job)


# The wheel holds the client for this platform alone.
CLIENTS = [own, shipped] if platform.machine() == "x86_64" else [own]


@pytest.mark.parametrize("measure", CLIENTS)
def test_both_clients_measure_what_the_server_did(measure):
    server = FakeServer(ttft=2.0, step=0.2, pattern=[4])
    try:
        found = _cell.measures(measure(endpoint(server.base_url, None, {})), TOKENS)
        rows = server.truth()["requests"]
    finally:
        server.close()
    assert (found["requests"], found["succeeded"], found["short_outputs"]) == (STREAMS, STREAMS, 0)
    assert found["completion_tokens"] == {"min": TOKENS, "mean": TOKENS, "max": TOKENS}
    ttft = statistics.mean(row["sent"][0][0] - row["arrived"] for row in rows)
    tpot = statistics.mean((row["sent"][-1][0] - row["sent"][0][0]) / (TOKENS - 1) for row in rows)
    took = max(row["sent"][-1][0] for row in rows) - min(row["arrived"] for row in rows)
    assert found["ttft_ms"]["mean"] == pytest.approx(ttft * 1000, rel=0.05)
    assert found["tpot_ms"]["mean"] == pytest.approx(tpot * 1000, rel=0.05)
    assert found["chunk_gap_ms"]["mean"] == pytest.approx(4 * tpot * 1000, rel=0.05)
    assert found["output_tokens_per_second"] == pytest.approx(STREAMS * TOKENS / took, rel=0.05)
