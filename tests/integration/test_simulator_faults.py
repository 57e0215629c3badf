# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The faults of the stand-in's answers: hangs, drips, resets, crashes and lies."""

from __future__ import annotations

import http.client
import json
import socket

import pytest
from simulated_server import SimulatedServer


def serve(tmp_path, fault):
    return SimulatedServer(tmp_path, env={"SIM_FAULT": fault})


@pytest.mark.parametrize("lie", ["error_body", "empty_choices", "null_content", "empty_content", "html", "truncated",
                                 "not_json", "no_usage", "short", "garbage", "gzip"])  # fmt: skip
def test_lies_of_answers(tmp_path, lie):
    with serve(tmp_path, fault=f"serving:lie:{lie}@after=1") as server:
        server.wait_ready()
        honest = server.chat().json
        assert honest["choices"][0]["message"]["content"] and honest["usage"]
        lied = server.chat()
        assert lied.status == 200
        if lie == "html":
            assert lied.headers["content-type"].startswith("text/html")
        elif lie == "truncated":
            with pytest.raises(ValueError):
                json.loads(lied.body)
        elif lie == "gzip":
            assert lied.body[:2] == b"\x1f\x8b"
        elif lie == "not_json":
            assert lied.json == "content"
        elif lie == "error_body":
            assert list(lied.json) == ["error"]
        elif lie == "empty_choices":
            assert lied.json["choices"] == []
        elif lie == "no_usage":
            assert "usage" not in lied.json
        elif lie == "short":
            assert lied.json["usage"]["completion_tokens"] == 4
        else:
            content = lied.json["choices"][0]["message"]["content"]
            assert content == {"null_content": None, "empty_content": "", "garbage": "!" * 16}[lie]


def test_a_stream_without_an_end(tmp_path):
    with serve(tmp_path, fault="serving:lie:no_done") as server:
        assert "[DONE]" not in server.wait_ready().chat(stream=True).events


def test_other_names_and_statuses(tmp_path):
    with serve(tmp_path, fault="serving:lie:models:other,serving:status:503@times=2") as server:
        assert server.wait_ready().get("/v1/models").json["data"][0]["id"] == "other"
        assert [server.chat().status for _dummy in range(3)] == [503, 503, 200]
    with serve(tmp_path, fault="serving:status:404@path=/v1/chat") as server:
        server.wait_ready()
        assert (server.chat().status, server.generate().status) == (404, 200)


@pytest.mark.parametrize("fault", ["serving:hang", "serving:lie:health", "serving:hang:engine"])
def test_generation_hangs_while_metadata_answers(tmp_path, fault):
    with serve(tmp_path, fault=fault) as server:
        server.wait_ready()
        if fault == "serving:hang:engine":
            with pytest.raises(socket.timeout):
                server.chat(stream=True, timeout=0.3)
        with pytest.raises(socket.timeout):
            server.chat(timeout=0.3)
        assert server.get("/v1/models").status == 200
        assert server.get("/health").status == (503 if fault == "serving:hang:engine" else 200)


def test_a_stream_hangs_in_the_middle(tmp_path):
    with serve(tmp_path, fault="serving:hang:8") as server:
        server.wait_ready()
        with pytest.raises(socket.timeout):
            server.chat(stream=True, timeout=0.4)
        assert server.chat(stream=True, max_tokens=4).events[-1] == "[DONE]"


@pytest.mark.parametrize("fault", ["serving:drip:0.003", "serving:drip:headers:0.003"])
def test_an_answer_drips(tmp_path, fault):
    with serve(tmp_path, fault=fault) as server:
        answer = server.wait_ready().chat("Say OK", max_tokens=4)
        assert answer.seconds > 0.2 and answer.json["usage"]


def test_a_connection_is_reset(tmp_path):
    with serve(tmp_path, fault="serving:hang:reset") as server:
        server.wait_ready()
        with pytest.raises((ConnectionResetError, http.client.RemoteDisconnected)):
            server.chat()


@pytest.mark.parametrize(("how", "status"), [("4", 4), ("SIGSEGV", -11), ("oom", -9), ("scheduler", -9)])
def test_it_can_crash_while_it_serves(tmp_path, how, status):
    with serve(tmp_path, fault=f"serving:crash:{how}@after=2") as server:
        server.wait_ready()
        assert [server.chat().status for _dummy in range(2)] == [200, 200]
        with pytest.raises((ConnectionError, http.client.HTTPException, socket.timeout)):
            server.chat()
        assert server.wait_exit() == status
