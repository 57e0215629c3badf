# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The wait for a generation of one invocation, as logic alone: clock, sleep, host and probes are handed in."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._unit_verdict import changing, how_it_ended, judge
from ansible_collections.llmops.sglang.plugins.module_utils._wait_memory import WaitMemory, answer_of

if t.TYPE_CHECKING:
    from ansible_collections.llmops.sglang.plugins.module_utils._generation_probe import Handle, Prober, ProbeResult
    from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState
    from ansible_collections.llmops.sglang.plugins.module_utils._wait_host import Host

# A look at the socket table is one small read; one at the unit runs a command.
SOCKET_LOOK = 0.1
UNIT_LOOK = 0.4
LOG_LOOK = 1.0
# A process that was told to stop may hold the port for some seconds after its unit is gone.
FOREIGN_GRACE = 3.5
WORKER_GRACE = 1.0
OWNER_GRACE = 1.0
HEALTH_TIMEOUT = 3.0
# Three connections in a row cut before any answer: then it is worth asking whether the port speaks TLS.
RESETS_BEFORE_TLS = 3

# Failures of the probe that no waiting mends.
TERMINAL = frozenset("unauthorized route_not_found wrong_model tls_mismatch bad_request ambiguous_listener".split())


@dataclass
class WaitOptions:
    """The names are those of the module's options; times in seconds."""

    timeout: float = 1800.0
    request_timeout: float = 60.0
    poll_interval: float = 10.0
    successes: int = 2
    previous_invocation_id: str = ""
    require_owner: bool = True
    max_restarts: int = 0
    fail_fast: bool = True
    health_path: str = "/health"
    warmup_contexts: list[int] = field(default_factory=list)
    warmup_concurrency: int = 1


class Verdict(Exception):
    """The wait is over."""

    def __init__(self, failure_class: str, msg: str) -> None:
        super().__init__(msg)
        self.failure_class = failure_class
        self.msg = msg


@dataclass
class _Outstanding:
    """The one probe that is under way: what it exercises, and what was true when it began."""

    handle: Handle
    until: float
    invocation_id: str
    main_pid: int
    context: int = 0
    parallel: int = 1
    began: float = 0.0


class Readiness:
    """One slice of a wait; *memory* is what the slices share."""

    def __init__(
        self,
        options: WaitOptions,
        memory: WaitMemory,
        host: Host,
        prober: Prober,
        clock: t.Callable[[], float],
        sleep: t.Callable[[float], None],
    ) -> None:
        self.options, self.memory, self.host, self.prober = options, memory, host, prober
        self.clock, self.sleep = clock, sleep
        self.deadline = memory.started + options.timeout
        self.state: UnitState | None = None
        self._unit_due = self._log_due = self._health_due = 0.0
        self._outstanding: _Outstanding | None = None
        self._health: Handle | None = None
        self._sockets: t.Any = None
        self._owner: t.Any = None
        self._stage_shown = memory.stage

    def run(self, slice_seconds: float) -> Verdict | None:
        """Wait until ready, until nothing can make it so, or until the slice ends (``None``).

        A slice is not cut while a probe is under way, and ends early when the stage changes before the port is bound.
        """
        begin = self.clock()
        while True:
            now = self.clock()
            verdict = self._step(now)
            if verdict is not None and (verdict.failure_class == "" or self.options.fail_fast):
                return verdict
            if verdict is not None:
                self._note(verdict.failure_class, verdict.msg)
            if now >= self.deadline:
                return self._at_deadline()
            if self._outstanding is None and self._slice_ends(now - begin, slice_seconds):
                return None
            self._pause(now)

    def _slice_ends(self, age: float, slice_seconds: float) -> bool:
        news = self.memory.stage != self._stage_shown and not self.memory.listening
        return age >= slice_seconds or (news and age >= min(2.0, slice_seconds))

    def _pause(self, now: float) -> None:
        left = max(self.deadline - now, 0.001)
        if self._outstanding is not None:
            self._outstanding.handle.wait(min(SOCKET_LOOK, left))
        else:
            wanted = self.memory.next_probe - now if self.memory.listening else SOCKET_LOOK
            self.sleep(min(max(wanted, 0.005), SOCKET_LOOK, left))

    def _step(self, now: float) -> Verdict | None:
        try:
            self._look_at_unit(now)
            self._look_at_port(now)
            self._look_at_log(now)
            self._look_at_health(now)
            self._probe(now)
        except Verdict as verdict:
            return verdict
        except Failure as failure:
            return Verdict(failure.failure_class, failure.msg)
        return None

    def _look_at_unit(self, now: float, force: bool = False) -> None:
        if not self.host.has_unit or (now < self._unit_due and not force):
            return
        self._unit_due = now + UNIT_LOOK
        state = self.state = self.host.unit()
        assert state is not None
        if not state.exists:
            raise Verdict(*self.host.no_such_unit(state))
        self._follow(state, now)
        memory = self.memory
        verdict = judge(state, self.options.previous_invocation_id, memory.restarts, self.options.max_restarts)
        if verdict is not None:
            self._end_by_unit(state, verdict)
        if not changing(state):
            self._look_at_workers(state, now)

    def _follow(self, state: UnitState, now: float) -> None:
        """Keep up with restarts: what was seen of another invocation no longer counts."""
        memory = self.memory
        if memory.restarts_before is None or state.n_restarts < memory.restarts_before:
            memory.restarts_before = state.n_restarts
        memory.restarts = state.n_restarts - memory.restarts_before
        if (state.invocation_id, state.main_pid) == (memory.invocation_id, memory.main_pid):
            return
        if state.invocation_id != memory.invocation_id or memory.main_pid:
            memory.streak, memory.workers, memory.worker_gone_at = 0, {}, None
            memory.stages = dict.fromkeys(memory.stages)
            memory.warmups, memory.bound_at, memory.foreign_since = [], None, None
            self._owner = None
        memory.invocation_id, memory.main_pid = state.invocation_id, state.main_pid
        memory.origin = self.host.origin(state) or now
        if state.main_pid:
            memory.stages["process_started"] = self.host.process_started(state)
        self._log_due = 0.0

    def _end_by_unit(self, state: UnitState, verdict: t.Any) -> t.NoReturn:
        finding = (
            self.host.failure(state, final=True) if verdict.ask_log or verdict.failure_class == "crash_loop" else None
        )
        if finding and verdict.ask_log:
            raise Verdict(finding[0], f"{self._port_holder(finding)} (unit '{state.name}', {how_it_ended(state)})")
        raise Verdict(verdict.failure_class, verdict.msg + (f" {finding[1]}" if finding else ""))

    def _look_at_workers(self, state: UnitState, now: float) -> None:
        memory = self.memory
        if not state.main_pid:
            return
        alive, gone = self.host.workers(state, memory.workers)
        memory.workers.update(alive)
        if not gone:
            memory.worker_gone_at = None
            return
        # The log and the unit may tell the cause in a moment.
        if memory.worker_gone_at is None:
            memory.worker_gone_at, self._log_due = now, 0.0
        elif now - memory.worker_gone_at >= WORKER_GRACE and self.options.max_restarts == 0:
            names = ", ".join(f"'{name}' (pid {pid})" for pid, name in sorted(gone.items()))
            raise Verdict(
                "server_crashed",
                f"The engine process {names} of the unit '{state.name}' is gone while its main process {state.main_pid} still "
                "accepts requests: it was killed or crashed; read log_tail and the kernel's log.",
            )

    def _look_at_port(self, now: float, force: bool = False) -> None:
        memory = self.memory
        sockets = self.host.sockets()
        if sockets is None:
            memory.listening = True
            return
        if sockets != self._sockets or force or self._owner is None or self._owner.owned != "yes":
            self._sockets = sockets
            self._owner = self.host.ownership(sockets, self.state) if sockets else None
        memory.listening = bool(sockets)
        if not sockets:
            memory.foreign_since, memory.bound_at = None, None
            memory.from_start = memory.from_start or memory.stages["port_bound"] is None
            return
        memory.listener = self._owner.as_result()
        self._judge_owner(now)
        if memory.bound_at is None and self._may_probe():
            memory.bound_at = now
            memory.next_probe = now
            self._stage("port_bound", now)

    def _judge_owner(self, now: float) -> None:
        """Whether the port's owner rules a wait out; a process on its way out is given some seconds."""
        owner, memory = self._owner, self.memory
        if not self.host.has_unit:
            if owner.several and memory.bound_at is None:
                self._tell_twins()
            return
        suspect = owner.several or owner.owned == "no"
        unreadable = owner.owned == "unknown" and self.options.require_owner
        if not suspect and not unreadable:
            memory.foreign_since = None
            return
        if memory.foreign_since is None:
            memory.foreign_since = now
        age = now - memory.foreign_since
        if not self.options.require_owner or self.state is None or changing(self.state) or not self.state.main_pid:
            return
        if unreadable and not suspect and age >= OWNER_GRACE:
            raise Verdict(
                "no_permission",
                f"Who listens on the port of '{self.state.name}' cannot be read by this user: use become, "
                "or set require_owner to false.",
            )
        if suspect and age >= FOREIGN_GRACE and not owner.relic:
            raise self._foreign()

    def _foreign(self) -> Verdict:
        owner = self._owner
        name = self.state.name if self.state else ""
        if owner.several:
            return Verdict(
                "ambiguous_listener",
                f"More than one process listens on the port of '{name}' ({owner.others}): which of them answers is left to chance; "
                "stop the one that does not belong there.",
            )
        finding = self.host.failure(self.state) if self.state else None
        if finding and finding[0] == "port_in_use":
            return Verdict("port_in_use", self._port_holder(finding))
        return Verdict(
            "foreign_listener",
            f"The port of '{name}' is held by {owner.who()}, which is not of the unit's current invocation "
            f"(main process {self.state.main_pid if self.state else 0}): stop it.",
        )

    def _tell_twins(self) -> None:
        met = self.prober.identities()
        if len(met) > 1:
            self._ambiguous(met)

    def _ambiguous(self, met: t.Sequence[t.Sequence[str]]) -> t.NoReturn:
        names = " and ".join(str(list(one)[:5]) for one in met[:3])
        raise Verdict(
            "ambiguous_listener",
            f"Servers with different models answer on the same port: {names}; stop the one that is not meant.",
        )

    def _port_holder(self, finding: tuple[str, str]) -> str:
        if finding[0] != "port_in_use":
            return finding[1]
        owner = self._owner
        return finding[1] + (f" It is held by {owner.who()}." if owner is not None and owner.owned != "yes" else "")

    def _may_probe(self) -> bool:
        """Whether a generation now would be one of the invocation that is waited for."""
        if not self.memory.listening or (self.state is not None and changing(self.state)):
            return False
        if not self.host.has_unit or self._owner is None or not self.options.require_owner:
            return True
        return self._owner.owned == "yes" and not self._owner.several

    def _look_at_log(self, now: float) -> None:
        state, memory = self.state, self.memory
        if state is None or not state.invocation_id or now < self._log_due:
            return
        self._log_due = now + LOG_LOOK
        before = memory.detail
        stage, memory.detail = self.host.progress(state)
        if not memory.listening:
            memory.stage = stage or ("starting" if state.main_pid else "waiting for the process")
        elif before != memory.detail and self._outstanding is None and not memory.streak:
            memory.next_probe = min(memory.next_probe, now)
        finding = self.host.failure(state)
        if finding and not changing(state) and self._ends(finding[0]):
            raise Verdict(finding[0], f"{self._port_holder(finding)} (unit '{state.name}')")

    def _ends(self, failure_class: str) -> bool:
        # With restarts allowed the next process may do better, unless it gets the same arguments.
        return self.options.max_restarts == 0 or failure_class == "bad_arguments"

    def _look_at_health(self, now: float) -> None:
        """After a probe that failed: a change of the health route is worth a probe at once."""
        memory = self.memory
        if self._health is not None:
            said = self._health.wait(0)
            if said is None:
                return
            self._health = None
            if said != memory.health and memory.health and self._outstanding is None:
                memory.next_probe = now
            memory.health = said
            waited = now - (memory.bound_at or memory.started)
            self._health_due = now + (5.0 if said == "200" else min(max(0.05 * waited, 0.25), 1.0))
        elif (
            self.options.health_path
            and memory.last_class
            and memory.listening
            and now >= self._health_due
            and self._may_probe()
        ):
            self._health = self.prober.start_health(self.options.health_path, HEALTH_TIMEOUT)

    def _probe(self, now: float) -> None:
        outstanding, memory = self._outstanding, self.memory
        if outstanding is None:
            if not memory.listening:
                self._count_refused(now)
            elif now >= memory.next_probe and now < self.deadline and self._may_probe():
                self._start(now)
            return
        result = outstanding.handle.wait(0)
        if result is None:
            return
        self._outstanding = None
        self._take(result, outstanding, self.clock())

    def _count_refused(self, now: float) -> None:
        """Nobody listens: no request, and one failed try in the count for each that would have been due."""
        memory = self.memory
        memory.last_class = memory.last_class or "connection_refused"
        if now >= memory.next_probe:
            self._failed("refused", "connection_refused", self.host.nobody(), now)

    def _start(self, now: float) -> None:
        memory = self.memory
        # Both ends of a probe must see the same process, so it begins with a fresh look.
        self._look_at_unit(now, force=True)
        self._look_at_port(now, force=True)
        if not self._may_probe():
            return
        context, parallel = self._warmup()
        timeout = min(self.options.request_timeout, max(self.deadline - now, 0.05))
        memory.attempts += parallel
        handle = self.prober.start(memory.index, timeout, context, parallel)
        memory.index += parallel
        self._outstanding = _Outstanding(
            handle, now + timeout, memory.invocation_id, memory.main_pid, context, parallel, now
        )
        doing = f"generating ({memory.streak} of {self.options.successes})" if memory.streak else "listening"
        memory.stage = (
            f"warming up {context} tokens" if context else f"warming up {parallel} at once" if parallel > 1 else doing
        )

    def _warmup(self) -> tuple[int, int]:
        """The next warm-up: a context length, or a number of generations at once; (0, 1) for an ordinary probe."""
        if not self.memory.streak:
            return 0, 1
        done = {(one["kind"], one["size"]) for one in self.memory.warmups}
        for size in self.options.warmup_contexts:
            if ("context", size) not in done:
                return size, 1
        size = self.options.warmup_concurrency
        return (0, size) if size > 1 and ("concurrency", size) not in done else (0, 1)

    def _take(self, result: ProbeResult, outstanding: _Outstanding, now: float) -> None:
        memory = self.memory
        memory.models = result.models if result.models is not None else memory.models
        for text in result.warnings:
            memory.warn(text)
        self._look_at_unit(now, force=True)
        if result.good:
            self._look_at_port(now, force=True)
        if result.http:
            self._stage("first_http_answer", now)
        self._compare_identity(result)
        if not result.good:
            if result.failure_class in TERMINAL:
                self._count(result.outcome)
                memory.last_error = result.msg
                raise Verdict(result.failure_class, result.msg)
            memory.broken = memory.broken or memory.streak > 0
            self._tell_tls(result)
            self._failed(result.outcome, result.failure_class, result.msg, now)
            return
        same = (memory.invocation_id, memory.main_pid) == (outstanding.invocation_id, outstanding.main_pid)
        if not same or not self._may_probe():
            self._failed(
                "not_ready",
                "foreign_listener",
                "A generation came from a process that is not the unit's any more.",
                now,
            )
            return
        self._succeeded(result, outstanding, now)

    def _succeeded(self, result: ProbeResult, outstanding: _Outstanding, now: float) -> None:
        memory = self.memory
        self._count("generated")
        memory.resets, memory.next_probe, memory.last_class = 0, now, ""
        self._stage("first_generation", now)
        if outstanding.context or outstanding.parallel > 1:
            kind, size = (
                ("context", outstanding.context) if outstanding.context else ("concurrency", outstanding.parallel)
            )
            tokens = result.generation.prompt_tokens if result.generation and outstanding.context else None
            memory.warmups.append(
                {"kind": kind, "size": size, "prompt_tokens": tokens, "seconds": round(now - outstanding.began, 3)}
            )
            memory.stages[f"warmup_{kind}_{size}"] = self._since_origin(now)
        else:
            memory.streak += 1
            memory.answer = answer_of(result.generation)
        if memory.streak >= self.options.successes and self._warmup() == (0, 1):
            self._stage("ready", now)
            memory.stage, memory.detail = "ready", ""
            raise Verdict("", "")

    def _failed(self, outcome: str, failure_class: str, msg: str, now: float) -> None:
        memory = self.memory
        self._count(outcome)
        memory.streak = 0
        self._note(failure_class, msg)
        # While it waits long, the gaps grow with the time that has passed.
        waited = now - (memory.bound_at if memory.bound_at is not None else memory.started)
        gap = max(0.2 * waited, SOCKET_LOOK)
        if outcome == "not_ready" and memory.health == "503":
            # The health route says the same, is cheaper, and is looked at meanwhile.
            gap = self.options.poll_interval
        memory.next_probe = now + min(gap, self.options.poll_interval)
        if outcome == "refused":
            self.host.refused()
        if memory.listening and outcome != "refused":
            memory.stage = f"listening, not generating ({outcome.replace('_', ' ')})"
        elif not self.host.has_unit:
            memory.stage = "nothing listens"

    def _note(self, failure_class: str, msg: str) -> None:
        self.memory.last_class, self.memory.last_error = failure_class, msg

    def _count(self, outcome: str) -> None:
        self.memory.outcomes[outcome] = self.memory.outcomes.get(outcome, 0) + 1

    def _tell_tls(self, result: ProbeResult) -> None:
        memory = self.memory
        memory.resets = memory.resets + 1 if result.reset and memory.stages["first_http_answer"] is None else 0
        if memory.resets == RESETS_BEFORE_TLS and self.prober.speaks_tls():
            raise Verdict("tls_mismatch", f"{result.msg} The port speaks TLS and the URL says http: use https.")

    def _compare_identity(self, result: ProbeResult) -> None:
        """Without a unit, a server that lists one model, then another, then the first again is two servers."""
        if self.host.has_unit or result.models is None:
            return
        met, now = self.memory.identities, sorted(result.models)
        if met and met[-1] == now:
            return
        if now in met:
            self._ambiguous(met)
        met.append(now)

    def _stage(self, name: str, now: float) -> None:
        if self.memory.stages.get(name) is None:
            self.memory.stages[name] = self._since_origin(now)

    def _since_origin(self, now: float) -> float:
        return round(max(now - self.memory.origin, 0.0), 3)

    def _at_deadline(self) -> Verdict:
        memory, waited = self.memory, f"{self.options.timeout:g} s"
        owner = self._owner
        if (
            self.options.require_owner
            and self.host.has_unit
            and owner is not None
            and (owner.owned == "no" or owner.several)
        ):
            return self._foreign()
        if self._outstanding is not None:
            memory.broken = memory.broken or memory.streak > 0
            self._count("timeout")
            self._note("generation_timeout", "The last generation had not ended at the deadline.")
        last = f" Last: {memory.last_error}" if memory.last_error else ""
        if memory.broken:
            msg = f"Some of the {self.options.successes} consecutive generations failed within {waited} after one had succeeded.{last}"
            return Verdict("unstable", msg)
        if not memory.listening and memory.last_class in ("", "connection_refused"):
            doing = f" The server was at: {memory.stage}." if self.host.has_unit and memory.stage else ""
            return Verdict("connection_refused", f"Nothing listened until the deadline of {waited}.{doing}{last}")
        failure_class = memory.last_class or "generation_timeout"
        return Verdict(failure_class, self._deadline_sentence(failure_class, waited) + last)

    def _deadline_sentence(self, failure_class: str, waited: str) -> str:
        memory = self.memory
        tries = f"{memory.attempts} generation request{'s' if memory.attempts != 1 else ''}"
        health = ""
        if memory.health:
            fine = memory.health == "200"
            health = f"; the health route '{self.options.health_path}' " + (
                "was fine (200) and generation was not" if fine else f"said {memory.health}"
            )
        if failure_class == "generation_timeout":
            return f"The server listens and no generation ended within {waited} ({tries}){health}: look at its log and load."
        return f"The server was not ready within {waited} ({tries}){health}."
