# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._running_process import (
    cgroup_of,
    compare,
    describe_change,
    expand_words,
    read_argv,
)
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState


class FakeManager:
    scope = "system"

    def __init__(self, words, **environ):
        self.words = words
        self.environ = environ

    def exec_start(self, dummy_name):
        return self.words

    def environment(self, dummy_name):
        return self.environ


def make_process(proc, pid, argv, environ):
    folder = proc / str(pid)
    folder.mkdir(parents=True)
    folder.joinpath("cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in argv))
    folder.joinpath("environ").write_bytes(b"".join(f"{k}={v}".encode() + b"\0" for k, v in environ.items()))
    return str(proc)


def unit(**properties):
    base = {"LoadState": "loaded", "ActiveState": "active", "MainPID": "7", "InvocationID": "a" * 32}
    return UnitState("sglang.service", {**base, **properties})


ARGV = ["/venv/bin/python", "-m", "sglang.launch_server", "--port", "30001"]
ENVIRON = {"INVOCATION_ID": "a" * 32, "LLMOPS_SGLANG_UNIT": "one"}


def test_the_same_process_has_no_difference(tmp_path):
    proc = make_process(tmp_path, 7, ARGV, ENVIRON)
    found = compare(FakeManager(ARGV, LLMOPS_SGLANG_UNIT="one"), unit(), proc)
    assert found.differences == []
    assert found.complete


@pytest.mark.parametrize(
    ("words", "environ", "properties", "expected"),
    [
        ([*ARGV[:-1], "30002"], {}, {}, "runs with --port 30001; unit says --port 30002"),
        (ARGV, {"LLMOPS_SGLANG_UNIT": "two"}, {}, "settings of the unit changed"),
        (ARGV, {"A": "1"}, {}, "the environment variable A differs"),
        (ARGV, {}, {"NeedDaemonReload": "yes"}, "systemd holds an older copy"),
    ],
)
def test_each_kind_of_difference_is_named(tmp_path, words, environ, properties, expected):
    proc = make_process(tmp_path, 7, ARGV, ENVIRON)
    found = compare(FakeManager(words, **environ), unit(**properties), proc)
    assert len(found.differences) == 1
    assert expected in found.differences[0]


def test_new_secrets_are_a_difference_and_are_not_shown(tmp_path):
    secrets = tmp_path / "sglang.env"
    secrets.write_text("TOKEN=hunter22\nLLMOPS_SGLANG_SECRETS=new\n")
    proc = make_process(tmp_path / "proc", 7, ARGV, {**ENVIRON, "LLMOPS_SGLANG_SECRETS": "old", "TOKEN": "hunter21"})
    found = compare(FakeManager(ARGV), unit(EnvironmentFiles=f"{secrets} (ignore_errors=no)"), proc)
    assert found.differences == ["the secrets changed"]


def test_secrets_that_were_taken_away_are_a_difference(tmp_path):
    proc = make_process(tmp_path, 7, ARGV, {**ENVIRON, "LLMOPS_SGLANG_SECRETS": "old"})
    assert compare(FakeManager(ARGV), unit(), proc).differences == ["the secrets changed"]


def test_an_environment_that_was_written_over_is_not_compared(tmp_path):
    proc = make_process(tmp_path, 7, ARGV, {"garbage": "x"})
    found = compare(FakeManager(ARGV, A="1"), unit(), proc)
    assert found.differences == []
    assert not found.complete


def test_a_script_runs_under_its_interpreter(tmp_path):
    proc = make_process(tmp_path, 7, ["/usr/bin/python3", "/opt/serve", "--port", "1"], ENVIRON)
    assert compare(FakeManager(["/opt/serve", "--port", "1"]), unit(), proc).differences == []
    assert compare(FakeManager(["/opt/serve", "--port", "2"]), unit(), proc).differences != []


def test_a_process_that_is_gone_is_no_proof(tmp_path):
    found = compare(FakeManager(ARGV), unit(), str(tmp_path))
    assert not found.complete


def test_words_expand_as_systemd_does():
    environ = {"A": "x y", "EMPTY": ""}
    assert expand_words(["${A}/z", "$A", "$$A", "$EMPTY", "a$A"], environ) == ["x y/z", "x", "y", "$A", "a$A"]


def test_keys_are_never_named_in_a_change():
    text = describe_change(["s", "--api-key", "old-secret"], ["s", "--api-key", "new-secret"])
    assert "secret" not in text


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("0::/system.slice/a.service\n", "/system.slice/a.service"),
        ("2:cpu:/x\n1:name=systemd:/system.slice/a.service\n0::/\n", "/system.slice/a.service"),
        ("1:name=systemd:/\n0::/system.slice/b.service\n", "/system.slice/b.service"),
    ],
)
def test_the_control_group_is_the_one_of_systemd(tmp_path, content, expected):
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cgroup").write_text(content)
    assert cgroup_of(7, str(tmp_path)) == expected


def test_an_argument_that_is_empty_stays_a_word(tmp_path):
    make_process(tmp_path, 7, ["a", "", "b"], {})
    assert read_argv(7, str(tmp_path)) == ["a", "", "b"]
