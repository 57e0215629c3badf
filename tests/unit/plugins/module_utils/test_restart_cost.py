# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a restart costs now: by earlier starts, and by the server's own count of requests."""

from __future__ import annotations

import json

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._http_answer import Answer, HttpError
from ansible_collections.llmops.sglang.plugins.module_utils._restart_cost import (
    RunningRequests,
    ask_running,
    next_command_line,
    restart_cost,
)
from ansible_collections.llmops.sglang.plugins.module_utils._running_requests import of_get_load, of_metrics
from ansible_collections.llmops.sglang.plugins.module_utils._start_times import StartTimes, configuration_key

ARGV = ["/v/bin/python", "-m", "sglang.launch_server", "--port", "30001"]
# As 0.5.15 and 0.5.23 (two ranks) gave them, without what is of no account here.
LOADS = {"version": "0.5.15.post1", "loads": [{"dp_rank": 0, "num_running_reqs": 5, "num_waiting_reqs": 2}]}
RANKS = {"loads": [{"dp_rank": n, "num_running_reqs": 1, "num_waiting_reqs": n} for n in (0, 1)]}
GET_LOAD = [{"dp_rank": 0, "num_reqs": 7, "num_waiting_reqs": 2, "num_tokens": 2455}]
METRICS = (
    'sglang:num_running_reqs{tp_rank="0"} 5.0\nsglang:num_running_reqs{tp_rank="1"} 5.0\nsglang:num_queue_reqs 2.0\n'
)
KEY = (401, {"error": "Unauthorized"})


class Server:
    """Answers by path; what is not named is not there. An exception is raised."""

    base_url = "http://127.0.0.1:30001"

    def __init__(self, **routes):
        self.routes = {f"/{path.replace('__', '/')}": answer for path, answer in routes.items()}
        self.timeouts = []
        self.now = 0.0

    def send(self, dummy_method, path, timeout):
        self.timeouts.append(timeout)
        answer = self.routes.get(path, (404, {"detail": "Not Found"}))
        if isinstance(answer, Exception):
            self.now += timeout
            raise answer
        status, body = answer if isinstance(answer, tuple) else (200, answer)
        raw = body if isinstance(body, str) else json.dumps(body)
        return Answer(status, {}, raw.encode(), 0.0, 0.0)

    def ask(self, timeout=5.0):
        return ask_running(self, timeout, lambda: self.now)


@pytest.mark.parametrize(
    ("routes", "count"),
    [
        ({"v1__loads": LOADS, "get_load": GET_LOAD}, 7),
        ({"v1__loads": RANKS}, 3),
        ({"get_load": GET_LOAD}, 7),
        ({"metrics": METRICS}, 7),
        # Behind a key that was not given, /metrics is open all the same.
        ({"v1__loads": KEY, "get_load": KEY, "metrics": METRICS}, 7),
        # What is no such answer counts for nothing.
        ({"v1__loads": {"loads": []}, "get_load": [{"dp_rank": 0}], "metrics": METRICS}, 7),
        ({"v1__loads": "<html>", "get_load": {"num_reqs": 3}, "metrics": METRICS}, 7),
        ({"v1__loads": {"loads": [{"num_running_reqs": None, "num_waiting_reqs": 0}]}, "get_load": GET_LOAD}, 7),
        ({"v1__loads": {"loads": [{"num_running_reqs": 0, "num_waiting_reqs": 0}]}}, 0),
    ],
)
def test_each_release_tells_its_requests(routes, count):
    assert Server(**routes).ask() == RunningRequests(count)


@pytest.mark.parametrize(
    ("routes", "reason"),
    [
        ({}, "none of its routes"),
        ({"v1__loads": KEY, "get_load": KEY}, "give 'api_key'"),
        ({"v1__loads": HttpError("refused", "x")}, "nothing listens at http://127.0.0.1:30001"),
        ({"v1__loads": HttpError("timeout", "x")}, "did not answer within 5 s"),
        ({"v1__loads": HttpError("tls_error", "x")}, "tls_error"),
        ({"metrics": "# nothing"}, "none of its routes"),
    ],
)
def test_what_cannot_be_read_is_unknown_with_the_reason(routes, reason):
    count, because, dummy = Server(**routes).ask()
    assert count is None and reason in because


def test_it_never_asks_for_longer_than_it_may():
    hanging = Server(v1__loads=HttpError("timeout", "x"))
    hanging.ask(5.0)
    assert hanging.timeouts == [5.0]
    slow = Server(v1__loads=HttpError("bad_answer", "x"))
    assert slow.ask(5.0).count is None and slow.timeouts == [5.0]


@pytest.fixture
def times(tmp_path):
    return StartTimes(str(tmp_path / "start-times.json"))


def test_the_usual_time_is_that_of_this_configuration(times):
    for key, seconds in ((configuration_key("u", ARGV), 300.4), (configuration_key("u", ["other"]), 20)):
        times.add(key, seconds)
    cost = restart_cost("u", ARGV, times, True, RunningRequests(7))
    assert cost == {
        "usual_elapsed": 300.4,
        "usual_from": "this configuration",
        "running_requests": 7,
        "msg": "a restart follows, usually 300 s; 7 requests are running now",
    }


def test_else_that_of_all_starts_of_the_host_and_said_so(times):
    for key, seconds in (("a", 10), ("a", 20), ("b", 400)):
        times.add(key, seconds)
    cost = restart_cost("u", ARGV, times, True, RunningRequests(1))
    assert (cost["usual_elapsed"], cost["usual_from"]) == (20, "this host")
    assert cost["msg"] == "a restart follows, usually 20 s (by all starts on this host); 1 request is running now"


@pytest.mark.parametrize("argv", [ARGV, []])
def test_nothing_is_known_of_a_new_host(times, argv):
    cost = restart_cost("u", argv, times, False, RunningRequests(None, "x"))
    assert cost["usual_elapsed"] is None and cost["usual_from"] is None
    assert cost["running_requests"] == 0
    assert cost["msg"] == "a start follows, and no start on this host was timed yet; nothing runs now"


def test_requests_that_could_not_be_counted_are_no_zero(times):
    cost = restart_cost("u", ARGV, times, True, RunningRequests(None, "it wants a key"))
    assert cost["running_requests"] is None and cost["msg"].endswith("could not be read: it wants a key")
    assert "no requests are running" in restart_cost("u", ARGV, times, True, RunningRequests(0))["msg"]


class Manager:
    def exec_start(self, dummy_name):
        return ["/v/bin/python", "$WORDS", "--port", "${PORT}"]

    def environment(self, dummy_name):
        return {"WORDS": "-m sglang.launch_server", "PORT": "30002"}


def test_the_next_command_line_is_the_one_that_runs_or_what_the_unit_says_now():
    assert next_command_line(Manager(), "u", ARGV, True) == ARGV
    pending = [*ARGV[:-1], "30002"]
    assert next_command_line(Manager(), "u", ARGV, False) == pending
    assert next_command_line(Manager(), "u", [], True) == pending


@pytest.mark.parametrize("value", ["NaN", "+Inf", "1e999", "-1", "", "x"])
def test_a_rank_whose_gauge_is_no_number_is_not_idle(value):
    text = f'sglang:num_running_reqs{{dp_rank="0"}} 0.0\nsglang:num_running_reqs{{dp_rank="1"}} {value}\n'
    assert of_metrics(text) is None
    assert of_metrics(text.replace(f" {value}\n", " 2\n")) == 2
    assert of_metrics('sglang:num_running_reqs{model_name="a}b"} 3\n') == 3


def test_a_name_whose_value_stands_on_the_next_line_tells_nothing():
    assert of_metrics("sglang:num_running_reqs\n0 1\n") is None


@pytest.mark.parametrize("entry", [{"num_reqs": -1}, 5, None])
def test_a_rank_that_tells_no_count_is_not_idle(entry):
    assert of_get_load([{"num_reqs": 0}, entry]) is None
