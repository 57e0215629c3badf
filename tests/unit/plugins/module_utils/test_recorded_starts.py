# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The waiting loop over recordings of real servers: what each of them said and did, second by second, and what a wait makes of it."""

from __future__ import annotations

import bisect
import json
import pathlib

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._log_facts import failure_of, last_telling, stage_of
from ansible_collections.llmops.sglang.tests.unit.wait_world import OURS, THEIRS, World, bad, good, run, unit

RECORDS = pathlib.Path(__file__).parents[2] / "fixtures" / "records"
RECORDED, STOPPED = (
    {one["name"]: one for one in json.loads((RECORDS / name).read_text(encoding="utf-8"))}
    for name in ("readiness.json", "readiness_stops.json")
)


class Recorded:
    """One recording; each of its parts is asked for a time in seconds since the wait began.

    port, health and chat: what requests met from then on, with their milliseconds; log: lines; ended: time and exit status.
    """

    def __init__(self, record, foreign=False):
        self.record, self.foreign = record, foreign
        self._times = [second for second, _text in record["log"]]

    def at(self, what, t):
        """The entry in force, or the first one."""
        entries = self.record[what]
        before = [entry for entry in entries if entry[0] <= t]
        return before[-1] if before else entries[0] if entries else [0.0, False, 0]

    def ended(self, t):
        return self.record["ended"] is not None and t >= self.record["ended"][0]

    def unit(self, t):
        if not self.ended(t):
            return unit()
        code = self.record["ended"][1]
        if code in (0, -2, -15):
            return unit("inactive", "dead", pid=0, ExecMainCode=1 if code == 0 else 2, ExecMainStatus=abs(code))
        how = ("exit-code", 1) if code > 0 else ("signal", 2)
        return unit("failed", "failed", pid=0, Result=how[0], ExecMainCode=how[1], ExecMainStatus=abs(code))

    def sockets(self, t):
        return ["socket"] if self.foreign or (self.at("port", t)[1] and not self.ended(t)) else []

    def lines(self, t):
        return [text for _second, text in self.record["log"][: bisect.bisect_right(self._times, t)]]

    def progress(self, t):
        lines = self.lines(t)
        return stage_of(lines), last_telling(lines)

    def failure(self, t):
        return failure_of(self.lines(t), self.unit(t) if self.ended(t) else None)

    def chat(self, t):
        """What a generation that is asked for now meets, and how long it takes."""
        if not self.record["chat"]:
            # None was recorded: SGLang queues it until its own warm-up, or whatever holds it up, is over.
            fine = [second for second, text in self.record["log"] if "fired up and ready" in text and second >= 0]
            if self.at("health", t)[1] == "200" or any(second <= t for second in fine):
                return good(), 0.1
            fine += [second for second, word, _ms in self.record["health"] if word == "200"]
            return good(), min([second - t for second in fine if second > t], default=1e9)
        _second, word, milliseconds = self.at("chat", t)
        if word == "timeout":
            return good(), 1e9
        answers = {
            "200": good(),
            "401": bad("http_error", "unauthorized"),
            "503": bad("not_ready", "server_error"),
            "reset": bad("reset", "generation_timeout", http=False, reset=True),
            "refused": bad("refused", "connection_refused", http=False),
        }
        return answers[word], milliseconds / 1000

    def world(self):
        return World(
            unit=self.unit,
            sockets=self.sockets,
            owner=THEIRS if self.foreign else OURS,
            progress=self.progress,
            failure=self.failure,
            answer=lambda t: self.chat(t)[0],
            takes=lambda t: self.chat(t)[1],
            health=lambda t: self.at("health", t)[1],
        )


# How a wait from the recording's first second ends, what it says, and when: from the fact to two seconds later.
ENDS = {
    "sglang-0.5.23-cpu A-startup-bodies-sigterm-idle": ("", "", 15.5),
    "sglang-0.5.23-cpu B-sigterm-inflight": ("", "", 24.0),
    "sglang-0.5.23-cpu C-sigkill-scheduler": ("server_crashed", "'scheduler_0' ended with exit code -9", 0.0),
    "sglang-0.5.23-cpu C2-sigkill-detokenizer": ("server_crashed", "'detokenizer' ended with exit code -9", 0.0),
    "sglang-0.5.23-cpu C3-sigkill-main": ("server_crashed", "signal SIGKILL", 0.55),
    "sglang-0.5.23-cpu C4-sigstop-scheduler": ("", "", 40.8),
    "sglang-0.5.23-cpu D-sigterm-during-startup": ("inactive", "signal SIGTERM", 12.1),
    "sglang-0.5.23-cpu D2-sigterm-during-startup-orphans": ("inactive", "signal SIGTERM", 8.1),
    "sglang-0.5.23-cpu E-skip-warmup": ("", "", 20.3),
    "sglang-0.5.23-cpu F-fine-startup": ("", "", 26.2),
    "sglang-0.5.23-cpu G-sigterm-idle": ("", "", 16.6),
    "sglang-0.5.23-cpu H-apikey-servedname": ("unauthorized", "", 16.0),
    "sglang-0.5.23-cpu N-bad-flag": ("bad_arguments", "'--no-such-flag'", 6.0),
    "sglang-0.5.23-cpu N-default-backend": ("", "", 15.5),
    "sglang-0.5.23-cpu N-missing-model": ("model_load_failed", "/srv/models/none", 9.0),
    "sglang-0.5.23-cpu N-port-taken": ("foreign_listener", "process 77", 2.0),
    "sglang-0.5.23-cpu R-fresh-venv": ("", "", 53.0),
    "sglang-0.5.23-cpu S-dflash": ("bad_arguments", "not supported by CpuSRTPlatform", 5.5),
    "sglang-0.5.23-cpu S-eagle": ("server_crashed", "copy_all_layer_kv_cache_cpu", 29.0),
    "sglang-0.5.23-cpu S-ngram": ("server_crashed", "copy_all_layer_kv_cache_cpu", 27.0),
    "sglang-0.5.23-cpu S-standalone": ("server_crashed", "copy_all_layer_kv_cache_cpu", 26.5),
    "llama.cpp A-startup-bodies": ("", "", 0.0),
    "llama.cpp B-sigterm-inflight": ("", "", 0.8),
    "llama.cpp L-slow-load": ("inactive", "signal SIGTERM", 8.3),
    "llama.cpp M-missing-model": ("model_load_failed", "/srv/models/none.gguf", 0.0),
    "llama.cpp P-port-taken": ("gave_up", "exit status 1", 0.1),
    "sglang-0.5.15-dflash A_main": ("", "", 56.5),
    "sglang-0.5.15-dflash X1_port_in_use": ("foreign_listener", "process 77", 2.0),
    "sglang-0.5.15-dflash X2_window_lt_block": ("bad_arguments", "--speculative-draft-window-size must be >=", 18.2),
    "sglang-0.5.15-dflash X3_memfrac_tiny": ("out_of_memory", "--mem-fraction-static=0.001", 41.0),
    "sglang-0.5.15-dflash X4_draft_no_weights": ("model_load_failed", "Cannot find any model weights", 39.0),
    "sglang-0.5.15-dflash X5_memfrac_0.995": ("out_of_memory", "CUDA out of memory", 39.0),
    "sglang-0.5.15-dflash e_sigterm_during_startup": ("inactive", "signal SIGTERM", 1.1),
    "sglang-0.5.15-dflash c_sigkill_scheduler": ("server_crashed", "'scheduler_0' ended with exit code -9", 0.0),
    "sglang-0.5.15-dflash P3_sigstop": ("", "", 18.5),
    "sglang-0.5.15-dflash P6_sigkill_detokenizer": ("server_crashed", "'detokenizer' ended with exit code -9", 0.0),
}
# Another process holds the port of these from the beginning.
TAKEN = ("N-port-taken", "X1_port_in_use")


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_a_recorded_start(name):
    failure_class, words, fact = ENDS[name]
    world = Recorded(RECORDED[name], name.endswith(TAKEN)).world()
    verdict, memory, took = run(world, 15.0, timeout=120.0, request_timeout=60.0)
    assert verdict.failure_class == failure_class, verdict.msg
    assert words in verdict.msg and fact <= took <= fact + 2
    assert world.most <= 1 and memory.attempts < 40


def test_every_expectation_has_its_recording():
    assert set(ENDS) == set(RECORDED)


@pytest.mark.parametrize("name", [name for name in sorted(ENDS) if name.endswith(TAKEN)])
def test_a_taken_port_is_named_by_the_servers_own_log_once_it_says_so(name):
    record = RECORDED[name]
    said = next(second for second, text in record["log"] if "[Errno 98]" in text)
    record = {**record, "log": [[second - said + 1, text] for second, text in record["log"]], "ended": None}
    verdict, _memory, took = run(Recorded(record, foreign=True).world(), timeout=120.0)
    assert verdict.failure_class == "port_in_use" and "It is held by process 77" in verdict.msg and took < 4


@pytest.mark.parametrize("name", [name for name, end in sorted(ENDS.items()) if not end[0] and "llama" not in name])
def test_no_recorded_start_is_ready_by_the_models_alone(name):
    """A generation that never ends: the port, the model list and the health route are as they were."""
    recorded = Recorded({**RECORDED[name], "chat": [[0.0, "timeout", 0]]})
    verdict, _memory, _took = run(recorded.world(), timeout=100.0)
    assert verdict.failure_class == "generation_timeout"


# How a series that is under way ends when its server gets a signal, by word and by what it says; the fact is the process's end.
STOPS = {
    "sglang-0.5.15-dflash a_sigterm_idle": ("unstable", "no whole answer"),
    "sglang-0.5.15-dflash b_sigterm_busy": ("generation_timeout", "consecutive generations had ended"),
    "sglang-0.5.15-dflash f_sigterm_group": ("server_crashed", "signal SIGKILL"),
    "sglang-0.5.15-dflash g_sigkill_launcher": ("server_crashed", "signal SIGKILL"),
    "sglang-0.5.15-dflash P1_sigterm_idle": ("server_crashed", "signal SIGKILL"),
    "sglang-0.5.15-dflash P2_sigterm_busy": ("server_crashed", "signal SIGKILL"),
    "sglang-0.5.15-dflash P4_sigint": ("inactive", "exit status 0"),
    "sglang-0.5.15-dflash P5_n2_leak_sigterm": ("inactive", "exit status 0"),
    "sglang-0.5.15-dflash P7_sigterm_steady_traffic": ("unstable", "no whole answer"),
    "sglang-0.5.15-dflash P8_sigint_busy": ("inactive", "exit status 0"),
    # Its processes outlive their port.
    "sglang-0.5.23-cpu A-startup-bodies-sigterm-idle": ("unstable", "Nothing listens"),
    "sglang-0.5.23-cpu B-sigterm-inflight": ("inactive", "exit status 0"),
    "sglang-0.5.23-cpu E-skip-warmup": ("unstable", "Nothing listens"),
    "sglang-0.5.23-cpu F-fine-startup": ("inactive", "signal SIGINT"),
    "sglang-0.5.23-cpu G-sigterm-idle": ("inactive", "exit status 0"),
    "sglang-0.5.23-cpu H-apikey-servedname": ("inactive", "exit status 0"),
    "llama.cpp A-startup-bodies": ("inactive", "signal SIGTERM"),
    "llama.cpp B-sigterm-inflight": ("inactive", "signal SIGTERM"),
}


@pytest.mark.parametrize("name", sorted(STOPPED))
def test_a_recorded_stop(name):
    failure_class, words = STOPS[name]
    record = STOPPED[name]
    verdict, _memory, took = run(Recorded(record).world(), 15.0, timeout=120.0, request_timeout=60.0, successes=10**6)
    assert verdict.failure_class == failure_class and words in verdict.msg, verdict.msg
    end = record["ended"][0] if record["ended"] else 120.0
    assert end <= took <= end + 2


def test_every_expectation_of_a_stop_has_its_recording():
    assert set(STOPS) == set(STOPPED)
