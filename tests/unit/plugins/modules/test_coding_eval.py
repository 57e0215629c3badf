# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module coding_eval from its arguments to its result, on a server that writes programs."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import socket
import stat
import threading

import pytest
from ansible.module_utils import basic

from ansible_collections.llmops.sglang.plugins.modules import coding_eval

KEY = "sk-the-secret"
RIGHT = "```python\ndef double(x):\n    return x * 2\n```"
DOUBLE = {
    "name": "double",
    "prompt": "Write double(x).",
    "entry_point": "double",
    "cases": [{"args": [2], "expected": 4}, {"kwargs": {"x": "ab"}, "expected": "abab"}],
}


@pytest.fixture
def run(tmp_path, run_module):
    """Run the module; returns its result, warnings included."""

    def call(check=False, **options):
        return run_module(coding_eval, {"sandbox": "none", "results_dir": str(tmp_path / "results"), **options}, check)

    return call


@contextlib.contextmanager
def serving(answer):
    """A server whose chats are what ANSWER makes of the request: a text, or (status, body)."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *words):
            pass

        def do_GET(self):
            self.reply(200, {"data": [{"id": "the-model"}]} if self.path == "/v1/models" else {"version": "0.5.15"})

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((body, self.headers.get("Authorization")))
            found = answer(body)
            if isinstance(found, str):
                choice = {"message": {"content": found}, "finish_reason": "stop"}
                found = (200, {"choices": [choice], "usage": {"completion_tokens": 9}})
            self.reply(*found)

        def reply(self, status, body):
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{made.server_address[1]}", asked
    finally:
        made.shutdown()
        made.server_close()
        thread.join()


def test_a_task_that_passes(run):
    with serving(lambda body: RIGHT) as (base_url, asked):
        result = run(
            base_url=base_url,
            api_key=KEY,
            tasks=[DOUBLE],
            max_tokens=77,
            extra_body={"chat_template_kwargs": {"enable_thinking": False}},
        )
    assert (result["ok"], result["pass_rate"], result["tasks_passed"], result["tasks_total"]) == (True, 1.0, 1, 1)
    [task] = result["tasks"]
    assert (task["status"], task["cases"], task["cases_passed"], task["reason"]) == ("passed", 2, 2, "")
    [(body, authorization)] = asked
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("the-model", 77, 0)
    assert body["chat_template_kwargs"] == {"enable_thinking": False} and authorization == f"Bearer {KEY}"
    assert result["evidence"]["served_model"] == "the-model" and result["evidence_changes"] == []
    assert any("without a sandbox" in warning for warning in result["warnings"])
    assert KEY not in json.dumps(result)


def test_the_whole_code_is_in_the_record(run):
    long = f"```python\ndef double(x):\n    return x * 2\n{'# more' * 1000}\n```"
    with serving(lambda body: long) as (base_url, dummy):
        result = run(base_url=base_url, api_key=KEY, tasks=[DOUBLE], label="a b")
    assert len(result["tasks"][0]["code"]) < 2100
    with open(result["record_path"]) as handle:
        record = json.load(handle)
    assert len(record["tasks"][0]["code"]) > 6000 and record["tasks"][0]["all_samples"][0]["status"] == "passed"
    assert "a-b" in os.path.basename(result["record_path"]) and KEY not in json.dumps(record)
    assert stat.S_IMODE(os.stat(result["record_path"]).st_mode) == 0o600


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("```python\ndef double(x):\n    return x + x + 0.0\n```", "failed"),
        ("I would rather not.", "refused"),
        ((500, {"error": "boom"}), "not_run"),
        ((503, {"error": "full"}), "not_run"),
        ((200, {"choices": []}), "not_run"),
        ((200, "no chat"), "not_run"),
    ],
)
def test_each_end_has_its_word(run, answer, status):
    with serving(lambda body: answer) as (base_url, dummy):
        result = run(base_url=base_url, tasks=[DOUBLE])
    assert [task["status"] for task in result["tasks"]] == [status]
    assert result[f"tasks_{status}"] == 1 and result["ok"] is (status != "not_run")
    assert result["pass_rate"] == (None if status == "not_run" else 0.0)
    assert result["tasks"][0]["reason"]
    assert "failed" not in result


def test_a_server_that_is_not_there_is_not_run(run):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        result = run(base_url=f"http://127.0.0.1:{taken.getsockname()[1]}")
    assert (result["ok"], result["pass_rate"], result["tasks_not_run"], result["tasks_failed"]) == (
        False,
        None,
        25,
        0,
    )
    assert all("refused" in task["reason"] for task in result["tasks"])


@pytest.mark.parametrize("form", ["list", "mapping"])
def test_tasks_from_a_file(run, tmp_path, form):
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps([DOUBLE] if form == "list" else {"tasks": [DOUBLE]}))
    with serving(lambda body: RIGHT) as (base_url, dummy):
        assert run(base_url=base_url, tasks_file=str(path))["tasks_passed"] == 1


def test_check_mode_sends_nothing_and_runs_nothing(run):
    with serving(lambda body: RIGHT) as (base_url, asked):
        result = run(check=True, base_url=base_url)
    assert result["ok"] is None and "check mode" in result["skipped_reason"] and asked == []
    assert set(coding_eval.nothing({"sandbox": "none"})) <= set(result)


@pytest.mark.parametrize(
    ("options", "failure_class"),
    [
        ({"tasks": []}, "bad_request"),
        ({"memory_max": "1M"}, "bad_request"),
        ({"samples": 0}, "bad_request"),
        ({"tasks_file": "/nowhere"}, "bad_request"),
        ({"base_url": "nonsense"}, "bad_request"),
    ],
)
def test_senseless_options_are_refused(run, options, failure_class):
    result = run(**{"base_url": "http://127.0.0.1:1", **options})
    assert result["failed"] and result["failure_class"] == failure_class and result["ok"] is False


def test_without_a_sandbox_nothing_is_asked(run, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(
        basic.AnsibleModule, "run_command", lambda module, args, **more: (127, "", "systemd-run: not found")
    )
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with serving(lambda body: RIGHT) as (base_url, asked):
        result = run(base_url=base_url, sandbox="systemd")
    assert result["failure_class"] == "sandbox_unavailable" and "sandbox: none" in result["msg"]
    assert asked == []


@pytest.mark.parametrize(
    ("ids", "options", "proven"),
    [("aa", {}, True), ("ab", {}, False), ("aa", {"require_evidence": False}, False), ([None, None], {}, False)],
)
def test_a_record_is_proven_by_one_invocation_from_start_to_end(run, monkeypatch, ids, options, proven):
    found = iter([{"invocation_id": one} for one in ids])
    monkeypatch.setattr(coding_eval.CodingServer, "evidence", lambda self: next(found))
    with serving(lambda body: RIGHT) as (base_url, dummy):
        result = run(base_url=base_url, tasks=[DOUBLE], **options)
    with open(result["record_path"], encoding="utf-8") as handle:
        assert result["proven"] is json.load(handle)["proven"] is proven


def test_a_server_that_changed_meanwhile_is_not_ok(run, monkeypatch):
    found = iter([{"invocation_id": "a"}, {"invocation_id": "b"}])
    monkeypatch.setattr(coding_eval.CodingServer, "evidence", lambda self: next(found))
    with serving(lambda body: RIGHT) as (base_url, dummy):
        result = run(base_url=base_url, tasks=[DOUBLE])
    assert (result["ok"], result["tasks_passed"]) == (False, 1)
    assert result["evidence_changes"] == ["the invocation changed from 'a' to 'b'"]
