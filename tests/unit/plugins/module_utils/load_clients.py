# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host whose load clients are answered by hand, with the results that they really wrote."""

from __future__ import annotations

import json
import pathlib
import sys

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _cell
from ansible_collections.llmops.sglang.plugins.module_utils._engine import EngineRunner, Job
from ansible_collections.llmops.sglang.plugins.module_utils._engine_guidellm import GuidellmClient, read_report
from ansible_collections.llmops.sglang.plugins.module_utils._engine_sglang import SglangClient
from ansible_collections.llmops.sglang.plugins.module_utils._load_connection import endpoint
from ansible_collections.llmops.sglang.plugins.module_utils._load_generator import Load

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "engines"


SGLANG = json.loads((FIXTURES / "sglang_results.json").read_text(encoding="utf-8"))


GUIDELLM = json.loads((FIXTURES / "guidellm_reports.json").read_text(encoding="utf-8"))


HELP = (FIXTURES / "sglang_help.txt").read_text(encoding="utf-8")


KEY = "sk-the-secret"


def job(**fields):
    asked = {
        "api": "chat",
        "model": "fake",
        "prompts": [f"prompt {n}" for n in range(8)],
        "max_tokens": 33,
        "temperature": 0.0,
    }
    asked.update({"ignore_eos": True, "streams": 2, "rate": None, "arrival": "poisson", "seed": 1, "timeout": 60.0})
    return Job(**{**asked, **fields})


class Host:
    """A host whose commands are answered by hand; ``clients`` maps a word of the command to its help (or its failure)."""

    def __init__(self, environment, clients, result=None):
        self.environment, self.clients, self.result = environment, clients, result
        self.calls = []
        extensions = environment / "sglang" / "srt" / "rust_extensions"
        extensions.mkdir(parents=True, exist_ok=True)
        (environment / "sglang" / "launch_server.py").write_text("")
        (extensions / "_bench.cpython-311-x86_64-linux-gnu.so").write_text("")

    def run(self, words, environ_update=None, check_rc=False, **dummy):
        self.calls.append((words, environ_update or {}))
        if "-I" in words and "metadata" in " ".join(words):
            stamp = f"{self.environment}/sglang/launch_server.py 1"
            return 0, f"llmops-sglang {json.dumps(['0.5.23', stamp])}\n", ""
        if "--version" in words:
            return self.clients.get("guidellm", (1, "", "No module named guidellm"))
        if "--help" in words:
            return next((answer for name, answer in self.clients.items() if name in " ".join(words)), (1, "", "gone"))
        return self.result(words)

    @property
    def last(self):
        return self.calls[-1]


@pytest.fixture
def host(tmp_path):
    def make(clients=None, result=None):
        return Host(tmp_path / "site-packages", {"_bench": (0, HELP, "")} if clients is None else clients, result)

    return make


def sglang(host, url="http://127.0.0.1:30000", environ=None, tokenizer="/models/m", api_key=None):
    server = endpoint(url, api_key, {})
    return SglangClient(host.run, sys.executable, environ or {}, server, tokenizer)


def guidellm(host, api_key=None, tokenizer="/models/m"):
    server = endpoint("http://127.0.0.1:30000", api_key, {})
    return GuidellmClient(host.run, ["/opt/g/bin/guidellm"], server, tokenizer)


def write_result(recorded):
    """What the client of SGLang does: a line in the file that it is told."""

    def client(words):
        with open(words[words.index("--output-file") + 1], "w", encoding="utf-8") as handle:
            handle.write(json.dumps(recorded) + "\n")
        return 0, "", ""

    return client


def measured(recorded, host, **fields):
    """The measures of a cell that was run with a client that leaves RECORDED."""
    made = host(result=write_result(recorded))
    load = EngineRunner(sglang(made), made.run).measure(job(**fields))
    return _cell.measures(load, 33)


GUIDE = {"guidellm": (0, "guidellm version: 0.8.1\n", "")}


def of_guidellm(name, **fields):
    samples, span = read_report(GUIDELLM[name], job(**fields))
    return _cell.measures(Load(samples=samples, span=span, watched=False), 33)
