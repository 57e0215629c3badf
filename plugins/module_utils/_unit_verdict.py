# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Whether a unit's state rules out that a wait for it can end well."""

from __future__ import annotations

import signal
import typing as t

if t.TYPE_CHECKING:
    from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState

# systemd.exec(5): exit statuses of systemd itself for a command that it could not set up or execute.
EXEC_FAILURES = range(200, 246)


class UnitVerdict(t.NamedTuple):
    """A failure class, its cause in one sentence, and whether the invocation's own log may know better."""

    failure_class: str
    msg: str
    ask_log: bool = False


def how_it_ended(state: UnitState) -> str:
    """How the main process ended, in words: its exit status or the signal's name."""
    # CLD_EXITED is 1, CLD_KILLED 2, CLD_DUMPED 3.
    if state.exec_main_code in ("2", "3"):
        try:
            return f"signal {signal.Signals(state.exec_main_status).name}"
        except ValueError:
            return f"signal {state.exec_main_status}"
    return f"exit status {state.exec_main_status}"


def changing(state: UnitState) -> bool:
    """Whether a job of the unit waits or runs, or the old process is still being stopped."""
    return state.properties.get("Job", "0") not in ("", "0") or state.active_state == "deactivating"


def judge(state: UnitState, previous_invocation_id: str, restarts: int, max_restarts: int) -> UnitVerdict | None:
    """The verdict on a unit that exists; ``None`` while it may still become ready.

    :arg previous_invocation_id: in plain form; empty where none was given.
    :arg restarts: by how much the restart counter rose during the wait.
    """
    name = state.name
    if changing(state):
        return None
    if previous_invocation_id and state.invocation_id == previous_invocation_id:
        return UnitVerdict(
            "not_restarted",
            f"The unit '{name}' still has the invocation {previous_invocation_id} of before: it was not restarted; "
            "restart it, or leave previous_invocation_id off.",
        )
    if restarts > max_restarts:
        return UnitVerdict(
            "crash_loop", f"The unit '{name}' was restarted {restarts} times during the wait", ask_log=True
        )
    if state.active_state == "failed":
        return _failed(state)
    if state.sub_state.startswith("auto-restart") and max_restarts == 0:
        failure_class = "server_crashed" if state.exec_main_code in ("2", "3") else "crash_loop"
        return UnitVerdict(
            failure_class,
            f"The process of the unit '{name}' ended with {how_it_ended(state)} and systemd is about to restart it.",
            ask_log=True,
        )
    if state.active_state == "inactive":
        return _inactive(state)
    return None


def _failed(state: UnitState) -> UnitVerdict:
    name, ended = state.name, how_it_ended(state)
    if state.exec_main_status in EXEC_FAILURES and state.exec_main_code == "1":
        return UnitVerdict(
            "gave_up",
            f"systemd could not execute the command of the unit '{name}' ({ended}): check ExecStart and User.",
        )
    if state.result == "start-limit-hit":
        msg = f"systemd gave up the unit '{name}' at its start limit; its process last ended with {ended}."
        return UnitVerdict("gave_up", msg, ask_log=True)
    if state.result in ("signal", "core-dump", "watchdog"):
        # Nobody but the sender and the kernel know whose signal it was.
        msg = (
            f"The process of the unit '{name}' ended with {ended} ({state.result}): read log_tail and the kernel's log."
        )
        return UnitVerdict("server_crashed", msg, ask_log=True)
    if state.result == "oom-kill":
        return UnitVerdict(
            "out_of_memory", f"The kernel's OOM killer ended the unit '{name}': the host's memory did not suffice."
        )
    msg = f"The unit '{name}' failed and systemd will not start it again ({state.result}, {ended})."
    return UnitVerdict("gave_up", msg, ask_log=True)


def _inactive(state: UnitState) -> UnitVerdict:
    if not state.invocation_id:
        return UnitVerdict(
            "never_started",
            f"The unit '{state.name}' is loaded, was never started and is not being started: start it first.",
        )
    return UnitVerdict(
        "inactive",
        f"The unit '{state.name}' is not running (its process ended with {how_it_ended(state)}) and nothing will start it: start it.",
        ask_log=state.exec_main_status != 0,
    )
