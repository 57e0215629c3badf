# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must not pass by accident: questions that ask nothing, rows of somebody else, starts of which a part is gone."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._completeness import diverted
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._invocation_log import InvocationLog
from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import (
    STARTED,
    STARTING,
    SUPPRESSED,
    CommandRunner,
    Journal,
)
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState
from ansible_collections.llmops.sglang.tests.unit.journal_host import NOW, OLD, RUNNER, UNIT, Host, one


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"expect": [], "must_not_match": [], "preset": []},
        {"expect": [{"contains": ""}]},
        {"expect": [one("")]},
        {"must_not_match": [""]},
        {"expect": [one(count=1, min_count=2)]},
        {"expect": [one(count=1, max_count=0)]},
    ],
)
def test_a_question_that_asks_nothing_or_two_things_at_once(host, options):
    with pytest.raises(Failure) as failure:
        host.ask(**options)
    assert failure.value.failure_class == "rule_violated"


def test_another_name_of_the_unit(host):
    host.properties["Id"] = UNIT
    result = host.ask(name="nickname", preset=["dflash"], must_not_match=["never"])
    assert result["ok"], result["msg"]
    assert host.ask(name="nickname", invocation="previous", expect=[one()])["invocation_id"] == OLD


def test_anybody_may_write_the_identifier_of_journalds_notice(host):
    host.row(f"Suppressed 5 messages from {UNIT}", MESSAGE_ID=SUPPRESSED, N_DROPPED="5", _TRANSPORT="journal")
    result = host.ask(must_not_match=["never"])
    assert result["ok"] and result["suppressed"] == 0


def test_a_notice_counts_in_whatever_invocation(host):
    host.suppress(5)
    assert (
        host.ask(directory="/exported", invocation="any", must_not_match=["never"])["failure_class"] == "rate_limited"
    )


USERS_MANAGER = {"_SYSTEMD_UNIT": "user@1500.service", "_SYSTEMD_USER_UNIT": "init.scope", "_SYSTEMD_OWNER_UID": "1500"}


def about(invocation=NOW, **more):
    fields = {"USER_UNIT": UNIT, "USER_INVOCATION_ID": invocation, "MESSAGE_ID": STARTED, "JOB_RESULT": "done"}
    return {**fields, **USERS_MANAGER, **more}


def users_host():
    """A host on which user 1500 runs the service."""
    host = Host()
    host.row("Started.", **about())
    host.row("words", _SYSTEMD_UNIT="user@1500.service", _SYSTEMD_USER_UNIT=UNIT, _SYSTEMD_INVOCATION_ID=NOW)
    return host


def test_a_users_own_session_is_not_his_manager():
    host = users_host()
    host.row("forged", **about(_SYSTEMD_USER_UNIT=None, _SYSTEMD_UNIT="session-4.scope"))
    asked = {"scope": "user", "directory": "/exported", "invocation": NOW}
    assert host.ask(**asked, must_not_match=["never"])["ok"]
    assert not host.ask(**asked, expect=[{"contains": "forged", "source": "manager"}])["ok"]


def test_of_a_users_unit_only_what_is_of_that_user_is_asked_for():
    runner = CommandRunner(None, "user", {"XDG_RUNTIME_DIR": "/run/user/1500"})
    journal = Journal(runner)
    owner = "_SYSTEMD_OWNER_UID=1500"
    for matches in (journal.unit_matches(UNIT), journal.start_matches(UNIT), journal.invocation_matches(NOW)[2:]):
        assert owner in matches
    assert owner not in Journal(runner, directory="/exported").unit_matches(UNIT), "whose unit it is nobody says there"
    assert owner not in Journal(CommandRunner(None)).unit_matches(UNIT)


def test_what_an_older_process_writes_that_the_manager_could_not_end(host):
    """journald gives its rows the invocation that the unit has now."""
    host.rows = [row for row in host.rows if NOW not in row.values()]
    told = {"_PID": "1", "_SYSTEMD_UNIT": "init.scope", "UNIT": UNIT, "INVOCATION_ID": NOW}
    host.row(
        "llm.service: Found left-over process 358 (python) in control group while starting unit. Ignoring.", **told
    )
    host.start()
    host.say("hello", _PID="367")
    host.row(RUNNER.format(8, 2048), _SYSTEMD_UNIT=UNIT, _SYSTEMD_INVOCATION_ID=NOW, _PID="358", _STREAM_ID="77")
    host.row(RUNNER.format(8, 2048), _SYSTEMD_UNIT=UNIT, _SYSTEMD_INVOCATION_ID=NOW, _PID="371", _STREAM_ID="77")
    result = host.ask(preset=["dflash"])
    assert (result["failure_class"], result["unattributed"]) == ("pattern_not_found", 2)
    assert host.ask(expect=[one("hello")])["ok"]
    assert host.ask(must_not_match=["draft runner"])["failure_class"] == "forbidden_match"


@pytest.mark.parametrize(
    ("before", "first", "whole"),
    [
        ([], {"MESSAGE_ID": STARTED}, False),
        ([("aa", 6)], {"MESSAGE_ID": STARTED}, True),
        ([("bb", 3)], {"MESSAGE_ID": STARTED}, False),
        ([("bb", 6)], {"MESSAGE_ID": STARTED}, True),
        ([("aa", 4), ("aa", 6)], {"MESSAGE_ID": STARTED, "began": "5"}, True),
        ([("aa", 6)], {"MESSAGE_ID": STARTED, "began": "5"}, False),
        ([], {"MESSAGE_ID": STARTING}, True),
    ],
    ids=[
        "none",
        "of its file",
        "another file's",
        "the number before",
        "an older one",
        "a younger one",
        "it tells the begin",
    ],
)
def test_a_start_that_took_long_may_have_lost_its_begin(before, first, whole):
    """The row that says that it is over is no proof of what came before it."""
    host = Host(InactiveExitTimestampMonotonic=first.get("began", "0"))
    for file, number in before:
        host.row("older", __CURSOR=cursor(file, number))
    host.start(__CURSOR=cursor("aa", 7))
    host.rows[-1]["MESSAGE_ID"] = first["MESSAGE_ID"]
    host.say("words", __CURSOR=cursor("aa", 8))
    assert host.ask(must_not_match=["never"])["covers_start"] is whole


def test_a_journal_that_begins_with_the_start():
    host = Host()
    host.start(__CURSOR=cursor("aa", 1))
    host.say("words", __CURSOR=cursor("aa", 2))
    assert host.ask(must_not_match=["never"])["ok"], "as an export of one unit's rows alone does"


def cursor(file, number):
    return f"s={file};i={number:x};b=cc;m={number:x};t=2;x=3"


@pytest.mark.parametrize(
    ("outputs", "failure_class"),
    [
        (("socket:[1]", "socket:[1]"), ""),
        (("pipe:[7]", "socket:[1]"), ""),
        (("socket:[1]", "/var/log/server.log"), "output_elsewhere"),
        (("/dev/null", "socket:[1]"), "output_elsewhere"),
    ],
)
def test_what_the_process_really_writes_to(host, tmp_path, outputs, failure_class):
    """The unit may have changed since it began, and what it runs may have another output of its own."""
    (tmp_path / "7" / "fd").mkdir(parents=True)
    for number, target in enumerate(outputs, 1):
        (tmp_path / "7" / "fd" / str(number)).symlink_to(target)
    log = InvocationLog(UNIT, NOW)
    state = UnitState(UNIT, {**host.properties, "MainPID": "7"})
    assert diverted(log, state, str(tmp_path))[0] == failure_class
    assert not diverted(InvocationLog(UNIT, OLD), state, str(tmp_path))[0], "of an older one nobody knows"
    log.speaks_itself = True
    assert diverted(log, state, str(tmp_path))[0] == (failure_class if "/dev/null" not in outputs else "")


def test_the_burst_that_journald_itself_is_given(host):
    host.configuration = "[Journal]\nRateLimitBurst=3\nRateLimitIntervalSec=10min\n"
    assert host.ask(must_not_match=["never"])["failure_class"] == "rate_limited"


def test_levels_that_journald_itself_does_not_keep(host):
    host.configuration = "[Journal]\nMaxLevelStore=warning\n"
    assert host.ask(must_not_match=["never"])["failure_class"] == "log_level_hidden"


@pytest.mark.parametrize(
    ("line", "failure_class"),
    [
        ("window=2048, block_size=8, window=2048", ""),
        ("window=2048, block_size=8, window=4096", "field_mismatch"),
        ("window=2048 (asked for window=None)", "field_mismatch"),
        ("window=4096 window=2048", "field_mismatch"),
        ("window=2048 note='window=4096'", ""),
    ],
)
def test_a_field_that_stands_there_twice_must_be_right_each_time(host, line, failure_class):
    host.say(f"drafting: {line}")
    result = host.ask(expect=[one("^drafting", fields={"window": 2048})])
    assert result["failure_class"] == failure_class, result["msg"]
