# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A module is asked again where only this controller knows that the play before has ended, in a review as well."""

from __future__ import annotations

import types

import pytest

from ansible_collections.llmops.sglang.plugins.action import server_unit
from ansible_collections.llmops.sglang.plugins.plugin_utils import _claiming_module, _play_process

HOLDER = {"machine": "here", "pid": 20, "started": "200"}


@pytest.fixture
def ask(monkeypatch):
    """What the module was told of plays, and the last result, for a first answer of it."""

    def call(answer, goes_on):
        told = []

        def run(self, tmp=None, task_vars=None):
            told.append(self._task.args["play"])
            return answer if len(told) == 1 else {"changed": False}

        monkeypatch.setattr(_claiming_module.ToldModule, "run", run)
        monkeypatch.setattr(_play_process, "asking_play", lambda: {"machine": "here", "pid": 10})
        monkeypatch.setattr(_play_process, "goes_on", lambda: True)
        monkeypatch.setattr(_play_process, "still_runs", lambda holder: goes_on)
        plugin = server_unit.ActionModule.__new__(server_unit.ActionModule)
        plugin._task = types.SimpleNamespace(args={"name": "sglang"})
        return told, plugin.run(None, {})

    return call


@pytest.mark.parametrize("answer", [{"failed": True}, {"claimed_warning": "Another play"}], ids=["change", "review"])
def test_a_play_that_has_ended_here_is_named_to_the_module(ask, answer):
    told, result = ask({**answer, "claimed_by": HOLDER}, goes_on=False)
    assert [play.get("ended") for play in told] == [None, HOLDER] and result == {"changed": False}


@pytest.mark.parametrize(("holder", "goes_on"), [(HOLDER, True), ({**HOLDER, "machine": "there"}, False)])
def test_one_that_goes_on_and_one_of_another_controller_are_not(ask, holder, goes_on):
    answer = {"failed": True, "claimed_by": holder}
    told, result = ask(answer, goes_on)
    assert len(told) == 1 and result == answer


@pytest.mark.parametrize("there", [{}, {"warnings": ["Of the module"]}])
def test_a_review_is_warned_of_one_that_goes_on(ask, there):
    told, result = ask({**there, "claimed_by": HOLDER, "claimed_warning": "Another play"}, goes_on=True)
    assert result == {"claimed_by": HOLDER, "warnings": [*there.get("warnings", []), "Another play"]}


def test_what_nobody_else_has_is_asked_once(ask):
    told, result = ask({"changed": True}, goes_on=False)
    assert len(told) == 1 and result == {"changed": True}
