# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A journal that is not whole proves nothing: no line that is absent, and no forbidden one that is not there."""

from __future__ import annotations

import pytest
from fault_rows import fault, told

from ansible_collections.llmops.sglang.plugins.module_utils import _completeness
from ansible_collections.llmops.sglang.plugins.module_utils._completeness import journal_is_unreadable
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._invocation_log import InvocationLog
from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import JOURNALD_STARTED, STARTED
from ansible_collections.llmops.sglang.tests.unit.journal_host import NOW, OLD, RUNNER, UNIT, Host, one


def test_a_forged_row_of_the_manager_proves_no_start(host):
    host.rows = [row for row in host.rows if row.get("INVOCATION_ID") != NOW]
    host.row(
        "Started llm.service.",
        _PID="99",
        _SYSTEMD_UNIT="evil.service",
        UNIT=UNIT,
        INVOCATION_ID=NOW,
        MESSAGE_ID=STARTED,
    )
    assert host.ask(must_not_match=["x"])["failure_class"] == "log_truncated"


def absent(host):
    """What an absent line and a forbidden one come to: they must say the same."""
    asked = (
        host.ask(expect=[one("nothing")]),
        host.ask(must_not_match=["nothing"]),
        host.ask(expect=[one("nothing", count=0)]),
    )
    assert not any(result["ok"] for result in asked)
    assert len({result["failure_class"] for result in asked}) == 1
    return asked[0]


def test_a_truncated_log(host):
    host.rows = [row for row in host.rows if row.get("INVOCATION_ID") != NOW]
    assert absent(host)["failure_class"] == "log_truncated"
    assert host.ask(expect=[one(fields={"block_size": 8})])["ok"], "a line that is there is there"
    assert host.ask(expect=[one(max_count=1)])["failure_class"] == "log_truncated"


@pytest.mark.parametrize("more", [{}, {"OBJECT_SYSTEMD_INVOCATION_ID": NOW}])
def test_suppressed_messages(host, more):
    host.suppress(5, **more)
    assert absent(host)["failure_class"] == "rate_limited"
    assert absent(host)["suppressed"] == 5


def test_suppressed_messages_of_somebody_else(host):
    host.suppress(5, unit="other.service")
    host.row(f"Suppressed 5 messages from {UNIT}", _SYSTEMD_UNIT=UNIT, _SYSTEMD_INVOCATION_ID=NOW)
    assert host.ask(must_not_match=["nothing"])["ok"]


def test_messages_that_may_be_suppressed_right_now(host):
    host.properties.update(LogRateLimitIntervalUSec="30s", LogRateLimitBurst="3")
    assert absent(host)["failure_class"] == "rate_limited"
    host.properties.update(LogRateLimitBurst="5")
    assert absent(host)["failure_class"] == "rate_limited", "the invocation before has used up two of them"
    host.properties.update(LogRateLimitBurst="6")
    assert host.ask(must_not_match=["nothing"])["ok"]
    host.properties.update(LogRateLimitBurst="4")
    for row in host.rows[:3]:
        row["__MONOTONIC_TIMESTAMP"] = str(int(row["__MONOTONIC_TIMESTAMP"]) - 31_000_000)
    assert host.ask(must_not_match=["nothing"])["ok"], "what was before the interval does not count"
    for row in host.rows[:3]:
        row.update(__MONOTONIC_TIMESTAMP=host.rows[3]["__MONOTONIC_TIMESTAMP"], _BOOT_ID="e" * 32)
    assert host.ask(must_not_match=["nothing"])["ok"], "nor what was before the boot"


def test_a_clock_that_is_set_decides_nothing(host):
    """Whether messages may be suppressed, and what was over before journald was restarted, is told by the host's own clock."""
    host.properties.update(LogRateLimitIntervalUSec="30s", LogRateLimitBurst="6")
    host.say("x")
    for row in host.rows[-2:]:
        row["__REALTIME_TIMESTAMP"] = str(int(row["__REALTIME_TIMESTAMP"]) + 3_600_000_000)
    assert absent(host)["failure_class"] == "rate_limited"


@pytest.mark.parametrize("hours", [-1, 0, 1])
def test_a_clock_that_is_set_makes_no_start_whole(hours):
    host = Host()
    host.start()
    host.say(RUNNER.format(8, 2048))
    host.row("Journal started", MESSAGE_ID=JOURNALD_STARTED, _TRANSPORT="driver")
    host.say("[2026-05-30 08:21:00] The server is fired up and ready to roll!")
    host.rows[-1]["__REALTIME_TIMESTAMP"] = str(int(host.rows[-1]["__REALTIME_TIMESTAMP"]) + hours * 3_600_000_000)
    result = host.ask(preset=["dflash"])
    assert result["failure_class"] == "log_truncated"
    if hours:
        told(result["failure_class"], result["msg"])
        fault("host", f"The clock was set {'forward' if hours > 0 else 'back'} by an hour while journald was away")


@pytest.mark.parametrize("occurrence", ["first", "last"])
def test_which_line_is_the_first_or_last_is_not_known_where_rows_are_missing(host, occurrence):
    expect = [one(fields={"block_size": 8}, occurrence=occurrence)]
    assert host.ask(expect=expect)["ok"]
    host.suppress(5)
    assert host.ask(expect=expect)["failure_class"] == "rate_limited"
    host.rows = [row for row in host.rows if row.get("INVOCATION_ID") != NOW and "N_DROPPED" not in row]
    assert host.ask(expect=expect)["failure_class"] == ("log_truncated" if occurrence == "first" else "")


def test_journald_was_restarted(host):
    host.row(
        "Journal started",
        MESSAGE_ID="f77379a8490b408bbe5f6940505a777b",
        _TRANSPORT="driver",
        _SYSTEMD_UNIT="systemd-journald.service",
    )
    assert absent(host)["failure_class"] == "log_truncated"


def test_rows_without_an_invocation_prove_nothing(host):
    host.row("stray words", _SYSTEMD_UNIT=UNIT, _PID="12")
    result = host.ask(expect=[{"contains": "stray words"}])
    assert result["failure_class"] == "pattern_not_found"
    assert result["unattributed"] == 1 and result["unattributed_lines"] == ["stray words"]
    assert host.ask(must_not_match=["stray"])["failure_class"] == "forbidden_match"


@pytest.mark.parametrize(
    ("settings", "failure_class"),
    [
        ({"StandardOutput": "file"}, "output_elsewhere"),
        ({"StandardError": "null"}, "output_elsewhere"),
        ({"StandardOutput": "journal+console"}, "pattern_not_found"),
        ({"LogLevelMax": "4"}, "log_level_hidden"),
        ({"LogLevelMax": "notice"}, "log_level_hidden"),
        ({"LogLevelMax": "6"}, "pattern_not_found"),
        ({"LogLevelMax": "4", "SyslogLevel": "4"}, "pattern_not_found"),
    ],
)
def test_output_that_does_not_reach_the_journal(host, settings, failure_class):
    host.properties.update(settings)
    assert host.ask(expect=[one("nothing")])["failure_class"] == failure_class


def test_a_masked_unit_says_nothing_of_where_its_output_went(host):
    host.properties.update(
        LoadState="masked", StandardOutput="inherit", StandardError="inherit", ActiveState="inactive"
    )
    assert host.ask(expect=[one("nothing")])["failure_class"] == "pattern_not_found"
    assert host.ask(invocation="previous", expect=[{"contains": "old words"}], must_not_match=["nothing"])["ok"]


@pytest.mark.parametrize(
    "said",
    [
        (0, "Journal file /var/log/journal/m/system@1.journal corrupted, ignoring file."),
        (1, "Failed to iterate through journal: Bad message"),
        (-9, ""),
    ],
)
def test_a_journal_that_is_not_read_to_its_end(host, said):
    host.rc, host.error = said
    result = absent(host)
    assert result["failure_class"] == "log_truncated" and "did not read all" in result["msg"]
    assert host.ask(expect=[one(fields={"block_size": 8})])["ok"], "a line that is there is there"


def test_a_row_that_cannot_be_read(host):
    run = host.run_command

    def broken(argv, **more):
        rc, out, err = run(argv, **more)
        return rc, out + ('{"MESSAGE":"cut of\n' if argv[0] == "journalctl" and out else ""), err

    host.run_command = broken
    assert absent(host)["failure_class"] == "message_withheld"


def test_rows_of_a_users_unit_that_an_older_journald_gave_to_another_invocation():
    host = Host()
    about = {"USER_UNIT": UNIT, "USER_INVOCATION_ID": NOW, "MESSAGE_ID": STARTED, "JOB_RESULT": "done"}
    host.row("Started.", _SYSTEMD_UNIT="user@1000.service", _SYSTEMD_USER_UNIT="init.scope", **about)
    host.row("words", _SYSTEMD_UNIT="user@1000.service", _SYSTEMD_USER_UNIT=UNIT, _SYSTEMD_INVOCATION_ID=OLD)
    result = host.ask(scope="user", directory="/exported", invocation=NOW, must_not_match=["nothing"])
    assert result["failure_class"] == "no_entries" and "1 rows of it carry another invocation" in result["msg"]


def test_rows_of_a_younger_invocation_are_not_looked_at(host):
    host.start(invocation="c" * 32)
    host.row("stray words", _SYSTEMD_UNIT=UNIT)
    host.suppress(5)
    host.say("late words")
    result = host.ask(invocation=NOW, expect=[{"contains": "late words"}], must_not_match=["nothing"])
    assert result["ok"] and (result["unattributed"], result["suppressed"]) == (0, 0), result["msg"]
    assert [argv for argv in host.commands if "--cursor=c8" in argv and f"_SYSTEMD_UNIT={UNIT}" not in argv]


def test_output_to_a_file_has_no_entries_and_passes_nothing():
    host = Host(StandardOutput="file")
    host.start()
    assert absent(host)["failure_class"] == "output_elsewhere"


def test_units_without_a_log():
    host = Host()
    assert absent(host)["failure_class"] == "no_entries"
    host.start()
    assert absent(host)["failure_class"] == "no_entries"
    with pytest.raises(Failure) as failure:
        Host(InvocationID="", ActiveState="inactive").ask(must_not_match=["x"])
    assert failure.value.failure_class == "never_started"
    with pytest.raises(Failure) as failure:
        Host(LoadState="not-found", InvocationID="").ask(name="lm", must_not_match=["x"])
    assert failure.value.failure_class == "no_such_unit" and "llm.service" in failure.value.msg


def test_rows_that_are_gone_are_no_silence(monkeypatch):
    host = Host(ExecMainStartTimestampMonotonic="6000000000")
    monkeypatch.setattr(_completeness, "boot_id", lambda: host.boot)
    host.say("words", unit="other.service", invocation=OLD)
    assert absent(host)["failure_class"] == "no_entries"
    host.rows[0].update(__MONOTONIC_TIMESTAMP="7000000000")
    assert absent(host)["failure_class"] == "log_truncated"
    host.rows[0].update(__MONOTONIC_TIMESTAMP="5000000000", _BOOT_ID="e" * 32)
    assert absent(host)["failure_class"] == "log_truncated", "an older boot proves nothing"
    host.rows.clear()
    assert absent(host)["failure_class"] == "no_entries"


def test_the_boot_has_an_id():
    assert len(_completeness.boot_id()) == 32


@pytest.mark.parametrize("words", [["--log-level", "warning"], ["--log-level=ERROR"], ["--log-level", "info"]])
def test_lines_that_the_server_itself_leaves_out(host, words):
    host.server_words = words
    if "info" in words:
        assert host.ask(must_not_match=["nothing"], preset=["clean_start"])["ok"]
        return
    assert absent(host)["failure_class"] == "log_level_hidden"
    assert host.ask(expect=[one(fields={"block_size": 8})])["ok"], "a line that is there is there"
    clean = host.ask(preset=["clean_start"])
    assert clean["failure_class"] == ("" if "warning" in words else "log_level_hidden"), "it forbids warnings and worse"


def test_what_the_running_process_was_told_counts_and_not_what_the_unit_says_now(host, monkeypatch):
    monkeypatch.setattr(_completeness, "read_argv", lambda pid: ["python", "--log-level", "error"])
    assert absent(host)["failure_class"] == "log_level_hidden"
    assert host.ask(invocation="previous", must_not_match=["nothing"])["ok"], "that was another process"
    monkeypatch.setattr(_completeness, "read_argv", lambda pid: ["python"])
    host.server_words = ["--log-level", "error"]
    assert host.ask(must_not_match=["nothing"])["ok"]


def test_no_permission():
    host = Host()
    host.error = "Hint: You are currently not seeing messages from other users and the system.\n      Users in groups 'adm' can see all."
    assert absent(host)["failure_class"] == "no_permission"
    assert host.ask(expect=[one("x")], timeout=60)["failure_class"] == "no_permission" and host.clock < 1
    host = Host()
    host.error, host.rc = "No journal files were opened due to insufficient permissions.", 1
    assert absent(host)["failure_class"] == "no_permission"


def test_a_journal_that_may_not_be_read_although_nobody_says_so(tmp_path, monkeypatch):
    log = InvocationLog(UNIT, NOW)
    assert not journal_is_unreadable(log, [str(tmp_path)]), "no journal at all is no lack of rights"
    (tmp_path / "machine").mkdir()
    (tmp_path / "machine" / "system.journal").touch()
    assert not journal_is_unreadable(log, [str(tmp_path)])
    monkeypatch.setattr(_completeness.os, "access", lambda *dummy: False)
    assert journal_is_unreadable(log, [str(tmp_path)])


def test_long_messages_and_withheld_ones(host):
    host.say("x" * 9000 + " end=1")
    assert host.ask(expect=[one("x{9000} end", fields={"end": 1})])["ok"]
    host.say(None)
    assert absent(host)["failure_class"] == "message_withheld"


def test_the_start_of_a_namespaces_own_journald_is_no_restart():
    host = Host(LogNamespace="llm")
    started = {"MESSAGE_ID": JOURNALD_STARTED, "_TRANSPORT": "driver", "_SYSTEMD_UNIT": "systemd-journald@llm.service"}
    host.start()
    host.row("Journal started", **started)
    host.say("words")
    assert host.ask(must_not_match=["nothing"])["ok"]
    host.row("Journal started", **started)
    assert host.ask(must_not_match=["nothing"])["failure_class"] == "log_truncated"


def test_a_start_that_was_over_before_journald_was_restarted_is_whole():
    restarted = {"MESSAGE_ID": JOURNALD_STARTED, "_TRANSPORT": "driver"}
    host = Host()
    host.start()
    host.say(RUNNER.format(8, 2048), "[2026-05-30 08:21:00] The server is fired up and ready to roll!")
    host.row("Journal started", **restarted)
    assert host.ask(preset=["dflash", "clean_start"])["ok"]
    assert host.ask(must_not_match=["Traceback"])["failure_class"] == "log_truncated"


def test_a_start_in_which_journald_was_restarted_is_not():
    host = Host()
    host.start()
    host.say(RUNNER.format(8, 2048))
    host.row("Journal started", MESSAGE_ID=JOURNALD_STARTED, _TRANSPORT="driver")
    host.say("[2026-05-30 08:21:00] The server is fired up and ready to roll!")
    assert host.ask(preset=["dflash"])["failure_class"] == "log_truncated"


def test_no_option_is_younger_than_systemd_239(host):
    """Nor does any depend on the time of day, the locale or the time zone; a namespace needs 245, as its unit does."""
    host.properties.update(LogRateLimitBurst="6", User="1000")
    host.later = [(1.0, lambda: host.say("ready now"))]
    host.ask(expect=[{"contains": "ready now"}], must_not_match=["nothing"], timeout=9)
    host.ask(invocation="previous", preset=["clean_start"])
    host.ask(directory="/exported", invocation="any", must_not_match=["nothing"])
    options = {
        word.partition("=")[0] for argv in host.commands if argv[0] == "journalctl" for word in argv if word[0] == "-"
    }
    assert {"--cursor", "--reverse"} <= options
    assert options <= {
        "-o", "--all", "--no-pager", "--quiet", "--output-fields", "--sync", "--cursor", "--reverse", "--directory", "--field", "--lines",
    }  # fmt: skip
