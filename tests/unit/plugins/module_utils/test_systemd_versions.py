# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions of systemd that no test host has, as their documentation has them."""

from __future__ import annotations

import re

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _journal_numbers, _sandbox
from ansible_collections.llmops.sglang.plugins.module_utils._journal import read_invocation
from ansible_collections.llmops.sglang.plugins.module_utils._journal_gaps import Place
from ansible_collections.llmops.sglang.plugins.module_utils._sandbox import Sandbox
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState, version_of
from ansible_collections.llmops.sglang.plugins.module_utils._unit_verify import complaints
from ansible_collections.llmops.sglang.tests.unit.documented_systemd import (
    FIXTURES,
    VERSIONS,
    DocumentedHost,
    documented,
)
from ansible_collections.llmops.sglang.tests.unit.journal_host import NOW, OLD, RUNNER, UNIT, one

WORDS = ["/venv/bin/python", "-m", "sglang.launch_server", "--port", "30001"]
FILES = ["/etc/llm a.env", "/etc/llm.b.env"]
ASKED = {"must_not_match": ["nothing"], "invocation": NOW}


@pytest.fixture(params=VERSIONS)
def version(request):
    return request.param


@pytest.fixture
def host(version):
    """Has a unit that is running, and has written what it said of its draft."""
    made = DocumentedHost(version)
    made.begin()
    made.say("hello", RUNNER.format(8, 2048), "bye")
    return made


def test_each_fixture_says_that_it_is_no_recording(version):
    assert VERSIONS == [239, 249, 255, 257]
    first = (FIXTURES / f"{version}.yml").read_text(encoding="utf-8").partition("\n")[0]
    assert re.match(
        "# Built from systemd's documentation, and not recorded on a host. Documents: NEWS of systemd ", first
    )


def test_the_version_is_read(version):
    assert version_of(documented(version)["version"]) == version
    assert version_of("") == version_of("bash: systemctl: command not found") == 0


class TestUnit:
    @pytest.mark.parametrize("spelling", ["EnvironmentFiles", "EnvironmentFile"])
    def test_its_state(self, host, spelling):
        host.shown = host.shown.replace("EnvironmentFiles=", f"{spelling}=")
        state = Manager(host.run_command).show(UNIT)
        assert state.exists and state.running and not state.need_daemon_reload
        assert (state.invocation_id, state.main_pid, state.n_restarts) == (NOW, 4194305, 2)
        assert (state.exec_main_code, state.exec_main_status) == ("0", 0)
        assert state.exec_main_start_monotonic_us == 5_000_000_000
        assert state.drop_in_paths == [
            "/etc/systemd/system/llm.service.d/10-a.conf",
            "/run/systemd/system/llm.service.d/b.conf",
        ]
        assert state.environment_files == FILES

    def test_one_that_is_not_there(self, version):
        manager = Manager(DocumentedHost(version, exists=False).run_command)
        state = manager.show(UNIT)
        assert not (state.exists or state.running or state.invocation_id or state.main_pid)
        assert state.environment_files == state.drop_in_paths == []
        msg = manager.no_such_unit(UnitState("sglang-lm.service", state.properties)).msg
        assert "closest names here are 'sglang-llm.service'" in msg

    def test_names_are_those_of_the_first_column(self, host):
        assert Manager(host.run_command).unit_names() == [
            "gone.service", "llm-loaded.service", "old-alias.service", "sglang-llm.service", "ssh.service", "systemd-journald@.service",
        ]  # fmt: skip

    @pytest.mark.parametrize("bus", [True, False])
    def test_its_command_and_environment(self, host, bus):
        host.bus = bus
        manager = Manager(host.run_command)
        assert manager.exec_start(UNIT) == WORDS
        assert manager.environment(UNIT) == {"A": "1", "B": "two words"}

    def test_credentials_are_there_since_247(self, host, version):
        manager = Manager(host.run_command)
        wanted = [("config.yaml", "/etc/systemd/system/llm.service.secrets/config.yaml")] if version >= 247 else []
        assert manager.load_credentials(manager.show(UNIT)) == wanted

    def test_what_verify_says_of_it_and_of_others(self, version):
        path = "/tmp/stage/llm.service"
        text = "[Unit]\n[Service]\nNoSuchKey=1\nExecStart=/nowhere/python -m x\n"
        said = documented(version)["verify"].replace("PATH", path)
        key, command = complaints(said, UNIT, path, "/etc/systemd/system/llm.service", text)
        assert key.error and "Unknown" in key.text and key.text.endswith("(in 'NoSuchKey=1')")
        assert command.error and "llm.service:4: Command /nowhere/python is not executable" in command.text


class TestJournal:
    def test_an_invocation_is_whole(self, host):
        log = read_invocation(Manager(host.run_command), UNIT, NOW)
        assert log.covers_start and log.incomplete == "" and log.begins
        assert [line.text for line in log.lines] == ["hello", RUNNER.format(8, 2048), "bye"]
        assert [line.text.partition(" ")[0] for line in log.manager_lines] == ["Starting", "Started"]

    def test_the_draft_window(self, host):
        good = host.ask(expect=[one(fields={"draft_window_size": 2048})])
        assert good["ok"] and good["invocation_id"] == NOW and good["covers_start"]
        assert host.ask(expect=[one(fields={"draft_window_size": 64})])["failure_class"] == "field_mismatch"
        assert host.ask(must_not_match=["nothing"])["ok"]

    def test_what_was_suppressed_is_told(self, host):
        host.write("suppressed")
        result = host.ask(must_not_match=["nothing"])
        assert (result["failure_class"], result["suppressed"]) == ("rate_limited", 4711)

    def test_a_start_that_is_gone_is_told(self, host):
        host.rows = [row for row in host.rows if "INVOCATION_ID" not in row]
        assert host.ask(must_not_match=["nothing"])["failure_class"] == "log_truncated"

    def test_the_one_before_is_another(self, version):
        host = DocumentedHost(version)
        for invocation, window in ((OLD, 64), (NOW, 2048)):
            host.begin(invocation)
            host.say(RUNNER.format(8, window), invocation=invocation)
        found = host.ask(invocation="previous", expect=[one(fields={"draft_window_size": 64})])
        assert found["ok"] and found["invocation_id"] == OLD

    @pytest.mark.parametrize("last", ["exited", "failed", ""])
    def test_a_boot_after_a_server_ended_cut_nothing_off(self, host, last):
        host.shown = host.shown.replace(NOW, "").replace("ActiveState=active", "ActiveState=failed")
        if last:
            host.write(last)
        host.boot = "e" * 32
        host.write("journald_started")
        assert host.ask(**ASKED)["failure_class"] == ("" if last else "log_truncated")

    def test_only_the_manager_says_that_a_server_ended(self, host):
        host.shown = host.shown.replace(NOW, "").replace("ActiveState=active", "ActiveState=failed")
        host.say(documented(239)["rows"]["exited"]["MESSAGE"])
        host.boot = "e" * 32
        host.write("journald_started")
        assert host.ask(**ASKED)["failure_class"] == "log_truncated"

    def test_patterns_that_journald_filters_by_are_told(self, host, version):
        if version >= 253:
            host.shown += "LogFilterPatterns=~noise\n"
        assert host.ask(must_not_match=["nothing"])["failure_class"] == ("output_elsewhere" if version >= 253 else "")

    def test_the_rows_of_a_file_are_counted_by_its_header(self, version):
        header = documented(version)["header"]
        place = Place("aa", 9, "d" * 32, 50)
        assert _journal_numbers._are_counted(header, place, place)
        fewer = re.sub("(?i)(entry objects): 10", r"\1: 9", header)
        assert fewer != header and not _journal_numbers._are_counted(fewer, place, place)


class TestSandbox:
    @pytest.mark.parametrize("user", [None, {"XDG_RUNTIME_DIR": "/run/user/7"}])
    def test_its_settings_are_known_since_249(self, version, user):
        host = DocumentedHost(version)
        sandbox = Sandbox(host.run_command, "systemd", 1 << 28, user)
        out, said = sandbox.run("print(1)", "", 3.0)
        if version >= 249:
            assert out == "it ran\n", sandbox.why_not(said)
        else:
            msg = _sandbox.unavailable(sandbox.why_not(said)).msg
            assert "(Unknown assignment: " in msg and "systemd 249 or newer" in msg

    @pytest.mark.parametrize("user", [None, {"XDG_RUNTIME_DIR": "/run/user/7"}])
    def test_other_files_of_proc_are_hidden_where_that_leaves_the_kernel_protected(self, version, user):
        host = DocumentedHost(version)
        sandbox = Sandbox(host.run_command, "systemd", 1 << 28, user)
        for dummy in range(2):
            sandbox.run("print(1)", "", 3.0)
        (first, second) = (words for words in host.commands if words[0] == "systemd-run")
        assert ("ProcSubset=pid" in first) is ("ProcSubset=pid" in second) is (version >= 250 or user is not None)
        assert ("ProtectKernelTunables=yes" in first) is (user is None)
        assert sum("--version" in words for words in host.commands) == (user is None)
