# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""router_worker against the real router, with the stand-in server as its workers, on this machine."""

from __future__ import annotations

import threading
import time

import pytest
from router import Router
from simulated_server import SimulatedServer

KEY = "sk-router-secret-key"


@pytest.fixture
def servers(tmp_path):
    with SimulatedServer(tmp_path) as one, SimulatedServer(tmp_path) as other:
        yield [one.wait_ready(), other.wait_ready()]


def test_worker_leaves_and_comes_back_without_losing_a_stream(tmp_path, servers):
    stays, goes = (f"http://127.0.0.1:{server.port}" for server in servers)
    with Router(tmp_path, [stays, goes], api_key=KEY) as router:
        streams = [{}, {}]
        body = {"text": "Once", "sampling_params": {"max_new_tokens": 900, "ignore_eos": True}, "stream": True}

        def through_router(answer):
            answer["status"], answer["text"] = router.ask("POST", "/generate", body, timeout=300)

        # In turn: one of the two lands on the worker that goes.
        threads = [threading.Thread(target=through_router, args=(answer,), daemon=True) for answer in streams]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 120
        while servers[1].get("/v1/loads").json["loads"][0]["num_running_reqs"] == 0:
            assert time.monotonic() < deadline and any(thread.is_alive() for thread in threads)
        result = router.put(tmp_path, f"{goes}/", "drained", ["--diff"], drain_timeout=300)
        assert result["changed"] and result["worker"]["registered"] is False and result["worker"]["load"] == 0, result
        assert router.worker(goes) is None and router.worker(stays)
        for thread in threads:
            thread.join(300)
        assert all(stream["status"] == 200 and '"completion_tokens":900' in stream["text"] for stream in streams), (
            streams
        )
        assert f"-{goes}: in the router, healthy" in result["printed"] and KEY not in result["printed"]

        back = router.put(tmp_path, goes, "present")
        assert back["changed"] and back["worker"]["healthy"] and back["worker"]["id"] == router.worker(goes)["id"]
        assert router.put(tmp_path, goes, "present")["changed"] is False
        wrong = router.put(tmp_path, goes, "absent", api_key="sk-another-key")
        assert wrong["failure_class"] == "router_failed" and "api_key" in wrong["msg"] and router.worker(goes)
