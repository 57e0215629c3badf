# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""journal_assert against real journals: each answer is produced by systemd itself."""

from __future__ import annotations

import json
import time

import pytest
import scripted_service
from fault_rows import fault
from scripted_service import ASKED, FOREVER, RUNNER, Service

service = scripted_service.service


def test_current_and_previous(service):
    old = service.start(f"echo '{RUNNER.format(16)}'; echo done; {FOREVER}")
    service.until("done")
    now = service.start(f"echo '{RUNNER.format(8)}'; echo done; {FOREVER}")
    service.until("done")
    expect = [{"title": "runner", "pattern": r"Initialized (\w+) draft runner", "fields": {"block_size": 16}}]
    current = service.ask(expect=expect, must_not_match=["Traceback"])
    assert (current["failure_class"], current["invocation_id"]) == ("field_mismatch", now)
    assert current["results"][0]["mismatches"] == [{"key": "block_size", "expected": 16, "actual": 8}]
    assert current["covers_start"] and current["changed"] is False
    previous = service.ask(invocation="previous", expect=expect, must_not_match=["Traceback"])
    assert previous["ok"] and previous["invocation_id"] == old
    assert service.ask(invocation=old, expect=[{"contains": "Stopped", "source": "manager"}])["ok"]
    assert service.ask(preset="dflash", preset_fields={"draft_window_size": 2048})["failure_class"] == "field_mismatch"


def test_names_that_are_none(service):
    service.write(FOREVER)
    typing_error = service.ask(name=service.name.replace("names", "nmaes"), expect=[{"contains": "x"}])
    assert typing_error["failure_class"] == "no_such_unit" and service.name in typing_error["msg"]
    fault("journal", "A question to the journal has a typing error in the unit's name")
    assert service.ask(must_not_match=["x"])["failure_class"] == "never_started"
    fault("journal", "The unit that is asked about was never started")
    service.start(FOREVER)
    assert service.ask(must_not_match=["x"])["failure_class"] == "no_entries"
    fault("journal", "The invocation has not written anything")
    assert service.ask(invocation="previous", must_not_match=["x"])["failure_class"] == "no_such_invocation"
    fault("journal", "There is no invocation before this one")


def test_an_ended_unit_that_systemd_forgot(service):
    # journald looks the invocation up while the process lives.
    service.start("echo short; until [ -e /run/ja.go ]; do sleep 0.1; done; rm /run/ja.go")
    service.until("short")
    service.shell("touch /run/ja.go")
    deadline = time.monotonic() + 60
    while service.invocation() and time.monotonic() < deadline:
        time.sleep(0.1)
    gone = service.ask(expect=[{"contains": "short"}])
    assert gone["failure_class"] == "never_started" and "'previous'" in gone["msg"]
    fault("journal", "The process has ended and systemd has forgotten its invocation")
    assert service.ask(invocation="previous", expect=[{"contains": "short"}])["ok"]


@pytest.mark.parametrize(
    ("settings", "failure_class"),
    [
        ("StandardOutput=file:/run/ja.out", "output_elsewhere"),
        ("StandardError=null", "output_elsewhere"),
        ("LogLevelMax=warning", "log_level_hidden"),
    ],
)
def test_output_that_does_not_arrive(service, settings, failure_class):
    service.start(f"echo words; echo words >&2; {FOREVER}", settings)
    for question in ({"expect": [{"contains": "nothing"}]}, {"must_not_match": ["nothing"]}):
        assert service.ask(**question)["failure_class"] == failure_class
        fault(
            "journal",
            f"The unit has {settings}, and {'a line is missing' if 'expect' in question else 'an error is absent'}",
        )


def test_a_level_that_is_that_of_the_process_and_no_longer_of_its_unit(service):
    service.start(f"echo '<4>words'; echo nothing; {FOREVER}", "LogLevelMax=warning")
    service.until("words")
    service.write(FOREVER)
    assert service.ask(must_not_match=["nothing"])["failure_class"] == "log_level_hidden"


def test_a_unit_that_is_masked_and_stopped(service):
    service.start(f"echo words; {FOREVER}")
    service.until("words")
    unit = f"{service.folder}/{service.name}.service"
    service.shell(
        f"systemctl stop {service.name}; mv {unit} /run/ja.unit; systemctl mask {service.name}; systemctl daemon-reload"
    )
    try:
        result = service.ask(invocation="previous", expect=[{"contains": "words"}], must_not_match=["nothing"])
        assert result["ok"], result["msg"]
    finally:
        service.shell(f"systemctl unmask {service.name}; mv /run/ja.unit {unit}; systemctl daemon-reload")


def test_rotation_while_it_waits(service):
    service.start(f"echo first; {ASKED}; journalctl --rotate; sleep 1; echo last; {FOREVER}")
    assert service.ask(expect=[{"contains": "last"}, {"contains": "first", "count": 1}], timeout=120)["ok"]
    fault("journal", "The journal is rotated while a line is waited for", "The wait goes on, and counts each row once.")


def test_a_user_that_may_not_read_the_journal(service):
    service.start(f"echo words; {FOREVER}")
    for question in ({"expect": [{"contains": "words"}]}, {"must_not_match": ["nothing"]}):
        assert service.ask(user="operator", **question)["failure_class"] == "no_permission"
        fault(
            "host",
            f"A user outside of systemd-journal asks {'for a line' if 'expect' in question else 'whether an error is absent'}",
        )


def test_user_scope(hosts):
    service = Service(hosts, "ja-user", user="operator")
    try:
        old = service.start(f"echo '{RUNNER.format(16)}'; {FOREVER}")
        service.until("draft runner")
        service.start(f"echo '{RUNNER.format(8)}'; {FOREVER}")
        service.until("draft runner")
        result = service.ask(preset="dflash", preset_fields={"block_size": 8})
        assert result["ok"] and result["covers_start"], result["msg"]
        assert service.ask(invocation="previous", expect=[{"contains": "block_size=16"}])["invocation_id"] == old
        assert service.ask(expect=[{"contains": "block_size=16"}])["failure_class"] == "pattern_not_found"
    finally:
        service.shell(
            f"{service.systemctl} stop ja-user; rm -f {service.folder}/ja-user.service {service.script}", check=False
        )


def test_bytes_colours_and_long_lines(service):
    service.start(
        "printf '\\033[1;33mcolour\\033[0m x\\n'; printf 'Loading 40%%\\rLoading 100%%\\r[t] Initialized X draft runner. a=1\\n'\n"
        "printf 'bad \\377\\376 bytes\\n'; printf 'L%.0s' {1..150000}; echo ' end=1'\n"
        f"echo done; {FOREVER}"
    )
    service.until("done")
    expect = [
        {"pattern": "^colour x$"},
        {"pattern": r"^\[t\] Initialized", "fields": {"a": 1}},
        {"pattern": "^Loading 100%$"},
        {"pattern": "^bad .. bytes$"},
        {"contains": "LLL end", "fields": {"end": 1}, "count": 1},
    ]
    result = service.ask(expect=expect)
    assert result["ok"], result["msg"]
    assert len(json.dumps(result)) < 20_000
    fault("journal", "The log has colours, broken bytes, and a line of 150,000 characters", "Every line is read whole.")


def test_a_long_message_of_the_journals_own_protocol(service):
    say = (
        "import socket, time; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.connect('/run/systemd/journal/socket'); "
        "s.send(b'MESSAGE=' + b'y' * 150000 + b' end=2' + bytes([10])); print('done', flush=True); time.sleep(9999)"
    )
    service.start(f'exec /usr/bin/python3 -c "{say}"')
    service.until("done")
    result = service.ask(expect=[{"pattern": "yyy end", "fields": {"end": 2}}], must_not_match=["nothing"])
    assert result["ok"], result["msg"]


def test_an_instance_of_a_template(service):
    service.write(f"echo words of $1; {FOREVER}")
    service.shell(
        f"sed 's/\\.sh$/.sh %i/' {service.folder}/{service.name}.service > {service.folder}/{service.name}@.service; "
        f"systemctl daemon-reload; systemctl start {service.name}@one {service.name}@two"
    )
    try:
        expect = [{"contains": "words of two", "count": 1}, {"contains": "words of one", "count": 0}]
        result = service.ask(name=f"{service.name}@two", expect=expect, timeout=60)
        assert result["ok"], result["msg"]
    finally:
        service.shell(f"systemctl stop '{service.name}@*'; rm {service.folder}/{service.name}@.service")


def test_exported_journals(service):
    invocation = service.start(f"echo words; {FOREVER}")
    service.until("words")
    service.shell(
        "journalctl --flush; journalctl --rotate; rm -rf /srv/exported; cp -r /var/log/journal/$(cat /etc/machine-id) /srv/exported"
    )
    expect = [{"contains": "words"}]
    assert service.ask(directory="/srv/exported", invocation=invocation, expect=expect, must_not_match=["nothing"])[
        "ok"
    ]
    assert service.ask(files=["/srv/exported/*.journal"], invocation="any", expect=expect)["ok"]
    assert service.ask(directory="/srv/exported", expect=expect)["failure_class"] == "rule_violated"
    missing = service.ask(directory="/srv/nowhere", invocation=invocation, expect=expect)
    assert missing["failure_class"] == "no_such_invocation" and "/srv/nowhere" in missing["msg"]
    fault("journal", "The directory of an exported journal is not there")


def test_the_wait_ends_with_the_invocation(service):
    service.start(f"echo first; {ASKED}; echo last words; exit 3")
    began = time.monotonic()
    result = service.ask(expect=[{"contains": "never"}], timeout=600)
    assert result["failure_class"] == "pattern_not_found" and "has ended" in result["msg"]
    assert any("last words" in line for line in result["log_tail"])
    assert time.monotonic() - began < 300
