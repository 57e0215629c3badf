# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""journal_assert waits for a line, and ends as soon as waiting is of no use."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils._journal_assert import Assertion, Question
from ansible_collections.llmops.sglang.tests.unit.journal_host import OLD, Host, one


def test_waiting_sees_the_line(host):
    host.later = [(3.0, lambda: host.say("ready now"))]
    result = host.ask(expect=[{"contains": "ready now"}, one()], timeout=60)
    assert result["ok"] and 3.0 <= host.clock < 3.25
    polls = [argv for argv in host.commands if argv[0] == "journalctl" and "--cursor=c7" in argv]
    assert len(polls) > 10


def test_waiting_ends_at_the_deadline(host):
    assert host.ask(expect=[{"contains": "never"}], timeout=5)["failure_class"] == "pattern_not_found"
    assert 5 <= host.clock < 5.3


@pytest.mark.parametrize(
    "ends", [{"ActiveState": "failed", "SubState": "failed"}, {"SubState": "auto-restart"}, {"InvocationID": OLD}]
)
def test_waiting_ends_with_the_invocation(host, ends):
    host.later = [(2.0, lambda: host.properties.update(ends)), (2.01, lambda: host.say("last words"))]
    result = host.ask(expect=[{"contains": "never"}], timeout=60)
    assert result["failure_class"] == "pattern_not_found" and "has ended" in result["msg"] and host.clock < 4
    assert result["log_tail"][-1] == "last words"
    host.clock = 0.0
    host.ask(expect=[{"contains": "never"}], timeout=9, end_wait_when_failed=False)
    assert host.clock >= 9


def test_waiting_ends_with_a_forbidden_line_or_a_wrong_value(host):
    host.later = [(2.0, lambda: host.say("that must not be"))]
    result = host.ask(expect=[{"contains": "never"}], must_not_match=["must not"], timeout=60)
    assert host.clock < 2.5 and "forbidden_match" in [entry["failure_class"] for entry in result["results"]]
    host.clock = 0.0
    assert (
        host.ask(expect=[one(fields={"block_size": 9})], timeout=60)["failure_class"] == "field_mismatch"
        and host.clock < 1
    )


@pytest.mark.parametrize("timeout", [0, 60])
def test_the_rest_of_a_traceback_is_waited_for(host, timeout):
    host.say("Traceback (most recent call last):", '  File "x.py", line 7, in f', _PID="7")
    host.later = [(0.5, lambda: host.say("    fails()", _PID="7")), (0.7, lambda: host.say("ValueError: x", _PID="7"))]
    entry = host.ask(expect=[one()], must_not_match=["^Traceback"], timeout=timeout)["results"][1]
    assert entry["traceback"][1:] == ['  File "x.py", line 7, in f', "    fails()", "ValueError: x"]
    assert host.clock < 0.9


def test_a_traceback_that_never_ends_is_not_waited_for_for_long(host):
    host.say("Traceback (most recent call last):", '  File "x.py", line 7, in f')
    assert host.ask(must_not_match=["^Traceback"])["failure_class"] == "forbidden_match"
    assert 1 <= host.clock < 1.3
    host.clock = 0.0
    host.properties.update(ActiveState="failed", SubState="failed")
    assert host.ask(must_not_match=["^Traceback"], timeout=60)["failure_class"] == "forbidden_match"
    assert host.clock < 0.5, "a process that has ended says no more"


@settings(max_examples=60, deadline=None)
@given(st.floats(0, 3), st.floats(0.001, 0.09), st.floats(0, 0.03))
def test_a_line_is_seen_within_a_quarter_of_a_second(written, look, unit_look):
    """However long journalctl takes for a look, and systemctl for one at the unit."""
    host = Host()
    host.start()
    run = host.run_command

    def slow(argv, **more):
        # What is written after it has reached the journal's end is not in its answer.
        answer = run(argv, **more)
        host.sleep({"journalctl": look, "systemctl": unit_look}.get(argv[0], 0))
        return answer

    host.run_command = slow
    host.say("first")
    host.later = [(written, lambda: host.say("ready now"))]
    seen = []

    class Watch(Assertion):
        def _take(self, line):
            if line.text == "ready now":
                seen.append(host.clock)
            super()._take(line)

    question = Question(name="llm", expect=[{"contains": "ready now"}], timeout=60)
    assert Watch(question, slow, sleep=host.sleep, clock=lambda: host.clock).run()["ok"]
    assert seen[0] - max(written, 5 * look + 2 * unit_look) <= 0.25


def test_the_row_that_it_follows_from_may_be_gone(host):
    """Its file is removed while it waits, and the next one begins with a later row."""

    def rotate():
        host.rows = host.rows[-1:]
        host.rows[0]["__CURSOR"] = "c7"
        host.row("other words", _SYSTEMD_UNIT="other.service")
        host.rows[-1]["__CURSOR"] = "c8"
        host.say("ready now")
        host.rows[-1]["__CURSOR"] = "c9"
        del host.rows[0]

    host.later = [(1.0, rotate)]
    result = host.ask(expect=[{"contains": "ready now", "count": 1}, {"contains": "hello", "count": 1}], timeout=9)
    assert result["ok"], result["msg"]


def test_a_line_that_is_split_while_it_waits(host):
    host.say("first half of a ", _LINE_BREAK="line-max")
    host.later = [(1.0, lambda: host.say("long line"))]
    assert host.ask(expect=[{"contains": "half of a long line"}], timeout=9)["ok"]
