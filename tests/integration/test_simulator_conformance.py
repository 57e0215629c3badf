# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-in against recordings of real servers: the same requests and signals, the same shapes.

Every difference is listed with a reason in conformance/known_differences.yml. One that is not listed fails, and so does a
listed one that no longer occurs.
"""

from __future__ import annotations

import concurrent.futures
import http.client
import os
import pathlib
import signal
import socket
import time

import pytest
from conformance import log_templates, recordings, shapes
from conformance.known_differences import KNOWN, LOGS, RECORDS, SERVERS, ran, unlisted

PHASES = [(record, name) for record in RECORDS for name in recordings.load(record, "phases.json")]


def place_of(exchange):
    return f"{exchange['server']} {exchange['name']}"


def compare_answer(exchange, answer):
    """All differences of one answer."""
    if exchange["status"] != answer.status:
        yield f"status: recorded {exchange['status']}, simulated {answer.status}"
        return
    yield from shapes.header_differences(exchange["response_headers"], answer.headers)
    recorded = exchange["response"]
    if exchange["path"] == "/metrics" and answer.status == 200:
        yield from shapes.metric_differences(recorded, answer.text)
    elif "json" in answer.headers.get("content-type", ""):
        loose = exchange["path"] in ("/server_info", "/get_server_info")
        yield from shapes.body_differences(recorded, answer.json, null_is_any=loose)
        if answer.status >= 400:
            yield from shapes.message_differences(recorded, answer.json)
    elif recorded.rstrip("\n") != answer.text.rstrip("\n"):
        yield f"text: recorded {recorded!r}, simulated {answer.text!r}"


def ask(server, exchange, directory):
    body = recordings.moved(exchange["body"], directory)
    headers = exchange.get("headers") or {}
    return server.call(exchange["method"], recordings.moved(exchange["path"], directory), body, headers, timeout=30)


@pytest.mark.parametrize(("record", "server"), SERVERS)
def test_answers(tmp_path, record, server):
    data = recordings.load(record, "exchanges.json")
    exchanges = [each for each in data["exchanges"] if each["server"] == server]
    background = next((each for each in exchanges if each["name"] == "generate_long_bg"), None)
    left = []
    with (
        recordings.start(record, data["servers"][server], tmp_path, SIM_PACE="0.1") as simulator,
        concurrent.futures.ThreadPoolExecutor() as pool,
    ):
        simulator.wait_ready()
        future = None
        for exchange in exchanges:
            if future is None and "busy" in exchange["name"]:
                future = pool.submit(ask, simulator, background, tmp_path)
                while not simulator.get("/v1/loads").json["loads"][0]["num_running_reqs"]:
                    pass
            if exchange is background:
                answer = future.result()
            else:
                answer = ask(simulator, exchange, tmp_path)
            left += unlisted(record, place_of(exchange), compare_answer(exchange, answer))
    ran.add(("answers", record, server))
    assert not left, "\n".join(left)


@pytest.mark.parametrize("record", RECORDS)
def test_streams(tmp_path, record):
    data = recordings.load(record, "exchanges.json")
    streams = recordings.load(record, "streams.json")
    left = []
    for server in sorted({stream["server"] for stream in streams}):
        with recordings.start(record, data["servers"][server], tmp_path) as simulator:
            simulator.wait_ready()
            for stream in [each for each in streams if each["server"] == server]:
                stream["headers"] = {"Authorization": "Bearer sk-test"}
                answer = ask(simulator, stream, tmp_path)
                found = list(shapes.header_differences(stream["response_headers"], answer.headers))
                if answer.status != stream["status"]:
                    found.append(f"status: recorded {stream['status']}, simulated {answer.status}")
                found += shapes.stream_differences(stream["events"], answer.events)
                left += unlisted(record, place_of(stream), found)
    ran.add(("streams", record))
    assert not left, "\n".join(left)


def act(name, server, directory, record):
    """Do to the stand-in what was done to the recorded server."""
    if name == "sigterm_during_load":
        server.wait_line(r"(Init torch distributed|Init parallel) ends|Memory baseline")
        server.process.send_signal(signal.SIGTERM)
    elif name in ("start", "reasoning_key", "old_flag"):
        server.wait_ready()
        server.__exit__()
    elif name.startswith("sig"):
        server.wait_ready()
        server.get("/health")
        server.chat()
        pool = concurrent.futures.ThreadPoolExecutor()
        if name == "sigint_busy":
            pool.submit(server.chat, "a long tale", max_tokens=1200, ignore_eos=True, timeout=60)
            while not server.get("/v1/loads").json["loads"][0]["num_running_reqs"]:
                pass
        elif name == "sigint_idle":
            # A poller's health check was in flight when the signal came.
            wait_until_read(server, pool)
        send(name, server)


def wait_until_read(server, pool):
    """Ask for the health and return once the server has taken the request off its socket."""
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        ends = f"0100007F:{server.port:04X} 0100007F:{client.getsockname()[1]:04X} 01 00000000:00000000"
        while ends not in pathlib.Path("/proc/net/tcp").read_text():
            time.sleep(0.005)
        pool.submit(client.dup().recv, 4096)


def send(name, server):
    """The signal that a scenario is named after."""
    word, target = name.split("_")[:2]
    number = getattr(signal, word.upper())
    children = server.children()
    if target in ("scheduler", "detokenizer"):
        os.kill(children["sglang::" + target[:7]], number)
    elif target == "group":
        os.killpg(server.process.pid, number)
    else:
        server.process.send_signal(number)


@pytest.mark.parametrize(("record", "name"), LOGS)
def test_logs(tmp_path, record, name):
    wanted = recordings.load(record, "logs.json")[name]
    env = {"SIM_PACE": "0.02", "SIM_STEP_MS": "5"}
    if name == "draft_without_weights":
        env["SIM_FAULT"] = "draft:crash:missing_draft_weights"
    elif name == "out_of_memory":
        env["SIM_FAULT"] = "graphs:crash:oom"
    elif name == "sigint_idle":
        env["SIM_PACE"] = "1"
    elif name == "sigterm_during_load":
        env["SIM_LOAD_SECONDS"] = "30"
    other = None
    if name == "port_taken":
        other = recordings.start(record, wanted["args"], tmp_path).wait_ready()
    try:
        with recordings.start(record, wanted["args"], tmp_path, other.port if other else None, **env) as server:
            act(name, server, tmp_path, record)
            if wanted["exit"] is not None:
                status = server.wait_exit()
            else:
                status = None
                last = {"port_taken": "Waiting for application shutdown", "sigkill_detokenizer": "Waiting 60"}
                server.wait_line(last.get(name, "server_args="))
                if name == "port_taken":
                    server.stays()
            text = server.log
    finally:
        if other:
            other.__exit__()
    if "fired up" in recordings.log(record, name).split("\n")[1]:
        text = text[text.rindex("\n", 0, text.index("fired up")) + 1 :]
    found = list(log_templates.differences(recordings.log(record, name), text))
    if wanted["exit"] != status:
        found.append(f"exit: recorded {wanted['exit']}, simulated {status}")
    ran.add(("logs", record, name))
    left = unlisted(record, "log " + name, found)
    assert not left, "\n".join(left)


def look(server, path):
    try:
        return str(server.get(path, timeout=3).status)
    except ConnectionRefusedError:
        return "refused"
    except (ConnectionError, http.client.HTTPException, socket.timeout):
        return "reset"


@pytest.mark.parametrize(("record", "name"), PHASES)
def test_phases(tmp_path, record, name):
    """The statuses that a poller sees one after the other, while the server starts or ends."""
    wanted = recordings.load(record, "phases.json")[name]
    data = recordings.load(record, "exchanges.json")
    args = next(iter(data["servers"].values()))
    seen = {path: [] for path in wanted}
    # A state that a poller is to see must last for several of its looks.
    pace = "0.3" if name == "sigterm_idle" else "0.05"
    slow = {"SIM_LOAD_SECONDS": "0.3", "SIM_WARMUP_SECONDS": "0.6", "SIM_PACE": pace}
    with recordings.start(record, args, tmp_path, **slow) as server:
        if name != "start":
            server.wait_ready()

        def poll(path):
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                status = look(server, path)
                if not seen[path] or seen[path][-1] != status:
                    seen[path].append(status)
                if status == steady(wanted[path])[-1] and len(steady(seen[path])) >= len(steady(wanted[path])):
                    return
                time.sleep(0.01)

        with concurrent.futures.ThreadPoolExecutor(len(wanted)) as pool:
            futures = [pool.submit(poll, path) for path in wanted]
            if name != "start":
                while not all(seen.values()):
                    time.sleep(0.01)
                send(name, server)
            for future in futures:
                future.result()
    if name.endswith("_group") and "503" not in wanted["/health"]:
        # All its processes end at once: a health check in that moment is told of the shutdown, or meets nobody.
        seen["/health"] = [status for status in seen["/health"] if status != "503"]
    assert {path: steady(statuses) for path, statuses in seen.items()} == {p: steady(s) for p, s in wanted.items()}


def steady(statuses):
    """Without resets: whether a poller meets one depends on the moment."""
    return [status for status in statuses if status != "reset"]


def test_every_listed_difference_has_its_reason():
    assert all(entry.get("reason") for entry in KNOWN)
