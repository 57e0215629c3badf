# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much load one core of the client can put on a server without making up part of the figures.

The bounds are ratios to what the server itself noted, and wide: two cores of a busy machine carry both sides.
"""

from __future__ import annotations

import statistics

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _cell
from ansible_collections.llmops.sglang.plugins.module_utils._load_connection import endpoint
from ansible_collections.llmops.sglang.plugins.module_utils._load_generator import LoadGenerator
from ansible_collections.llmops.sglang.tests.unit.fake_server import FakeServer

TOKENS, STEP, SIZE = 129, 0.02, 4
ROWS = []


@pytest.mark.parametrize("streams", [1, 8, 32, 128, 256])
def test_capacity(streams):
    server = FakeServer(ttft=0.5, step=STEP, pattern=[SIZE])
    try:
        bodies = [
            {
                "prompt": f"request {index}",
                "max_tokens": TOKENS,
                "stream_options": {"include_usage": True, "continuous_usage_stats": True},
            }
            for index in range(2 * streams)
        ]
        load = LoadGenerator(endpoint(server.base_url, None, {}), "completions", 120.0).closed_loop(bodies, streams)
        truth = {row["text"]: row["sent"] for row in server.truth()["requests"]}
    finally:
        server.close()
    found = _cell.measures(load, TOKENS)
    sent = [(sample, truth[f"request {sample.index}"]) for sample in load.samples]
    # How late the client noted what the server had already sent: one machine, one clock.
    delays = sorted(one.first_token_at - chunks[0][0] for one, chunks in sent)
    tpot = statistics.mean((chunks[-1][0] - chunks[0][0]) / (TOKENS - 1) for dummy, chunks in sent)
    ROWS.append(
        f"{streams:>4} streams, {streams / STEP:>6.0f} chunks/s: first token noted {delays[len(delays) // 2] * 1000:.1f} ms late, "
        f"TPOT {found['tpot_ms']['mean']:.3f} ms (true {tpot * 1000:.3f}), client {load.cpu_share:.0%} of a core, "
        f"{'saturated' if found['client']['saturated'] else 'keeps up'}"
    )
    print("\n" + ROWS[-1])
    assert found["errors"] == {} and found["succeeded"] == 2 * streams
    assert found["tpot_ms"]["mean"] == pytest.approx(tpot * 1000, rel=0.1)
    # Where the client cannot keep up it must say so; where it says that it does, its figures must be right.
    assert found["client"]["saturated"] or delays[len(delays) // 2] < 0.1 * 0.5
