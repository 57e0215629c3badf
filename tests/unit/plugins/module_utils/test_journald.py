# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""journald's own settings, and what an ordinary user cannot read of what it did."""

from __future__ import annotations

import types

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _journald
from ansible_collections.llmops.sglang.plugins.module_utils._invocation_log import InvocationLog
from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import Journal
from ansible_collections.llmops.sglang.tests.unit.journal_host import NOW, UNIT, Host

CONFIGURATION = """# /etc/systemd/journald.conf
[Journal]
#RateLimitBurst=10
RateLimitBurst=5
# /etc/systemd/journald.conf.d/x.conf
RateLimitBurst=20
RateLimitIntervalSec={span}
MaxLevelStore={level}
"""


class Manager:
    """Answers for systemd-analyze, and for the units of the system's manager."""

    def __init__(self, scope="system", configuration="", **units):
        self.scope, self.configuration, self.units, self.asked = scope, configuration, units, []
        self.command_environ = {"XDG_RUNTIME_DIR": "/run/user/1500"} if scope == "user" else {}

    def run_command(self, argv, environ_update):
        self.asked.append(argv)
        if argv[0] == "systemd-analyze":
            return 0, self.configuration, ""
        assert "--user" not in argv
        return 0, self.units.get(argv[-1].partition("@")[0].partition(".")[0].replace("-", "_"), ""), ""


UNSET = {"LogRateLimitBurst": "0", "LogRateLimitIntervalUSec": "0", "LogLevelMax": "-1"}


@pytest.mark.parametrize(
    ("span", "microseconds"), [("10min", 600), ("90", 90), ("1h 30min", 5400), ("2 minutes", 120), ("500ms", 0.5)]
)
def test_what_the_unit_leaves_open_journald_decides(span, microseconds):
    manager = Manager(configuration=CONFIGURATION.format(span=span, level="warning"))
    merged = _journald.with_journalds_own(manager, UNSET)
    limits = (merged["LogRateLimitBurst"], merged["LogRateLimitIntervalUSec"], merged["LogLevelMax"])
    assert limits == ("20", f"{int(microseconds * 1_000_000)}us", "4")
    assert _journald.with_journalds_own(manager, {**UNSET, "LogRateLimitBurst": "7"})["LogRateLimitBurst"] == "7"
    assert _journald.with_journalds_own(manager, {**UNSET, "LogLevelMax": "err"})["LogLevelMax"] == "3"
    _journald.with_journalds_own(manager, {**UNSET, "LogNamespace": "ja"})
    assert manager.asked[-1][-1] == "systemd/journald@ja.conf"


def test_nothing_said():
    assert _journald.with_journalds_own(Manager(), UNSET) == {**UNSET, "LogLevelMax": ""}


def test_the_limits_of_a_users_unit_are_those_of_all_of_them():
    manager = Manager("user", user="LogLevelMax=notice\nLogRateLimitIntervalUSec=1min\nLogRateLimitBurst=30\n")
    merged = _journald.with_journalds_own(manager, {**UNSET, "LogRateLimitBurst": "9000"})
    assert merged["LogRateLimitBurst"] == "30" and merged["LogLevelMax"] == "5"


@pytest.mark.parametrize(("others", "failure_class"), [(3, ""), (30, "rate_limited")])
def test_other_units_of_a_user_use_up_what_all_may_write(others, failure_class):
    host = Host()
    for dummy in range(others):
        host.say("words", unit="user@1500.service")
    manager = Manager("user")
    manager.run_command = host.run_command
    log = InvocationLog(UNIT, NOW, first_cursor="c1")
    settings = {"LogRateLimitBurst": "30", "LogRateLimitIntervalUSec": "1s"}
    assert _journald.users_burst(manager, Journal(manager), log, settings)[0] == failure_class


@pytest.mark.parametrize(
    ("scope", "boot", "restarts"), [("user", "cc", 1), ("user", "dd", 0), ("system", "cc", 1), ("system", "dd", 0)]
)
def test_a_restart_of_which_a_user_reads_no_row(monkeypatch, scope, boot, restarts):
    monkeypatch.setattr(_journald, "boot_id", lambda: "cc")
    manager = Manager(scope, systemd_journald="ExecMainStartTimestampMonotonic=100\n")
    for written, seen in ((99, restarts), (101, 0)):
        log = InvocationLog(UNIT, NOW, first_own_cursor=f"s=aa;i=7;b={boot};m={written:x};t=2;x=3")
        _journald.notice_restart(manager, log)
        assert log.journald_restarts == seen


def test_files_that_may_not_be_read(tmp_path, monkeypatch):
    for name in ("system.journal", "user-1500.journal", "notes"):
        (tmp_path / name).touch()
    access = types.SimpleNamespace(access=lambda name, dummy: "user" not in name, R_OK=4)
    monkeypatch.setattr(_journald, "os", access)
    assert _journald.unreadable_files(str(tmp_path)) == [str(tmp_path / "user-1500.journal")]


@pytest.mark.parametrize(("before", "failure_class"), [(3, "rate_limited"), (2, ""), (40, "rate_limited")])
def test_what_other_units_of_the_user_wrote_right_before_counts(before, failure_class):
    manager, host = Manager("user"), Host()
    for number in range(before):
        host.say(f"other {number}", unit="user@1500.service", _SYSTEMD_USER_UNIT="other.service")
    host.say("first", "second", unit="user@1500.service", _SYSTEMD_USER_UNIT=UNIT)
    manager.run_command = host.run_command
    log = InvocationLog(UNIT, NOW, first_cursor=host.rows[before]["__CURSOR"])
    settings = {"LogRateLimitBurst": "5", "LogRateLimitIntervalUSec": "30s"}
    assert _journald.users_burst(manager, Journal(manager), log, settings)[0] == failure_class
