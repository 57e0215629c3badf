# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-in's command line, log lines and start-up, release by release."""

from __future__ import annotations

import ast
import os
import pathlib
import re
import socket
import subprocess
import sys
import time

import pytest
from simulated_server import DFLASH, FAST, SIMULATOR, SimulatedServer

PREFIX = r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d%s\] "


def refused(tmp_path, *args, version="0.5.15.post1", fork="", **more):
    """(exit status, output) of a server that must not start."""
    with SimulatedServer(tmp_path, *args, version=version, fork=fork, **more) as server:
        return server.wait_exit(), server.log


def started(tmp_path, *args, **more):
    with SimulatedServer(tmp_path, *args, **more) as server:
        return server.wait_ready().log


@pytest.mark.parametrize("version", ["0.5.6", "0.5.9", "0.5.10", "0.5.12", "0.5.14", "0.5.16", "0.5.19", "0.5.23"])
def test_every_release_starts_without_speculation(tmp_path, version):
    log = started(tmp_path, version=version)
    assert "Initialized" not in log
    assert ("is still supported, but" in log) is (version not in ("0.5.6", "0.5.9"))


@pytest.mark.parametrize("version", ["0.5.11", "0.5.12.post1", "0.5.13", "0.5.15.post1", "0.5.18", "0.5.23"])
def test_the_line_of_the_draft_runner_shows_the_window(tmp_path, version):
    flag = "--speculative-dflash-draft-window-size" if version == "0.5.11" else "--speculative-draft-window-size"
    log = started(tmp_path, *DFLASH, flag, "2048", "--speculative-num-draft-tokens", "8", version=version)
    assert re.search(
        PREFIX % "" + r"Initialized DFLASH draft runner\. attention_backend=\w+, model=DFlashDraftModel, "
        r"block_size=8, draft_window_size=2048, compact_cache=True$",
        log,
        re.M,
    )


def test_without_the_flag_the_line_says_none(tmp_path):
    assert "block_size=16, draft_window_size=None, compact_cache=False" in started(tmp_path, *DFLASH)


def test_ranks_are_named_only_where_there_are_several(tmp_path):
    log = started(tmp_path, *DFLASH, "--tp", "2")
    # A bar of rank 0 has no line feed while it moves, so that rank 1's line may stand behind it.
    assert len(re.findall(r" TP[01]\] Load weight end", log)) == 4
    assert len(re.findall(r"TP1\] Load weight end", log)) == 2
    assert len(re.findall(PREFIX % " TP0" + "Initialized DFLASH", log, re.M)) == 1
    assert re.search(PREFIX % "" + "server_args=", log, re.M)
    assert " TP0" not in started(tmp_path)


def test_the_order_of_a_start_with_dflash(tmp_path):
    log = started(tmp_path, *DFLASH, "--speculative-draft-window-size", "2048", env={"SGLANG_LOG_MS": "1"})
    order = ["UserWarning", "reset to 48", "server_args=", "Init torch distributed begin", "type=Qwen3ForCausalLM",
             "type=DFlashDraftModel", "Initialized DFLASH", "DFLASH draft runner ready", "Capture target verify CUDA graph end",
             "Capture draft verify CUDA graph end", "max_total_num_tokens=", "Started server process",
             "Application startup complete", "Uvicorn running on", "GET /model_info", "POST /generate", "fired up"]  # fmt: skip
    places = [log.index(part) for part in order]
    assert places == sorted(places)
    assert re.search(r"\d\d:\d\d:\d\d\.\d{3}\] Load weight begin", log)


def test_older_releases_capture_graphs_before_the_draft(tmp_path):
    log = started(tmp_path, *DFLASH, version="0.5.12")
    assert log.index("Capture cuda graph end. Time elapsed") < log.index("Initialized DFLASH")
    assert "Overlap scheduler is disabled when using DFLASH" in log


def test_progress_comes_with_carriage_returns(tmp_path):
    assert re.search(r"\rMulti-thread loading shards: +\d+% Completed \| 1/4 [^\n]*\r", started(tmp_path))


@pytest.mark.parametrize(("version", "form"), [("0.5.18", r"ServerArgs\((.*)\)$"), ("0.5.19", r"(\{.*\})$")])
def test_server_args_change_their_form(tmp_path, version, form):
    log = started(tmp_path, "--api-key", "secret-1", version=version)
    found = re.search(r"\] server_args=" + form, log, re.M).group(1)
    if version == "0.5.19":
        assert ast.literal_eval(found)["api_key"] == "secret-1"
    else:
        assert "api_key='secret-1'" in found


@pytest.mark.parametrize("version", ["0.5.12", "0.5.15.post1", "0.5.20"])
def test_the_old_name_of_the_window_flag(tmp_path, version):
    flag = [*DFLASH, "--speculative-dflash-draft-window-size", "2048"]
    if version == "0.5.20":
        status, log = refused(tmp_path, *flag, version=version)
        assert status == 2
        assert log.endswith("error: unrecognized arguments: --speculative-dflash-draft-window-size 2048\n")
        return
    log = started(tmp_path, *flag, version=version)
    warned = "\033[1;33m'--speculative-dflash-draft-window-size' is deprecated and will be removed" in log
    assert warned is (version != "0.5.12")
    assert "draft_window_size=2048" in log


@pytest.mark.parametrize(
    ("version", "args", "message"),
    [
        (
            "0.5.11",
            ["--speculative-draft-window-size", "8"],
            "unrecognized arguments: --speculative-draft-window-size 8",
        ),
        ("0.5.10", ["--speculative-algorithm", "DFLASH"], "invalid choice: 'DFLASH'"),
        ("0.5.11", ["--speculative-algorithm", "dflash"], "invalid choice: 'dflash'"),
        ("0.5.15", ["--speculative-draft-window-size", "2k"], "invalid int value: '2k'"),
        ("0.5.20", ["--cuda-graph-max-bs", "8"], "ambiguous option: --cuda-graph-max-bs could match"),
        ("0.5.15", ["--pp", "1"], "ambiguous option: --pp could match"),
        ("0.5.15", ["--tp"], "argument --tp-size/--tensor-parallel-size: expected one argument"),
        ("0.5.15", ["--no-such-flag"], "sglang serve: error: unrecognized arguments: --no-such-flag"),
    ],
)
def test_a_bad_flag_is_exit_2_with_usage(tmp_path, version, args, message):
    status, log = refused(tmp_path, *args, version=version)
    assert status == 2
    assert "usage: sglang serve [-h]" in log
    assert message in log


def test_abbreviations_work_and_the_last_word_wins(tmp_path):
    log = started(tmp_path, *DFLASH, "--speculative-draft-window", "4096", "--speculative-draft-window-size", "2048")
    assert "draft_window_size=2048" in log


@pytest.mark.parametrize(
    ("version", "args", "message"),
    [
        ("0.5.15", DFLASH[:2], "DFLASH speculative decoding requires setting --speculative-draft-model-path."),
        ("0.5.15", [*DFLASH, "--pp-size", "2"], "Currently DFLASH speculative decoding only supports pp_size == 1."),
        ("0.5.15", [*DFLASH, "--enable-dp-attention"], "Currently DFLASH speculative decoding does not support dp attention"),
        ("0.5.23", [*DFLASH, "--attn-dp-size", "2"], "DFLASH with dp attention requires --enable-dp-lm-head."),
        ("0.5.15", [*DFLASH, "--speculative-draft-window-size", "0"],
         "ValueError: --speculative-draft-window-size must be positive, got 0."),
        ("0.5.15", [*DFLASH, "--speculative-draft-window-size", "4", "--speculative-num-draft-tokens", "8"],
         "ValueError: --speculative-draft-window-size must be >= --speculative-num-draft-tokens (block_size). "
         "window_size=4, block_size=8."),
        ("0.5.15", [*DFLASH, "--speculative-dflash-block-size", "8", "--speculative-num-draft-tokens", "16"],
         "Both --speculative-num-draft-tokens and --speculative-dflash-block-size are set but they differ"),
        ("0.5.12", ["--speculative-algorithm", "typo"], "ValueError: Unknown speculative algorithm name: TYPO"),
        ("0.5.23", [*DFLASH, "--device", "cpu"],
         "ValueError: DFLASH speculative decoding is not supported by CpuSRTPlatform on device 'cpu'."),
        ("0.5.15", ["--speculative-algorithm", "DFLASH", "--speculative-draft-model-path", "/no/draft"],
         "OSError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/no/draft'"),
        ("0.5.15", ["--ssl-certfile", "x.pem"], "Both --ssl-keyfile and --ssl-certfile must be specified"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_a_traceback_and_exit_1(tmp_path, version, args, message):
    status, log = refused(tmp_path, *args, version=version)
    assert status == 1
    assert "Traceback (most recent call last):" in log
    assert message in log
    assert "server_args=" not in log


def test_a_draft_says_its_block_size_and_window(tmp_path):
    draft = tmp_path / "draft"
    draft.mkdir()
    (draft / "config.json").write_text('{"architectures": ["DFlashDraftModel"], "dflash_config": {"block_size": 4}}')
    args = ("--speculative-algorithm", "DFLASH", "--speculative-draft-model-path", str(draft))
    assert "block_size=4" in started(tmp_path, *args)
    mismatch = started(tmp_path, *args, "--speculative-num-draft-tokens", "8")
    assert "using speculative_num_draft_tokens=8 but draft config block_size=4." in mismatch


@pytest.mark.parametrize("version", ["0.5.11", "0.5.15.post1"])
def test_a_fork_has_its_word_and_its_flags(tmp_path, version):
    args = ["--speculative-algorithm", "DDTREE", "--speculative-draft-model-path", "org/draft",
            "--speculative-dflash-draft-window-size", "2048", "--speculative-ddtree-budget", "8",
            "--speculative-ddtree-topk", "4", "--speculative-num-draft-tokens", "8", "--tp", "2"]  # fmt: skip
    log = started(tmp_path, *args, version=version, fork="ddtree")
    assert re.search(PREFIX % " TP0" + "Initialized DDTREE draft runner.*draft_window_size=2048", log, re.M)
    status, log = refused(tmp_path, *args, version=version)
    assert status == 2


def test_a_config_file_comes_before_the_command_line(tmp_path):
    path = tmp_path / "keys.yaml"
    path.write_text("# keys\napi-key: \"sk-1: x\"\nadmin-api-key: 'sk-2'\ntp-size: 2\nenable-metrics: true\n")
    with SimulatedServer(tmp_path, "--config", str(path), "--tp-size", "1") as server:
        server.wait_ready()
        assert server.get("/v1/models").status == 401
        key = {"Authorization": "Bearer sk-1: x"}
        info = server.get("/server_info", headers=key).json
        assert (info["tp_size"], info["enable_metrics"], info["admin_api_key"]) == (1, True, "sk-2")
        assert server.call("POST", "/flush_cache", headers=key).status == 401
        assert server.call("POST", "/flush_cache", headers={"Authorization": "Bearer sk-2"}).status == 200


@pytest.mark.parametrize(("name", "text"), [("x.txt", "a: 1"), ("x.yaml", "- a\n- b"), ("x.yaml", "no-such-key: 1")])
def test_a_config_file_that_cannot_be_read(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    status, log = refused(tmp_path, "--config", str(path))
    assert status in (1, 2)
    assert "server_args=" not in log


@pytest.mark.parametrize("level", ["warning", "error"])
def test_a_log_level_hides_what_is_below(tmp_path, level):
    with SimulatedServer(tmp_path, *DFLASH, "--log-level", level) as server:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if server.get("/health").status == 200:
                    break
            except ConnectionRefusedError:
                time.sleep(0.02)
        else:
            pytest.fail("it was not healthy within 60 s")
        assert (
            "Initialized DFLASH" not in server.log and "fired up" not in server.log and "GET /health" not in server.log
        )
        assert ("Fail to set RLIMIT_NOFILE" in server.log) is (level == "warning")


def test_without_a_warm_up_the_ready_line_may_come_before_the_port(tmp_path):
    log = started(tmp_path, "--skip-server-warmup")
    assert "POST /generate" not in log


def test_each_tokenizer_says_that_it_is_ready(tmp_path):
    with SimulatedServer(tmp_path, "--tokenizer-worker-num", "3") as server:
        server.wait_line("(?s)fired up.*fired up.*fired up")


def test_help_lists_the_flags_and_exits_0(tmp_path):
    status, log = refused(tmp_path, "--help")
    assert status == 0
    assert "--speculative-draft-window-size" in log


def test_the_first_line_comes_at_once(tmp_path):
    """By the processor time of all that it starts: what other tests take of the machine does not count."""
    with SimulatedServer(tmp_path) as server:
        server.wait_line("UserWarning")
        fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
        # utime, stime, and those of its children that have ended.
        ticks = sum(map(int, fields[11:15]))
    assert ticks / os.sysconf("SC_CLK_TCK") < 0.3


def test_the_processes_have_their_titles(tmp_path):
    with SimulatedServer(tmp_path, "--tp", "2") as server:
        server.wait_ready()
        command = subprocess.run(["ps", "-o", "args=", "--ppid", str(server.process.pid)], stdout=subprocess.PIPE,
                                 text=True, check=True).stdout  # fmt: skip
        titles = sorted(line.split()[0] for line in command.splitlines() if line.startswith("sglang::"))
        assert titles == ["sglang::detokenizer", "sglang::scheduler_TP0", "sglang::scheduler_TP1"]
        assert {"sglang::schedul", "sglang::detoken"} <= set(server.children())


def test_the_port_is_closed_until_loaded_and_unready_until_warm(tmp_path):
    slow = {"SIM_LOAD_SECONDS": "0.6", "SIM_WARMUP_SECONDS": "1.2"}
    with SimulatedServer(tmp_path, env=slow, version="0.5.23") as server:
        server.wait_line("Load weight begin")
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", server.port)) != 0
        server.wait_line("Uvicorn running on")
        statuses = {
            path: server.get(path).status for path in ("/health", "/ready", "/ping", "/v1/models", "/server_info")
        }
        assert statuses == {"/health": 503, "/ready": 503, "/ping": 503, "/v1/models": 200, "/server_info": 200}
        assert server.chat().status == 200
        server.wait_ready()
        assert [server.get(path).status for path in ("/health", "/ready", "/ping")] == [200, 200, 200]


def test_a_healthy_answer_takes_a_second(tmp_path):
    with SimulatedServer(tmp_path, env={"SIM_PACE": "1"}) as server:
        assert 1.0 <= server.wait_ready().get("/health").seconds < 20


def test_an_environment_of_its_own(tmp_path):
    made = subprocess.run([sys.executable, str(SIMULATOR / "install.py"), str(tmp_path / "env"), "--version", "0.5.19",
                           "--fork", "ddtree", "--python", sys.executable], stdout=subprocess.PIPE, text=True, check=True)  # fmt: skip
    python = made.stdout.strip()
    code = "import importlib.metadata as m, sys; print(m.version('sglang'), sys.prefix)"
    seen = subprocess.run([python, "-c", code], stdout=subprocess.PIPE, text=True, check=True, cwd="/").stdout.split()
    assert seen == ["0.5.19", str(tmp_path / "env")]
    bad = subprocess.run([python, "-m", "sglang.launch_server", "--model-path", "a/b", "--speculative-ddtree-budget", "8",
                          "--nope"], env=FAST, stderr=subprocess.PIPE, text=True, check=False, cwd="/")  # fmt: skip
    assert bad.returncode == 2
    assert bad.stderr.endswith("unrecognized arguments: --nope\n")
