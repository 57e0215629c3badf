# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The client guidellm: how it is called, and what is made of the reports that it really wrote."""

from __future__ import annotations

import json
import os
import pathlib
import statistics

import load_clients
import pytest
from load_clients import GUIDE, GUIDELLM, KEY, guidellm, job, of_guidellm

from ansible_collections.llmops.sglang.plugins.module_utils._engine_guidellm import read_report
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure

host = load_clients.host


def test_a_cell_of_guidellm():
    found, rows = of_guidellm("ok"), GUIDELLM["ok"]["benchmarks"][0]["requests"]["successful"]
    assert (found["succeeded"], found["errors"], found["short_outputs"]) == (8, {}, 0)
    assert found["ttft_ms"]["mean"] == pytest.approx(
        statistics.mean(r["time_to_first_token_ms"] for r in rows), abs=0.01
    )
    # Its "inter token latency" is what is a time a token here; its own "time per output token" holds the first token too.
    assert found["tpot_ms"]["mean"] == pytest.approx(
        statistics.mean(r["inter_token_latency_ms"] for r in rows), abs=0.01
    )
    assert found["chunk_gap_ms"]["mean"] is None and found["prompt_tokens"]["mean"] == 87
    assert found["output_tokens_per_second"] == pytest.approx(264 / 1.4, rel=0.02)


@pytest.mark.parametrize(
    ("name", "errors"), [("empty", {"no_token": 2}), ("drop", {"reset": 2}), ("in_band_error", {"in_band_error": 2})]
)
def test_failures_that_guidellm_saw(name, errors):
    found = of_guidellm(name)
    assert (found["errors"], found["succeeded"]) == (errors, 6)


def test_an_open_loop_of_guidellm_counts_from_the_scheduled_time():
    rows = GUIDELLM["poisson"]["benchmarks"][0]["requests"]["successful"]
    due = [
        1000 * (r["info"]["timings"]["first_token_iteration"] - r["info"]["timings"]["targeted_start"]) for r in rows
    ]
    assert of_guidellm("poisson", streams=None, rate=20.0)["ttft_ms"]["mean"] == pytest.approx(
        statistics.mean(due), abs=0.01
    )


def test_the_configuration_of_guidellm(host, tmp_path):
    client = guidellm(host(GUIDE), api_key=KEY)
    words, environ = client.command(job(streams=8, timeout=90.0), str(tmp_path))
    assert words[:3] == ["/opt/g/bin/guidellm", "run", "-c"] and KEY not in " ".join(words)
    spec = json.loads(pathlib.Path(words[3]).read_text(encoding="utf-8"))["spec"]
    assert os.stat(words[3]).st_mode & 0o077 == 0
    assert spec["profile"] == {"kind": "concurrent", "streams": [8]}
    assert spec["constraints"][0] == {"kind": "max_requests", "count": 8} and spec["constraints"][1]["seconds"] == 90
    assert spec["backend"]["api_key"] == KEY and spec["backend"]["max_tokens"] == 33
    assert spec["backend"]["extras"]["body"]["stream_options"]["continuous_usage_stats"] is True
    rows = [json.loads(line) for line in pathlib.Path(spec["data"][0]["path"]).read_text(encoding="utf-8").splitlines()]
    assert [row["prompt"] for row in rows] == [f"prompt {n}" for n in range(8)]
    assert environ["HF_HUB_OFFLINE"] == "1"
    open_loop = tmp_path / "open"
    open_loop.mkdir()
    words, environ = client.command(job(streams=None, rate=4.0, arrival="constant"), str(open_loop))
    spec = json.loads(pathlib.Path(words[3]).read_text(encoding="utf-8"))["spec"]
    assert spec["profile"] == {"kind": "constant", "rate": [4.0]}


@pytest.mark.parametrize("answer", [(0, "guidellm version: 0.6.2\n", ""), (127, "", "not found"), (0, "what?", "")])
def test_another_guidellm_is_refused(host, answer):
    with pytest.raises(Failure) as caught:
        guidellm(host({"guidellm": answer}))
    assert caught.value.failure_class == "missing_dependency" and "0.8.1" in caught.value.msg


def test_a_report_of_another_version_is_no_result():
    assert read_report({**GUIDELLM["ok"], "metadata": {"version": 3}}, job()) is None


def test_guidellm_does_not_know_the_native_route(host):
    with pytest.raises(Failure) as caught:
        guidellm(host(GUIDE)).check("generate", "closed", "poisson")
    assert caught.value.failure_class == "bad_request"
