# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a process wrote just before it ended, where journald came to read it when the unit had ended.

Such rows carry the unit and no invocation (tried on 252): they tell why a process died, and prove nothing of it.
"""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._journal import log_tail, read_invocation
from ansible_collections.llmops.sglang.plugins.module_utils._log_failures import failure_of
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState
from ansible_collections.llmops.sglang.plugins.module_utils._wait_host import Host as WaitHost
from ansible_collections.llmops.sglang.tests.unit.journal_host import NOW, OLD, UNIT, Host

ABOUT = {"_PID": "1", "_SYSTEMD_UNIT": "init.scope", "UNIT": UNIT}
USAGE = "launch_server.py: error: unrecognized arguments: --no-such"
LATER = "c" * 32


def late(host, text, **fields):
    host.row(text, _SYSTEMD_UNIT=UNIT, _TRANSPORT="stdout", _STREAM_ID=NOW, _PID="12", **fields)


def ends(host, invocation=NOW):
    host.row(f"{UNIT}: Failed with result 'exit-code'.", INVOCATION_ID=invocation, **ABOUT)


@pytest.fixture
def host():
    """A start that ended, with rows of the invocation before."""
    made = Host()
    made.start(OLD)
    late(made, "of the one before")
    ends(made, OLD)
    made.start()
    return made


def last_words(host, invocation=NOW):
    return WaitHost(Manager(host.run_command), UNIT, ("127.0.0.1", 30000), Mask()).last_words(invocation)


@pytest.mark.parametrize("order", ["before", "after"])
def test_they_tell_why_it_ended(host, order):
    """The manager's row is on another way to journald, and may be there first."""
    if order == "after":
        ends(host)
    late(host, "usage: launch_server.py [-h]")
    late(host, USAGE)
    if order == "before":
        ends(host)
    log = read_invocation(Manager(host.run_command), UNIT, NOW)
    assert failure_of(log.all_lines) == ("bad_arguments", "The server does not know the argument '--no-such'.")
    assert not log.lines and log.unattributed_count == 2 and last_words(host) == USAGE
    tail = log_tail(Manager(host.run_command), UNIT, NOW)
    assert USAGE in tail and "of the one before" not in tail


def test_a_traceback_of_which_the_rest_came_late(host):
    host.say("Traceback (most recent call last):", '  File "bin/sglang", line 3, in <module>', _PID="12")
    ends(host)
    late(host, "ModuleNotFoundError: No module named 'sgl_kernel'")
    found = failure_of(read_invocation(Manager(host.run_command), UNIT, NOW).all_lines)
    assert found and found[0] == "server_crashed" and "sgl_kernel" in found[1]


def test_what_a_younger_start_says_is_not_taken_for_them(host):
    late(host, "no such library")
    ends(host)
    host.start(LATER)
    host.say("of the next one", invocation=LATER)
    late(host, "of the next one, too")
    assert last_words(host) == "no such library"
    assert log_tail(Manager(host.run_command), UNIT, NOW)[-2:] == [
        "no such library",
        f"{UNIT}: Failed with result 'exit-code'.",
    ]


def test_a_younger_start_of_which_everything_was_read_late_ends_them(host):
    ends(host)
    host.start(LATER)
    late(host, "of the next one")
    assert "of the next one" not in log_tail(Manager(host.run_command), UNIT, NOW) and last_words(host) == ""


def test_an_older_process_that_writes_after_the_end_explains_nothing(host):
    host.rows.clear()
    host.start(OLD)
    host.say("words", invocation=OLD, _PID="7")
    host.start()
    ends(host)
    host.row(USAGE, _SYSTEMD_UNIT=UNIT, _TRANSPORT="stdout", _STREAM_ID=OLD, _PID="7")
    log = read_invocation(Manager(host.run_command), UNIT, NOW)
    assert failure_of(log.all_lines) is None and last_words(host) == "" and log.unattributed_count == 1
    assert USAGE not in log_tail(Manager(host.run_command), UNIT, NOW)


def test_where_nothing_is_there_of_the_invocation_no_words_are_taken_for_its_own(host):
    host.rows = [row for row in host.rows if row.get("INVOCATION_ID") != NOW]
    late(host, USAGE)
    log = read_invocation(Manager(host.run_command), UNIT, NOW)
    assert not log.all_lines and not log.tail and log.unattributed_count == 2


def test_they_are_among_the_last_lines_of_an_assertion_that_failed(host):
    host.say("words")
    late(host, "last words")
    ends(host)
    assert "last words" in host.ask(expect=[{"contains": "nothing"}])["log_tail"]


def test_they_keep_no_secret_and_no_long_line(host):
    late(host, "api_key='sk-very-secret' " + "x" * 9000)
    ends(host)
    tail = log_tail(Manager(host.run_command), UNIT, NOW)
    assert "secret" not in str(tail) + last_words(host) and max(map(len, tail)) == 400
    assert all(len(line.text) <= 4096 for line in read_invocation(Manager(host.run_command), UNIT, NOW).late)


def test_they_prove_nothing(host):
    late(host, "fired up and ready")
    ends(host)
    result = host.ask(expect=[{"contains": "fired up"}])
    assert (result["failure_class"], result["unattributed"]) == ("no_entries", 1)


def test_they_are_few(host):
    for number in range(5000):
        late(host, f"line {number}")
    ends(host)
    log = read_invocation(Manager(host.run_command), UNIT, NOW)
    assert len(log.late) == 60 and log.late[-1].text == "line 4999" and log.unattributed_count == 5000


def test_the_end_is_judged_by_them(host):
    waited = WaitHost(Manager(host.run_command), UNIT, ("127.0.0.1", 30000), Mask())
    state = UnitState(UNIT, {"InvocationID": NOW, "Result": "exit-code"})
    assert waited.failure(state) is None
    late(host, USAGE)
    ends(host)
    assert waited.failure(state, final=True)[0] == "bad_arguments"
