# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""journal_assert against real journals: each answer is produced by systemd itself."""

from __future__ import annotations

import json
import time

import pytest

HOST = "host2"
RUNNER = (
    "[2026-05-30 08:20:46 TP0] Initialized DFLASH draft runner. attention_backend=triton, "
    "model=DFlashDraftModel, block_size={}, draft_window_size=None, compact_cache=False"
)
FOREVER = "exec sleep infinity"


class Service:
    """A unit whose process is a shell script."""

    def __init__(self, hosts, name, user=None):
        self.hosts, self.name, self.user = hosts, name, user
        home = "/home/operator"
        self.folder = "/etc/systemd/system" if user is None else f"{home}/.config/systemd/user"
        self.script = f"/srv/{name}.sh" if user is None else f"{home}/{name}.sh"
        self.systemctl = "systemctl" if user is None else "XDG_RUNTIME_DIR=/run/user/$(id -u) systemctl --user"

    def shell(self, command, check=True):
        done = self.hosts.ssh(HOST, command, user=self.user or "root")
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout.strip()

    def write(self, script, settings=""):
        self.shell(
            f"mkdir -p {self.folder} && cat > {self.script} <<'END'\n{script}\nEND\n"
            f"cat > {self.folder}/{self.name}.service <<'END'\n[Service]\nExecStart=/bin/bash {self.script}\n{settings}\nEND\n"
            f"{self.systemctl} daemon-reload"
        )

    def start(self, script, settings=""):
        """Write, (re)start, and wait until the script's last word before it sleeps is in the journal."""
        self.write(script, settings)
        self.shell(f"{self.systemctl} restart {self.name}")
        return self.invocation()

    def invocation(self):
        return self.shell(f"{self.systemctl} show --property=InvocationID --value {self.name}.service")

    def ask(self, user=None, **options):
        scope = "system" if self.user is None else "user"
        options = {"name": self.name, "scope": scope, **options}
        return self.hosts.run_module(HOST, "llmops.sglang.journal_assert", options, user=user or self.user)

    def until(self, line):
        """Wait for LINE, which the script says."""
        result = self.ask(expect=[{"contains": line}], timeout=20)
        assert result["ok"], result["msg"]
        return result


@pytest.fixture
def service(hosts, request):
    made = Service(hosts, "ja-" + request.node.name.split("[")[0].replace("_", "-")[5:40])
    yield made
    hosts.ssh(
        HOST,
        f"systemctl stop {made.name}; rm -f {made.folder}/{made.name}.service {made.script}; systemctl daemon-reload",
    )


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
    assert service.ask(must_not_match=["x"])["failure_class"] == "never_started"
    service.start(FOREVER)
    assert service.ask(must_not_match=["x"])["failure_class"] == "no_entries"
    assert service.ask(invocation="previous", must_not_match=["x"])["failure_class"] == "no_such_invocation"


def test_an_ended_unit_that_systemd_forgot(service):
    # journald looks the invocation up while the process lives.
    service.start("echo short; sleep 1")
    deadline = time.monotonic() + 10
    while service.invocation() and time.monotonic() < deadline:
        time.sleep(0.1)
    gone = service.ask(expect=[{"contains": "short"}])
    assert gone["failure_class"] == "never_started" and "'previous'" in gone["msg"]
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


def test_a_level_that_is_that_of_the_process_and_no_longer_of_its_unit(service):
    service.start(f"echo '<4>words'; echo nothing; {FOREVER}", "LogLevelMax=warning")
    service.until("words")
    service.write(FOREVER)
    assert service.ask(must_not_match=["nothing"])["failure_class"] == "log_level_hidden"


def test_rate_limit(service):
    # journald lets more through the more room its disk has; so many are too many for any.
    flood = f"for i in $(seq 4000); do echo line $i; done; sleep 2.5; echo after; {FOREVER}"
    service.start(flood, "LogRateLimitIntervalSec=2s\nLogRateLimitBurst=20")
    service.until("after")
    result = service.ask(expect=[{"contains": "nothing"}], must_not_match=["nothing"])
    assert [entry["failure_class"] for entry in result["results"]] == ["rate_limited"] * 2
    assert result["suppressed"] > 1000
    assert service.ask(expect=[{"contains": "after"}])["ok"]


def test_rate_limit_that_still_holds(service):
    flood = f"for i in $(seq 4000); do echo line $i; done; {FOREVER}"
    service.start(flood, "LogRateLimitIntervalSec=10min\nLogRateLimitBurst=20")
    service.until("line 20")
    result = service.ask(must_not_match=["line 4000"])
    assert result["failure_class"] == "rate_limited" and result["suppressed"] == 0


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


def test_a_users_own_journal_file_alone_lost_the_start(service):
    script = f"echo first; while ! [ -e /run/ja.go ]; do sleep 0.1; done; echo second; {FOREVER}"
    service.start(script, "User=operator\nExecStartPre=+/bin/bash -c 'echo prepared; sleep 0.3'")
    service.until("first")
    assert service.ask(must_not_match=["nothing"])["covers_start"]
    # As journald itself does where the oldest archived file is that one.
    service.shell(
        "journalctl --flush; journalctl --rotate; rm /var/log/journal/*/user-$(id -u operator)@*; touch /run/ja.go"
    )
    try:
        assert service.ask(expect=[{"contains": "second"}], timeout=20)["ok"]
        result = service.ask(must_not_match=["nothing"])
        assert (result["failure_class"], result["covers_start"]) == ("log_truncated", False)
        service.shell("journalctl --flush; rm -rf /srv/lossy; cp -r /var/log/journal/$(cat /etc/machine-id) /srv/lossy")
        exported = service.ask(directory="/srv/lossy", invocation=result["invocation_id"], must_not_match=["nothing"])
        assert (exported["failure_class"], exported["covers_start"]) == ("log_truncated", False)
        # What others wrote in between shows that a file is missing altogether.
        service.shell("rm /srv/lossy/user-*")
        exported = service.ask(directory="/srv/lossy", invocation=result["invocation_id"], must_not_match=["second"])
        assert exported["failure_class"] in ("log_truncated", "no_entries"), exported["msg"]
    finally:
        service.shell("rm -r /run/ja.go /srv/lossy")


def test_a_unit_that_is_masked_and_stopped(service):
    service.start(f"echo words; sleep 1; {FOREVER}")
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


def test_nothing_is_left_of_the_invocation(service):
    service.start(f"echo first; {FOREVER}")
    service.until("first")
    service.shell(
        "journalctl --rotate; sleep 1.1; journalctl --vacuum-time=1s; logger something else; journalctl --sync"
    )
    assert service.ask(must_not_match=["nothing"])["failure_class"] == "log_truncated"


def test_rotation_while_it_waits(service):
    service.start(f"echo first; sleep 3; journalctl --rotate; sleep 1; echo last; {FOREVER}")
    assert service.ask(expect=[{"contains": "last"}, {"contains": "first", "count": 1}], timeout=30)["ok"]


def test_journald_was_killed(service):
    service.start(f"echo first; while ! [ -e /run/ja.go ]; do sleep 0.1; done; rm /run/ja.go; echo second; {FOREVER}")
    service.until("first")
    service.shell("systemctl kill -s KILL systemd-journald.service; touch /run/ja.go")
    # Reset what the kill counts towards the start limit of journald.
    service.shell("systemctl reset-failed systemd-journald.service", check=False)
    result = service.ask(must_not_match=["nothing"], expect=[{"contains": "first"}])
    assert [entry["failure_class"] for entry in result["results"]] == ["", "log_truncated"]
    assert "restarted" in result["msg"]


def test_a_user_that_may_not_read_the_journal(service):
    service.start(f"echo words; {FOREVER}")
    for question in ({"expect": [{"contains": "words"}]}, {"must_not_match": ["nothing"]}):
        assert service.ask(user="operator", **question)["failure_class"] == "no_permission"


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


def test_a_long_message_of_the_journals_own_protocol(service):
    say = (
        "import socket, time; s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.connect('/run/systemd/journal/socket'); "
        "s.send(b'MESSAGE=' + b'y' * 150000 + b' end=2' + bytes([10])); print('done', flush=True); time.sleep(9999)"
    )
    service.start(f'exec /usr/bin/python3 -c "{say}"')
    service.until("done")
    result = service.ask(expect=[{"pattern": "yyy end", "fields": {"end": 2}}], must_not_match=["nothing"])
    assert result["ok"], result["msg"]


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
    finally:
        service.shell("rm /run/ja.go")


SHARE = r"""
import os, time
child = os.fork()
if child == 0:
    time.sleep(0.5)
    os.write(1, b"Traceback (most recent call last):\n  File c1\n")
    time.sleep(1)
    os.write(1, b"  File c2\nValueError: of the child\ndone\n")
    time.sleep(9999)
os.write(1, b"P" * 49152)
time.sleep(1)
os.write(1, b" end=1\nbegun,")
time.sleep(1)
os.write(1, b" and=ended\n  no frame\n")
time.sleep(9999)
"""


def test_processes_that_share_an_output(service):
    """journald notes each one's rows in the stream of both, and breaks a line where the other one writes."""
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
        seen = service.ask(must_not_match=["draft runner"], expect=[{"contains": "never"}], timeout=20)
        assert seen["failure_class"] == "pattern_not_found" and seen["results"][1]["count"] == 1, seen["msg"]
        result = service.ask(preset="dflash")
        assert (result["failure_class"], result["unattributed"]) == ("pattern_not_found", 1)
    finally:
        service.shell(f"systemctl kill -s KILL {service.name}; rm -f /run/ja.go", check=False)


def test_last_words_that_journald_reads_when_the_unit_runs_again(service):
    """It gives them the invocation that the unit has by then."""
    service.start(f"echo words; until [ -e /run/ja.go ]; do sleep 0.1; done; rm /run/ja.go; echo '{RUNNER.format(16)}'")
    service.until("words")
    service.write(f"echo words; {FOREVER}")
    over = f"[ $(systemctl show --property=ActiveState --value {service.name}) = inactive ]"
    service.shell(
        "journald=$(systemctl show --property=MainPID --value systemd-journald); kill -STOP $journald; touch /run/ja.go; "
        f"for i in $(seq 300); do {over} && break; sleep 0.1; done; systemctl start {service.name}; kill -CONT $journald"
    )
    service.until("words")
    result = service.ask(preset="dflash")
    assert (result["failure_class"], result["unattributed"]) == ("pattern_not_found", 1), result["msg"]


def test_an_instance_of_a_template(service):
    service.write(f"echo words of $1; {FOREVER}")
    service.shell(
        f"sed 's/\\.sh$/.sh %i/' {service.folder}/{service.name}.service > {service.folder}/{service.name}@.service; "
        f"systemctl daemon-reload; systemctl start {service.name}@one {service.name}@two"
    )
    try:
        expect = [{"contains": "words of two", "count": 1}, {"contains": "words of one", "count": 0}]
        result = service.ask(name=f"{service.name}@two", expect=expect, timeout=5)
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


def test_the_wait_ends_with_the_invocation(service):
    service.start("echo first; sleep 4; echo last words; exit 3")
    began = time.monotonic()
    result = service.ask(expect=[{"contains": "never"}], timeout=120)
    assert result["failure_class"] == "pattern_not_found" and "has ended" in result["msg"]
    assert any("last words" in line for line in result["log_tail"])
    assert time.monotonic() - began < 30
