# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same chain without speculation on SGLang 0.5.23, and on an engine that has nothing to do with SGLang."""

from __future__ import annotations

import json
import platform

import pytest
from lane import HOST, PLAIN, SERVERS_IN_HOST

UNIT = "sglang-plain"
LLAMA_UNIT = f"""\
[Unit]
Description=llama.cpp's server

[Service]
ExecStart={SERVERS_IN_HOST}/llama-cpp/bin/python /srv/llmops/tests/real/llama_server.py \
--model {SERVERS_IN_HOST}/llama-cpp/model.gguf --port 31400
"""


@pytest.fixture(scope="session")
def deployed(lane):
    # What the other file leaves behind where one of its tests failed must not fail these.
    lane.shell("systemctl kill --signal=KILL 'sglang-*' 2>/dev/null; systemctl stop 'sglang-*'")
    play = lane.play("site", PLAIN, benchmark_label="plain")
    assert play.returncode == 0, play.text
    return play


def test_the_chain_runs_without_speculation(lane, deployed):
    waited = deployed.of("wait_for_generation")
    assert (waited["ok"], waited["invocation_id"]) == (True, lane.show(UNIT, "InvocationID"))
    assert deployed.of("journal_assert")["ok"]
    assert deployed.of("server_unit")["sglang_version"] == "0.5.23"


def test_its_figures_are_valid_and_know_of_no_acceptance(deployed):
    measured = deployed.of("benchmark_matrix")
    assert measured["ok"] and len(measured["cells"]) == 4
    assert {cell["valid"] for cell in measured["cells"]} == {True}
    assert {cell["acceptance_length"] for cell in measured["cells"]} == {None}
    assert {cell["acceptance_source"] for cell in measured["cells"]} == {"unknown"}
    coded = deployed.of("coding_eval")
    assert (coded["tasks_failed"], coded["tasks_not_run"]) == (5, 0)


def test_the_client_in_the_servers_own_environment_measures_it(lane, deployed):
    with lane.first(HOST):
        measured = lane.module(
            "benchmark_matrix",
            name=UNIT,
            engine="sglang",
            contexts=[1000],
            concurrency=[2],
            requests=4,
            warmup=1,
            max_tokens=16,
            max_cached_share=0.1,
            results_dir="/var/lib/llmops-sglang/shipped",
        )
    if platform.machine() != "x86_64":
        # The wheel holds its client for that platform alone, and what the other one needs is not installed.
        assert measured["failure_class"] == "missing_dependency", measured
        return
    assert (measured["failed"], measured["ok"]) == (False, True), measured
    (cell,) = measured["cells"]
    assert (cell["succeeded"], cell["short_outputs"], cell["errors"]) == (4, 0, {})
    record = json.loads(lane.shell(f"cat {measured['record_path']}"))
    assert (record["engine"]["name"], record["engine"]["version"]) == ("sglang", "0.5.23")
    assert record["engine"]["caveats"] and record["proven"]


def test_a_second_run_changes_and_restarts_nothing(lane, deployed):
    before = lane.show(UNIT, "InvocationID")
    play = lane.play("site", PLAIN, benchmark_matrix=False, benchmark_coding=False)
    assert (play.returncode, play.recap()["changed"]) == (0, 0), play.text
    assert lane.show(UNIT, "InvocationID") == before


def test_speculation_is_asked_for_and_not_there(lane, deployed):
    waited = lane.module(
        "wait_for_generation",
        name=UNIT,
        require_speculation=True,
        max_tokens=4,
        timeout=6,
        poll_interval=1,
        degenerate_output="ignore",
    )
    assert (waited["failed"], waited["failure_class"]) == (True, "no_speculation")


@pytest.mark.parametrize(
    "change",
    [
        {"server_extra_args": ["--speculative-dflash-draft-window-size", "2048"]},
        {"server_extra_args": ["--no-such-flag"]},
    ],
    ids=["flag of an older version", "flag of no version"],
)
def test_a_flag_of_another_version_is_refused_before_the_restart(lane, deployed, change):
    before = lane.show(UNIT, "InvocationID")
    file = lane.shell(f"systemctl cat {UNIT}")
    play = lane.play("site", PLAIN, **change)
    assert play.returncode != 0
    assert play.failure["failure_class"] == "unknown_flag"
    assert change["server_extra_args"][0] in play.failure["msg"] and "0.5.23" in play.failure["msg"]
    assert lane.show(UNIT, "InvocationID") == before
    assert lane.shell(f"systemctl cat {UNIT}") == file
    assert lane.module("wait_for_generation", name=UNIT, timeout=30, successes=1, degenerate_output="ignore")["ok"]


@pytest.fixture(scope="session")
def stopped(lane, deployed):
    """A stop while a stream of some seconds runs."""
    stream = lane.stream(tokens=500)
    stream.wait_for_text()
    assert not stream.done
    stop = lane.module("server_service", name=UNIT, state="stopped")
    stream.join()
    return stream, stop


def test_a_stop_lets_a_running_stream_end_whole(stopped):
    stream, stop = stopped
    assert (stream.error, stream.done, stream.finish_reason) == ("", True, "length")
    assert stream.usage["completion_tokens"] == 500
    assert (stop["changed"], stop["stopped_cleanly"]) == (True, True)


def test_a_stop_ends_clean(lane, stopped):
    assert lane.processes(UNIT) == {}
    assert (lane.show(UNIT, "ActiveState"), lane.show(UNIT, "Result")) == ("inactive", "success")


def test_a_stop_during_the_load_leaves_no_process(lane, stopped):
    lane.module("server_service", name=UNIT, state="started")
    lane.wait_until("the children load", lambda: len(lane.processes(UNIT)) >= 3)
    loading = lane.journal(UNIT)
    stop = lane.module("server_service", name=UNIT, state="stopped")
    assert stop["changed"] and "fired up and ready to roll" not in loading
    assert lane.processes(UNIT) == {}
    assert lane.ssh(HOST, "pgrep -fa 'sglang::|launch_server'").stdout == ""


@pytest.fixture(scope="session")
def llama(lane):
    lane.run_module(HOST, "ansible.builtin.copy", {"dest": "/etc/systemd/system/llama.service", "content": LLAMA_UNIT})
    lane.shell("systemctl daemon-reload && systemctl start llama")
    return lane.module("wait_for_generation", name="llama", timeout=60, degenerate_output="ignore")


def test_another_engine_is_waited_for_by_its_unit(lane, llama):
    assert (llama["ok"], llama["listener"]["owned"]) == (True, "yes")
    assert llama["invocation_id"] == lane.show("llama", "InvocationID")
    assert llama["models"] == ["llama-nano"]


def test_another_engine_is_measured(lane, llama):
    with lane.first(HOST):
        measured = lane.module(
            "benchmark_matrix",
            name="llama",
            contexts=[60, 200],
            concurrency=[1, 2],
            requests=4,
            max_tokens=32,
            results_dir="/var/lib/llmops-sglang/llama",
            label="llama",
        )
    assert (measured["failed"], measured["ok"], len(measured["cells"])) == (False, True, 4), measured
    assert {cell["acceptance_length"] for cell in measured["cells"]} == {None}
    assert {cell["succeeded"] for cell in measured["cells"]} == {4}


def test_the_facts_of_another_engine(lane, llama):
    info = lane.module("server_info", name="llama")
    assert (info["failed"], info["changed"], info["unit"]["state"]) == (False, False, "active")
