# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import time

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._running_process import (
    cgroup_of,
    compare,
    describe_change,
    expand_words,
    read_argv,
    remember_inputs,
)
from ansible_collections.llmops.sglang.plugins.module_utils._server_inputs import InputMemory
from ansible_collections.llmops.sglang.tests.unit.unit_process import ARGV, ENVIRON, FakeManager, make_process, unit


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


def test_secrets_that_were_edited_by_hand_are_a_difference(tmp_path):
    secrets = tmp_path / "sglang.env"
    secrets.write_text("LLMOPS_SGLANG_SECRETS=same\nTOKEN=hunter22\n")
    proc = make_process(tmp_path / "proc", 7, ARGV, {**ENVIRON, "LLMOPS_SGLANG_SECRETS": "same", "TOKEN": "hunter21"})
    found = compare(FakeManager(ARGV), unit(EnvironmentFiles=f"{secrets} (ignore_errors=no)"), proc)
    assert found.differences == ["the secrets changed"]
    secrets.write_text("LLMOPS_SGLANG_SECRETS=same\nTOKEN=hunter21\n")
    assert not compare(FakeManager(ARGV), unit(EnvironmentFiles=f"{secrets} (ignore_errors=no)"), proc).differences


def test_a_variable_that_the_unit_no_longer_sets_is_a_difference(tmp_path):
    file, cache = tmp_path / "llm.env", str(tmp_path / "cache")
    file.write_text("B=2\n")
    state = unit(EnvironmentFiles=f"{file} (ignore_errors=no)")
    proc = make_process(tmp_path / "proc", 7, ARGV, {**ENVIRON, "A": "1", "B": "2", "LANG": "C"})
    remember_inputs(FakeManager(ARGV, A="1"), state, proc, cache)
    assert compare(FakeManager(ARGV, A="1"), state, proc, cache).differences == []
    file.write_text("")
    assert compare(FakeManager(ARGV), state, proc, cache).differences == [
        "the environment variable A is no longer set by the unit",
        "the environment variable B is no longer set by the unit",
    ]


@pytest.mark.parametrize(
    ("user", "has", "expected"),
    [
        ("llm", "root", ["it runs as user root and the unit says llm"]),
        ("", "llm", ["it runs as user llm and the unit says root"]),
        ("llm", "llm", []),
        ("0", "root", []),
        ("", None, []),
    ],
)
def test_a_process_of_another_user_is_a_difference(tmp_path, user, has, expected):
    proc = make_process(tmp_path, 7, ARGV, {**ENVIRON, **({"USER": has} if has else {})})
    assert compare(FakeManager(ARGV), unit(User=user), proc).differences == expected


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


@pytest.mark.parametrize("words", [["--api-key=old-secret"], ["--api-key", "old-secret"], ["--ap", "old-secret"]])
def test_keys_are_never_named_in_a_change_however_they_are_written(words):
    shell = ["bash", "-c", "python -m sglang.launch_server " + " ".join(words)]
    for before, after in ((["s", *words], ["s", *[w.replace("old", "new") for w in words]]), (["s", *words], ["s"])):
        assert "secret" not in describe_change(before, after)
    assert "old-secret" not in describe_change(shell, ["s"]) or words[0] == "--ap"


@pytest.mark.parametrize(
    ("value", "expected"), [("'a b' c", ["a b", "c"]), ('--x "{}"', ["--x", "{}"]), ("it's", ["it's"])]
)
def test_quotes_in_a_variable_are_respected_when_it_is_split(value, expected):
    assert expand_words(["$A"], {"A": value}) == expected


def test_variables_of_any_environment_file_are_compared_and_not_shown(tmp_path):
    file = tmp_path / "env"
    file.write_text("# c\nA='new value'\nGONE=1\nB=\"same\"\n")
    proc = make_process(tmp_path / "proc", 7, ARGV, {**ENVIRON, "A": "old value", "B": "same", "GONE": "2"})
    properties = {"EnvironmentFiles": f"{file} (ignore_errors=yes)", "UnsetEnvironment": "GONE"}
    found = compare(FakeManager(ARGV, A="ignored"), unit(**properties), proc)
    assert found.differences == ["the environment variable A of an environment file differs"]


def test_a_credential_is_compared_with_the_copy_that_the_process_got(tmp_path):
    source, copies = tmp_path / "key", tmp_path / "credentials"
    source.write_text("one")
    copies.mkdir()
    (copies / "key").write_text("one")
    proc = make_process(tmp_path / "proc", 7, ARGV, {**ENVIRON, "CREDENTIALS_DIRECTORY": str(copies)})
    manager = FakeManager(ARGV)
    manager.credentials = [("key", str(source)), ("gone", "/nonexistent")]
    assert compare(manager, unit(), proc).differences == []
    source.write_text("two")
    assert compare(manager, unit(), proc).differences == ["the credential key changed"]


@pytest.fixture
def served(tmp_path):
    """A server whose SGLang, model and drafter lie below tmp_path; it began after they were made."""

    class Served:
        metadata = tmp_path / "venv/lib/python3.11/site-packages/sglang-0.5.15.dist-info"
        model, draft = tmp_path / "model", tmp_path / "draft"
        python = tmp_path / "venv/bin/python"

        def __init__(self):
            for folder in (self.metadata, self.model, self.draft, self.python.parent):
                folder.mkdir(parents=True)
            (tmp_path / "venv/pyvenv.cfg").write_text("")
            self.python.write_text("")
            (self.metadata / "RECORD").write_text("a,sha256=1,1\n")
            for folder in (self.model, self.draft):
                (folder / "config.json").write_text("{}")
            self.words = [str(self.python), "-m", "sglang.launch_server", "--model", str(self.model)]
            self.words += ["--speculative-draft-model-path", str(self.draft)]
            self.proc = make_process(tmp_path / "proc", 7, self.words, ENVIRON)
            self.manager = FakeManager(self.words)
            self.begin()

        def begin(self, invocation="a"):
            # A moment later than all that was written so far: file times are as coarse as a timer tick.
            started = str(int((time.monotonic() + 0.05) * 1e6))
            self.state = unit(ExecMainStartTimestampMonotonic=started, InvocationID=invocation * 32)

        def later(self, path, text):
            began = time.time() - time.monotonic() + self.state.exec_main_start_monotonic_us / 1e6
            probe = tmp_path / "probe"
            probe.touch()
            # The clock that files get their times from is behind by up to a tick.
            while probe.stat().st_ctime <= began:
                time.sleep(0.01)
                probe.write_text("x")
            path.write_text(text)
            os.utime(path.parent)

        def found(self):
            return compare(self.manager, self.state, self.proc, str(tmp_path / "cache")).differences

        def remember(self):
            remember_inputs(self.manager, self.state, self.proc, str(tmp_path / "cache"))

    return Served()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("metadata/RECORD", "the installed SGLang changed since the process started"),
        ("model/config.json", "the model's configuration changed since the process started"),
        ("draft/config.json", "the drafter's configuration changed since the process started"),
    ],
)
@pytest.mark.parametrize("remembered", [True, False])
def test_what_the_server_read_at_its_start_is_compared(served, name, said, remembered):
    folder, file = name.split("/")
    if remembered:
        served.remember()
    assert served.found() == []
    served.later(getattr(served, folder) / file, '{"new": 1}')
    assert served.found() == [said]
    served.begin("b")
    assert served.found() == []


def test_a_file_that_was_only_touched_is_no_difference(served):
    served.remember()
    served.later(served.model / "config.json", "{}")
    assert served.found() == []


def test_what_a_process_began_with_outlives_the_boot(monkeypatch):
    """After it systemd starts the server itself; a file that is touched then must not cost a restart."""
    assert InputMemory("a.service", "system").path == "/var/cache/llmops-sglang/a.service.json"
    monkeypatch.setenv("XDG_CACHE_HOME", "/home/x/cache")
    assert InputMemory("a.service", "user").path == "/home/x/cache/llmops-sglang/a.service.json"


def test_a_record_of_a_unit_that_is_removed_goes(tmp_path):
    memory = InputMemory("a.service", "system", str(tmp_path))
    memory.write("a" * 32, {}, "c")
    assert memory.read()
    memory.forget()
    memory.forget()
    assert not memory.read()


def test_a_file_that_was_only_touched_is_no_difference_after_systemd_restarted_the_server(served):
    """The record is of an older invocation, and what it holds is what is there."""
    served.remember()
    served.begin("b")
    served.later(served.model / "config.json", "{}")
    assert served.found() == []


def test_a_change_that_kept_its_time_is_seen(served):
    """As rsync and tar do; the time of the inode tells."""
    config = served.model / "config.json"
    old = config.stat()
    served.later(config, '{"new": 1}')
    os.utime(config, ns=(old.st_atime_ns, old.st_mtime_ns))
    assert served.found() == ["the model's configuration changed since the process started"]


def test_a_shell_script_that_starts_the_server_is_an_input(served, tmp_path):
    script = tmp_path / "run.sh"
    script.write_text("#!/bin/sh\nexec " + " ".join(served.words) + "\n")
    served.manager.words = [str(script)]
    served.begin()
    assert served.found() == []
    served.later(script, script.read_text() + "# changed\n")
    assert served.found() == ["the script that starts it changed since the process started"]


def test_what_a_server_fetched_while_it_started_is_no_change(served, tmp_path):
    """A model of the hub: its commit counts, and files that come after the start are the server's own doing."""
    cache = tmp_path / "hub/models--org--model"
    served.words[4] = "org/model"
    environ = {**ENVIRON, "HF_HUB_CACHE": str(tmp_path / "hub")}
    make_process(tmp_path / "again", 7, served.words, environ)
    served.manager.words, served.proc = served.words, str(tmp_path / "again")
    served.begin()
    served.remember()
    (cache / "refs").mkdir(parents=True)
    (cache / "snapshots/c1").mkdir(parents=True)
    served.later(cache / "refs/main", "c1")
    assert served.found() == []
    served.remember()
    (cache / "snapshots/c1/config.json").write_text("{}")
    assert served.found() == []
    (cache / "snapshots/c2").mkdir()
    (cache / "refs/main").write_text("c2")
    assert served.found() == ["the model's configuration changed since the process started"]


@pytest.mark.parametrize(
    "script",
    [
        "export HF_TOKEN=old-secret; x",
        "HF_TOKEN='old-secret x' y",
        'A=1 HF_TOKEN="old-secret\\" z" y',
        "A=http://u:old-secret@h/ y",
    ],
)
def test_variables_that_a_wrapper_sets_are_not_named_in_a_change_if_they_are_secrets(script):
    before, after = ["/bin/sh", "-c", script], ["/bin/sh", "-c", script.replace("old", "new")]
    text = describe_change(before, after)
    assert "secret" not in text and "********" in text
    assert "A=1" in describe_change(["sh", "-c", "A=1 x"], ["sh", "-c", "A=2 x"])


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"sha256": {}, "variables": 5}', '{"sha256": {}, "variables": [5]}'], ids=range(3)
)
def test_a_memory_that_was_damaged_is_none(tmp_path, text):
    memory = InputMemory("a.service", "system", str(tmp_path))
    (tmp_path / "llmops-sglang").mkdir()
    (tmp_path / "llmops-sglang" / "a.service.json").write_text(text)
    assert memory.read() == {}
