# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows that are not there although nothing says so: no absence may be concluded from them."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _completeness, _journal_burst, _journald
from ansible_collections.llmops.sglang.plugins.module_utils._invocation_log import InvocationLog
from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import ENDED, JOURNALD_STARTED, STARTING
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState
from ansible_collections.llmops.sglang.tests.unit.journal_host import NOW, OLD, RUNNER, UNIT, Host, one

LATER = "c" * 32
EXPORT = {"directory": "/exported", "invocation": NOW}


def absent(host, **options):
    """What an absent line and a forbidden one come to: they must say the same."""
    questions = ({"expect": [one("nothing")]}, {"must_not_match": ["nothing"]}, {"expect": [one("nothing", count=0)]})
    results = [host.ask(**question, **options) for question in questions]
    assert not any(result["ok"] for result in results)
    assert len({result["failure_class"] for result in results}) == 1
    return results[0]


def end(host, invocation=NOW):
    about = {"_PID": "1", "_SYSTEMD_UNIT": "init.scope", "UNIT": UNIT, "INVOCATION_ID": invocation}
    host.row(f"{UNIT}: Deactivated successfully.", MESSAGE_ID=ENDED[1], **about)


def journald_starts(host, **fields):
    unit = "systemd-journald.service"
    host.row("Journal started", MESSAGE_ID=JOURNALD_STARTED, _TRANSPORT="driver", _SYSTEMD_UNIT=unit, **fields)


def test_the_last_words_of_an_older_process_that_a_slow_journald_read_late():
    """It then gives them the invocation that the unit has by now."""
    host = Host()
    host.start(OLD)
    host.say("words", invocation=OLD)
    host.row(RUNNER.format(8, 2048), _SYSTEMD_UNIT=UNIT, _SYSTEMD_INVOCATION_ID=NOW, _STREAM_ID=OLD, _PID="7")
    host.start()
    host.say("words")
    result = host.ask(preset=["dflash"])
    assert (result["failure_class"], result["unattributed"]) == ("pattern_not_found", 1)
    assert host.ask(must_not_match=["draft runner"])["failure_class"] == "forbidden_match"
    assert host.ask(expect=[one("^words$", count=1)])["ok"]


class TestServiceThatSaidNothingSinceItStarted:
    """What came before may be of ExecStartPre=+, whose rows go to another file than those of the unit's user."""

    def host(self, message="Started llm.", begins=True, **more):
        host = Host()
        if begins:
            host.start()
            host.rows[-1].update(MESSAGE_ID=STARTING, MESSAGE=f"Starting {UNIT}...")
        host.say("prepared", **{"_PID": "12", "_UID": "0", **more})
        host.start()
        host.rows[-1].update(MESSAGE=message)
        return host

    @pytest.mark.parametrize("options", [EXPORT, {**EXPORT, "invocation": "any"}, {}])
    def test_is_not_complete(self, options):
        host = self.host()
        assert absent(host, **options)["failure_class"] == "no_entries"
        assert "file of its user" in absent(host, **options)["msg"]
        host.say("words")
        assert host.ask(must_not_match=["nothing"], **options)["ok"]

    @pytest.mark.parametrize(
        "told",
        [{"message": "Finished llm."}, {"_PID": "4194305"}, {"_UID": "997"}, {"begins": False}],
        ids=["a unit that ends", "its main process", "its user", "nothing before it"],
    )
    def test_unless_it_was_the_server_that_spoke_before(self, told):
        assert self.host(**told).ask(must_not_match=["nothing"])["ok"]


@pytest.mark.parametrize("options", [{"invocation": NOW}, EXPORT, {**EXPORT, "invocation": "any"}])
def test_a_boot_after_the_unit_ended_takes_nothing_away_and_one_while_it_ran_does(host, options):
    host.properties.update(InvocationID="", ActiveState="inactive")
    host.boot = "e" * 32
    journald_starts(host)
    lost = absent(host, **options)
    assert lost["failure_class"] == "log_truncated" and "went down" in lost["msg"]
    host.rows.pop()
    host.boot = "d" * 32
    end(host, OLD)
    end(host)
    host.boot = "e" * 32
    journald_starts(host)
    assert host.ask(must_not_match=["nothing"], **options)["ok"]


def test_what_another_host_of_the_same_export_says_is_not_of_this_one(host):
    for row in host.rows:
        row["_MACHINE_ID"] = "1" * 32
        row["__CURSOR"] = row["__CURSOR"].replace("c", f"x;b={host.boot};c")
    host.boot = "e" * 32
    journald_starts(host, _MACHINE_ID="2" * 32)
    host.suppress(5)
    assert host.ask(must_not_match=["nothing"], **EXPORT)["ok"]
    host.rows[-2]["_MACHINE_ID"] = "1" * 32
    assert absent(host, **EXPORT)["failure_class"] == "log_truncated"


def test_what_was_suppressed_is_told_when_a_younger_invocation_speaks(host):
    host.start(LATER)
    host.suppress(5, OBJECT_SYSTEMD_INVOCATION_ID=LATER)
    host.say("words", invocation=LATER)
    result = absent(host, invocation=NOW)
    assert (result["failure_class"], result["suppressed"]) == ("rate_limited", 5)
    assert host.ask(invocation=NOW, expect=[one()], timeout=3)["ok"]


def test_what_a_younger_invocation_lost_itself_is_not_of_the_older_one(host):
    host.start(LATER)
    host.say("words", invocation=LATER)
    host.suppress(5, OBJECT_SYSTEMD_INVOCATION_ID=LATER)
    host.say("words", invocation=LATER)
    assert host.ask(invocation=NOW, must_not_match=["nothing"])["ok"]


def test_a_burst_that_was_used_up_before_the_export_was_made(host, monkeypatch):
    monkeypatch.setattr(_journal_burst, "DEFAULT_BURST", 2)
    assert absent(host, **EXPORT)["failure_class"] == "rate_limited"
    host.start(LATER)
    host.say("words", invocation=LATER)
    assert host.ask(must_not_match=["nothing"], **EXPORT)["ok"], "journald would have told it by now"


PAST = {"invocation": "previous"}


class TestWhatTheUnitSaysNow:
    """It is no proof of what it said when an older invocation ran."""

    def test_of_the_output(self, host):
        assert "nobody can tell" not in host.ask(must_not_match=["nothing"])["msg"]
        for options in (PAST, {**EXPORT, "invocation": OLD}):
            assert "nobody can tell" in host.ask(must_not_match=["nothing"], **options)["msg"]
            assert "nobody can tell" not in host.ask(expect=[one("old words")], **options)["msg"]
        host.properties.update(ActiveState="failed", SubState="failed", MainPID="0")
        assert "nobody can tell" in host.ask(must_not_match=["nothing"])["msg"], "its process cannot be asked either"
        host.properties.update(StandardOutput="file")
        assert absent(host, **PAST)["failure_class"] == "output_elsewhere"
        assert "has StandardError=file now" in absent(host, **PAST)["msg"]

    @pytest.mark.parametrize("options", [PAST, {**EXPORT, "invocation": OLD}, {**EXPORT, "invocation": "any"}])
    def test_of_the_level(self, host, options):
        host.properties.update(LogLevelMax="4")
        assert host.ask(must_not_match=["nothing"], **options)["ok"], "lines of level info are there"
        for row in host.rows:
            row["PRIORITY"] = "4"
        host.properties.update(LogLevelMax="-1")
        assert absent(host, **options)["failure_class"] == "log_level_hidden"
        for row in host.rows:
            del row["PRIORITY"]
        assert host.ask(must_not_match=["nothing"], **options)["ok"], "as what names none is of level info"

    def test_of_the_server_s_own_level(self, host):
        host.server_words = ["--log-level", "error"]
        assert absent(host, **PAST)["failure_class"] == "log_level_hidden"
        host.rows[1]["MESSAGE"] = "[2026-05-30 08:14:12] server_args=ServerArgs(model_path='/m', log_level='info')"
        assert host.ask(must_not_match=["nothing"], **PAST)["ok"], "it says so at level info alone"

    def test_of_what_journald_was_handed_when_the_unit_started(self, host, tmp_path, monkeypatch):
        host.properties["Id"] = UNIT
        monkeypatch.setattr(_journald, "UNITS", str(tmp_path))
        (tmp_path / f"log-level-max:{UNIT}").symlink_to("4")
        assert absent(host)["failure_class"] == "log_level_hidden"
        (tmp_path / f"log-level-max:{UNIT}").unlink()
        (tmp_path / f"log-rate-limit-burst:{UNIT}").symlink_to("3")
        assert absent(host)["failure_class"] == "rate_limited"
        (tmp_path / f"log-rate-limit-burst:{UNIT}").unlink()
        assert host.ask(must_not_match=["nothing"])["ok"]


def test_patterns_that_journald_filters_by(host):
    host.properties.update(LogFilterPatterns="~nothing")
    result = absent(host)
    assert result["failure_class"] == "output_elsewhere" and "LogFilterPatterns=" in result["msg"]


def test_a_journald_that_does_not_answer(host):
    host.synced = 124
    result = absent(host)
    assert result["failure_class"] == "log_truncated" and "did not write out" in result["msg"]
    assert host.ask(expect=[one(fields={"block_size": 8})])["ok"], "a line that is there is there"


def test_a_server_whose_start_script_gives_it_another_output(host, tmp_path, monkeypatch):
    for pid, words, target in ((7, "/bin/sh run.sh", "socket:[1]"), (8, "python -m sglang.launch_server", "/srv/log")):
        (tmp_path / str(pid) / "fd").mkdir(parents=True)
        (tmp_path / str(pid) / "cmdline").write_bytes(words.replace(" ", "\0").encode() + b"\0")
        (tmp_path / str(pid) / "fd" / "1").symlink_to(target)
    (tmp_path / "9" / "fd").mkdir(parents=True)
    (tmp_path / "9" / "cmdline").write_bytes(b"nvidia-smi\0dmon\0")
    (tmp_path / "9" / "fd" / "1").symlink_to("/srv/gpu")
    state = UnitState(UNIT, {**host.properties, "MainPID": "7"})
    monkeypatch.setattr(_completeness, "members", lambda group: [7, 8, 9])
    failure_class, why = _completeness.diverted(InvocationLog(UNIT, NOW), state, str(tmp_path))
    assert failure_class == "output_elsewhere" and "process 8" in why and "/srv/log" in why
    monkeypatch.setattr(_completeness, "members", lambda group: [7, 9])
    assert _completeness.diverted(InvocationLog(UNIT, NOW), state, str(tmp_path)) == ("", "")


def test_of_all_invocations_each_needs_its_begin(host):
    asked = {**EXPORT, "invocation": "any"}
    assert host.ask(must_not_match=["nothing"], **asked)["covers_start"]
    host.rows = [row for row in host.rows if row.get("INVOCATION_ID") != NOW]
    assert absent(host, **asked)["failure_class"] == "log_truncated"


def test_of_all_invocations_none_may_have_met_a_restart_of_journald(host):
    journald_starts(host)
    assert absent(host, **EXPORT)["failure_class"] == "log_truncated"
    assert absent(host, **{**EXPORT, "invocation": "any"})["failure_class"] == "log_truncated"


def test_an_instance_with_an_escaped_name():
    unit = r"llm@models-k2\x2d6.service"
    host = Host()
    host.start()
    host.rows[-1]["UNIT"] = unit
    host.say("words", unit=unit)
    assert host.ask(name=unit, expect=[one("words")], must_not_match=["nothing"])["ok"]
    host.suppress(5, unit=unit)
    assert host.ask(name=unit, must_not_match=["nothing"])["failure_class"] == "rate_limited"


def test_bytes_that_are_null(host):
    """journald ends a line at each in an output, and keeps those in a message of its own protocol."""
    host.say("in an", " output", _LINE_BREAK="nul")
    host.say(list(b"in\0side=1, oth\0er=2\0"))
    result = host.ask(expect=[one("^in an$"), one("^ output$"), one("^inside=1", fields={"inside": 1, "other": 2})])
    assert result["ok"], result["msg"]
    assert host.ask(must_not_match=["inside"])["failure_class"] == "forbidden_match"
