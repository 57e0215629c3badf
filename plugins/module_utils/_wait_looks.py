# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The looks that cost the server nothing: its unit, its port's owner, its workers and its log."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._unit_verdict import changing, how_it_ended, judge
from ansible_collections.llmops.sglang.plugins.module_utils._wait_options import Verdict, WaitOptions

if t.TYPE_CHECKING:
    from ansible_collections.llmops.sglang.plugins.module_utils._ownership import Ownership
    from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState
    from ansible_collections.llmops.sglang.plugins.module_utils._unit_verdict import UnitVerdict
    from ansible_collections.llmops.sglang.plugins.module_utils._wait_host import Host
    from ansible_collections.llmops.sglang.plugins.module_utils._wait_memory import WaitMemory

# A look at the unit runs a command, one at the log reads what is new, one at an owner reads many files.
UNIT_LOOK = 0.4
LOG_LOOK = 1.0
OWNER_LOOK = 0.5
# A process that was told to stop may hold the port for some seconds after its unit is gone.
FOREIGN_GRACE = 3.5
WORKER_GRACE = 1.0
OWNER_GRACE = 1.0


class Looks:
    """Keeps *memory* up with the host, and raises Verdict once nothing can make the wait end well."""

    def __init__(self, options: WaitOptions, memory: WaitMemory, host: Host) -> None:
        self.options, self.memory, self.host = options, memory, host
        self.state: UnitState | None = None
        self.owner: Ownership | None = None
        self._sockets: t.Sequence[t.Any] | None = None
        self.sees_sockets = True
        self._logged_before = bool(memory.log_stage)
        self._unit_due = self._log_due = self._owner_due = 0.0

    def may_probe(self) -> bool:
        """Whether a generation now would be one of the invocation that is waited for."""
        state, owner = self.state, self.owner
        if not self.memory.listening:
            return False
        if not self.host.has_unit:
            return True
        if state is None or changing(state) or state.active_state not in ("active", "activating", "reloading"):
            return False
        if state.invocation_id == self.options.previous_invocation_id:
            return False
        if owner is None or not self.options.require_owner:
            return not self.options.require_owner
        return owner.owned == "yes" and not owner.several

    def _end(self, failure_class: str, msg: str) -> None:
        """End the wait, or only note why it should, where the user wants to wait on."""
        if self.options.fail_fast:
            raise Verdict(failure_class, msg)
        self.memory.last_class, self.memory.last_error = failure_class, msg

    def unit(self, now: float, force: bool = False) -> None:
        """Look at the unit when it is time to, or at once with *force*."""
        if now < self._unit_due and not force:
            return
        self._unit_due = now + UNIT_LOOK
        state = self.state = self.host.unit()
        if state is None:
            return
        if not state.exists:
            self._end(*self.host.no_such_unit(state))
            return
        self._only_the_wanted(state)
        self._follow(state, now)
        if not state.main_pid and state.exec_main_code in ("1", "2", "3"):
            self.memory.last_end = how_it_ended(state)
        verdict = judge(state, self.options.previous_invocation_id, self.memory.restarts, self.options.max_restarts)
        if verdict is not None:
            self._end_by_unit(state, verdict)
        if not changing(state):
            self._workers(state, now)

    def _only_the_wanted(self, state: UnitState) -> None:
        """End a wait for one invocation of which the unit has started another, maybe before the wait began."""
        wanted = self.options.invocation_id
        if not wanted or self.options.max_restarts or state.invocation_id in ("", wanted):
            return
        finding, ended = self.host.earlier_failure(wanted), self.host.earlier_end(wanted)
        # The result speaks of the one that was waited for.
        self.memory.invocation_id, self.memory.main_pid = wanted, 0
        said = f"The unit '{state.name}' was started anew before it was ready: its process ended with {ended or 'a status that is not known'}."
        self._end(finding[0] if finding else "crash_loop", f"{said} {self._cause(finding)}" if finding else said)

    def _follow(self, state: UnitState, now: float) -> None:
        """Keep up with restarts: what was seen of another invocation no longer counts."""
        memory = self.memory
        if memory.restarts_before is None or state.n_restarts < memory.restarts_before:
            memory.restarts_before = state.n_restarts
        memory.restarts = state.n_restarts - memory.restarts_before
        if (state.invocation_id, state.main_pid) == (memory.invocation_id, memory.main_pid):
            return
        if state.invocation_id != memory.invocation_id or memory.main_pid:
            memory.earlier_invocation_id = memory.invocation_id
            memory.forget_invocation()
            self.owner = None
        memory.invocation_id, memory.main_pid = state.invocation_id, state.main_pid
        memory.origin = self.host.origin(state) or now
        if state.main_pid:
            memory.stages["process_started"] = self.host.process_started(state)
        self._log_due = 0.0

    def _end_by_unit(self, state: UnitState, verdict: UnitVerdict) -> None:
        if verdict.failure_class == "crash_loop":
            self._end(*self._crash_loop(state, verdict))
            return
        finding = self.host.failure(state, final=True) if verdict.ask_log and self.options.fail_fast else None
        if finding:
            self._end(finding[0], f"{self._cause(finding)} (unit '{state.name}', {how_it_ended(state)})")
        else:
            self._end(verdict.failure_class, verdict.msg + (self._last_line(state) if verdict.ask_log else ""))

    def _last_line(self, state: UnitState) -> str:
        """What a process said last that died without a known reason, as a sentence; the next one may run already."""
        dead = self.memory.earlier_invocation_id if state.main_pid else self.memory.invocation_id
        said = self.host.last_words(dead) if self.options.fail_fast else ""
        return f" Its last line: {said[:200]}" if said else ""

    def _crash_loop(self, state: UnitState, verdict: UnitVerdict) -> tuple[str, str]:
        """Name the death behind the restarts: by the log of the process that runs, or of the one that is dead."""
        memory, allowed = self.memory, self.options.max_restarts
        finding, ended = None, memory.last_end
        if self.options.fail_fast:
            finding = self.host.failure(state, final=True) or self.host.earlier_failure(memory.earlier_invocation_id)
            ended = ended or self.host.earlier_end(memory.earlier_invocation_id)
        msg = f"{verdict.msg} (max_restarts is {allowed}; its process last ended with {ended or 'a status that is not known'})."
        if finding:
            # One restart where none is allowed is a death like any other, and the same arguments are refused each time.
            named = allowed == 0 or finding[0] == "bad_arguments"
            return finding[0] if named else "crash_loop", f"{msg} {self._cause(finding)}"
        msg += self._last_line(state)
        return "server_crashed" if allowed == 0 and ended.startswith("signal") else "crash_loop", msg

    def _workers(self, state: UnitState, now: float) -> None:
        memory = self.memory
        if not state.main_pid:
            return
        alive, gone = self.host.workers(state, memory.workers)
        memory.workers.update(alive)
        if not gone:
            memory.worker_gone_at, memory.workers_seen_at = None, now
        elif memory.worker_gone_at is None:
            # The log and the unit may tell the cause in a moment, of which the time without a look between two slices is a part.
            unseen = max(now - memory.workers_seen_at - UNIT_LOOK, 0.0)
            memory.worker_gone_at, self._log_due = now - min(unseen, WORKER_GRACE - UNIT_LOOK), 0.0
        elif now - memory.worker_gone_at >= WORKER_GRACE and self.options.max_restarts == 0:
            names = ", ".join(f"'{name}' (pid {pid})" for pid, name in sorted(gone.items()))
            self._end(
                "server_crashed",
                f"The engine process {names} of the unit '{state.name}' is gone while its main process {state.main_pid} still "
                "accepts requests: it was killed or crashed; read log_tail and the kernel's log.",
            )

    def port(self, now: float, force: bool = False) -> None:
        """Look who listens; the owner is asked again when the sockets changed, while it is not ours, or with *force*."""
        memory = self.memory
        sockets = self.host.sockets()
        self.sees_sockets = sockets is not None
        if sockets is None:
            if self.host.has_unit and self.options.require_owner:
                self._end(
                    "no_permission",
                    f"Who listens at {self.host.where()} cannot be told from this host: set require_owner to false if that "
                    "address leads to the unit all the same.",
                )
            memory.listening = True
            memory.bound_at = now if memory.bound_at is None else memory.bound_at
            return
        unsettled = self.host.has_unit and (self.owner is None or self.owner.owned != "yes") and now >= self._owner_due
        if sockets != self._sockets or force or unsettled:
            self._sockets, self._owner_due = sockets, now + OWNER_LOOK
            self.owner = self.host.ownership(sockets, self.state) if sockets else None
        memory.listening = bool(sockets)
        if not sockets or self.owner is None:
            memory.foreign_since, memory.bound_at = None, None
            memory.from_start = memory.from_start or memory.stages["port_bound"] is None
            return
        memory.listener = self.owner.as_result()
        self._judge_owner(self.owner, now)
        if memory.bound_at is None and self.may_probe():
            memory.bound_at = memory.next_probe = now
            memory.reach("port_bound", now)

    def _judge_owner(self, owner: Ownership, now: float) -> None:
        """Whether the port's owner rules a wait out; a process on its way out is given some seconds."""
        memory, state = self.memory, self.state
        suspect = owner.foreign
        if not self.host.has_unit or not (suspect or owner.owned == "unknown"):
            memory.foreign_since = None
            return
        if not self.options.require_owner:
            memory.warn(
                f"The owner of port {self.host.port} is not the unit's process for certain (owned: {owner.owned}, {owner.who()})."
            )
            return
        # A process on its way out cannot be read for a moment: that begins anew, however long it has held the port.
        doubt = "suspect" if suspect else "unknown"
        if memory.foreign_since is None or memory.doubt != doubt:
            memory.foreign_since, memory.doubt = now, doubt
        age = now - memory.foreign_since
        if state is None or changing(state) or not state.main_pid or self._address_unsure():
            return
        if not suspect and age >= OWNER_GRACE:
            self._end(
                "no_permission",
                f"Who listens on port {self.host.port} of '{state.name}' cannot be read by this user: use become, "
                "or set require_owner to false.",
            )
        elif suspect and age >= FOREIGN_GRACE and not owner.relic:
            self._end(*self.foreign(owner))

    def _address_unsure(self) -> bool:
        """Whether the unit's script may still start its server, and at another address than the one that is guessed.

        A server that wrote its first line since this slice began has a command line that the slice has not read.
        """
        return self.options.guessed and not (self._logged_before and self.memory.log_stage)

    def foreign(self, owner: Ownership) -> tuple[str, str]:
        """The failure for a port that *owner*, and not the unit's invocation, holds."""
        state = self.state
        name = state.name if state else ""
        if owner.several:
            return (
                "ambiguous_listener",
                f"More than one process listens on port {self.host.port} of '{name}' ({owner.others}): which of them answers is "
                "left to chance; stop the one that does not belong there.",
            )
        finding = self.host.failure(state) if state else None
        if finding and finding[0] == "port_in_use":
            return "port_in_use", self._cause(finding)
        return (
            "foreign_listener",
            f"Port {self.host.port} of '{name}' is held by {owner.who()}, which is not of the unit's current invocation (main process "
            f"{state.main_pid if state else 0}): stop it, or set require_owner to false where it leads to the unit, as a proxy does.",
        )

    def _cause(self, finding: tuple[str, str]) -> str:
        """What the log tells; for a port that is taken also by whom."""
        if finding[0] != "port_in_use":
            return finding[1]
        # A death may be seen before anybody looked at the port.
        sockets = self.host.sockets() if self.owner is None else None
        if sockets:
            self.owner = self.host.ownership(sockets, self.state)
        if self.owner is None or self.owner.owned == "yes":
            return finding[1]
        return f"{finding[1]} It is held by {self.owner.who()}."

    def log(self, now: float) -> bool:
        """Read what is new in the log; whether it tells another stage although the port is bound."""
        state, memory = self.state, self.memory
        if state is None or not state.invocation_id or now < self._log_due:
            return False
        self._log_due = now + LOG_LOOK
        stage, detail = self.host.progress(state)
        memory.detail = detail[:400]
        if memory.bound_at is None:
            memory.stage = stage or ("starting" if state.main_pid else "waiting for the process")
        news = memory.bound_at is not None and stage != memory.log_stage
        memory.log_stage = stage
        finding = None if changing(state) else self.host.failure(state)
        if finding and self._fatal(finding[0]):
            self._end(finding[0], f"{self._cause(finding)} (unit '{state.name}')")
        return news

    def _fatal(self, failure_class: str) -> bool:
        if self.memory.stages["first_generation"] is not None:
            # A server that generates has not failed to start, whatever its log seems to say.
            return failure_class == "server_crashed" and self.options.max_restarts == 0
        # With restarts allowed the next process may do better, unless it gets the same arguments.
        return self.options.max_restarts == 0 or failure_class == "bad_arguments"
