# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""journal_assert where rows were lost, or where several processes or journals stand behind them: made by systemd itself."""

from __future__ import annotations

import scripted_service
from fault_rows import fault
from scripted_service import FOREVER, RUNNER

service = scripted_service.service


def test_rate_limit(service):
    # journald lets more through the more room its disk has; so many are too many for any. What comes longer than the
    # interval after it has read the last of them is let through.
    flood = f"for i in $(seq 4000); do echo line $i; done; journalctl --sync; sleep 2.5; echo after; {FOREVER}"
    service.start(flood, "LogRateLimitIntervalSec=2s\nLogRateLimitBurst=20")
    service.until("after")
    result = service.ask(expect=[{"contains": "nothing"}], must_not_match=["nothing"])
    assert [entry["failure_class"] for entry in result["results"]] == ["rate_limited"] * 2
    assert result["suppressed"] > 1000
    fault("journal", "journald suppressed rows of a flood")
    assert service.ask(expect=[{"contains": "after"}])["ok"]


def test_rate_limit_that_still_holds(service):
    flood = f"for i in $(seq 4000); do echo line $i; done; {FOREVER}"
    service.start(flood, "LogRateLimitIntervalSec=10min\nLogRateLimitBurst=20")
    service.until("line 20")
    result = service.ask(must_not_match=["line 4000"])
    assert result["failure_class"] == "rate_limited" and result["suppressed"] == 0
    fault("journal", "journald still suppresses rows, and has not said so yet")


def test_vacuum_and_rotation(service):
    service.start(f"echo first; while ! [ -e /run/ja.go ]; do sleep 0.1; done; rm /run/ja.go; echo second; {FOREVER}")
    service.until("first")
    assert service.ask(must_not_match=["nothing"])["ok"]
    service.shell("journalctl --rotate")
    assert service.ask(expect=[{"contains": "first"}], must_not_match=["nothing"])["ok"], "rotation alone loses nothing"
    service.shell("sleep 1.1; journalctl --vacuum-time=1s; touch /run/ja.go")
    service.until("second")
    lost = service.ask(expect=[{"contains": "first"}], must_not_match=["nothing"])
    assert [entry["failure_class"] for entry in lost["results"]] == ["log_truncated"] * 2
    assert lost["covers_start"] is False
    fault("journal", "The start of the invocation was rotated away and vacuumed")


def test_a_users_own_journal_file_alone_lost_the_start(service):
    script = f"echo first; while ! [ -e /run/ja.go ]; do sleep 0.1; done; echo second; {FOREVER}"
    service.start(script, "User=operator\nExecStartPre=+/bin/bash -c 'echo prepared; journalctl --sync'")
    service.until("first")
    assert service.ask(must_not_match=["nothing"])["covers_start"]
    # As journald itself does where the oldest archived file is that one.
    service.shell(
        "journalctl --flush; journalctl --rotate; rm /var/log/journal/*/user-$(id -u operator)@*; touch /run/ja.go"
    )
    try:
        service.until("second")
        result = service.ask(must_not_match=["nothing"])
        assert (result["failure_class"], result["covers_start"]) == ("log_truncated", False)
        fault("journal", "The journal file of one user lost the start")
        service.shell("journalctl --flush; rm -rf /srv/lossy; cp -r /var/log/journal/$(cat /etc/machine-id) /srv/lossy")
        exported = service.ask(directory="/srv/lossy", invocation=result["invocation_id"], must_not_match=["nothing"])
        assert (exported["failure_class"], exported["covers_start"]) == ("log_truncated", False)
        # What others wrote in between shows that a file is missing altogether.
        service.shell("rm /srv/lossy/user-*")
        exported = service.ask(directory="/srv/lossy", invocation=result["invocation_id"], must_not_match=["second"])
        assert exported["failure_class"] in ("log_truncated", "no_entries"), exported["msg"]
        fault("journal", "An exported journal lacks a file")
    finally:
        service.shell("rm -r /run/ja.go /srv/lossy")


def test_nothing_is_left_of_the_invocation(service):
    service.start(f"echo first; {FOREVER}")
    service.until("first")
    service.shell(
        "journalctl --rotate; sleep 1.1; journalctl --vacuum-time=1s; logger something else; journalctl --sync"
    )
    assert service.ask(must_not_match=["nothing"])["failure_class"] == "log_truncated"
    fault("journal", "Nothing is left of the invocation")


def test_journald_was_killed(service):
    service.start(f"echo first; while ! [ -e /run/ja.go ]; do sleep 0.1; done; rm /run/ja.go; echo second; {FOREVER}")
    service.until("first")
    service.shell("systemctl kill -s KILL systemd-journald.service; touch /run/ja.go")
    # Reset what the kill counts towards the start limit of journald.
    service.shell("systemctl reset-failed systemd-journald.service", check=False)
    result = service.ask(must_not_match=["nothing"], expect=[{"contains": "first"}])
    assert [entry["failure_class"] for entry in result["results"]] == ["", "log_truncated"]
    assert "restarted" in result["msg"]
    fault("journal", "journald was killed while the server wrote")


def test_a_journal_namespace_that_loses_the_start(service):
    """The manager's row about it is in the system's journal, and stays."""
    service.start(
        f"echo words; while ! [ -e /run/ja.go ]; do sleep 0.1; done; echo second; {FOREVER}", "LogNamespace=ja"
    )
    service.until("words")
    result = service.ask(expect=[{"contains": "words"}], must_not_match=["nothing"])
    assert result["ok"] and result["covers_start"], result["msg"]
    service.shell(
        "journalctl --namespace=ja --rotate; sleep 1.1; journalctl --namespace=ja --vacuum-time=1s; touch /run/ja.go"
    )
    try:
        service.until("second")
        lost = service.ask(expect=[{"contains": "words", "count": 0}], must_not_match=["words"])
        assert [entry["failure_class"] for entry in lost["results"]] == ["log_truncated"] * 2
        fault("journal", "The start of the invocation was vacuumed in a journal namespace")
    finally:
        service.shell("rm /run/ja.go")


def test_a_volatile_journal_that_is_lost(service):
    service.shell("printf '[Journal]\nStorage=volatile\n' > /etc/systemd/journald@javol.conf")
    service.start(
        f"echo first; while ! [ -e /run/ja.go ]; do sleep 0.1; done; echo second; {FOREVER}", "LogNamespace=javol"
    )
    service.until("first")
    assert service.ask(must_not_match=["nothing"])["ok"]
    service.shell("rm -r /run/log/journal/*.javol; systemctl restart systemd-journald@javol; touch /run/ja.go")
    try:
        service.until("second")
        assert service.ask(must_not_match=["first"])["failure_class"] == "log_truncated"
        fault("journal", "A journal that is kept in memory was lost")
    finally:
        service.shell("rm /run/ja.go")


SHARE = r"""
import os, time
ends = os.pipe(), os.pipe()
me = 1 if os.fork() else 0
mine, other = ends[me][0], ends[1 - me][1]
def write(text):
    os.write(1, text)
    os.write(other, b".")
if me:
    write(b"P" * 49152)
    os.read(mine, 1)
    write(b" end=1\nbegun,")
    os.read(mine, 1)
    write(b" and=ended\n  no frame\n")
else:
    os.read(mine, 1)
    write(b"Traceback (most recent call last):\n  File c1\n")
    os.read(mine, 1)
    write(b"  File c2\nValueError: of the child\ndone\n")
time.sleep(9999)
"""


def test_processes_that_share_an_output(service):
    """journald notes each one's rows in the stream of both, and breaks a line where the other one writes: in turn, here."""
    service.write(f"cat > /run/ja.py <<'PY'\n{SHARE}\nPY\nexec /usr/bin/python3 /run/ja.py")
    service.shell(f"systemctl restart {service.name}")
    service.until("and=ended")
    service.until("done")
    expect = [{"pattern": "^P{49152} end=1$"}, {"contains": "begun, and=ended", "fields": {"and": "ended"}}]
    result = service.ask(expect=expect, must_not_match=["^ValueError"])
    assert [entry["failure_class"] for entry in result["results"]] == ["", "", "forbidden_match"]
    frames = ["  File c1", "  File c2"]
    assert result["results"][2]["traceback"][1:] == [*frames, "ValueError: of the child"]


def test_an_older_process_that_goes_on_writing(service):
    """journald counts what it writes to the invocation that the unit has now."""
    older = (
        f"(until [ -e /run/ja.go ]; do sleep 0.1; done; rm /run/ja.go; echo '{RUNNER.format(16)}'; exec sleep 9999) &"
    )
    service.start(f"{older} echo words; {FOREVER}", "KillMode=process")
    service.until("words")
    try:
        service.start(f"echo words; touch /run/ja.go; {FOREVER}", "KillMode=process")
        said = f"journalctl --sync; journalctl -u {service.name} -o cat | grep -q 'draft runner'"
        service.shell(f"until {said}; do sleep 0.1; done")
        seen = service.ask(must_not_match=["draft runner"], expect=[{"contains": "never"}])
        assert seen["failure_class"] == "pattern_not_found" and seen["results"][1]["count"] == 1, seen["msg"]
        result = service.ask(preset="dflash")
        assert (result["failure_class"], result["unattributed"]) == ("pattern_not_found", 1)
        fault("journal", "A process of the invocation before goes on writing, and journald counts its rows to this one")
    finally:
        service.shell(f"systemctl kill -s KILL {service.name}; rm -f /run/ja.go", check=False)


def test_last_words_that_journald_reads_when_the_unit_runs_again(service):
    """It gives them the invocation that the unit has by then."""
    service.start(f"echo words; until [ -e /run/ja.go ]; do sleep 0.1; done; rm /run/ja.go; echo '{RUNNER.format(16)}'")
    service.until("words")
    service.write(f"echo words; {FOREVER}")
    over = f"[ $(systemctl show --property=ActiveState --value {service.name}) = inactive ]"
    service.shell(
        'journald=$(systemctl show --property=MainPID --value systemd-journald); trap "kill -CONT $journald" EXIT; '
        "kill -STOP $journald; touch /run/ja.go; "
        f"for i in $(seq 1000); do {over} && systemctl start {service.name} && exit; sleep 0.1; done; exit 1"
    )
    service.until("words")
    result = service.ask(preset="dflash")
    assert (result["failure_class"], result["unattributed"]) == ("pattern_not_found", 1), result["msg"]
    fault("journal", "The last words of a process are read when the unit runs again")
