# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts of the stand-in that fail, hang, lie or are interrupted."""

from __future__ import annotations

import signal
import subprocess
import time

import pytest
from simulated_server import DFLASH, SimulatedServer


def started(tmp_path, *args, **more):
    with SimulatedServer(tmp_path, *args, **more) as server:
        return server.wait_ready().log


@pytest.mark.parametrize(
    ("fault", "status", "message"),
    [
        ("import:crash:3", 3, ""),
        ("import:crash:import", 1, "ImportError"),
        ("args:crash:1", 1, ""),
        ("load:crash:oom", -9, "torch.OutOfMemoryError: CUDA out of memory"),
        ("load:crash:missing_weights", -9, "Cannot find any model weights with `org/model`"),
        ("draft:crash:missing_draft_weights", -9, "Cannot find any model weights with `org/draft`"),
        ("graphs:crash:graph", -9, "Capture cuda graph failed"),
        ("load:crash:SIGKILL", 1, "Rank 0 scheduler died during initialization (exit code: -9)"),
        ("bind:crash:7", 7, ""),
        ("ready:crash:SIGSEGV", -11, ""),
    ],
)
def test_a_start_can_crash_at_each_stage(tmp_path, fault, status, message):
    with SimulatedServer(tmp_path, *DFLASH, env={"SIM_FAULT": fault}) as server:
        assert server.wait_exit() == status
        assert message in server.log
        assert "fired up" not in server.log
        if status == -9:
            assert "Scheduler hit an exception: Traceback" in server.log
            assert "Received sigquit from a child process. It usually means the child failed." in server.log
            assert "kill_process_tree called: parent_pid=%d, include_parent=True" % server.process.pid in server.log


@pytest.mark.parametrize("stage", ["import", "args", "load", "draft", "graphs", "bind", "warmup", "ready"])
def test_a_start_can_hang_at_each_stage(tmp_path, stage):
    last = {"import": "UserWarning", "args": "UserWarning", "load": "Load weight begin", "draft": "type=Qwen3ForCausalLM",
            "graphs": "Memory pool end", "bind": "Application startup complete", "warmup": "GET /model_info",
            "ready": "POST /generate"}  # fmt: skip
    with SimulatedServer(tmp_path, *DFLASH, env={"SIM_FAULT": f"{stage}:hang"}) as server:
        server.wait_line(last[stage])
        with pytest.raises(subprocess.TimeoutExpired):
            server.wait_exit(0.3)
        assert "fired up" not in server.log


def test_a_start_can_lie(tmp_path):
    args = (*DFLASH, "--speculative-draft-window-size", "2048")
    assert "draft_window_size=None, compact_cache=False" in started(
        tmp_path, *args, env={"SIM_FAULT": "draft:lie:window_none"}
    )
    with SimulatedServer(tmp_path, env={"SIM_FAULT": "ready:lie:no_bind"}) as server:
        server.wait_ready()
        with pytest.raises(ConnectionRefusedError):
            server.get("/v1/models")
    with SimulatedServer(tmp_path, env={"SIM_FAULT": "ready:lie:early,load:hang"}) as server:
        server.wait_ready()
        assert "Load weight end" not in server.log


@pytest.mark.parametrize("fault", ["nonsense", "load:explode", "serving:lie:other", "load:hang@sometimes=1"])
def test_a_fault_that_is_not_understood_is_said(tmp_path, fault):
    with SimulatedServer(tmp_path, env={"SIM_FAULT": fault}) as server:
        assert server.wait_exit() == 1
        assert "SIM_FAULT" in server.log


def test_sigterm_during_the_load_ends_all_at_once(tmp_path):
    with SimulatedServer(tmp_path, env={"SIM_LOAD_SECONDS": "30"}) as server:
        server.wait_line("Load weight begin")
        server.process.send_signal(signal.SIGTERM)
        assert server.wait_exit() == -signal.SIGTERM
        deadline = time.monotonic() + 60
        while (left := members(server.process.pid)) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not left


def test_sigterm_while_the_children_import_orphans_them(tmp_path):
    # Where the machine takes longer than that import until the launcher has gone, once more with a longer one.
    for seconds in (1, 5, 25):
        began = time.monotonic()
        with SimulatedServer(tmp_path, env={"SIM_CHILD_IMPORT_SECONDS": str(seconds)}) as server:
            server.wait_line("server_args=")
            while "sglang::detoken" not in server.children():
                time.sleep(0.01)
            server.process.send_signal(signal.SIGTERM)
            assert server.wait_exit() == -signal.SIGTERM
            left = members(server.process.pid)
            if time.monotonic() - began > seconds:
                continue
            assert any("sglang::schedul" in line for line in left)
            deadline = time.monotonic() + 60
            while "BrokenPipeError" not in server.log and time.monotonic() < deadline:
                time.sleep(0.05)
            assert "BrokenPipeError" in server.log
            assert any("sglang::detoken" in line for line in members(server.process.pid))
            return
    pytest.fail("no launcher was gone before its children had imported")


def members(session):
    """Living processes of a session, as `pid comm`."""
    out = subprocess.run(["ps", "-o", "pid=,stat=,comm=", "-s", str(session)], stdout=subprocess.PIPE, text=True,
                         check=False).stdout  # fmt: skip
    return [line for line in out.splitlines() if line.split()[1][0] != "Z"]
