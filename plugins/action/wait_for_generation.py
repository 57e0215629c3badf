# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module in slices and shows how the wait goes, since a module itself can show nothing before its end."""

from __future__ import annotations

import time
import typing as t

from ansible import constants
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

from ansible_collections.llmops.sglang.plugins.module_utils._wait_memory import empty_result
from ansible_collections.llmops.sglang.plugins.plugin_utils._node_notes import (
    ENDED_WELL,
    FAILED,
    GIVEN_UP,
    WAITING,
    NodeNotes,
    Other,
)
from ansible_collections.llmops.sglang.plugins.plugin_utils._progress import ProgressLines, seconds_of, subject_of

MODULE = "llmops.sglang.wait_for_generation"
DEFAULT_TIMEOUT = 1800.0
DEFAULT_INTERVAL = 15.0
# The length of a slice where no line is wanted.
SILENT_SLICE = 60.0
# Starting a slice costs about a second; between two of them the lines are shown all the same.
SHORTEST_SLICE = 3.0
RECONNECT_PAUSE = 2.0
# How often what became of the other nodes is looked at, and how often a loaded node is while rank 0 is waited for.
NODE_SLICE = 5.0
NODE_LOOK = 0.2
INTERNAL = ("slice_seconds", "slice_limit", "slice_state")
LATE = "this start takes more than twice the usual {:.0f} s of its configuration"


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: t.Any = None, task_vars: t.Optional[dict[str, t.Any]] = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        task_vars = task_vars or {}
        args = {name: value for name, value in self._task.args.items() if name not in INTERNAL}
        if self._task.check_mode:
            return self._module(args, task_vars)
        interval = seconds_of(args.get("progress_interval"), DEFAULT_INTERVAL)
        deadline = time.monotonic() + seconds_of(args.get("timeout"), DEFAULT_TIMEOUT)
        lines = ProgressLines(subject_of(self._task, task_vars), 0 if self._task.no_log else interval)
        seconds = max(interval, SHORTEST_SLICE) if interval > 0 else SILENT_SLICE
        begun = time.monotonic()
        # Whoever was reached once may be lost and come back; whoever never was is the caller's affair.
        self._low_level_execute_command("exit 0", sudoable=False)
        host = str(task_vars.get("inventory_hostname") or "")
        self._notes = NodeNotes.of(constants.DEFAULT_LOCAL_TMP, args.get("nodes"), host)
        with lines:
            result = self._among_nodes(args, task_vars, seconds, deadline, lines)
        if "elapsed" in result:
            result["elapsed"] = round(time.monotonic() - begun, 3)
        return result

    def _among_nodes(
        self, args: dict[str, t.Any], task_vars: dict[str, t.Any], seconds: float, deadline: float, lines: ProgressLines
    ) -> dict[str, t.Any]:
        """The wait for this host, which ends with that for another node of its server, too."""
        notes = self._notes
        if notes is None:
            return self._slices(args, task_vars, seconds, deadline, lines)
        seconds, state = min(seconds, NODE_SLICE), FAILED
        result: dict[str, t.Any] = {"msg": "the host is lost, or the run was interrupted"}
        notes.write(WAITING)
        try:
            result = self._slices(args, task_vars, seconds, deadline, lines)
            if result.get("ok") and args.get("until") == "node":
                result = self._watch(result, args, task_vars, deadline, lines)
            state = GIVEN_UP if result.pop("given_up", False) else FAILED if result.get("failed") else ENDED_WELL
        finally:
            notes.write(state, result)
        return result

    def _watch(
        self,
        ready: dict[str, t.Any],
        args: dict[str, t.Any],
        task_vars: dict[str, t.Any],
        deadline: float,
        lines: ProgressLines,
    ) -> dict[str, t.Any]:
        """Look after a loaded node for as long as rank 0 is waited for; *ready* is its result when that generates."""
        notes, next_look = t.cast(NodeNotes, self._notes), time.monotonic() + NODE_SLICE
        while notes.first() == WAITING and time.monotonic() < deadline and notes.failed() is None:
            lines.tell("ranks loaded, rank 0 does not generate yet", news=False)
            time.sleep(NODE_LOOK)
            if time.monotonic() < next_look:
                continue
            limit = {"slice_limit": NODE_SLICE} if self._task.timeout else {}
            try:
                look = self._module({**args, **limit, "slice_seconds": NODE_SLICE, "slice_state": None}, task_vars)
            except AnsibleConnectionFailure:
                lines.tell("connection lost, trying again")
                self._reconnect()
                look = {}
            next_look = time.monotonic() + NODE_SLICE
            if look.get("failed"):
                look.pop("progress", None)
                return look
            if look.get("ok") and look.get("invocation_id") != ready.get("invocation_id"):
                msg = f"The node of rank {notes.rank} was restarted before rank 0 generated: read its journal."
                return {**ready, "ok": False, "failed": True, "failure_class": "crash_loop", "msg": msg}
        other = notes.failed()
        return ready if other is None else given_up(other, notes.rank)

    def _slices(
        self, args: dict[str, t.Any], task_vars: dict[str, t.Any], seconds: float, deadline: float, lines: ProgressLines
    ) -> dict[str, t.Any]:
        state: t.Optional[dict[str, t.Any]] = None
        begun = time.monotonic()
        phase, ends = "", begun + (self._task.timeout or 0)
        while True:
            try:
                if state is not None:
                    state = {**state, "spent": time.monotonic() - begun}
                # When the task's own timeout strikes, Ansible leaves the module behind: it must end by itself then.
                limit = {"slice_limit": max(ends - time.monotonic(), 0) + 1} if self._task.timeout else {}
                result = self._module({**args, **limit, "slice_seconds": seconds, "slice_state": state}, task_vars)
            except AnsibleConnectionFailure:
                if time.monotonic() >= deadline:
                    raise
                state = state or {}
                lines.tell("connection lost, trying again")
                time.sleep(min(RECONNECT_PAUSE, max(deadline - time.monotonic(), 0)))
                self._reconnect()
                continue
            progress = result.pop("progress", None) or {}
            text = describe(progress)
            if text and (result.get("ok") or "slice_state" in result):
                lines.tell(text, news=progress.get("phase") != phase)
                phase = progress.get("phase") or ""
                if progress.get("late_in") is not None and not result.get("ok"):
                    lines.warn_in(progress["late_in"], LATE.format(progress["expected"]))
            if "slice_state" not in result or result.get("failed"):
                return result
            state = result["slice_state"]
            other = self._notes.failed() if self._notes else None
            if other is not None:
                return given_up(other, t.cast(NodeNotes, self._notes).rank)

    def _module(self, args: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        result = self._execute_module(module_name=MODULE, module_args=args, task_vars=task_vars)
        module_args = (result.get("invocation") or {}).get("module_args") or {}
        for name in INTERNAL:
            module_args.pop(name, None)
        return result

    def _reconnect(self) -> None:
        try:
            self._connection.reset()
        except (AttributeError, AnsibleConnectionFailure):
            # Not every connection can be reset, and one that still fails is met again by the next slice.
            pass


def given_up(other: Other, rank: int) -> dict[str, t.Any]:
    """The result of a wait that ends because the one for *other* node has failed."""
    said = (
        f"Rank {other.rank} of this server, on '{other.host}', failed, so that rank {rank} is not waited for any longer"
    )
    return {
        **empty_result(),
        "ok": False,
        "failed": True,
        "given_up": True,
        "failure_class": other.failure_class or "server_crashed",
        "msg": f"{said}: {other.msg}",
        "log_tail": other.log_tail,
        "node_rank": rank,
    }


def describe(progress: t.Mapping[str, t.Any]) -> str:
    """One line about how far a start has come; empty where nothing is known."""
    stage, detail, usual = progress.get("stage") or "", progress.get("detail") or "", progress.get("expected")
    if not stage:
        return ""
    text = stage if "%" in stage or not detail else f"{stage}: {detail}"
    if not usual or stage == "ready":
        return text
    late = (progress.get("late_in") or 0) < 0
    return f"{text} ({f'more than twice the usual {usual:.0f} s' if late else f'usually ready at about {usual:.0f} s'})"
