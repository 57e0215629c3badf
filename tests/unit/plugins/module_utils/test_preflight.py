# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a host keeps a server from starting."""

from __future__ import annotations

import dataclasses
import os
import pwd
import socket
import subprocess
import sys

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _preflight
from ansible_collections.llmops.sglang.plugins.module_utils._flags import table_of
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import cgroup_of
from ansible_collections.llmops.sglang.plugins.module_utils._server_plan import CommandPlan, container_tool
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState

OTHER = next(entry.pw_name for entry in pwd.getpwall() if entry.pw_uid != os.geteuid())
PARAMS = {"working_directory": None, "user": None, "group": None, "style": "unit", "service": None, "dest_dir": None}


def plan(environment=None, **arguments):
    return CommandPlan("0.5.15", table_of("0.5.15"), ["/bin/sh"], environment or {}, arguments, {}, None)


def state(**properties):
    return UnitState("llm.service", properties)


class Find:
    """Stands in for setpriv and find."""

    def __init__(self, out="", err=""):
        self.answer, self.calls = (1 if err else 0, out, err), []

    def __call__(self, argv, **dummy):
        self.calls.append(argv)
        return self.answer


@pytest.fixture(autouse=True)
def tools(monkeypatch):
    monkeypatch.setattr(_preflight.shutil, "which", lambda name: f"/usr/bin/{name}")


def test_what_the_user_cannot_read_is_named(tmp_path):
    files = [str(tmp_path / f"model-{i}.safetensors") for i in range(5)]
    find = Find("\n".join(files) + "\n", f"find: '{tmp_path}/draft': Permission denied\n")
    found = _preflight.unreadable(find, [str(tmp_path)], OTHER, "")
    assert [f.failure_class for f in found] == ["rule_violated"]
    assert all(repr(path) in found[0].msg for path in files[:3])
    assert "and 3 more" in found[0].msg and f"'{OTHER}'" in found[0].msg
    assert find.calls[0][:2] == ["setpriv", f"--reuid={pwd.getpwnam(OTHER).pw_uid}"]
    assert _preflight.unreadable(Find(), [str(tmp_path)], OTHER, "") == []


def test_a_package_that_the_proof_needs_and_this_interpreter_lacks_is_named():
    params = {**PARAMS, "needed_packages": ["json", "no_such_package_here"]}
    (found,) = _preflight.unfit_host(params, Find(), plan(), state())
    assert found.failure_class == "missing_dependency"
    assert "'no_such_package_here'" in found.msg and sys.executable in found.msg
    assert _preflight.unfit_host({**params, "needed_packages": []}, Find(), plan(), state()) == []


def test_what_no_server_reads_does_not_count(tmp_path):
    (tmp_path / "assets").mkdir()
    find = Find(f"{tmp_path}/.cache\n{tmp_path}/assets\n{tmp_path}/.gitattributes\n")
    assert _preflight.unreadable(find, [str(tmp_path)], OTHER, "") == []
    assert len(_preflight.unreadable(Find(f"{tmp_path}\n"), [str(tmp_path)], OTHER, "")) == 1


@pytest.mark.parametrize("user", ["", pwd.getpwuid(os.geteuid()).pw_name, str(os.geteuid())])
def test_the_module_s_own_user_is_asked_directly(tmp_path, user):
    find = Find()
    _preflight.unreadable(find, [str(tmp_path)], user, "")
    assert find.calls[0][0] == "find"


def test_what_is_not_there_and_who_is_not_known_is_not_asked_for(tmp_path, monkeypatch):
    find = Find()
    assert _preflight.unreadable(find, [str(tmp_path / "none")], OTHER, "") == []
    assert _preflight.unreadable(find, [str(tmp_path)], "no-such-user", "") == []
    monkeypatch.setattr(_preflight.shutil, "which", lambda name: None)
    assert _preflight.unreadable(find, [str(tmp_path)], OTHER, "") == []
    assert find.calls == []


def test_a_really_unreadable_directory(tmp_path):
    """By the tools themselves, as whoever runs the tests."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").touch(mode=0o000)

    def run(argv, **dummy):
        # Root could read it.
        words = ["setpriv", "--reuid=65534", "--clear-groups", "--", *argv] if not os.geteuid() else argv
        done = _run(words)
        return done.returncode, done.stdout, done.stderr

    found = _preflight.unreadable(run, [str(tmp_path / "model")], "", "")
    assert len(found) == 1


def _run(words):
    return subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})


def test_a_reader_that_is_not_known_before_the_start_is_not_asked(tmp_path):
    for service in ({"DynamicUser": True}, {"SupplementaryGroups": "video"}):
        find = Find("x\n")
        assert _preflight.unfit_host({**PARAMS, "service": service}, find, plan(port=1, model_path="/"), state()) == []
        assert find.calls == []


def test_a_drop_in_s_user_is_the_owner_s(tmp_path):
    find = Find()
    _preflight.unfit_host({**PARAMS, "style": "drop_in"}, find, plan(port=1, model_path="/"), state(User=OTHER))
    assert find.calls[0][0] == "setpriv"


@pytest.mark.parametrize("name", ["org/model", "model"])
def test_an_offline_server_needs_its_models_in_the_cache(tmp_path, name):
    environment = {"HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(tmp_path)}
    found = _preflight.unfit_host(PARAMS, Find(), plan(environment, port=1, model_path=name), state())
    assert name in found[0].msg and "HF_HUB_OFFLINE" in found[0].msg
    folder = tmp_path / f"models--{name.replace('/', '--')}" / "snapshots" / "abc"
    folder.mkdir(parents=True)
    find = Find()
    assert _preflight.unfit_host(PARAMS, find, plan(environment, port=1, model_path=name), state()) == []
    assert str(folder) in find.calls[0]
    online = {"HF_HUB_CACHE": str(tmp_path / "empty")}
    assert _preflight.unfit_host(PARAMS, Find(), plan(online, port=1, model_path=name), state()) == []


def test_a_configuration_of_the_user_s_own_is_read_by_the_unit_s_user_unless_it_is_copied(tmp_path):
    own = tmp_path / "own.yaml"
    params = {**PARAMS, "working_directory": str(tmp_path)}
    (missing,) = _preflight.unfit_host(params, Find(), plan(config="own.yaml"), state())
    assert str(own) in missing.msg
    own.touch()
    find = Find()
    assert _preflight.unfit_host(params, find, plan(config="own.yaml"), state()) == []
    assert str(own) in find.calls[0]
    copied = Find()
    merged = dataclasses.replace(plan(config="own.yaml"), config="own.yaml")
    assert _preflight.unfit_host(params, copied, merged, state()) == []
    assert str(own) not in copied.calls[0]


@pytest.fixture
def gpus(tmp_path):
    def make(nvidia=0, amd=0):
        for number in range(nvidia):
            (tmp_path / f"proc/driver/nvidia/gpus/0000:{number:02x}:00.0").mkdir(parents=True)
        for number in range(amd + 1):
            node = tmp_path / f"sys/class/kfd/kfd/topology/nodes/{number}"
            node.mkdir(parents=True)
            (node / "gpu_id").write_text(f"{4711 + number if number else 0}\n")
        return str(tmp_path)

    return make


@pytest.mark.parametrize(
    ("there", "environment", "count"),
    [
        ({"nvidia": 4}, {}, 4),
        ({"nvidia": 4}, {"CUDA_VISIBLE_DEVICES": "0,2"}, 2),
        ({"nvidia": 1}, {"CUDA_VISIBLE_DEVICES": "MIG-a,MIG-b,MIG-c"}, 3),
        ({"nvidia": 4}, {"CUDA_VISIBLE_DEVICES": "-1"}, 0),
        ({"amd": 8}, {}, 8),
        ({"amd": 8}, {"HIP_VISIBLE_DEVICES": "0,1,2"}, 3),
        ({}, {"CUDA_VISIBLE_DEVICES": "0,1"}, None),
    ],
)
def test_gpus_are_counted_where_a_driver_tells(gpus, there, environment, count):
    assert _preflight.gpu_count(environment, gpus(**there)) == count


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        ({}, 1),
        ({"tp_size": 8}, 8),
        ({"tp_size": 4, "pp_size": 2}, 8),
        ({"tp_size": 16, "nnodes": 2, "node_rank": 1}, 8),
        ({"tp_size": 2, "dp_size": 4}, 8),
        ({"tp_size": 8, "dp_size": 8, "enable_dp_attention": True}, 8),
        ({"tp_size": 8, "dp_size": 8, "attn_dp_size": 8}, 8),
        ({"tp_size": 2, "base_gpu_id": 4}, 6),
        ({"tp_size": 4, "base_gpu_id": 1, "gpu_id_step": 2}, 8),
    ],
)
def test_gpus_that_the_sizes_ask_for(gpus, arguments, needed):
    assert _preflight.gpus_needed(arguments) == needed
    root = gpus(nvidia=needed - 1)
    found = _preflight.too_few_gpus(arguments, {}, root)
    assert needed == 1 or f"asks for {needed} GPUs and sees {needed - 1}" in found[0].msg
    assert _preflight.too_few_gpus({**arguments, "device": "cpu"}, {}, root) == []
    assert _preflight.too_few_gpus(arguments, {"CUDA_VISIBLE_DEVICES": ",".join("0" * needed)}, root) == []


@pytest.fixture
def listener():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        yield one.getsockname()[1]


@pytest.mark.parametrize("host", [None, "127.0.0.1", "0.0.0.0", "localhost"])
def test_a_port_that_another_holds(listener, host):
    (warning,) = _preflight.port_taken(
        {"port": listener, "host": host}, state(ControlGroup="/system.slice/llm.service")
    )
    assert f"process {os.getpid()}" in warning and "'llm.service'" in warning


def test_a_port_that_is_the_unit_s_own_or_nobody_s(listener):
    assert _preflight.port_taken({"port": listener, "host": "127.0.0.2"}, state()) == []
    assert _preflight.port_taken({"port": listener, "host": "::1"}, state()) == []
    assert _preflight.port_taken({"port": listener, "node_rank": 1}, state()) == []
    # Its port may be another.
    assert _preflight.port_taken({"port": listener, "config": "/own.yaml"}, state()) == []
    own = state(ControlGroup=cgroup_of(os.getpid()), MainPID=str(os.getpid()))
    assert (own.control_group in ("", "/")) or _preflight.port_taken({"port": listener}, own) == []
    assert len(_preflight.port_taken({"port": listener}, state())) == 1


class Disk:
    f_bavail = f_bfree = f_blocks = f_files = f_ffree = 10**6
    f_frsize, f_flag = 4096, 0


@pytest.mark.parametrize(
    ("disk", "part"),
    [
        ({}, ""),
        ({"f_bfree": 3, "f_bavail": 3}, "bytes are free"),
        ({"f_ffree": 0}, "no inode"),
        ({"f_flag": os.ST_RDONLY}, "read-only"),
        # Some file systems do not count.
        ({"f_bfree": 0, "f_bavail": 0, "f_blocks": 0, "f_files": 0, "f_ffree": 0}, ""),
    ],
)
def test_room_for_what_is_written(tmp_path, monkeypatch, disk, part):
    monkeypatch.setattr(_preflight.os, "statvfs", lambda path: type("Now", (Disk,), disk))
    found = _preflight.no_room(str(tmp_path / "to" / "be" / "made"), 1000)
    assert bool(found) == bool(part)
    assert not found or (found[0].failure_class == "write_failed" and part in found[0].msg)


@pytest.mark.parametrize(
    ("words", "tool"),
    [
        (["/usr/bin/docker", "run", "lmsysorg/sglang"], "/usr/bin/docker"),
        (["podman"], "podman"),
        (["/bin/bash", "-c", "exec docker run --gpus all x"], "docker"),
        (["/opt/docker/bin/python", "-m", "sglang.launch_server"], ""),
        ([], ""),
    ],
)
def test_a_command_that_runs_a_container(words, tool):
    assert container_tool(words) == tool
