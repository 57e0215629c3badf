# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Load clients of others: how they are found and called, and what is made of the results that they really wrote."""

from __future__ import annotations

import json
import os
import pathlib
import statistics

import load_clients
import pytest
from load_clients import (
    HELP,
    KEY,
    SGLANG,
    guidellm,
    job,
    measured,
    of_guidellm,
    sglang,
    write_result,
)

from ansible_collections.llmops.sglang.plugins.module_utils import _cell, _engine
from ansible_collections.llmops.sglang.plugins.module_utils._engine import EngineRunner
from ansible_collections.llmops.sglang.plugins.module_utils._engine_choice import engine_of
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._load_connection import endpoint
from ansible_collections.llmops.sglang.plugins.module_utils._load_generator import Load
from ansible_collections.llmops.sglang.plugins.module_utils._server_side import ServerSide
from ansible_collections.llmops.sglang.plugins.plugin_utils._json_schema import problems

host = load_clients.host

PLUGINS = pathlib.Path(__file__).resolve().parents[4] / "plugins"
SCHEMA = PLUGINS / "plugin_utils" / "record_schemas" / "benchmark_record.v1.json"


def test_a_chat_cell_of_the_compiled_client(host):
    recorded = SGLANG["chat"]
    found = measured(recorded, host)
    assert (found["requests"], found["succeeded"], found["errors"], found["short_outputs"]) == (8, 8, {}, 0)
    assert found["ttft_ms"]["mean"] == pytest.approx(recorded["mean_ttft_ms"], abs=0.001)
    assert found["tpot_ms"]["mean"] == pytest.approx(recorded["mean_tpot_ms"], rel=0.02)
    assert found["chunk_gap_ms"]["mean"] == pytest.approx(recorded["mean_itl_ms"], abs=0.001)
    assert found["output_tokens_per_second"] == pytest.approx(recorded["output_throughput"], abs=0.001)
    assert found["tpot_basis"] == "after_first_token"
    # What it does not tell is not known.
    assert found["steady_tokens_per_second"] is None and found["prompt_tokens"]["mean"] is None
    assert found["ttfo_ms"]["mean"] is None and found["dispatch_delay_ms"]["mean"] is None
    assert found["client"]["saturated"] is None and found["client"]["loop_lag_p99_ms"] is None
    assert found["finish_reasons"] == {}


def test_a_cell_of_the_native_route_has_its_chunks_back(host):
    """There the client spreads each gap over the tokens of its chunk: 5 tokens, then 1, 7, 2, 6 again and again."""
    recorded = SGLANG["native"]
    found = measured(recorded, host, api="generate")
    assert found["tpot_basis"] == "after_first_chunk"
    # Eight chunks behind the first one of each of eight requests: 28 tokens.
    assert found["chunk_gap_ms"]["n"] == 8 * 8
    took = statistics.mean(sum(itls) for itls in recorded["itls"]) * 1000
    assert found["chunk_gap_ms"]["mean"] == pytest.approx(took / 8, abs=0.001)
    assert found["tpot_ms"]["mean"] == pytest.approx(took / 28, abs=0.001)


def test_the_python_client_writes_the_same(host):
    recorded = SGLANG["python_client"]
    found = measured(recorded, host)
    assert found["succeeded"] == 8
    assert found["ttft_ms"]["mean"] == pytest.approx(recorded["mean_ttft_ms"], abs=0.001)


@pytest.mark.parametrize(
    ("name", "errors", "short"),
    [
        ("empty", {"no_token": 2}, 0),
        ("drop", {"reset": 2}, 0),
        ("http_500", {"http_error": 2}, 0),
        # It does not see this one: it shows as an answer that is too short.
        ("in_band_error", {}, 2),
        # Nor this one at all: whether the server counts is seen before.
        ("no_usage", {}, 0),
    ],
)
def test_failures_that_the_compiled_client_saw_and_did_not_see(host, name, errors, short):
    found = measured(SGLANG[name], host)
    assert (found["errors"], found["short_outputs"]) == (errors, short)
    assert found["succeeded"] == 8 - sum(errors.values())
    assert set(found["error_samples"]) == set(errors)


@pytest.mark.parametrize(
    ("api", "backend"), [("chat", "sglang-oai-chat"), ("completions", "sglang-oai"), ("generate", "sglang")]
)
def test_the_command_of_the_compiled_client(host, tmp_path, api, backend):
    made = host()
    client = sglang(made, environ={"PYTHONPATH": "/opt", "INVOCATION_ID": "a", "HF_HUB_OFFLINE": "0"}, api_key=KEY)
    words, environ = client.command(job(api=api, streams=8, ignore_eos=False), str(tmp_path))
    said = " ".join(words)
    assert client.client == "_bench.cpython-311-x86_64-linux-gnu.so" and client.version == "0.5.23"
    assert f"--backend {backend} --base-url http://127.0.0.1:30000" in said and "--max-concurrency 8" in said
    assert "--tokenizer /models/m" in said and "--warmup-requests 0" in said and "--disable-retokenize" in said
    assert "--disable-ignore-eos" in said
    assert ("continuous_usage_stats" in said) is (api != "generate")
    assert KEY not in said and environ["OPENAI_API_KEY"] == KEY
    assert environ["HF_HUB_OFFLINE"] == "1" and environ["PYTHONPATH"] == "/opt" and "INVOCATION_ID" not in environ
    file = words[words.index("--dataset-path") + 1]
    turns = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
    assert [one["conversations"][0]["value"] for one in turns] == [f"prompt {n}" for n in range(8)]
    assert all(len(one["conversations"]) == 2 for one in turns) and os.stat(file).st_mode & 0o077 == 0


def test_an_open_loop_has_a_rate_and_no_streams(host, tmp_path):
    words, dummy = sglang(host()).command(job(streams=None, rate=4.0), str(tmp_path))
    assert "--request-rate 4.0" in " ".join(words) and "--max-concurrency" not in words


def test_a_client_that_does_not_load_is_passed_over(host):
    made = host({"_bench": (1, "", "ImportError: wrong ELF class"), "sglang.benchmark.serving": (0, HELP, "")})
    client = sglang(made)
    assert client.client == "sglang.benchmark.serving" and client.words[1:] == ["-m", "sglang.benchmark.serving"]
    assert any("Python client" in caveat for caveat in client.caveats)
    assert not any("Python client" in caveat for caveat in sglang(host()).caveats)


def test_a_client_without_an_option_that_is_needed_is_passed_over(host):
    made = host({"_bench": (0, HELP.replace("--output-details", "--details"), "")})
    with pytest.raises(Failure) as caught:
        sglang(made)
    assert caught.value.failure_class == "missing_dependency"
    assert "lacks --output-details" in caught.value.msg and "sglang.bench_serving: gone" in caught.value.msg


def test_what_a_client_is_known_to_get_wrong_is_told(host):
    made = host()
    client = sglang(made)
    client.check("chat", "closed", "poisson")
    client.check("chat", "closed", "poisson")
    told = EngineRunner(client, made.run).described
    assert (told["name"], told["version"]) == ("sglang", "0.5.23")
    assert len([caveat for caveat in told["caveats"] if "first chunk" in caveat]) == 1
    assert any("error within a stream" in caveat for caveat in told["caveats"])


@pytest.mark.parametrize("engine", [sglang, guidellm])
def test_a_client_with_no_result_is_named_with_its_last_words(host, engine):
    made = host(
        {"_bench": (0, HELP, ""), "guidellm": (0, "guidellm version: 0.8.1", "")},
        result=lambda words: (1, "", "ValueError: the tokenizer is gone"),
    )
    with pytest.raises(Failure) as caught:
        EngineRunner(engine(made), made.run).measure(job())
    assert caught.value.failure_class == "missing_dependency" and "the tokenizer is gone" in caught.value.msg


def test_a_client_that_does_not_end_is_cut(host):
    made = host(result=lambda words: (124, "", ""))
    load = EngineRunner(sglang(made), made.run).measure(job(timeout=10.0))
    assert made.last[0][:4] == ["timeout", "-k", "10", "310"]
    assert load.timed_out and _cell.measures(load, 33)["errors"] == {"timeout": 8}


def test_a_prompt_that_was_never_sent_is_no_answer(host):
    """A client may pass prompts over, or end before it has sent them all."""
    made = host(result=write_result(SGLANG["chat"]))
    load = EngineRunner(sglang(made), made.run).measure(job(prompts=[f"prompt {n}" for n in range(10)]))
    found = _cell.measures(load, 33)
    assert (found["requests"], found["succeeded"], found["errors"]) == (10, 8, {"not_sent": 2})


def test_a_key_that_the_server_echoes_is_not_kept(host):
    recorded = {**SGLANG["http_500"]}
    recorded["errors"] = [error and f"Bad Request: invalid key {KEY}" for error in recorded["errors"]]
    made = host(result=write_result(recorded))
    load = EngineRunner(sglang(made, api_key=KEY), made.run).measure(job())
    assert _cell.measures(load, 33)["errors"] == {"http_error": 2} and KEY not in repr(load)
    made = host(result=lambda words: (1, "", f"no tokenizer; headers: Bearer {KEY}"))
    with pytest.raises(Failure) as caught:
        EngineRunner(sglang(made, api_key=KEY), made.run).measure(job())
    assert KEY not in caught.value.msg


def test_its_files_are_gone_afterwards_and_others_run_beside_it(host, tmp_path, monkeypatch):
    monkeypatch.setattr(_engine.tempfile, "tempdir", str(tmp_path))
    made = host(result=write_result(SGLANG["chat"]))
    looks = []

    async def look(load: Load):
        looks.append(load.max_in_flight)

    EngineRunner(sglang(made), made.run).measure(job(), [look])
    assert looks == [2] and not list(tmp_path.glob("llmops-sglang-engine-*"))


def test_tls_is_left_to_the_own_generator(host):
    with pytest.raises(Failure) as caught:
        sglang(host(), url="https://127.0.0.1:30000")
    assert caught.value.failure_class == "bad_request" and "builtin" in caught.value.msg


def test_the_arrivals_that_a_client_does_not_know_are_refused(host):
    with pytest.raises(Failure) as caught:
        sglang(host()).check("chat", "open", "constant")
    assert caught.value.failure_class == "bad_request"


class Target:
    """A server whose unit runs ARGV."""

    def __init__(self, argv, environ=None):
        self.argv, self.environ = argv, environ or {}
        self.side = ServerSide(endpoint("http://127.0.0.1:30000", None, {}))

    def process(self):
        return self.argv, self.environ

    def tokenizer(self):
        return "/models/m"


def chosen(host, target, **params):
    asked = {"engine": "sglang", "engine_python": None, "api": "chat", "load_model": "closed", "arrival": "poisson"}
    return engine_of({**asked, **params}, host.run, target)


def test_the_client_of_the_units_own_interpreter_is_taken(host, tmp_path):
    made, python = host(), tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("")
    python.chmod(0o755)
    serve = ["-m", "sglang.launch_server", "--model-path", "m"]
    for argv, environ in (
        ([str(python), "-u", *serve], {}),
        (["env", "A=1", str(python), *serve], {}),
        (["python", *serve], {"PATH": str(python.parent)}),
    ):
        runner = chosen(made, Target(argv, environ))
        assert runner.engine.words[0] == str(python) and runner.engine.tokenizer == "/models/m"
    assert chosen(made, Target([]), engine_python=str(python)).engine.words[0] == str(python)
    assert chosen(made, Target([]), engine="builtin") is None


@pytest.mark.parametrize(
    "argv", [[], ["docker", "run", "image", "python", "-m", "sglang.launch_server"], ["llama-server"]]
)
def test_a_server_with_no_interpreter_here_has_no_client_here(host, argv):
    with pytest.raises(Failure) as caught:
        chosen(host(), Target(argv))
    assert caught.value.failure_class == "missing_dependency" and "engine_python" in caught.value.msg


@pytest.mark.parametrize("name", ["chat", "native", "empty", "no_token_at_all"])
def test_the_measures_hold_against_the_schema_of_the_record(host, name):
    recorded = SGLANG["empty"] if name == "no_token_at_all" else SGLANG[name]
    if name == "no_token_at_all":
        recorded = {**recorded, "ttfts": [0.0] * 8}
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    cell = {"properties": schema["$defs"]["cell"]["properties"], "$defs": schema["$defs"]}
    for found in (measured(recorded, host, api="generate" if name == "native" else "chat"), of_guidellm("ok")):
        assert list(problems(found, cell)) == []
