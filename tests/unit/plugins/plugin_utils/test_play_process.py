# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which plays run on this controller."""

from __future__ import annotations

import multiprocessing
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


@pytest.fixture
def hidden(monkeypatch, other):
    """As one sees it whom /proc shows nothing of others; with ``hidepid=1`` their names are listed all the same."""
    real = _play_process._started
    monkeypatch.setattr(_play_process, "_started", lambda pid: None if pid in (1, other["pid"]) else real(pid))
    return other


def test_where_processes_are_hidden_none_is_called_ended(hidden):
    assert _play_process.asking_play()["others"] is None
    assert _play_process.still_runs(hidden)
    os.kill(hidden["pid"], 9)
    os.waitpid(hidden["pid"], 0)
    assert not _play_process.still_runs(hidden)


def test_a_task_knows_the_process_of_its_play_also_when_that_was_killed(monkeypatch, other):
    assert _play_process.goes_on()
    parent = type("Parent", (), {"pid": other["pid"]})()
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: parent)
    assert _play_process.this_play() == other and not _play_process.goes_on()


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


def test_what_a_killed_play_had_not_begun_is_not_begun_any_more(monkeypatch, other):
    """Its workers go on with the rest of a loop, and try again."""
    parent = type("Parent", (), {"pid": other["pid"]})()
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: parent)
    module = Module(monkeypatch, None)
    result = module.plugin.run(None, {})
    assert result["failed"] and result["failure_class"] == "condition_not_met" and not module.asked
    assert f"'sglang' is not changed, since the process {other['pid']} of this play has ended" in result["msg"]
