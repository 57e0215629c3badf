# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the stand-in answers: routes, streams, speculation figures, keys, and the faults of its answers."""

from __future__ import annotations

import concurrent.futures
import http.client
import itertools
import json
import re
import socket
import ssl
import statistics
import subprocess
import time

import pytest
from simulated_server import DFLASH, SimulatedServer

from ansible_collections.llmops.sglang.plugins.module_utils._built_in_tasks import BUILT_IN

WINDOW = (*DFLASH, "--speculative-draft-window-size", "2048", "--speculative-num-draft-tokens", "8")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    with SimulatedServer(
        tmp_path_factory.mktemp("plain"), *WINDOW, "--enable-metrics", "--enable-cache-report"
    ) as server:
        yield server.wait_ready()


def serve(tmp_path, *args, fault="", **env):
    more = {key: env.pop(key) for key in ("version", "fork") if key in env}
    return SimulatedServer(tmp_path, *args, env={"SIM_FAULT": fault, **env}, **more)


def test_a_stream_has_several_tokens_a_chunk(plain):
    events = plain.chat(max_tokens=64, stream=True, stream_options={"include_usage": True}).events
    assert events[-1] == "[DONE]"
    assert events[0]["choices"][0]["delta"] == {"reasoning_content": None, "role": "assistant", "content": ""}
    assert events[-2]["choices"] == [] and events[-2]["usage"]["completion_tokens"] == 64
    assert events[-3]["choices"][0]["finish_reason"] == "length"
    chunks = events[1:-3]
    assert len(chunks) < 40
    assert "usage" not in chunks[0]


def test_continuous_usage_gives_the_tokens_of_each_chunk(plain):
    options = {"include_usage": True, "continuous_usage_stats": True}
    events = plain.chat("count", max_tokens=64, stream=True, stream_options=options).events
    counts = [event["usage"]["completion_tokens"] for event in events[1:-3]]
    steps = [after - before for before, after in zip([0, *counts], counts)]
    assert steps[0] == 1 and counts[-1] == 64
    assert all(1 <= step <= 8 for step in steps)


def test_temperature_0_repeats_and_1_does_not(plain):
    def text(**more):
        return plain.chat("Tell a story", max_tokens=40, **more).json["choices"][0]["message"]["content"]

    assert text() == text()
    assert text(temperature=1) != text(temperature=1)
    assert text(temperature=1, seed=5) == text(temperature=1, seed=5)


def test_the_text_is_english_that_does_not_loop(plain):
    text = plain.chat("Write about the sea", max_tokens=400).json["choices"][0]["message"]["content"]
    sentences = re.split(r"[.\n]+\s*", text)
    assert len(set(sentences)) == len(sentences)
    assert len(set(text.lower().split())) > 60


def test_an_answer_ends_by_itself(plain):
    answer = plain.chat("Say OK", max_tokens=50).json
    assert answer["choices"][0]["message"]["content"] == "OK."
    assert (answer["choices"][0]["finish_reason"], answer["choices"][0]["matched_stop"]) == ("stop", 2)
    longer = plain.chat("Say OK", max_tokens=50, ignore_eos=True).json
    assert longer["usage"]["completion_tokens"] == 50
    stopped = plain.chat("Tell me", max_tokens=400, stop=["."]).json["choices"][0]
    assert stopped["finish_reason"] == "stop" and stopped["matched_stop"] == "."
    assert "." not in stopped["message"]["content"]


def test_the_prefix_cache_counts(plain):
    text = "word " * 200 + str(time.monotonic_ns())
    first, second = (plain.chat(text).json["usage"] for _dummy in range(2))
    assert first["prompt_tokens"] == second["prompt_tokens"] > 200
    assert second["prompt_tokens_details"]["cached_tokens"] == second["prompt_tokens"] - 1
    assert plain.call("POST", "/flush_cache").status == 200
    assert plain.chat(text).json["usage"]["prompt_tokens_details"]["cached_tokens"] == 0


@pytest.mark.parametrize("style", ["right", "wrong", "none"])
def test_coding_answers(tmp_path, style):
    with serve(tmp_path, SIM_CODE=style) as server:
        server.wait_ready()
        for task in BUILT_IN[:5]:
            answer = server.chat(task.prompt, max_tokens=512).json["choices"][0]
            found = re.search(r"```python\n(.*?)```", answer["message"]["content"], re.S)
            assert (found is None) is (style == "none")
            if found:
                space = {}
                exec(found.group(1), space)
                right = [space[task.entry_point](*case.args) == case.expected for case in task.cases]
                assert all(right) is (style == "right")
                assert answer["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("version", "there", "absent"),
    [
        ("0.5.10", {"spec_accept_histogram", "spec_accept_token_num", "spec_draft_token_num"}, {"spec_num_correct_drafts"}),
        ("0.5.11", {"spec_accepted_drafts", "spec_proposed_drafts"}, {"spec_num_correct_drafts"}),
        ("0.5.15.post1", {"spec_accepted_drafts", "spec_num_correct_drafts", "spec_accept_histogram",
                          "spec_correct_drafts_histogram"}, set()),
        ("0.5.21", {"spec_num_correct_drafts", "spec_correct_drafts_histogram"},
         {"spec_accepted_drafts", "spec_accept_histogram"}),
    ],
)  # fmt: skip
def test_generate_names_its_figures_as_the_release_does(tmp_path, version, there, absent):
    args = ("--speculative-algorithm", "EAGLE3") if version == "0.5.10" else DFLASH
    with SimulatedServer(tmp_path, *args, version=version) as server:
        info = server.wait_ready().generate(tokens=64).json["meta_info"]
        assert {"spec_verify_ct", "spec_accept_length", "spec_accept_rate", *there} <= set(info)
        assert not absent & set(info)
        assert info["spec_accept_length"] == pytest.approx(64 / info["spec_verify_ct"])
    with SimulatedServer(tmp_path, version=version) as server:
        assert not [key for key in server.wait_ready().generate().json["meta_info"] if key.startswith("spec_")]


def test_openai_routes_carry_figures_only_when_asked(tmp_path):
    with SimulatedServer(tmp_path, *DFLASH, version="0.5.19") as server:
        server.wait_ready()
        assert "sglext" not in server.chat().json
        answer = server.chat(max_tokens=32, return_spec_tokens_details=True, return_meta_info=True).json
        assert answer["sglext"]["spec_tokens_details"]["spec_verify_ct"] > 0
        assert answer["choices"][0]["meta_info"]["spec_verify_ct"] > 0
        events = server.chat(max_tokens=32, stream=True, return_spec_tokens_details=True).events
        assert any("sglext" in event for event in events if event != "[DONE]")
    with SimulatedServer(tmp_path, *DFLASH, version="0.5.18") as server:
        assert "sglext" not in server.wait_ready().chat(return_spec_tokens_details=True).json


def test_a_fixed_acceptance_is_exact(tmp_path):
    with serve(tmp_path, *WINDOW, SIM_ACCEPTANCE="3.5") as server:
        info = server.wait_ready().generate(tokens=1 + 350).json["meta_info"]
        assert (info["spec_verify_ct"], info["spec_num_correct_drafts"]) == (100, 250)


def told(truth):
    """The rows of a truth log, and the seconds from one step to the next by the server's schedule, which no other load changes."""
    rows = [json.loads(line) for line in truth.read_text().splitlines()]
    return rows, [late - early for row in rows for early, late in itertools.pairwise(row["scheduled_monotonic"])]


def acceptance(server, words):
    answers = [server.generate("word%d " % i * words, 200).json["meta_info"] for i in range(3)]
    return sum(a["spec_num_correct_drafts"] for a in answers) / sum(a["spec_verify_ct"] for a in answers)


def test_the_window_keeps_acceptance_at_long_context(tmp_path):
    fast = {"SIM_SPEED": "20"}
    with SimulatedServer(tmp_path, *WINDOW, env=fast) as server:
        short, windowed = acceptance(server.wait_ready(), 30), acceptance(server, 6000)
    with SimulatedServer(tmp_path, *WINDOW[:4], *WINDOW[6:], env=fast) as server:
        unbounded = acceptance(server.wait_ready(), 6000)
    assert unbounded < 0.8 * windowed
    assert windowed > 0.85 * short


def test_a_tree_accepts_more_and_costs_more(tmp_path):
    def measured(budget, topk):
        args = ("--speculative-algorithm", "DDTREE", "--speculative-draft-model-path", "org/draft",
                "--speculative-ddtree-budget", budget, "--speculative-ddtree-topk", topk)  # fmt: skip
        truth = tmp_path / f"truth-{budget}.jsonl"
        with SimulatedServer(tmp_path, *args, fork="ddtree", env={"SIM_TRUTH_LOG": str(truth)}) as server:
            server.wait_ready()
            truth.unlink()
            info = [server.generate(f"story {i}", 200).json["meta_info"] for i in range(3)]
        length = sum(i["completion_tokens"] for i in info) / sum(i["spec_verify_ct"] for i in info)
        return length, statistics.median(told(truth)[1])

    narrow, wide = measured("8", "1"), measured("64", "4")
    assert wide[0] > 1.1 * narrow[0]
    assert wide[1] > 1.05 * narrow[1]


def test_speculation_is_faster_alone_than_in_a_crowd(tmp_path):
    def speed(streams, *args):
        truth = tmp_path / f"truth-{streams}-{len(args)}.jsonl"
        with serve(tmp_path, *args, SIM_TRUTH_LOG=str(truth)) as server:
            server.wait_ready()
            truth.unlink()
            with concurrent.futures.ThreadPoolExecutor(streams) as pool:
                list(pool.map(lambda i: server.generate(f"{i} tale", 300), range(streams)))
        rows, steps = told(truth)
        chunks = [size for row in rows for size in row["chunk_sizes"][1:]]
        return statistics.mean(chunks) / statistics.median(steps)

    alone, crowd = (speed(streams, *DFLASH) / speed(streams) for streams in (1, 24))
    assert alone > 1.5
    assert crowd < 0.8 * alone


def test_requests_above_the_limit_queue(tmp_path):
    truth = tmp_path / "truth.jsonl"
    limit = ("--max-running-requests", "2")
    with serve(tmp_path, *limit, SIM_STEP_MS="5", SIM_PREFILL_MS="1", SIM_TRUTH_LOG=str(truth)) as server:
        server.wait_ready()
        truth.unlink()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            with server.held():
                futures = [pool.submit(server.generate, f"{i} tale", 150) for i in range(4)]
                while server.get("/get_load").json[0]["num_reqs"] < 4:
                    time.sleep(0.01)
            seen = set()
            while (2, 2) not in seen and not all(future.done() for future in futures):
                loads = server.get("/v1/loads").json["loads"][0]
                seen.add((loads["num_running_reqs"], loads["num_waiting_reqs"]))
            assert (2, 2) in seen and max(running for running, _dummy in seen) == 2
            assert server.call("POST", "/flush_cache").text == "Flush cache failed.\n"
            assert [future.result().status for future in futures] == [200] * 4
    rows = sorted(told(truth)[0], key=lambda row: row["first_token_monotonic"])
    assert rows[2]["first_token_monotonic"] > min(row["last_token_monotonic"] for row in rows[:2])
    assert rows[3]["first_token_monotonic"] > max(row["last_token_monotonic"] for row in rows[:2])


def test_32_streams_keep_the_schedule_and_the_truth_log_tells_it(tmp_path):
    truth = tmp_path / "truth.jsonl"
    with serve(tmp_path, *WINDOW, SIM_TRUTH_LOG=str(truth), SIM_STEP_MS="25", SIM_ACCEPTANCE="4") as server:
        server.wait_ready()
        truth.unlink()
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            answers = list(pool.map(lambda i: server.chat(f"{i} tale", max_tokens=121, stream=True, ignore_eos=True,
                                                          timeout=120).status, range(32)))  # fmt: skip
        assert answers == [200] * 32
    rows, steps = told(truth)
    assert len(rows) == 32
    for row in rows:
        assert row["completion_tokens"] == sum(row["chunk_sizes"]) == 121
        assert row["chunk_sizes"][1:] == [4] * 30 and row["verify_steps"] == 30
    late = [
        moment - planned for row in rows for moment, planned in zip(row["chunk_monotonic"], row["scheduled_monotonic"])
    ]
    assert min(late) > -0.001
    # What is late does not add up: each step is planned from the one before, whenever that one went out.
    assert statistics.median(steps) == pytest.approx(0.025, abs=1e-6)


def test_reasoning_comes_apart(tmp_path):
    with SimulatedServer(tmp_path, *DFLASH, "--reasoning-parser", "qwen3") as server:
        message = server.wait_ready().chat(max_tokens=300)
        both = message.json["choices"][0]["message"]
        assert both["reasoning_content"] and both["content"]
        assert message.json["usage"]["reasoning_tokens"] > 10
        eaten = server.chat(max_tokens=8).json["choices"][0]["message"]
        assert eaten["reasoning_content"] and eaten["content"] == ""
        quiet = server.chat(max_tokens=8, chat_template_kwargs={"enable_thinking": False}).json["choices"][0]["message"]
        assert quiet["reasoning_content"] is None and quiet["content"]
        events = server.chat(max_tokens=300, stream=True).events[1:-2]
        deltas = [event["choices"][0]["delta"] for event in events]
        assert "".join(d.get("reasoning_content") or "" for d in deltas) == both["reasoning_content"]
        assert "".join(d.get("content") or "" for d in deltas) == both["content"]
        assert "content" not in deltas[0]


def test_content_is_null_when_thinking_eats_all_in_older_releases(tmp_path):
    with SimulatedServer(tmp_path, "--reasoning-parser", "qwen3", version="0.5.12") as server:
        assert server.wait_ready().chat(max_tokens=8).json["choices"][0]["message"]["content"] is None


def test_two_choices_and_tools(tmp_path):
    with SimulatedServer(tmp_path, "--tool-call-parser", "qwen") as server:
        answer = server.wait_ready().chat(n=2, temperature=1).json
        assert [choice["index"] for choice in answer["choices"]] == [0, 1]
        assert answer["usage"]["completion_tokens"] == 32
        tools = [{"type": "function", "function": {"name": "clock", "parameters": {}}}]
        called = server.chat("please call clock", tools=tools).json["choices"][0]
        assert called["finish_reason"] == "tool_calls"
        assert called["message"]["tool_calls"][0]["function"] == {"name": "clock", "arguments": "{}"}
        assert server.chat("hello", tools=tools).json["choices"][0]["message"]["tool_calls"] is None


@pytest.mark.parametrize(("keys", "opened", "flush"), [
    (("--api-key", "k"), False, "k"),
    (("--admin-api-key", "a"), True, "a"),
    (("--api-key", "k", "--admin-api-key", "a"), False, "a"),
])  # fmt: skip
def test_keys(tmp_path, keys, opened, flush):
    with SimulatedServer(tmp_path, *keys) as server:
        server.wait_ready()
        assert [server.get(path).status for path in ("/health", "/metrics")] == [200, 404]
        wanted = 200 if opened else 401
        for path in ("/v1/models", "/model_info", "/server_info", "/ping", "/", "/v1/loads"):
            assert server.get(path).status == wanted
        assert server.chat().status == wanted
        assert server.call("POST", "/flush_cache").json == {"error": "Unauthorized"}
        for key in "ka":
            status = server.call("POST", "/flush_cache", headers={"Authorization": f"Bearer {key}"}).status
            assert status == (200 if key == flush else 401)


def test_several_tokenizers_forget_the_key(tmp_path):
    with SimulatedServer(tmp_path, "--api-key", "k", "--tokenizer-worker-num", "2") as server:
        assert server.wait_ready().get("/v1/models").status == 200


@pytest.mark.parametrize(("version", "there", "absent"), [
    ("0.5.11", {"version", "internal_states"}, {"kv_events", "launch_command", "startup_time", "frontend"}),
    ("0.5.15.post1", {"kv_events"}, {"launch_command", "startup_time"}),
    ("0.5.20", {"kv_events", "launch_command", "startup_time"}, {"frontend"}),
    ("0.5.23", {"launch_command", "frontend"}, set()),
])  # fmt: skip
def test_server_info_by_release(tmp_path, version, there, absent):
    flag = "dflash-draft" if version == "0.5.11" else "draft"
    with SimulatedServer(tmp_path, *DFLASH, f"--speculative-{flag}-window-size", "2048", "--api-key", "k",
                         version=version) as server:  # fmt: skip
        info = server.wait_ready().get("/server_info", headers={"Authorization": "Bearer k"}).json
        assert there <= set(info) and not absent & set(info)
        window = "speculative_dflash_draft_window_size" if version == "0.5.11" else "speculative_draft_window_size"
        assert info[window] == 2048 and info["speculative_algorithm"] == "DFLASH"
        assert (info["max_running_requests"], info["api_key"], info["version"]) == (48, "k", version)
        assert isinstance(info["internal_states"][0]["memory_usage"]["graph"], dict) is (
            version in ("0.5.20", "0.5.23")
        )


def test_the_average_acceptance_shows_after_a_log_interval(tmp_path):
    with serve(tmp_path, *WINDOW, "--enable-metrics", SIM_ACCEPTANCE="4", SIM_SPEED="10") as server:
        server.wait_ready().generate(tokens=40)
        assert "avg_spec_accept_length" not in server.get("/server_info").json["internal_states"][0]
        server.generate(tokens=400)
        assert server.get("/server_info").json["internal_states"][0]["avg_spec_accept_length"] == 4.0
        line = server.wait_line(r"Decode batch, #running-req: 1, .*accept len: ([\d.]+), accept rate: ([\d.]+), cuda graph: "
                                r"True, gen throughput \(token/s\): [\d.]+, #queue-req: 0$")  # fmt: skip
        assert line.groups() == ("4.00", "0.43")
        assert re.search(r"^sglang:spec_accept_length\{.*\} 4\.0$", server.get("/metrics").text, re.M)
        assert re.search(r"^sglang:spec_verify_calls_total\{.*\} \d+", server.get("/metrics").text, re.M)


def test_health_without_generation(tmp_path):
    with serve(tmp_path, SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION="false", SIM_PACE="20") as server:
        assert server.wait_ready().get("/health").seconds < 10


def test_made_up_acceptance(tmp_path):
    with serve(tmp_path, *WINDOW, SGLANG_SIMULATE_ACC_LEN="6") as server:
        info = server.wait_ready().generate(tokens=601).json["meta_info"]
        assert info["spec_verify_ct"] == 100


def test_tls(tmp_path):
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2",
                    "-subj", "/CN=localhost"], check=True, stderr=subprocess.DEVNULL)  # fmt: skip
    with serve(tmp_path, "--ssl-keyfile", str(key), "--ssl-certfile", str(cert)) as server:
        server.wait_ready().wait_line("Uvicorn running on https://127.0.0.1")
        context = ssl.create_default_context(cafile=str(cert))
        context.check_hostname = False
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context)
        connection.request("GET", "/v1/models")
        assert connection.getresponse().status == 200
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            server.get("/v1/models")


def test_an_idle_connection_is_closed_after_five_seconds(plain):
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", plain.port), timeout=60) as client:
        assert client.recv(1) == b"" and time.monotonic() - began > 4


def test_deprecated_routes_warn(plain):
    assert plain.get("/get_server_info").status == 200
    plain.wait_line(r"Endpoint '/get_server_info' is deprecated")
    assert plain.get("/get_weight_version").status == 404


def test_a_client_that_leaves_frees_its_place(tmp_path):
    with serve(tmp_path, SIM_STEP_MS="20") as server:
        server.wait_ready()
        body = json.dumps({"text": "x", "sampling_params": {"max_new_tokens": 20000}, "stream": True})
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(f"POST /generate HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode())
            assert client.recv(1000)
        deadline = time.monotonic() + 60
        while server.get("/v1/loads").json["loads"][0]["num_running_reqs"]:
            assert time.monotonic() < deadline
        assert server.call("POST", "/abort_request", {"abort_all": True}).status == 200


def test_keep_alive_serves_many_requests(plain):
    connection = http.client.HTTPConnection("127.0.0.1", plain.port)
    for _dummy in range(3):
        connection.request("GET", "/v1/models")
        reply = connection.getresponse()
        assert reply.status == 200 and reply.read()
    connection.close()
