# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which plays run on this controller."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from ansible.plugins.action.normal import ActionModule as NormalAction

from ansible_collections.llmops.sglang.plugins.action import server_history
from ansible_collections.llmops.sglang.plugins.plugin_utils import _play_process


@pytest.fixture
def other(tmp_path):
    """A process of Ansible's, to look at."""
    program = tmp_path / "ansible-playbook"
    program.write_text("print(flush=True)\ninput()\n")
    process = subprocess.Popen([sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    yield {"machine": _play_process._machine(), "pid": process.pid, "started": _play_process._started(process.pid)}
    process.kill()
    process.communicate()


def test_the_other_plays_are_listed_and_not_this_one(other):
    asking = _play_process.asking_play()
    assert [other["pid"], other["started"]] in asking["others"]
    assert asking["pid"] == os.getppid() and asking["pid"] not in [pid for pid, dummy in asking["others"]]
    assert _play_process.still_runs(other)
    os.kill(other["pid"], 9)
    os.waitid(os.P_PID, other["pid"], os.WEXITED | os.WNOWAIT)
    assert [other["pid"], other["started"]] not in _play_process.asking_play()["others"]
    assert not _play_process.still_runs(other)


def test_where_processes_are_hidden_none_is_called_ended(monkeypatch):
    is_there = os.path.isdir
    monkeypatch.setattr(os.path, "isdir", lambda path: path != "/proc/1" and is_there(path))
    assert _play_process.asking_play()["others"] is None


def test_without_proc_a_process_is_asked_for(monkeypatch, other):
    monkeypatch.setattr(_play_process, "_started", lambda pid: None)
    assert not _play_process.still_runs(other)
    monkeypatch.setattr(os.path, "isdir", lambda path: False)
    assert _play_process.still_runs({**other, "started": None})
    os.kill(other["pid"], 9)
    os.waitpid(other["pid"], 0)
    assert not _play_process.still_runs({**other, "started": None})


class Module:
    """What stands in for the module: refused by *holder* until it is told that this one has ended."""

    def __init__(self, monkeypatch, holder):
        self.asked, self.holder = [], holder
        monkeypatch.setattr(NormalAction, "run", self.run)
        self.plugin = server_history.ActionModule.__new__(server_history.ActionModule)
        known = {"args": {"name": "sglang"}, "no_log": False, "async_val": 0, "delegate_to": None}
        self.plugin._task = type("Task", (), known)()

    def run(self, tmp=None, task_vars=None):
        play = self.plugin._task.args["play"]
        self.asked.append(play)
        return {"changed": True} if play.get("ended") == self.holder else {"failed": True, "claimed_by": self.holder}


def test_a_play_that_this_controller_sees_go_on_is_not_asked_about_again(monkeypatch, other):
    module = Module(monkeypatch, other)
    assert module.plugin.run(None, {})["failed"] and len(module.asked) == 1


def test_a_play_that_this_controller_sees_ended_is_followed(monkeypatch, other):
    module = Module(monkeypatch, {**other, "started": "1"})
    assert module.plugin.run(None, {}) == {"changed": True} and len(module.asked) == 2


def test_a_play_of_another_controller_is_not_judged_here(monkeypatch, other):
    module = Module(monkeypatch, {**other, "machine": "elsewhere", "started": "1"})
    assert module.plugin.run(None, {})["failed"] and len(module.asked) == 1
