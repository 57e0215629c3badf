# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Bring a service to a wanted state, and know which invocation was before and which is after."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ansible_collections.llmops.sglang.plugins.module_utils._control_group import members
from ansible_collections.llmops.sglang.plugins.module_utils._environment_file import hide_secret_variables
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._journal import log_tail, read_invocation
from ansible_collections.llmops.sglang.plugins.module_utils._listener import ListeningSocket, listeners
from ansible_collections.llmops.sglang.plugins.module_utils._log_failures import failure_of
from ansible_collections.llmops.sglang.plugins.module_utils._port_holder import (
    Port,
    foreign_holder,
    port_in_use,
    port_of,
    sockets_at,
)
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import (
    compare,
    expand_words,
    read_argv,
    read_environ,
    remember_inputs,
)
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import MASKED, Mask
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState
from ansible_collections.llmops.sglang.plugins.module_utils._unit_verdict import EXEC_FAILURES, changing, how_it_ended

if t.TYPE_CHECKING:
    from ansible_collections.llmops.sglang.plugins.module_utils._ownership import Ownership

_POLL_SECONDS = 0.1
# How often a stop is asked for again where an automatic restart began another invocation meanwhile.
_STOPS = 3


@dataclass(frozen=True)
class Timeouts:
    """Bounds in seconds."""

    stop: float
    start: float


class ServiceChange:
    """One change of a service.

    :arg clock: monotonic seconds; :arg sleep: waits that many seconds.
    :arg cgroup_root: where the control groups are mounted.
    :arg unit_to_change: in check mode, whether an earlier task only said that it would change the unit.
    """

    def __init__(
        self,
        manager: Manager,
        name: str,
        timeouts: Timeouts,
        clock: t.Callable[[], float],
        sleep: t.Callable[[float], None],
        reset_failed: bool = True,
        check_mode: bool = False,
        cgroup_root: str = "/sys/fs/cgroup",
        unit_to_change: bool = False,
    ) -> None:
        self._manager, self._name, self._timeouts = manager, name, timeouts
        self._clock, self._sleep = clock, sleep
        self._reset_failed, self._check_mode = reset_failed, check_mode
        self._cgroup_root, self._unit_to_change = cgroup_root, unit_to_change and check_mode
        self._begun = clock()
        self._before = self._after = manager.show(name)
        self._changed = self._restarted = False
        self._reasons: list[str] = []
        self._stopped_cleanly: t.Optional[bool] = None
        self._stopped_by: t.Optional[str] = None
        self.warnings: list[str] = []

    def result(self) -> dict[str, t.Any]:
        """The documented result keys."""
        return {
            "changed": self._changed,
            "restarted": self._restarted,
            "reason": "; ".join(self._reasons),
            "previous_invocation_id": self._before.invocation_id or None,
            "invocation_id": self._after.invocation_id or None,
            "main_pid": self._after.main_pid or None,
            "stopped_cleanly": self._stopped_cleanly,
            "stopped_by": self._stopped_by,
            "elapsed": round(self._clock() - self._begun, 3),
        }

    def enable(self, enabled: t.Optional[bool]) -> None:
        """Make the unit start at boot or not; ``None`` leaves it."""
        file_state = self._before.unit_file_state
        if enabled is None or not self._before.exists or file_state in ("static", "generated", "transient"):
            return
        # "enabled-runtime" is gone after the next boot.
        if file_state == "enabled" if enabled else not file_state.startswith("enabled"):
            return
        self._note("enabled" if enabled else "disabled")
        if self._check_mode:
            return
        for more in ([],) if enabled else ([], ["--runtime"]):
            self._manager.systemctl("enable" if enabled else "disable", *more, "--quiet", "--", self._name)

    def bring_to(self, wanted: str) -> None:
        """Do what *wanted* (``converged``, ``restarted``, ``started``, ``stopped``) asks for.

        :raises Failure: ``no_such_unit``, ``stop_failed``, ``unit_invalid``, ``gave_up`` or ``no_permission``.
        """
        if not self._before.exists:
            if self._check_mode:
                if wanted != "stopped":
                    self._note("the unit is not there yet and would be started")
                return
            raise self._manager.no_such_unit(self._before)
        if wanted == "stopped":
            self._bring_down()
        else:
            self._bring_up(wanted)

    def _bring_down(self) -> None:
        if self._before.active_state in ("inactive", "failed"):
            self._reasons.append("it does not run")
            return
        self._note("stopped")
        if not self._check_mode:
            self._stop()

    def _bring_up(self, wanted: str) -> None:
        state = self._before
        if state.need_daemon_reload and not self._check_mode:
            self._manager.daemon_reload()
            state = self._manager.show(self._name)
        if wanted != "restarted" and self._stands_alone(state):
            self._reasons.append("it is active, and without a main process nothing can be compared")
            return
        if not state.running or state.active_state == "deactivating":
            self._check_startable(state)
            self._check_port(state)
            was = {
                "activating": "between two processes",
                "deactivating": "between two processes",
                "active": "active without a main process",
            }
            self._note(f"started: it was {was.get(state.active_state, state.active_state or 'inactive')}")
            if not self._check_mode:
                # A start of what counts as active would do nothing.
                if state.active_state in was:
                    self._stop()
                self._start()
            return
        if wanted == "started":
            self._reasons.append("it runs")
            return
        comparison = compare(self._manager, state)
        found = [*comparison.differences, *["an earlier task would change its unit"] * self._unit_to_change]
        if wanted == "converged" and not found:
            same = "the running process is what the unit describes"
            unread = f"nothing that can be read differs from the unit; {comparison.unread} cannot be compared"
            self._reasons.append(same if comparison.complete else unread)
            if not self._check_mode:
                remember_inputs(self._manager, state, began=comparison.complete)
            return
        # What could not be started again must not be stopped.
        self._check_startable(state)
        self._check_port(state)
        self._note(f"restarted: {'; '.join(found) if found else 'asked for'}")
        if not self._check_mode:
            self._stop()
            self._start()

    def _stands_alone(self, state: UnitState) -> bool:
        """Whether the unit's command ended and what it started is the unit's service, as with ``docker compose up -d``."""
        if state.active_state != "active" or state.main_pid:
            return False
        return state.properties.get("Type") == "oneshot" or bool(members(state.control_group, self._cgroup_root))

    def _check_startable(self, state: UnitState) -> None:
        if state.transient and state.running:
            msg = (
                f"The unit '{self._name}' is a transient one, as of systemd-run, and would be gone once its process is stopped: stop it "
                f"with 'systemctl stop {self._name}' and let server_unit write it. The process that runs was left as it is."
            )
            raise Failure("unit_invalid", msg, **self.result())
        # A unit that is masked or broken may be what the earlier task mends.
        if state.load_state == "loaded" or self._unit_to_change:
            return
        failure = self._manager.no_such_unit(state)
        if state.load_state == "masked":
            msg = f"The unit '{self._name}' is masked and cannot be started: unmask it with 'systemctl unmask {self._name}'."
            failure = Failure("unit_invalid", msg)
        left = " The process that runs was left as it is." if state.running else ""
        raise Failure(failure.failure_class, failure.msg + left, **self.result())

    def _note(self, reason: str) -> None:
        self._changed = True
        self._reasons.append(f"would be {reason}" if self._check_mode and not reason.startswith("the unit") else reason)

    def _check_port(self, state: UnitState) -> None:
        """Refuse a start whose port another process holds: the server would load for minutes and not bind it."""
        if self._check_mode:
            return
        port, owner = self._port_and_holder(state)
        if port and owner and not owner.relic:
            failure = port_in_use(self._name, port, owner)
            left = " The process that runs was left as it is." if state.running else ""
            raise Failure(failure.failure_class, failure.msg + left, **self.result())

    def _port_and_holder(self, state: UnitState) -> tuple[t.Optional[Port], t.Optional[Ownership]]:
        """Where the unit's next process binds, and who else holds that."""
        environ = (read_environ(state.main_pid) or {}) if state.main_pid else self._manager.environment(self._name)
        port = port_of(expand_words(self._manager.exec_start(self._name), environ))
        return port, foreign_holder(port, state) if port else None

    def _stop(self) -> None:
        """Stop, and return only when no process of the old invocation is left, and none holds its socket."""
        deadline = self._clock() + self._timeouts.stop
        port = port_of(read_argv(self._before.main_pid) or []) if self._before.main_pid else None
        # What another service has held all along is not this stop's to wait for.
        sockets = {s.inode for s in sockets_at(port)} if port and not self._held_by_another_service(port) else set()
        state: t.Optional[UnitState] = None
        for dummy in range(_STOPS):
            control_group = self._manager.show(self._name).control_group
            self._enqueue("stop", deadline)
            state = self._settled(deadline)
            # An automatic restart that came first leaves a new process and no job.
            if state is None or state.active_state in ("inactive", "failed"):
                break
        while True:
            left = members(control_group, self._cgroup_root)
            held = [s for s in sockets_at(port) if s.inode in sockets] if port else []
            if state is None or not (left or held) or self._clock() >= deadline:
                break
            self._sleep(_POLL_SECONDS)
        if state is None or left or held or state.active_state not in ("inactive", "failed"):
            raise self._stop_failed(left, held)
        self._after = state
        if self._before.running:
            self._report_end(state)

    def _held_by_another_service(self, port: Port) -> bool:
        """Whether the server never got its port; a holder outside of all services may be one that left the unit's own."""
        owner = foreign_holder(port, self._before)
        return bool(owner and not owner.relic and owner.unit.endswith(".service") and owner.unit != self._name)

    def _report_end(self, state: UnitState) -> None:
        """Note how the old process ended; a kill cuts what was running, or follows a drain by SIGTERM up to 0.5.18."""
        self._stopped_cleanly = state.result == "success"
        self._stopped_by = how_it_ended(state)
        if self._stopped_cleanly:
            return
        why = "it did not end within TimeoutStopSec" if state.result == "timeout" else f"result '{state.result}'"
        self.warnings.append(
            f"The process of '{self._name}' was stopped by {self._stopped_by} ({why}): running requests may have been cut. "
            "KillMode=mixed with KillSignal=SIGINT lets them end and exits with 0, given a TimeoutStopSec that is long enough."
        )

    def _enqueue(self, verb: str, deadline: float) -> None:
        """Ask for a job; again where another job of the unit, such as an automatic restart, is in its way."""
        while True:
            try:
                self._manager.systemctl(verb, "--no-block", "--", self._name)
                return
            except Failure as failure:
                in_the_way = re.search(r"destructive|[Cc]ancell?ed|[Jj]ob .*(?:conflict|exists)", failure.msg)
                if not in_the_way or self._clock() >= deadline:
                    done = self._stopped_cleanly is not None
                    raise Failure(failure.failure_class, failure.msg, **{**self.result(), "changed": done}) from failure
            self._sleep(_POLL_SECONDS)

    def _stop_failed(self, left: list[int], held: t.Sequence[ListeningSocket]) -> Failure:
        pids = left or [one.pid for one in listeners(0, sockets=held) if one.pid]
        who = ", ".join(f"{pid} ({_shown(read_argv(pid) or ['gone'])})" for pid in pids[:3]) or "none that can be read"
        what = "still has processes" if left or not held else "is stopped, and its port is still held,"
        return Failure(
            "stop_failed",
            f"The unit '{self._name}' {what} {self._timeouts.stop:g} s after it was told to stop: {who}; "
            "requests may still be running: wait and repeat, raise stop_timeout, or stop it with 'systemctl kill'.",
            log_tail=self._log_tail(self._before),
            **self.result(),
        )

    def _start(self) -> None:
        if self._reset_failed:
            self._manager.systemctl("reset-failed", "--", self._name, check=False)
        deadline = self._clock() + self._timeouts.start
        self._enqueue("start", deadline)
        state = self._settled(deadline)
        self._after = state or self._manager.show(self._name)
        self._restarted = self._after.invocation_id != self._before.invocation_id
        if state is not None and state.active_state == "active":
            remember_inputs(self._manager, state, began=True)
            return
        raise self._start_failed(self._after, timed_out=state is None)

    def _start_failed(self, state: UnitState, timed_out: bool) -> Failure:
        ended = f"result '{state.result}', {how_it_ended(state)}"
        if state.exec_main_status in EXEC_FAILURES:
            failure_class, why = (
                "unit_invalid",
                f"systemd could not execute its command ({ended}): check ExecStart, User and paths",
            )
        elif not self._reset_failed and not timed_out and state.invocation_id == self._before.invocation_id:
            failure_class, why = (
                "gave_up",
                "systemd began no invocation: its start limit is hit, set reset_failed or wait for StartLimitIntervalSec",
            )
        elif timed_out:
            failure_class, why = (
                "gave_up",
                f"its start job did not end within {self._timeouts.start:g} s: raise start_timeout",
            )
        else:
            failure_class, why = self._why_it_died(state, ended)
        return Failure(
            failure_class,
            f"The unit '{self._name}' did not start, {why}.",
            log_tail=self._log_tail(state),
            **self.result(),
        )

    def _why_it_died(self, state: UnitState, ended: str) -> tuple[str, str]:
        """By its own log; where that tells nothing, by what became of the unit."""
        told = failure_of(read_invocation(self._manager, self._name, state.invocation_id).all_lines)
        if told:
            port, holder = self._port_and_holder(state) if told[0] == "port_in_use" else (None, None)
            if port and holder:
                told = told[0], f"{told[1]} {port_in_use(self._name, port, holder).msg}"
            return told[0], f"its process ended at once ({ended}): {Mask().text(told[1]).rstrip('.')}"
        if state.sub_state.startswith("auto-restart"):
            return "gave_up", f"its process ended at once ({ended}) and systemd tries again: read log_tail"
        return "gave_up", f"it is {state.active_state} after the start ({ended}): read log_tail"

    def _settled(self, deadline: float) -> t.Optional[UnitState]:
        """The unit's state once no job of it is waiting and none of its changes is under way; ``None`` at the deadline."""
        while True:
            state = self._manager.show(self._name)
            if not changing(state):
                return state
            if self._clock() >= deadline:
                return None
            self._sleep(_POLL_SECONDS)

    def _log_tail(self, state: UnitState) -> list[str]:
        return log_tail(self._manager, self._name, state.invocation_id)


def _shown(argv: t.Sequence[str]) -> str:
    return Mask().text(hide_secret_variables(" ".join(argv), MASKED))[:80]
