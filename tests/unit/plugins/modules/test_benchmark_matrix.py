# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module benchmark_matrix from its arguments to its result, on a fake server."""

from __future__ import annotations

import json
import os
import pathlib
import socket
import sys

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _cell
from ansible_collections.llmops.sglang.plugins.module_utils._failure import FAILURE_CLASSES
from ansible_collections.llmops.sglang.plugins.modules import benchmark_matrix
from ansible_collections.llmops.sglang.tests.unit.fake_server import FakeServer

CLONE = pathlib.Path(__file__).resolve().parents[4]
KEY = "sk-the-secret"


@pytest.fixture
def run(tmp_path, monkeypatch, run_module):
    """Run the module; returns its result."""
    monkeypatch.setattr(_cell, "_LAG_FLOOR", 9.0)
    monkeypatch.setattr(_cell, "_USUAL_LAG_FLOOR", 9.0)

    def call(check=False, **options):
        args = {"require_evidence": False, "results_dir": str(tmp_path / "results"), **options}
        return run_module(benchmark_matrix, args, check)

    return call


@pytest.fixture
def server():
    made = FakeServer(ttft=0.01, step=0.003, metrics=True, api_key=KEY)
    yield made
    made.close()


def nobody():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_a_small_matrix(run, server, tmp_path):
    result = run(
        base_url=f"{server.base_url}/v1/",
        api_key=KEY,
        contexts=[60, 60],
        concurrency=[1, 2],
        max_tokens=33,
        requests=4,
        label="try",
        min_acceptance_length=3.9,
    )
    assert (result["ok"], result["complete"], result["changed"], result["skipped_reason"]) == (True, True, False, None)
    assert [(cell["context"], cell["concurrency"], cell["run"]) for cell in result["cells"]] == [(60, 1, 1), (60, 2, 1)]
    assert {cell["acceptance_length"] for cell in result["cells"]} == {4.0}
    assert result["evidence_after"]["sglang_version"] == "0.5.15.post1"
    assert set(benchmark_matrix.NOTHING) <= set(result)
    for name in os.listdir(tmp_path / "results"):
        assert KEY.encode() not in (tmp_path / "results" / name).read_bytes()
    with open(result["record_path"]) as handle:
        record = json.load(handle)
    assert record["proven"] is False
    assert KEY not in json.dumps(result)
    guide = (CLONE / "docs" / "docsite" / "rst" / "benchmark_record.rst").read_text(encoding="utf-8")
    assert [key for key in (*record, *record["cells"][0]) if f"``{key}``" not in guide] == []


def test_a_floor_that_is_not_reached_is_not_ok(run, server):
    result = run(
        base_url=server.base_url,
        api_key=KEY,
        contexts=[60],
        concurrency=[1],
        max_tokens=33,
        requests=3,
        min_acceptance_length=5,
    )
    assert result["ok"] is False and result["cells"][0]["valid"] is True


@pytest.mark.parametrize(
    "url", ["http://user:hunter2@127.0.0.1:1", "http://hunter2@127.0.0.1:1", "http://127.0.0.1:1/?key=hunter2"]
)
def test_an_address_with_a_secret_in_it_is_refused_without_being_shown(run, url, tmp_path):
    """It would be sent nowhere and stand in the record."""
    for check in (False, True):
        result = run(check=check, base_url=url)
        assert result["failed"] and result["failure_class"] == "bad_request" and "api_key" in result["msg"]
        assert "hunter2" not in json.dumps({key: value for key, value in result.items() if key != "invocation"})
    assert not (tmp_path / "results").exists()


def test_check_mode_sends_nothing(run, server):
    result = run(check=True, base_url=server.base_url, api_key=KEY)
    assert result["ok"] is None and "check mode" in result["skipped_reason"]
    assert set(benchmark_matrix.NOTHING) <= set(result)
    made = FakeServer()
    try:
        run(check=True, base_url=made.base_url)
        assert made.truth()["requests"] == []
    finally:
        made.close()


@pytest.mark.parametrize(
    ("options", "failure_class", "said"),
    [
        ({"engine": "guidellm"}, "missing_dependency", "engine_python"),
        ({"engine": "guidellm", "engine_python": sys.executable}, "missing_dependency", "no GuideLLM"),
        ({"engine": "sglang"}, "missing_dependency", "engine_python"),
        ({"engine": "sglang", "engine_python": "/nowhere/python"}, "missing_dependency", "/nowhere/python"),
        ({"engine": "sglang", "engine_python": sys.executable}, "missing_dependency", "an SGLang"),
        ({"require_evidence": True}, "no_such_unit", "'require_evidence: false'"),
        ({"use_proxy": True}, "bad_request", "use_proxy"),
        ({"contexts": []}, "bad_request", "contexts"),
        ({"concurrency": [0]}, "bad_request", "concurrency"),
        ({"max_tokens": 0}, "bad_request", "max_tokens"),
        ({"rate": -1.0, "load_model": "open"}, "bad_request", "rate"),
        ({"warmup": -1}, "bad_request", "warmup"),
        ({"base_url": "127.0.0.1:30000"}, "bad_request", "base_url"),
        ({"api_key": "a\nb"}, "unauthorized", "control character"),
        ({"api_key": "sk-wrong"}, "unauthorized", "api_key"),
        ({"api_key_file": "/nowhere/key"}, "unauthorized", "/nowhere/key"),
        ({"prompts": "/nowhere/prompts"}, "bad_request", "/nowhere/prompts"),
        ({"ca_path": "/nowhere/ca.pem", "base_url": "https://127.0.0.1:1"}, "tls_mismatch", "ca_path"),
    ],
)
def test_what_cannot_be_measured_is_refused(run, server, options, failure_class, said):
    asked = {
        "base_url": server.base_url,
        **({} if "api_key" in options or "api_key_file" in options else {"api_key": KEY}),
    }
    result = run(**{**asked, **options})
    assert result["failed"] and result["failure_class"] == failure_class
    assert failure_class in FAILURE_CLASSES
    assert said in result["msg"] and result["msg"].endswith(".")
    assert result["ok"] is False and result["log_tail"] == [] and set(benchmark_matrix.NOTHING) <= set(result)


def test_nobody_there_is_no_row_of_invalid_cells(run):
    result = run(base_url=nobody(), contexts=[60], concurrency=[1])
    assert (result["failed"], result["failure_class"]) == (True, "connection_refused")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.json", '["one", {"prompt": "two"}]'),
        ("p.jsonl", '"one"\n{"prompt": "two"}\n'),
        ("p.txt", "one\n\ntwo\n"),
    ],
)
def test_prompts_of_the_user(run, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    made = FakeServer(ttft=0.01, step=0.003)
    try:
        result = run(
            base_url=made.base_url, prompts=str(tmp_path / name), concurrency=[1], max_tokens=8, requests=2, warmup=0
        )
        texts = {row["text"].split(" ", 1)[1] for row in made.truth()["requests"] if " " in row["text"]}
    finally:
        made.close()
    assert result["ok"] and result["cells"][0]["context"] is None
    assert texts == {"one", "two"}


@pytest.mark.parametrize(("name", "text"), [("p.json", "{}"), ("p.json", "[1]"), ("p.jsonl", "{"), ("p.txt", "\n")])
def test_a_file_without_prompts_is_refused(run, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    result = run(base_url=nobody(), prompts=str(tmp_path / name))
    assert result["failure_class"] == "bad_request" and name in result["msg"]
