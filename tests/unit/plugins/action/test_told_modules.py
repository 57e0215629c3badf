# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A task that takes long shows lines, so that a job on AWX is never silent."""

from __future__ import annotations

import importlib
import pathlib
import threading
import types

import pytest
from ansible.plugins.action.normal import ActionModule as NormalAction

from ansible_collections.llmops.sglang.plugins.action import server_service
from ansible_collections.llmops.sglang.plugins.plugin_utils import _progress, _told_module
from ansible_collections.llmops.sglang.plugins.plugin_utils._controller_action import ControllerAction

PLUGINS = pathlib.Path(__file__).resolve().parents[4] / "plugins"
# They read and write a few files.
QUICK = {"benchmark_compare"}


@pytest.fixture
def shown(monkeypatch):
    """The lines, and an event that the third of them sets."""
    lines, enough = [], threading.Event()

    def display(line, **dummy):
        lines.append(line)
        if len(lines) == 3:
            enough.set()

    monkeypatch.setattr(_progress, "Display", lambda: types.SimpleNamespace(display=display))
    monkeypatch.setattr(_told_module, "INTERVAL", 0.01)
    return types.SimpleNamespace(lines=lines, enough=enough)


def run(monkeypatch, module, **task):
    monkeypatch.setattr(NormalAction, "run", lambda self, tmp=None, task_vars=None: module())
    plugin = server_service.ActionModule.__new__(server_service.ActionModule)
    known = {"args": {"name": "sglang"}, "no_log": False, "async_val": 0, "delegate_to": None}
    plugin._task = types.SimpleNamespace(**{**known, **task})
    return plugin.run(None, {"inventory_hostname": "gpu1"})


def test_a_module_that_takes_long_is_told_until_it_ends(monkeypatch, shown):
    result = run(monkeypatch, lambda: {"waited": shown.enough.wait(60)})
    assert result == {"waited": True}
    assert all("gpu1 sglang: changing the state of the service" in line for line in shown.lines)
    count = len(shown.lines)
    assert not [thread for thread in threading.enumerate() if thread.name == "llmops-progress"]
    assert len(shown.lines) == count


@pytest.mark.parametrize("task", [{"no_log": True}, {"async_val": 60}], ids=lambda task: next(iter(task)))
def test_what_is_hidden_or_left_behind_shows_nothing(monkeypatch, shown, task):
    monkeypatch.setattr(_progress.ProgressLines, "_show", lambda self: pytest.fail("a line was shown"))
    assert run(monkeypatch, lambda: {"ok": True}, **task) == {"ok": True}


def test_every_module_that_may_take_long_shows_lines():
    silent = set()
    for path in PLUGINS.glob("modules/*.py"):
        if not (PLUGINS / "action" / path.name).exists():
            silent.add(path.stem)
            continue
        action = importlib.import_module(f"ansible_collections.llmops.sglang.plugins.action.{path.stem}")
        works_here = issubclass(action.ActionModule, ControllerAction)
        told = issubclass(action.ActionModule, _told_module.ToldModule) or hasattr(action, "ProgressLines")
        silent |= set() if works_here or told else {path.stem}
    assert silent == QUICK
