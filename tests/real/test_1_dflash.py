# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The main job on real SGLang 0.5.15.post1 with real DFLASH, and what goes wrong in the field, done to that server.

A start costs 15 to 25 s, so the tests share them: the fixtures are a chain, and the file runs from top to bottom.
"""

from __future__ import annotations

import json
import re

import pytest
from hardened import hardened
from lane import DFLASH, HOST, PLAIN, PORT

UNIT, OTHER = "sglang-dflash", "sglang-plain"
# Long before the minute for which a launcher without its children still accepts, and generous for a slow machine.
TOLD_WITHIN = 30
# What is proved of this server holds under the hardening that the documentation proposes.
HARDENED = hardened(DFLASH)
WINDOW = {"preset": "dflash", "preset_fields": {"draft_window_size": 2048, "compact_cache": True}}


@pytest.fixture(scope="session")
def deployed(lane):
    lane.shell(f"useradd --system {HARDENED['server_user']}")
    play = lane.play("site", DFLASH, benchmark_label="window 2048", **HARDENED)
    assert play.returncode == 0, play.text
    return play


@pytest.fixture(scope="session")
def record(lane, deployed):
    files = [file for file in (lane.records / HOST).glob("*.json") if "coding" not in file.name]
    assert len(files) == 1, files
    return json.loads(files[0].read_text())


def test_it_was_started_and_waited_for_with_verify_steps(lane, deployed):
    waited = deployed.all("wait_for_generation")[0]
    assert (waited["ok"], waited["listener"]["owned"]) == (True, "yes")
    assert waited["invocation_id"] == lane.show(UNIT, "InvocationID")
    stages = [waited["stages"][name] for name in ("process_started", "port_bound", "first_generation", "ready")]
    assert stages == sorted(stages) and stages[1] > 5, waited["stages"]


def test_it_runs_hardened_as_a_user_of_its_own(lane, deployed):
    owners = lane.shell(f"stat -c %U /proc/$(systemctl show -P MainPID {UNIT})").split()
    assert owners == [HARDENED["server_user"]]
    exposure = re.search(r"Overall exposure level for .*: ([\d.]+)", lane.shell(f"systemd-analyze security {UNIT}"))
    assert exposure and float(exposure[1]) < 4, exposure


def test_the_operator_saw_it_load(deployed):
    lines = re.findall(rf"^\[ *\d+ s\] {HOST} {UNIT}: (.+)", deployed.text, re.MULTILINE)
    assert len(set(lines)) >= 3 and "ready" in lines, deployed.text


def test_the_window_is_proved_from_its_journal(deployed):
    (proof,) = (one for one in deployed.of("journal_assert")["results"] if one["title"] == "draft runner")
    assert proof["ok"]
    assert "Initialized DFLASH draft runner." in proof["line"] and "block_size=4" in proof["line"]
    assert (proof["fields"]["draft_window_size"], proof["fields"]["compact_cache"]) == (2048, True)


def test_every_cell_has_an_acceptance_length_of_exactly_the_block_size(deployed):
    measured = deployed.of("benchmark_matrix")
    assert measured["ok"]
    assert [(cell["context"], cell["concurrency"]) for cell in measured["cells"]] == [(60, 1), (60, 2)]
    assert {cell["acceptance_length"] for cell in measured["cells"]} == {4.0}
    assert {cell["acceptance_source"] for cell in measured["cells"]} <= {"per_request", "counters"}


def test_each_coding_task_failed_and_none_was_left_out(deployed):
    coded = deployed.of("coding_eval")
    # Its answers are "aaaa": a program that fails, not one that was not run.
    assert {task["name"]: task["status"] for task in coded["tasks"]} == dict.fromkeys(
        ("is_palindrome", "fib", "merge_sorted", "word_count", "gcd"), "failed"
    )
    assert (coded["tasks_failed"], coded["tasks_not_run"], coded["ok"], coded["pass_rate"]) == (5, 0, True, 0.0)


def test_the_record_knows_what_it_measured(lane, deployed, record):
    evidence = deployed.of("benchmark_matrix")["evidence_after"]
    assert evidence["invocation_id"] == lane.show(UNIT, "InvocationID")
    assert "2048" in json.dumps(record)
    assert "| 60 |" in deployed.of("benchmark_matrix")["markdown"]


@pytest.fixture(scope="session")
def deployed_again(lane, deployed):
    before = lane.show(UNIT, "InvocationID")
    return before, lane.play("site", DFLASH, benchmark_matrix=False, benchmark_coding=False, **HARDENED)


def test_a_second_run_changes_and_restarts_nothing(lane, deployed, deployed_again):
    # The rest of the play, its benchmark too, changes nothing the first time either.
    unit, process, history = (f"llmops.sglang.server_{what}" for what in ("unit", "service", "history"))
    assert deployed.changes == [history, unit, process, history], deployed.text
    before, play = deployed_again
    assert play.returncode == 0, play.text
    assert play.recap()["changed"] == 0, play.text
    assert lane.show(UNIT, "InvocationID") == before


def test_verify_finds_no_drift(lane, deployed_again):
    play = lane.play("verify", DFLASH, **HARDENED)
    assert (play.returncode, play.recap()["changed"]) == (0, 0), play.text


@pytest.fixture(scope="session")
def restarted(lane, deployed_again):
    """A restart while a stream of about five seconds runs, and at once after it a stop."""
    stream = lane.stream(tokens=64)
    stream.wait_for_text()
    restart = lane.module("server_service", name=UNIT, state="restarted")
    lane.wait_until("the children load", lambda: len(lane.processes(UNIT)) >= 3)
    loading = lane.journal(UNIT)
    stop = lane.module("server_service", name=UNIT, state="stopped")
    stream.join()
    return stream, restart, loading, stop


def test_a_restart_lets_a_running_stream_end_whole(lane, restarted):
    stream, restart, _loading, _stop = restarted
    assert (stream.error, stream.done, stream.finish_reason) == ("", True, "length")
    assert stream.usage["completion_tokens"] == 64
    assert "".join(stream.texts) == "a" * 64
    assert (restart["changed"], restart["stopped_cleanly"]) == (True, True)
    assert restart["invocation_id"] != restart["previous_invocation_id"]
    said = lane.shell(f"journalctl -o cat _PID=1 INVOCATION_ID={restart['previous_invocation_id']}")
    assert f"{UNIT}.service: Deactivated successfully." in said, said


def test_a_stop_during_the_load_leaves_no_process(lane, restarted):
    _stream, _restart, loading, stop = restarted
    assert "fired up and ready to roll" not in loading
    assert stop["changed"]
    assert lane.processes(UNIT) == {}
    assert lane.ssh(HOST, "pgrep -fa 'sglang::|launch_server'").stdout == ""
    assert lane.show(UNIT, "ActiveState") in ("inactive", "failed")


@pytest.fixture(scope="session")
def without_window(lane, restarted):
    speculative = {
        "algorithm": "DFLASH",
        "draft_model_path": "{{ models }}/draft",
        "draft_attention_backend": "triton",
    }
    # It is going to be killed and to hang: what its unit would wait for then is no part of what is proved.
    impatient = {"RestartSec": 1, "TimeoutStopSec": 8}
    return lane.play(
        "site",
        DFLASH,
        server_speculative=speculative,
        server_journal=WINDOW,
        server_service=impatient,
        # What failed is looked at further below.
        server_rollback=False,
    )


def test_without_the_flag_the_window_is_told_as_a_mismatch(without_window):
    assert without_window.returncode != 0
    assert without_window.of("wait_for_generation")["ok"]
    proof = without_window.of("journal_assert")
    assert (proof["ok"], proof["failure_class"]) == (False, "field_mismatch")
    mismatches = {
        one["key"]: (one["expected"], one["actual"]) for result in proof["results"] for one in result["mismatches"]
    }
    assert mismatches["draft_window_size"] == (2048, None)
    assert "2048" in proof["msg"] and "None" in proof["msg"]


def test_no_benchmark_follows_a_failed_proof(without_window):
    assert not [entry for entry in without_window.results if entry["action"] == "llmops.sglang.benchmark_matrix"]


def test_the_facts_show_the_window_that_the_drafter_was_trained_for(lane, without_window):
    info = lane.module("server_info", name=UNIT)
    assert info["journal"]["draft_runner"]["draft_window_size"] is None
    assert info["drafter"]["trained_window"] == 2048
    assert [conflict["values"] for conflict in info["conflicts"]] == [{"drafter": 2048, "running": None}]


def kill_and_wait(lane, title):
    """Kill one process of the server; what wait_for_generation then says, while the launcher still accepts."""
    invocation = lane.show(UNIT, "InvocationID")
    lane.shell(f"kill -KILL {lane.process(UNIT, title)}")
    accepts = lane.ssh(HOST, f"bash -c '</dev/tcp/127.0.0.1/{PORT}'").returncode == 0
    waited = lane.module("wait_for_generation", name=UNIT, timeout=120, degenerate_output="ignore")
    return invocation, accepts, waited


def check_told(invocation, accepts, waited):
    assert accepts
    assert (waited["failed"], waited["failure_class"]) == (True, "server_crashed")
    assert waited["elapsed"] < TOLD_WITHIN
    assert waited["invocation_id"] == invocation


@pytest.fixture(scope="session")
def scheduler_killed(lane, without_window):
    return kill_and_wait(lane, "sglang::scheduler")


def test_a_killed_scheduler_is_told_in_seconds(scheduler_killed):
    check_told(*scheduler_killed)


@pytest.fixture(scope="session")
def restarted_by_systemd(lane, scheduler_killed):
    """The next invocation, which systemd starts by itself once the launcher has ended."""
    invocation = scheduler_killed[0]
    lane.wait_until(
        "the next start", lambda: lane.show(UNIT, "InvocationID") != invocation and lane.processes(UNIT), 90
    )
    waited = lane.module(
        "wait_for_generation",
        name=UNIT,
        timeout=240,
        successes=1,
        degenerate_output="ignore",
        previous_invocation_id=invocation,
    )
    assert waited["ok"], waited
    return waited


def test_the_start_after_a_crash_is_another_invocation(lane, scheduler_killed, restarted_by_systemd):
    assert restarted_by_systemd["invocation_id"] not in ("", scheduler_killed[0])
    assert lane.show(UNIT, "NRestarts") == "1"


@pytest.fixture(scope="session")
def port_taken(lane, restarted_by_systemd):
    """Another server, of 0.5.23, is started on the port that this one holds."""
    # The look before a write would refuse that port already.
    unit = lane.play("site", PLAIN, server_restart="never", server_preflight="warn")
    assert unit.returncode == 0, unit.text
    refused = lane.module("server_service", name=OTHER, state="started")
    # As a script does it, which does not look.
    lane.shell(f"systemctl start {OTHER}")
    early = lane.module("wait_for_generation", name=OTHER, timeout=120, degenerate_output="ignore")
    early["loaded"] = "fired up and ready to roll" in lane.journal(OTHER)
    invocation = lane.show(OTHER, "InvocationID")
    lane.wait_until("its ready line", lambda: "fired up and ready to roll" in lane.journal(OTHER, invocation), 240)
    # It ends a moment after that line, and systemd may have begun the next one before anybody looks.
    late = lane.module(
        "wait_for_generation", name=OTHER, timeout=120, invocation_id=invocation, degenerate_output="ignore"
    )
    stopped = lane.module("server_service", name=OTHER, state="stopped", reset_failed=True)
    return refused, early, late, invocation, stopped


def test_a_start_on_a_taken_port_is_refused(port_taken):
    refused = port_taken[0]
    assert (refused["failed"], refused["failure_class"]) == (True, "port_in_use")
    assert str(PORT) in refused["msg"] and UNIT in refused["msg"]


def test_a_listener_of_another_unit_is_told_before_the_load_ends(lane, port_taken):
    early = port_taken[1]
    assert (early["failed"], early["failure_class"]) == (True, "foreign_listener")
    assert not early["loaded"]
    assert UNIT in early["msg"]
    assert early["listener"]["unit"] == f"{UNIT}.service"


def test_a_taken_port_is_told_although_the_server_says_that_it_is_ready(port_taken):
    _refused, _early, late, invocation, _stopped = port_taken
    assert (late["failed"], late["failure_class"]) == (True, "port_in_use")
    assert late["elapsed"] < TOLD_WITHIN
    assert str(PORT) in late["msg"] and UNIT in late["msg"]
    assert late["invocation_id"] == invocation


def test_a_server_that_never_got_its_port_can_be_stopped(lane, port_taken):
    stopped = port_taken[4]
    assert (stopped["failed"], stopped["changed"]) == (False, True), stopped
    assert lane.processes(OTHER) == {}


def test_the_holder_of_the_port_was_not_disturbed(lane, port_taken, restarted_by_systemd):
    assert lane.show(UNIT, "InvocationID") == restarted_by_systemd["invocation_id"]


@pytest.fixture(scope="session")
def detokenizer_killed(lane, port_taken):
    return kill_and_wait(lane, "sglang::detokenizer")


def test_a_killed_detokenizer_is_told_in_seconds(detokenizer_killed):
    check_told(*detokenizer_killed)


def test_a_hung_server_can_be_stopped(lane, detokenizer_killed):
    stop = lane.module("server_service", name=UNIT, state="stopped", reset_failed=True)
    assert (stop["failed"], stop["changed"], stop["stopped_cleanly"]) == (False, True, False)
    assert "did not end within TimeoutStopSec" in stop["warnings"][0]
    assert lane.processes(UNIT) == {}
