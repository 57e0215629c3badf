# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The generation probes of a wait: one at a time, when they are due, and what each of them changes."""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass

from ansible_collections.llmops.sglang.plugins.module_utils._generation_judge import ProbeResult
from ansible_collections.llmops.sglang.plugins.module_utils._wait_memory import answer_of
from ansible_collections.llmops.sglang.plugins.module_utils._wait_options import Verdict, WaitOptions

if t.TYPE_CHECKING:
    from ansible_collections.llmops.sglang.plugins.module_utils._background import Handle
    from ansible_collections.llmops.sglang.plugins.module_utils._generation_probe import Prober
    from ansible_collections.llmops.sglang.plugins.module_utils._wait_looks import Looks
    from ansible_collections.llmops.sglang.plugins.module_utils._wait_memory import WaitMemory

SHORTEST_GAP = 0.5
# Where a look that costs the server less has changed, there is reason to hope.
GAP_AFTER_NEWS = 0.1
# The gaps between probes grow with the time that has passed, and not beyond poll_interval. One case is apart: with its default
# of 10 s a server that answers 503 for six minutes would get 53 requests (22 in the first 50 s, whose gaps are a fifth of the
# time at the most, and 31 afterwards), and shall get fewer than 40.
GAP_SHARE = 0.2
DEFAULT_INTERVAL = 10.0
LONG_LOAD, LONG_GAP_SHARE, LONGEST_GAP = 100.0, 0.15, 20.0
HEALTH_TIMEOUT = 3.0
# A probe ends by itself at its timeout; what it took in may have to be read through.
OVERTIME = 8.0
HEALTH_GAP = (0.25, 1.0)
HEALTHY_GAP = 5.0
# Three connections in a row cut before any answer: then it is worth asking whether the port speaks TLS.
RESETS_BEFORE_TLS = 3

# Failures of the probe that no waiting mends.
TERMINAL = frozenset(
    (
        "unauthorized",
        "route_not_found",
        "wrong_model",
        "tls_mismatch",
        "bad_request",
        "ambiguous_listener",
        "pattern_too_slow",
    )
)


@dataclass
class Outstanding:
    """The one probe that is under way: what it exercises, and which process was there when it began.

    cut: the wait's deadline leaves it less time than a probe may take. timeout: how long it may take, in seconds.
    """

    handle: Handle
    process: tuple[str, int]
    began: float
    context: int = 0
    parallel: int = 1
    cut: bool = False
    timeout: float = math.inf

    def warm_up_said(self, msg: str) -> str:
        """*msg* of a failure with the warm-up that met it; as it is for an ordinary probe."""
        if not self.context and self.parallel == 1:
            return msg
        what = f"{self.context} prompt tokens" if self.context else f"{self.parallel} generations at once"
        return f"The warm-up with {what} failed: {msg}"


def gap_after(waited: float, poll_interval: float, loading: bool = False) -> float:
    """Seconds from a failed probe to the next one, *waited* seconds after the port was bound; loading: it was a 503."""
    longest = poll_interval
    if loading and waited > LONG_LOAD and poll_interval == DEFAULT_INTERVAL:
        longest = min(LONG_GAP_SHARE * waited, LONGEST_GAP)
    return min(max(GAP_SHARE * waited, SHORTEST_GAP), longest)


class Probes:
    """Sends the probes; *looks* says before and after each of them whose process answers."""

    def __init__(self, options: WaitOptions, memory: WaitMemory, looks: Looks, prober: Prober) -> None:
        self.options, self.memory, self.looks, self.prober = options, memory, looks, prober
        self.outstanding: Outstanding | None = None
        self._health: Handle | None = None
        self._health_due = 0.0
        self._news = False
        self._twins_told = False

    @property
    def nobody_reached(self) -> bool:
        """Whether nothing, neither the socket table nor a connection, has shown that there is a server."""
        return not self.looks.sees_sockets and not self.memory.reached

    def step(self, now: float, deadline: float) -> None:
        """Begin the next probe when it is due, or take the result of the one under way. Raises Verdict at the end."""
        memory = self.memory
        if self.outstanding is not None:
            done = self.outstanding
            result = done.handle.wait(0)
            if result is None and now - done.began > done.timeout + OVERTIME:
                result = ProbeResult(
                    "timeout", "generation_timeout", "What the server sent was not read through in time."
                )
            if result is not None:
                self.outstanding = None
                self._take(self.prober.judged(result, deadline - now), done, now, deadline)
        elif not memory.listening:
            # No request is needed to know that nobody listens; it counts as a failed try when one would have been due.
            if now >= memory.next_probe:
                self._failed("refused", "connection_refused", self.looks.host.nobody(), now)
        elif now >= memory.next_probe and now < deadline and self.looks.may_probe():
            self._start(now, deadline)

    def _start(self, now: float, deadline: float) -> None:
        memory = self.memory
        # Both ends of a probe must see the same process, so it begins with a fresh look.
        self.looks.unit(now, force=True)
        self.looks.port(now, force=True)
        if not self.looks.may_probe():
            return
        self._tell_twins(deadline - now)
        context, parallel = self._warmup()
        timeout = min(self.options.request_timeout, max(deadline - now, 0.05))
        handle = self.prober.start(memory.index, timeout, context, parallel)
        memory.attempts += parallel
        memory.index += parallel
        process, cut = (memory.invocation_id, memory.main_pid), timeout < self.options.request_timeout
        self.outstanding = Outstanding(handle, process, now, context, parallel, cut, timeout)
        if context or parallel > 1:
            memory.stage = f"warming up {context} tokens" if context else f"warming up {parallel} generations at once"
        elif memory.streak:
            memory.stage = f"generating ({memory.streak} of {self.options.successes})"
        elif not memory.last_class or memory.last_class == "connection_refused":
            memory.stage = "listening, first generation under way"

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

    def _take(self, result: ProbeResult, done: Outstanding, now: float, deadline: float) -> None:
        memory = self.memory
        memory.models = memory.models if result.models is None else [name[:200] for name in result.models[:20]]
        for text in result.warnings:
            memory.warn(text)
        self.looks.unit(now, force=True)
        if result.http:
            memory.reach("first_http_answer", now)
        self._compare_identity(result)
        memory.reached = memory.reached or self.prober.reached
        if done.cut and result.outcome == "timeout":
            self.unfinished(done, now)
            return
        if not result.good:
            result.msg = done.warm_up_said(result.msg)
            self._failed(result.outcome, result.failure_class, result.msg, now)
            if result.failure_class in TERMINAL:
                raise Verdict(result.failure_class, result.msg)
            self._tell_tls(result, deadline - now)
            return
        self.looks.port(now, force=True)
        if (memory.invocation_id, memory.main_pid) != done.process or not self.looks.may_probe():
            said = "A generation came from a process that is not, or no longer, the unit's."
            self._failed("not_ready", "foreign_listener", said, now)
            return
        self._succeeded(result, done, now)

    def unfinished(self, done: Outstanding, now: float) -> None:
        """The deadline came before the end of a probe: that says nothing against what the ended ones told."""
        memory = self.memory
        memory.count("timeout")
        memory.reached = memory.reached or self.prober.reached
        if memory.last_class in ("", "connection_refused"):
            memory.last_class = "generation_timeout"
        memory.unfinished, memory.next_probe = round(now - done.began, 1), now + SHORTEST_GAP

    def _succeeded(self, result: ProbeResult, done: Outstanding, now: float) -> None:
        memory = self.memory
        memory.count("generated")
        memory.resets, memory.next_probe, memory.last_class = 0, now, ""
        memory.reach("first_generation", now)
        if done.context or done.parallel > 1:
            kind, size = ("context", done.context) if done.context else ("concurrency", done.parallel)
            tokens = result.generation.prompt_tokens if result.generation and done.context else None
            seconds = round(now - done.began, 3)
            memory.warmups.append({"kind": kind, "size": size, "prompt_tokens": tokens, "seconds": seconds})
            memory.reach(f"warmup_{kind}_{size}", now)
        else:
            memory.streak += 1
            memory.answer = answer_of(result.generation)
        if memory.streak >= self.options.successes and self._warmup() == (0, 1):
            memory.reach("ready", now)
            memory.stage, memory.detail = "ready", ""
            raise Verdict("")

    def _failed(self, outcome: str, failure_class: str, msg: str, now: float) -> None:
        memory = self.memory
        memory.count(outcome)
        memory.broken = memory.broken or memory.streak > 0
        memory.streak = 0
        memory.last_class, memory.last_error = failure_class, msg[:1000]
        gap = (
            GAP_AFTER_NEWS
            if self._news
            else gap_after(self._waited(now), self.options.poll_interval, outcome == "not_ready")
        )
        memory.next_probe, self._news = now + gap, False
        if outcome == "refused":
            self.looks.host.refused()
        if memory.listening and self.nobody_reached:
            memory.stage = "no connection yet"
        elif memory.listening and outcome != "refused":
            memory.stage = f"listening, not generating ({outcome.replace('_', ' ')})"
        elif not self.looks.host.has_unit:
            memory.stage = "nothing listens"

    def _waited(self, now: float) -> float:
        """Seconds for which the port is bound, or else for which the wait lasts."""
        return now - (self.memory.bound_at if self.memory.bound_at is not None else self.memory.started)

    def news(self, now: float) -> None:
        """A cheap look has changed: probe now, or soon after the probe that is under way."""
        self._news = self.outstanding is not None
        if self.outstanding is None:
            self.memory.next_probe = min(self.memory.next_probe, now)

    def health(self, now: float) -> None:
        """After a failed probe look at the health route: a change of it is worth a probe at once."""
        memory = self.memory
        if self._health is not None:
            said = self._health.wait(0)
            if said is None:
                return
            self._health = None
            if memory.health not in ("", said):
                self.news(now)
            memory.health = said
            shortest, longest = HEALTH_GAP
            soon = min(max(0.05 * self._waited(now), shortest), longest)
            self._health_due = now + (HEALTHY_GAP if said == "200" else soon)
        elif self.options.health_path and memory.last_class and now >= self._health_due and self.looks.may_probe():
            self._health = self.prober.start_health(self.options.health_path, HEALTH_TIMEOUT)

    def _tell_tls(self, result: ProbeResult, left: float) -> None:
        memory = self.memory
        memory.resets = memory.resets + 1 if result.reset and memory.stages["first_http_answer"] is None else 0
        if memory.resets == RESETS_BEFORE_TLS and self.prober.speaks_tls(left):
            raise Verdict("tls_mismatch", f"{result.msg} The port speaks TLS and the URL says http: use https.")

    def _tell_twins(self, left: float) -> None:
        """Without a unit, several sockets on one port are fine as long as they serve the same."""
        owner = self.looks.owner
        if self.looks.host.has_unit or self._twins_told or owner is None or not owner.several:
            return
        self._twins_told = True
        met = self.prober.identities(left)
        if len(met) > 1:
            self._ambiguous(met)

    def _compare_identity(self, result: ProbeResult) -> None:
        """Without a unit, a server that lists one model, then another, then the first again is two servers."""
        if self.looks.host.has_unit or result.models is None:
            return
        met, now = self.memory.identities, [name[:200] for name in sorted(result.models)[:20]]
        if met and met[-1] == now:
            return
        if now in met:
            self._ambiguous(met)
        met.append(now)

    @staticmethod
    def _ambiguous(met: t.Sequence[t.Sequence[str]]) -> t.NoReturn:
        names = " and ".join(str(list(one)[:5]) for one in met[:3])
        raise Verdict(
            "ambiguous_listener",
            f"Servers with different models answer on the same port: {names}; stop the one that is not meant.",
        )
