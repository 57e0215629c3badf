# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _adoption_source, _flags, _server_report
from ansible_collections.llmops.sglang.plugins.module_utils._adoption import adopt
from ansible_collections.llmops.sglang.plugins.module_utils._adoption_source import found_of, server_process
from ansible_collections.llmops.sglang.plugins.module_utils._endpoint import (
    _SHORTEST,
    argument,
    from_argv,
    hide_keys,
)
from ansible_collections.llmops.sglang.plugins.module_utils._evidence import changes, collect
from ansible_collections.llmops.sglang.plugins.module_utils._ownership import Ownership
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import Comparison, read_environ
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask
from ansible_collections.llmops.sglang.plugins.module_utils._server_facts import (
    listener_facts,
    resolved_arguments,
    server_facts,
    unit_facts,
    without_secrets,
)
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState


@pytest.mark.parametrize(
    ("version", "key"),
    [
        ("0.5.11", "speculative_dflash_draft_window_size"),
        ("0.5.15.post1", "speculative_draft_window_size"),
        ("9.9.9", "speculative_draft_window_size"),
    ],
)
def test_the_window_has_one_name_for_all_releases(version, key):
    assert resolved_arguments({key: 2048}, version)["speculative_draft_window_size"] == 2048


def test_keys_never_appear():
    answers = {
        "/server_info": {
            "version": "0.5.15",
            "api_key": "sk-secret-1",
            "admin_api_key": "sk-secret-2",
            "model_path": "/m",
        },
        "/v1/models": {"data": [{"id": "sk-secret-1"}]},
    }
    facts = server_facts(answers.get, lambda version: {}, Mask(["sk-secret-1"]))
    assert "sk-secret" not in str(facts)
    assert facts["version"] == "0.5.15"


def test_a_server_that_does_not_answer_is_described_by_its_command_line():
    facts = server_facts(lambda path: None, lambda version: {"model_path": "/m"}, Mask())
    assert facts["reachable"] is False
    assert facts["arguments_from"] == "command_line"
    assert facts["model"] == "/m"


@pytest.mark.parametrize(
    ("words", "url"),
    [
        ([], "http://127.0.0.1:30000"),
        (["--host", "0.0.0.0", "--port=30001"], "http://127.0.0.1:30001"),
        (["--host", "::", "--port", "1"], "http://[::1]:1"),
        (["--host", "fd00::1"], "http://[fd00::1]:30000"),
        (["--ssl-certfile", "/c", "--port", "1", "--port", "2"], "https://127.0.0.1:2"),
    ],
)
def test_the_base_url_is_where_a_local_client_connects(words, url):
    assert from_argv(["python", "-m", "sglang.launch_server", *words]) == url


def test_a_flag_without_a_value_has_none():
    assert argument(["--port"], "--port") is None


class Unit:
    def __init__(self, properties):
        self.properties = properties

    scope = "system"

    def show(self, name):
        return UnitState(name, self.properties)


@pytest.fixture
def root(tmp_path):
    process = tmp_path / "proc" / "7"
    process.mkdir(parents=True)
    words = ["python", "--model-path", "/m", "--api-key", "sk-secret", "--speculative-draft-model-path", "/d"]
    (process / "cmdline").write_bytes(b"".join(w.encode() + b"\0" for w in words))
    (process / "environ").write_bytes(b"INVOCATION_ID=x\0SGLANG_SIMULATE_ACC_LEN=3\0")
    gpu = tmp_path / "proc/driver/nvidia/gpus/0000"
    gpu.mkdir(parents=True)
    (gpu / "information").write_text("Model: \t\t NVIDIA H200\nIRQ: 1\n")
    (tmp_path / "proc/driver/nvidia/version").write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue\n"
    )
    return tmp_path


def test_evidence_names_what_ran_without_its_key(root):
    unit = Unit({"MainPID": "7", "InvocationID": "a" * 32, "NRestarts": "1"})
    record = collect(unit, "sglang.service", root=str(root))
    assert record["invocation_id"] == "a" * 32
    assert record["model_path"] == "/m"
    assert record["draft_model_path"] == "/d"
    assert record["gpu"] == {"model": "NVIDIA H200", "count": 1, "driver": "580.159.04"}
    assert record["simulated_acceptance"] is True
    assert "sk-secret" not in str(record)


def test_another_key_is_the_same_command_line(root):
    unit = Unit({"MainPID": "7"})
    before = collect(unit, "x", root=str(root))["argv_sha256"]
    path = root / "proc/7/cmdline"
    path.write_bytes(path.read_bytes().replace(b"sk-secret", b"sk-other!"))
    assert collect(unit, "x", root=str(root))["argv_sha256"] == before
    path.write_bytes(path.read_bytes().replace(b"/d", b"/e"))
    assert collect(unit, "x", root=str(root))["argv_sha256"] != before


@pytest.mark.parametrize(
    "key", ["invocation_id", "n_restarts", "argv_sha256", "sglang_version", "served_model", "model_path"]
)
def test_every_change_of_identity_is_told(root, key):
    before = collect(Unit({"MainPID": "7"}), "x", root=str(root))
    assert changes(before, dict(before)) == []
    assert len(changes(before, {**before, key: "other"})) == 1


def test_each_abbreviation_that_some_release_takes_is_known():
    """The catalogue is the judge: what argparse would take for the flag is read as the flag, and nothing else is."""
    for version in _flags.VERSIONS:
        table = _flags.table_of(version)
        for flag, shortest in _SHORTEST.items():
            for length in range(3, len(flag) + 1):
                word = flag[:length]
                try:
                    found = table.find(word)
                except _flags.Ambiguous:
                    found = None
                if found is not None and flag in (found.flag, *found.aliases):
                    assert argument([word, "x"], flag) == "x", (version, word)
                elif found is not None:
                    assert argument([word, "x"], flag) is None, (version, word, found.flag)


def test_each_abbreviation_of_a_key_is_hidden():
    for version in _flags.VERSIONS:
        table = _flags.table_of(version)
        for flag in ("--api-key", "--admin-api-key", "--ssl-keyfile-password"):
            for length in range(3, len(flag) + 1):
                try:
                    found = table.find(flag[:length])
                except _flags.Ambiguous:
                    continue
                if found is not None and found.flag == flag:
                    assert hide_keys(["s", flag[:length], "k", "--x"], "*") == ["s", flag[:length], "*", "--x"]
                    assert hide_keys([f"{flag[:length]}=k"], "*") == [f"{flag[:length]}=*"]
    assert hide_keys(["--ssl-keyfile", "/k", "--add", "--port", "1"], "*") == [
        "--ssl-keyfile",
        "/k",
        "--add",
        "--port",
        "1",
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["bash", "-c", "python -m sglang.launch_server --po=30001 --ho 0.0.0.0"],
        ["uv", "run", "--port", "1", "python", "-m", "sglang.launch_server", "--port", "30001"],
    ],
)
def test_the_base_url_is_found_behind_a_wrapper(words):
    assert from_argv(words) == "http://127.0.0.1:30001"


def test_secrets_of_an_answer_are_dropped_on_the_way_in():
    """As 0.5.23 gives them out: at the top, once more for each rank, and in its own environment."""
    answer = {
        "api_key": "sk-one-secret",
        "watermark_key": "w-secret",
        "kt_max_deferred_experts_per_token": 3,
        "bucket_time_to_first_token": [1.0],
        "internal_states": [{"admin_api_key": "sk-two-secret", "env_vars": {"HF_TOKEN": "hf-secret", "HOME": "/root"}}],
        "port": 1,
    }
    found = []
    kept = without_secrets(answer, found)
    assert "secret" not in str(kept)
    assert sorted(found) == ["hf-secret", "sk-one-secret", "sk-two-secret", "w-secret"]
    assert kept["kt_max_deferred_experts_per_token"] == 3 and kept["bucket_time_to_first_token"] == [1.0]
    assert kept["internal_states"] == [{"env_vars": {"HOME": "/root"}}]


def test_the_server_s_own_notes_are_no_arguments():
    assert resolved_arguments({"_swa_explicitly_set": True, "tp_size": 1}, "0.5.23") == {"tp_size": 1}


@pytest.mark.parametrize(
    "words",
    [
        ["--api-key", "sk-secret"],
        ["--api-key=sk-secret"],
        ["--ap", "sk-secret"],
        ["HF_TOKEN=sk-secret"],
        ["-c", "export HF_TOKEN='sk-secret'; x --api-key sk-secret"],
    ],
)
def test_a_key_on_the_command_line_is_hidden(words):
    state = UnitState("llm.service", {"LoadState": "loaded", "ActiveState": "active", "MainPID": "7"})
    facts = unit_facts(state, Comparison([], True), ["python", *words, "--port", "1"], Mask())
    assert "sk-secret" not in str(facts)
    assert facts["argv"][-2:] == ["--port", "1"] and "********" in str(facts["argv"])


def test_who_listens_is_told_or_null():
    assert listener_facts(None, "http://x") is None
    owner = Ownership("no", 7, "", "python -m http.server")
    assert listener_facts(owner, "http://x") == {
        "url": "http://x",
        "pid": 7,
        "unit": None,
        "cmdline": "python -m http.server",
        "owned": "no",
    }


class Wrapped(Unit):
    """A unit that is started by a shell which waits for the server."""

    def exec_start(self, name):
        return ["/bin/sh", "-c", SCRIPT]

    def environment(self, name):
        return {"A": "1", "HF_TOKEN": "hf-verysecret"}

    def load_credentials(self, state):
        return []


SCRIPT = "export B=2; /v/bin/python -m sglang.launch_server --model-path $(cat /m) --port 30001; echo ended"
SERVER = ["/v/bin/python", "-m", "sglang.launch_server", "--model-path", "/model", "--port", "30001"]


@pytest.fixture
def wrapped(tmp_path):
    """The unit, its proc and its control groups."""
    for pid, words in (("7", ["/bin/sh", "-c", SCRIPT]), ("8", SERVER)):
        (tmp_path / "proc" / pid).mkdir(parents=True)
        (tmp_path / "proc" / pid / "cmdline").write_bytes(b"".join(w.encode() + b"\0" for w in words))
        (tmp_path / "proc" / pid / "environ").write_bytes(b"INVOCATION_ID=x\0A=1\0B=2\0C=3\0_=x\0")
    group = tmp_path / "cgroup/llm.service"
    group.mkdir(parents=True)
    (group / "cgroup.procs").write_text("7\n8\n")
    properties = {
        "LoadState": "loaded",
        "ActiveState": "active",
        "MainPID": "7",
        "ControlGroup": "/llm.service",
        "EnvironmentFiles": f"{tmp_path}/missing (ignore_errors=yes)",
    }
    return Wrapped(properties), str(tmp_path / "proc"), str(tmp_path / "cgroup")


def test_the_server_behind_a_shell_that_waits_is_found(wrapped, monkeypatch):
    manager, proc, cgroup_root = wrapped
    state = manager.show("llm.service")
    process = server_process(state, proc, cgroup_root)
    assert (process.pid, process.argv) == (8, SERVER)
    monkeypatch.setattr(_adoption_source, "read_environ", lambda pid: read_environ(pid, proc))
    found = found_of(manager, state, process)
    assert found.launch.words == tuple(SERVER[3:]) and found.python == "/v/bin/python"
    result = adopt(found, _flags.table_of("0.5.15"))
    assert result["options"]["args"] == {"model_path": "/model", "port": 30001}
    assert result["options"]["environment"] == {"A": "1", "B": "2", "C": "3"}
    assert (result["secrets"], result["wrapper"]["kind"], result["complete"]) == (["HF_TOKEN"], "shell", True)
    assert any("server that runs" in remark for remark in result["remarks"])


def test_without_requests_the_rest_is_told(monkeypatch):
    monkeypatch.setattr(_server_report, "HAS_REQUESTS", False)
    said = []
    manager = Manager(
        lambda argv, **dummy: (
            (0, "LoadState=not-found\nActiveState=inactive\n", "") if argv[0] == "systemctl" else (1, "", "")
        )
    )
    result = _server_report.report(
        manager, "llm.service", {"base_url": "http://127.0.0.1:9", "timeout": 1}, said.append
    )
    assert result["server"]["reachable"] is False and result["adoption"] is None
    assert len(said) == 1 and "requests" in said[0]


@pytest.mark.parametrize("version", [5, [1], {"a": 1}, True, None, ""])
def test_a_version_of_another_type_is_none(version):
    info = {"version": version, "internal_states": 5, "model_path": "/m"}
    facts = server_facts({"/server_info": info, "/v1/models": None}.get, lambda dummy: {}, Mask([]))
    assert (facts["version"], facts["model"]) == (version if version == "" else None, "/m")
    assert resolved_arguments(info, version)["model_path"] == "/m"
