# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The wait for a generation of one invocation, as logic alone: clock, sleep, host and probes are handed in."""

from __future__ import annotations

import contextlib
import math
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._wait_looks import Looks
from ansible_collections.llmops.sglang.plugins.module_utils._wait_node import NodeProbes
from ansible_collections.llmops.sglang.plugins.module_utils._wait_options import Verdict, WaitOptions
from ansible_collections.llmops.sglang.plugins.module_utils._wait_probes import Probes

if t.TYPE_CHECKING:
    from ansible_collections.llmops.sglang.plugins.module_utils._generation_probe import Prober
    from ansible_collections.llmops.sglang.plugins.module_utils._wait_host import Host
    from ansible_collections.llmops.sglang.plugins.module_utils._wait_memory import WaitMemory

# A look at the socket table is one small read and happens this often, in seconds.
SOCKET_LOOK = 0.1
# A slice ends early for news, but not before this many seconds: starting the next one costs about one.
NEWS_AFTER = 2.0
# So near the time at which earlier starts were ready, in seconds, it does not end for news either.
NEAR_THE_USUAL = 3.0
TIMED_OUT = ("", "connection_refused", "generation_timeout")
# The port may be bound at any moment then, and the time between two slices would be missed.
LATE_PHASES = frozenset(("graphs captured", "engine ready", "binding the port", "listening", "says that it is ready"))


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
        self.options, self.memory = options, memory
        self.clock, self.sleep = clock, sleep
        self.deadline = memory.started + options.timeout
        self.looks = Looks(options, memory, host)
        kind = NodeProbes if options.until == "node" else Probes
        self.probes = kind(options, memory, self.looks, prober)
        self._phase_before = memory.phase

    def run(self, slice_seconds: float, limit: float = math.inf) -> Verdict | None:
        """Wait until ready, until nothing can make it so, or until the slice ends (``None``).

        A slice ends early when the stage changes before the port is bound, and late while a probe is under way, but at *limit*.
        """
        begin = self.clock()
        while True:
            now = self.clock()
            verdict = self._step(now)
            if verdict is not None and (not verdict.failure_class or self.options.fail_fast):
                return verdict
            if self.looks.host.abandoned():
                return Verdict("generation_timeout", "Nobody waits any longer: the connection of this run was cut.")
            if now >= self.deadline:
                return self._at_deadline()
            idle = self.probes.outstanding is None
            if now - begin >= limit or (idle and self._slice_ends(now - begin, slice_seconds)):
                return None
            self._pause(now)

    def _slice_ends(self, age: float, slice_seconds: float) -> bool:
        phase = self.memory.phase
        news = phase != self._phase_before and phase not in LATE_PHASES and self.memory.bound_at is None
        news = news and not self._usually_ready_now()
        return age >= slice_seconds or (news and age >= min(NEWS_AFTER, slice_seconds))

    def _usually_ready_now(self) -> bool:
        usual = self.memory.expected_elapsed
        return usual is not None and abs(self.clock() - self.memory.origin - usual) <= NEAR_THE_USUAL

    def _pause(self, now: float) -> None:
        left = max(self.deadline - now, 0.001)
        if self.probes.outstanding is not None:
            self.probes.outstanding.handle.wait(min(SOCKET_LOOK, left))
            return
        wanted = self.memory.next_probe - now if self.memory.listening else SOCKET_LOOK
        self.sleep(min(max(wanted, 0.005), SOCKET_LOOK, left))

    def _step(self, now: float) -> Verdict | None:
        try:
            self.looks.unit(now)
            self.looks.port(now)
            if self.looks.log(now):
                self.probes.news(now)
            self.probes.health(now)
            self.probes.step(now, self.deadline)
        except Verdict as verdict:
            return verdict
        except Failure as failure:
            return Verdict(failure.failure_class, failure.msg)
        return None

    def _at_deadline(self) -> Verdict:
        if not self.options.fail_fast:
            # What the unit came to says more than that nobody listens.
            with contextlib.suppress(Failure):
                self.looks.unit(self.clock(), force=True)
        memory, waited, owner = self.memory, f"{self.options.timeout:g} s", self.looks.owner
        if owner is not None and self.options.require_owner and self.looks.host.has_unit and owner.foreign:
            return Verdict(*self.looks.foreign(owner))
        if self.probes.outstanding is not None:
            self.probes.unfinished(self.probes.outstanding, self.clock())
        last = f" Last: {memory.last_error}" if memory.last_error else ""
        if self.probes.nobody_reached and memory.last_class in TIMED_OUT:
            said = f"No connection to {self.looks.host.where()} came about until the deadline of {waited}.{self.looks.host.unresolved}"
            remedy = "See whether that is the server's address, and what lies between."
            return Verdict("connection_refused", f"{said} {remedy}{last}")
        if memory.unfinished is not None:
            last += f" The last generation had run for {memory.unfinished:g} s at the deadline."
        if memory.broken:
            wanted = self.options.successes
            said = f"Of {wanted} consecutive generations some failed within {waited} after one had succeeded."
            return Verdict("unstable", said + last)
        if not memory.listening and memory.last_class in ("", "connection_refused"):
            doing = f" The server was at: {memory.stage}." if self.looks.host.has_unit and memory.stage else ""
            what = (
                "Nothing listened until"
                if memory.stages["first_http_answer"] is None
                else "It answered, and nothing listens at"
            )
            return Verdict("connection_refused", f"{what} the deadline of {waited}.{doing}{last}")
        failure_class = memory.last_class or "generation_timeout"
        return Verdict(failure_class, self._sentence(failure_class, waited) + last)

    def _sentence(self, failure_class: str, waited: str) -> str:
        memory = self.memory
        tries = f"{memory.attempts} generation request{'s' if memory.attempts != 1 else ''}"
        health = ""
        if memory.health == "200":
            health = f"; the health route '{self.options.health_path}' was fine (200) and generation was not"
        elif memory.health:
            health = f"; the health route '{self.options.health_path}' said {memory.health}"
        if failure_class == "generation_timeout" and memory.streak:
            done = f"{memory.streak} of {self.options.successes} consecutive generations"
            return (
                f"The server was not ready within {waited}: {done} had ended ({tries}); give the wait a longer timeout."
            )
        if failure_class == "generation_timeout":
            return (
                f"The server listens and no generation ended within {waited} ({tries}){health}: see its log and load."
            )
        return f"The server was not ready within {waited} ({tries}){health}."
