# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The waits for the nodes of one server, side by side: what they tell each other, and which of them is named."""

from __future__ import annotations

import types

import pytest

from ansible_collections.llmops.sglang.plugins.action import wait_for_generation as action
from ansible_collections.llmops.sglang.plugins.plugin_utils._node_notes import (
    ENDED_WELL,
    FAILED,
    GIVEN_UP,
    WAITING,
    NodeNotes,
)

FIRST, SECOND, THIRD = ("a" * 32, "b" * 32, "c" * 32)
NODES = {"gpu1": FIRST, "gpu2": SECOND, "gpu3": THIRD}
SLICE = {"changed": False, "slice_state": {"n": 1}, "progress": {"stage": "loading weights", "detail": ""}}
CRASHED = {"failed": True, "failure_class": "out_of_memory", "msg": "Memory did not suffice.", "log_tail": ["oom"]}
LOADED = {"ok": True, "changed": False, "invocation_id": SECOND, "elapsed": 1.0}


@pytest.fixture
def directory(tmp_path, monkeypatch):
    monkeypatch.setattr(action.constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    monkeypatch.setattr(action, "NODE_SLICE", 0.0)
    monkeypatch.setattr(action, "NODE_LOOK", 0.001)
    return str(tmp_path)


@pytest.fixture
def notes(directory):
    return lambda host, nodes=NODES: NodeNotes.of(directory, nodes, host)


def wait(host, slices, **args):
    """The action's result on *host*; each slice is a result, or called for one."""
    slices, sent = list(slices), []

    class Scripted(action.ActionModule):
        def _low_level_execute_command(self, cmd, **_kwargs):
            pass

        def _execute_module(self, module_name=None, module_args=None, task_vars=None, **_kwargs):
            sent.append(module_args)
            said = slices.pop(0)
            return dict(said() if callable(said) else said)

    task = types.SimpleNamespace(
        args={"name": "kimi", "progress_interval": 0, "nodes": NODES, **args},
        no_log=False,
        check_mode=False,
        delegate_to=None,
        async_val=0,
        timeout=0,
        diff=False,
    )
    connection = types.SimpleNamespace(_shell=types.SimpleNamespace(tmpdir="/nowhere"))
    plugin = Scripted(task, connection, types.SimpleNamespace(check_mode=False), None, None, None)
    result = plugin.run(None, {"inventory_hostname": host})
    assert not slices
    return result


def test_a_wait_ends_with_that_of_another_node_and_names_it(notes):
    def crash():
        notes("gpu2").write(FAILED, CRASHED)
        return SLICE

    result = wait("gpu1", [SLICE, crash])
    assert (result["failed"], result["ok"], result["failure_class"]) == (True, False, "out_of_memory")
    assert result["msg"] == (
        "Rank 1 of this server, on 'gpu2', failed, so that rank 0 is not waited for any longer: Memory did not suffice."
    )
    assert result["log_tail"] == ["oom"] and "given_up" not in result
    # Whoever reads on is led to the node that failed, and not to this one.
    assert notes("gpu3").failed().host == "gpu2"


def test_the_node_that_failed_tells_its_own_story(notes):
    notes("gpu1").write(GIVEN_UP, {"msg": "rank 1 failed"})
    result = wait("gpu2", [CRASHED], until="node")
    assert result["msg"] == "Memory did not suffice."
    assert notes("gpu1").failed()[:3] == (1, "gpu2", "out_of_memory")


def test_a_node_is_watched_until_rank_0_generates(notes):
    notes("gpu1").write(WAITING)

    def generates():
        notes("gpu1").write(ENDED_WELL, {"ok": True})
        return LOADED

    assert wait("gpu2", [SLICE, LOADED, LOADED, generates], until="node") == {
        **LOADED,
        "elapsed": pytest.approx(0, abs=60),
    }


def test_a_node_that_dies_after_it_was_loaded_is_named(notes):
    notes("gpu1").write(WAITING)
    result = wait("gpu2", [LOADED, CRASHED], until="node")
    assert result["msg"] == "Memory did not suffice."
    assert notes("gpu1").failed().host == "gpu2"


def test_a_node_that_was_restarted_is_not_the_one_that_was_loaded(notes):
    notes("gpu1").write(WAITING)
    result = wait("gpu2", [LOADED, {**LOADED, "invocation_id": "d" * 32}], until="node")
    assert result["failed"] and "rank 1 was restarted" in result["msg"]


def test_a_node_whose_rank_0_is_not_waited_for_yet_is_let_go(notes):
    """With fewer forks than nodes that wait may only begin when this one is over."""
    assert wait("gpu2", [LOADED], until="node")["ok"]
    assert notes("gpu1").failed() is None


def test_rank_0_itself_may_be_what_failed(notes):
    notes("gpu1").write(WAITING)

    def dies():
        notes("gpu1").write(FAILED, {**CRASHED, "failure_class": "bad_arguments"})
        return LOADED

    result = wait("gpu2", [LOADED, dies], until="node")
    assert result["failure_class"] == "bad_arguments" and result["msg"].startswith("Rank 0 of this server, on 'gpu1'")


def test_a_lost_host_is_a_failure_for_the_others(notes):
    def lost():
        raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError):
        wait("gpu2", [lost])
    assert notes("gpu1").failed().host == "gpu2"


def test_another_server_and_an_earlier_start_leave_nothing_behind(notes):
    notes("gpu2").write(FAILED, CRASHED)
    later = {"gpu1": "1" * 32, "gpu2": "2" * 32}
    assert notes("gpu1", later).failed() is None
    assert notes("gpu1").failed() is not None


@pytest.mark.parametrize(
    "nodes",
    [None, {}, {"gpu1": FIRST}, {"gpu2": SECOND, "gpu3": THIRD}, {"gpu1": FIRST, "gpu2": None}, "gpu1"],
    ids=str,
)
def test_where_the_others_are_not_known_a_wait_is_alone(notes, nodes):
    assert notes("gpu1", nodes) is None


def test_a_damaged_note_says_nothing(notes, directory):
    notes("gpu2").write(FAILED, CRASHED)
    for text in ("", "[]", "{"):
        with open(f"{directory}/llmops-sglang-nodes/{SECOND}", "w", encoding="utf-8") as handle:
            handle.write(text)
        assert notes("gpu1").failed() is None
