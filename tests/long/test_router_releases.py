# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""router_worker against the releases of sglang-router whose interfaces differ, and what is said of them in the docs."""

from __future__ import annotations

import sys
import time

import pytest
from router import RELEASE, Router
from simulated_server import SimulatedServer, free_port
from test_core_versions import python_of

# Those before 0.2.3 have no wheel for newer Pythons; that of 0.2.3 itself does not start.
RELEASES = {"0.1.9": "3.11", "0.2.0": "3.11", "0.2.4": "", RELEASE: ""}
KEY = "sk-worker-of-its-own"


@pytest.fixture
def two(tmp_path):
    with SimulatedServer(tmp_path) as stays, SimulatedServer(tmp_path, "--dp-size", "2") as goes:
        yield [f"http://127.0.0.1:{server.wait_ready().port}" for server in (stays, goes)]


def until(fact, timeout=120.0):
    deadline = time.monotonic() + timeout
    while not fact():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def plain(router):
    return sorted({worker["url"].split("@")[0] for worker in router.workers()})


# 0.2.0 adds a server as one worker where it has ranks for those of its command line, and cannot remove that one again.
@pytest.mark.parametrize(
    ("release", "words"),
    [
        *((release, []) for release in RELEASES),
        *((release, ["--dp-aware"]) for release in RELEASES if release != "0.2.0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "ranks" if value else "plain",
)
def test_each_state_is_reached_once(tmp_path, two, release, words):
    stays, goes = two
    python = python_of(RELEASES[release]) if RELEASES[release] else sys.executable
    with Router(tmp_path, two, words=words, release=release, python=python) as router:
        said = []
        for state in ("drained", "drained", "present", "present", "absent", "absent", "present"):
            result = router.put(tmp_path, f"{goes}/", state)
            assert not result.get("failed"), result["msg"]
            assert plain(router) == sorted(two if state == "present" else [stays])
            said.append(result["changed"])
        assert said == [True, False, True, False, True, False, True]
        assert all(router.chat()[0] == 200 for dummy in range(4))


def test_what_only_a_well_worker_avoids(tmp_path, two):
    """An addition cannot be taken back, nor does the router look at a key."""
    stays, dummy = two
    port = free_port()
    late = f"http://127.0.0.1:{port}"
    with Router(tmp_path, [stays]) as router:
        result = router.put(tmp_path, late, "present", healthy_timeout=1)
        assert result["failure_class"] == "router_failed" and result["changed"] is False
        status, body = router.ask("POST", "/workers", {"url": late})
        assert status == 202 and router.worker(late) is None
        assert router.ask("DELETE", f"/workers/{body['worker_id']}")[0] == 202
        with SimulatedServer(tmp_path, "--api-key", KEY, port=port):
            until(lambda: router.worker(late))
            assert router.worker(late)["is_healthy"] is True
            assert {router.chat()[0] for dummy in range(4)} == {200, 401}
            assert router.put(tmp_path, late, "drained")["failure_class"] == "unauthorized"
            assert router.put(tmp_path, late, "drained", worker_api_key=KEY)["changed"] is True
            assert router.put(tmp_path, late, "present")["failure_class"] == "unauthorized"
            assert router.worker(late) is None
            assert router.put(tmp_path, late, "present", worker_api_key=KEY)["changed"] is True
            assert {router.chat()[0] for dummy in range(4)} == {200}


def test_a_router_that_was_restarted_forgets(tmp_path, two):
    stays, goes = two
    with Router(tmp_path, [stays]) as router:
        router.put(tmp_path, goes, "present")
        assert plain(router) == sorted(two)
        assert router.stop() == 0
        router.start()
        assert plain(router) == [stays]
        assert router.put(tmp_path, goes, "present")["changed"] is True
        router.stop()
        result = router.put(tmp_path, goes, "present")
        assert result["failure_class"] == "router_failed" and "nothing listens" in result["msg"]
