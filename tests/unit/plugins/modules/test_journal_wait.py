# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""journal_assert waits for a line, and ends as soon as waiting is of no use."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.tests.unit.journal_host import OLD, one


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
    host.later = [(2.0, lambda: host.say("Traceback (most recent call last):"))]
    result = host.ask(expect=[{"contains": "never"}], must_not_match=["^Traceback"], timeout=60)
    assert host.clock < 2.5 and "forbidden_match" in [entry["failure_class"] for entry in result["results"]]
    host.clock = 0.0
    assert (
        host.ask(expect=[one(fields={"block_size": 9})], timeout=60)["failure_class"] == "field_mismatch"
        and host.clock < 1
    )


def test_a_line_that_is_split_while_it_waits(host):
    host.say("first half of a ", _LINE_BREAK="line-max")
    host.later = [(1.0, lambda: host.say("long line"))]
    assert host.ask(expect=[{"contains": "half of a long line"}], timeout=9)["ok"]
