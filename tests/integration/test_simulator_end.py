# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the stand-in ends: drains, closed listeners, killed children, a taken port."""

from __future__ import annotations

import concurrent.futures
import http.client
import os
import re
import signal
import socket
import time

import pytest
from simulated_server import DFLASH, SimulatedServer, reaches, state, stop

GONE = (ConnectionError, http.client.HTTPException, socket.timeout)


def long_stream(server, tokens=60):
    return server.chat("a long tale", max_tokens=tokens, stream=True, ignore_eos=True, timeout=120)


def busy(server, pool, tokens=240):
    """A stream in flight, returned once the scheduler has taken it."""
    future = pool.submit(long_stream, server, tokens)
    while not server.get("/v1/loads").json["loads"][0]["num_running_reqs"]:
        assert not future.done(), "it has ended, and was never seen"
    return future


@pytest.mark.parametrize(
    ("version", "status"), [("0.5.12", -9), ("0.5.15.post1", -9), ("0.5.18", -9), ("0.5.19", 0), ("0.5.23", 0)]
)
def test_sigterm_idle(tmp_path, version, status):
    with SimulatedServer(tmp_path, version=version) as server:
        server.wait_ready().process.send_signal(signal.SIGTERM)
        assert server.wait_exit() == status
        assert "SIGTERM received. signum=None frame=None. Draining requests and shutting down..." in server.log
        assert (
            "Gracefully exiting... Remaining number of requests 0. Remaining requests remaining_rids=[]." in server.log
        )
        assert ("Finished server process" in server.log) is (status == 0)


@pytest.mark.parametrize(("version", "status"), [("0.5.15.post1", -9), ("0.5.23", 0)])
def test_sigterm_drains_and_still_takes_requests(tmp_path, version, status):
    with SimulatedServer(tmp_path, version=version, env={"SIM_STEP_MS": "20"}) as server:
        server.wait_ready()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            stream = busy(server, pool)
            with server.held():
                server.process.send_signal(signal.SIGTERM)
                server.wait_line("Remaining number of requests 1")
                chat = pool.submit(server.chat)
                server.wait_line("Remaining number of requests 2")
                assert server.get("/health").status == 503
                assert server.get("/v1/models").status == 200
                server.wait_line("Health check request received during shutdown. Returning 503.")
            assert chat.result().status == 200
            assert stream.result().events[-1] == "[DONE]"
        assert server.wait_exit() == status


def wait_until_drain_knows(server, requests):
    """Wait until a drain has named so many requests, those that have ended since included."""
    deadline = time.monotonic() + 60
    while len(set(re.findall(r"'([0-9a-f]{32})'", server.log))) < requests:
        assert time.monotonic() < deadline, server.log[-3000:]
        time.sleep(0.01)


def test_steady_traffic_keeps_a_drain_open(tmp_path):
    with SimulatedServer(tmp_path, env={"SIM_STEP_MS": "10"}) as server:
        server.wait_ready()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            streams = [busy(server, pool, 80)]
            for number in range(2, 5):
                # The next one is taken while the one before is under way, and outlasts it by half a second.
                with server.held():
                    if number == 2:
                        server.process.send_signal(signal.SIGTERM)
                    streams.append(pool.submit(long_stream, server, 130))
                    wait_until_drain_knows(server, number)
                streams[-2].result()
            assert server.process.poll() is None
            assert streams[-1].result().status == 200
        server.wait_exit()


@pytest.mark.parametrize("version", ["0.5.15.post1", "0.5.23"])
def test_sigint_closes_the_listener_and_finishes_what_runs(tmp_path, version):
    with SimulatedServer(
        tmp_path, *(DFLASH if version != "0.5.23" else ()), version=version, env={"SIM_STEP_MS": "20"}
    ) as server:
        server.wait_ready()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            stream = busy(server, pool)
            with server.held():
                server.process.send_signal(signal.SIGINT)
                server.wait_line("Shutting down")
                with pytest.raises(ConnectionRefusedError):
                    server.chat()
            assert stream.result().events[-1] == "[DONE]"
        assert server.wait_exit() == 0
        tail = server.log[server.log.index("Shutting down") :]
        assert "Waiting for connections to close. (CTRL+C to force quit)" in tail
        assert (
            tail.index("Application shutdown complete.")
            < tail.index("Finished server process")
            < tail.index("include_parent=False")
        )
        assert "SIGTERM" not in tail


def test_two_choices_leak_a_request_and_sigterm_never_ends(tmp_path):
    with SimulatedServer(tmp_path) as server:
        server.wait_ready().chat(n=2)
        server.process.send_signal(signal.SIGTERM)
        server.wait_line("Remaining number of requests 1")
        server.process.send_signal(signal.SIGTERM)
        server.wait_line("(?s)SIGTERM received.*SIGTERM received.*Remaining number of requests 1")
        server.process.send_signal(signal.SIGINT)
        assert server.wait_exit() == 0
    with SimulatedServer(tmp_path, version="0.5.23") as server:
        server.wait_ready().chat(n=2)
        server.process.send_signal(signal.SIGTERM)
        assert server.wait_exit() == 0


def test_sigterm_to_all_processes_does_not_drain(tmp_path):
    with SimulatedServer(tmp_path, env={"SIM_STEP_MS": "20"}) as server:
        server.wait_ready()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            stream = busy(server, pool, 1000)
            os.killpg(server.process.pid, signal.SIGTERM)
            with pytest.raises(GONE):
                stream.result()
        assert server.wait_exit() == -9
        assert "crashed with exit code -15. Triggering SIGQUIT for cleanup..." in server.log


@pytest.mark.parametrize("version", ["0.5.15.post1", "0.5.23"])
def test_a_killed_scheduler_takes_the_server_along(tmp_path, version):
    with SimulatedServer(tmp_path, version=version, env={"SIM_PACE": "0.1"}) as server:
        pid = server.wait_ready().children()["sglang::schedul"]
        os.kill(pid, signal.SIGKILL)
        server.wait_line(rf"Subprocess scheduler_0 \(pid={pid}\) crashed with exit code -9\. Triggering SIGQUIT")
        with pytest.raises(GONE):
            server.get("/v1/models", timeout=0.2)
        assert server.wait_exit() == -9
        assert "No live scheduler processes found" in server.log


def test_a_killed_detokenizer_makes_the_port_mute_for_long(tmp_path):
    with SimulatedServer(tmp_path, env={"SIM_PACE": "0.05"}) as server:
        began = time.monotonic()
        os.kill(server.wait_ready().children()["sglang::detoken"], signal.SIGKILL)
        server.wait_line("Waiting 60.0 seconds for CUDA coredumps before exiting")
        # Accepted, and never answered until the end.
        with pytest.raises(GONE):
            server.get("/v1/models", timeout=60)
        assert server.wait_exit() == -9
        assert time.monotonic() - began > 65 * 0.05


def test_before_the_watchdog_nobody_notices(tmp_path):
    with SimulatedServer(tmp_path, version="0.5.9") as server:
        pid = server.wait_ready().children()["sglang::detoken"]
        os.kill(pid, signal.SIGKILL)
        reaches(pid, "Z")
        # Each takes as long as a watchdog would from one look to the next, in the same process.
        assert [server.get("/health").status for _dummy in range(3)] == [200] * 3
        assert server.get("/v1/models").status == 200


def test_a_stopped_scheduler_shows_in_health_alone(tmp_path):
    with SimulatedServer(tmp_path) as server:
        pid = server.wait_ready().children()["sglang::schedul"]
        stop(pid)
        assert server.get("/health").status == 503
        server.wait_line("Health check failed. Server couldn't get a response from detokenizer for last 20 seconds")
        assert server.get("/v1/models").status == 200
        for path in ("/server_info", "/v1/loads"):
            with pytest.raises(socket.timeout):
                server.get(path, timeout=0.2)
        with pytest.raises(socket.timeout):
            server.chat(timeout=0.2)
        os.kill(pid, signal.SIGCONT)
        assert server.chat().status == 200
        assert server.get("/health").status == 200


def test_a_killed_launcher_takes_its_children_along(tmp_path):
    with SimulatedServer(tmp_path) as server:
        children = server.wait_ready().children()
        server.process.kill()
        server.wait_exit()
        deadline = time.monotonic() + 60
        while any(os.path.exists(f"/proc/{pid}") and state(pid) != "Z" for pid in children.values()):
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_a_taken_port_and_the_false_ready_line(tmp_path):
    with SimulatedServer(tmp_path) as first:
        first.wait_ready()
        with SimulatedServer(tmp_path, port=first.port, version="0.5.23") as third:
            third.wait_line("Waiting for application shutdown")
            with SimulatedServer(tmp_path, port=first.port) as second:
                assert second.wait_exit() == 1
                log = second.log
                assert (
                    f"[Errno 98] error while attempting to bind on address ('127.0.0.1', {first.port}): address already in use"
                    in log
                )
                assert (
                    log.index("Errno 98")
                    < log.index("fired up and ready to roll!")
                    < log.index("Application shutdown complete.")
                )
                assert "Uvicorn running on" not in log
            # It has had the time in which another one came to its ready line and its end.
            assert third.process.poll() is None and "fired up" not in third.log
        assert first.chat().status == 200


def test_a_taken_port_whose_owner_does_not_know_the_key(tmp_path):
    with SimulatedServer(tmp_path, "--api-key", "a") as first:
        first.wait_ready()
        with SimulatedServer(tmp_path, "--api-key", "b", port=first.port) as second:
            second.wait_line("Errno 98")
            # It was refused, and asks again.
            first.wait_line(r"(?s)GET /model_info[^\n]*401.*GET /model_info[^\n]*401")
            assert "fired up" not in second.log


def test_a_stop_can_hang(tmp_path):
    with SimulatedServer(tmp_path, env={"SIM_FAULT": "stop:hang"}, version="0.5.23") as server:
        server.wait_ready().process.send_signal(signal.SIGTERM)
        server.wait_line("Gracefully exiting")
        # It says so when nothing is left to wait for; without the hang its listener is closed before it answers again.
        assert server.get("/v1/models").status == 200 and server.process.poll() is None


def test_force_shutdown_does_not_drain(tmp_path):
    with SimulatedServer(tmp_path, env={"SGL_FORCE_SHUTDOWN": "1"}) as server:
        server.wait_ready().process.send_signal(signal.SIGTERM)
        assert server.wait_exit() == -9
        assert "Signal SIGTERM received while force shutdown flag set. Force exiting." in server.log
