# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-in as the nodes of one server: they meet, serve by their rank, and end with each other."""

from __future__ import annotations

import contextlib
import os
import re
import signal

import pytest
from simulated_server import DFLASH, SimulatedServer, free_port


@contextlib.contextmanager
def nodes(directory, *words, version="0.5.23", envs=({}, {}), start=(0, 1)):
    """Two nodes of a server, in the order in which they are started; returned in that of their ranks."""
    meeting = f"127.0.0.1:{free_port()}"
    common = ("--tp", "4", "--nnodes", "2", "--dist-init-addr", meeting, *DFLASH, *words)
    with contextlib.ExitStack() as stack:
        made = {}
        for rank in start:
            server = SimulatedServer(
                directory, *common, "--node-rank", str(rank), version=version, env=envs[rank] or None
            )
            made[rank] = stack.enter_context(server)
        yield [made[rank] for rank in sorted(made)]


def test_no_rank_is_loaded_before_the_others_are_there(tmp_path):
    with nodes(tmp_path, start=(0,)) as (alone,):
        alone.wait_line("TP1] Init torch distributed begin")
        alone.stays()
        assert "Init torch distributed ends" not in alone.log


def test_each_rank_says_and_serves_what_is_its_own(tmp_path):
    slow = {"SIM_FAULT": "load:drip:0.5"}
    with nodes(tmp_path, start=(1, 0), envs=({}, slow)) as (first, second):
        first.wait_ready()
        second.wait_line("Dummy health check server started in background thread at 127.0.0.1:")
        paths = ("/health", "/ping", "/health_generate", "/v1/models", "/server_info")
        assert [second.get(path).status for path in paths] == [200, 200, 200, 404, 404]
        assert [first.get(path).status for path in paths] == [200] * 5
        assert first.chat().status == 200
        # Rank 0 of the tensor-parallel group alone logs the draft runner; every rank logs the load of the drafter.
        assert "Initialized DFLASH" in first.log and "Initialized DFLASH" not in second.log
        for server, own, foreign in ((first, (0, 1), (2, 3)), (second, (2, 3), (0, 1))):
            for rank in own:
                assert len(re.findall(rf"TP{rank}\] Load weight end.*type=DFlashDraftModel", server.log)) == 1
            assert not any(f" TP{rank}]" in server.log for rank in foreign)
        assert "fired up" not in second.log and "Uvicorn running" not in second.log
        assert set(second.children()) == {"python", "sglang::schedul"} or "sglang::schedul" in second.children()


@pytest.mark.parametrize("version", ["0.5.20", "0.5.21"])
def test_a_rank_that_is_told_to_stop_waits_for_rank_0_from_a_release_on(tmp_path, version):
    with nodes(tmp_path, version=version) as (first, second):
        first.wait_ready()
        second.wait_line("Dummy health check server started")
        second.process.send_signal(signal.SIGTERM)
        if version == "0.5.20":
            assert second.wait_exit() == -signal.SIGTERM
            assert first.wait_exit() == -signal.SIGKILL
            return
        second.wait_line("SIGTERM received on node_rank 1; waiting for the rank-0 ShutdownReq broadcast")
        second.stays()
        first.process.send_signal(signal.SIGTERM)
        assert (first.wait_exit(), second.wait_exit()) == (0, 0)
        assert len(re.findall(r"Scheduler or DataParallelController \d+ terminated with 0", second.log)) == 2


def test_an_interrupt_ends_rank_0_well_and_leaves_the_others_to_find_out(tmp_path):
    with nodes(tmp_path) as (first, second):
        first.wait_ready()
        second.wait_line("Dummy health check server started")
        first.process.send_signal(signal.SIGINT)
        assert first.wait_exit() == 0
        assert second.wait_exit() == -signal.SIGKILL
        assert "Connection closed by peer" in second.log


def test_an_interrupt_ends_another_rank_and_rank_0_with_it(tmp_path):
    with nodes(tmp_path) as (first, second):
        first.wait_ready()
        second.wait_line("Dummy health check server started")
        second.process.send_signal(signal.SIGINT)
        assert second.wait_exit() == -signal.SIGINT
        assert first.wait_exit() == -signal.SIGKILL
        assert "Connection closed by peer" in first.log


def test_a_rank_whose_others_died_may_hang_instead(tmp_path):
    with nodes(tmp_path, envs=({"SIM_PEER_LOSS": "hang"}, {"SIM_FAULT": "draft:crash:oom"})) as (first, second):
        assert second.wait_exit() == -signal.SIGKILL
        assert "CUDA out of memory" in second.log
        assert "fired up" not in first.stays().log


def test_a_scheduler_that_is_killed_takes_its_node_along(tmp_path):
    with nodes(tmp_path) as (first, second):
        first.wait_ready()
        second.wait_line("Dummy health check server started")
        os.kill(second.children()["sglang::schedul"], signal.SIGKILL)
        second.wait_exit()
        assert re.search(r"terminated with -9|Received sigquit from a child", second.log)
        assert first.wait_exit() == -signal.SIGKILL
