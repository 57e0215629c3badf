# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Whether a request that was sent to a router reaches one certain worker, by what that worker counts itself."""

from __future__ import annotations

import random
import threading
import time
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._background import Handle
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._generation_request import PROMPTS
from ansible_collections.llmops.sglang.plugins.module_utils._http_client import HttpClient, HttpError
from ansible_collections.llmops.sglang.plugins.module_utils._metrics_text import metric_sums
from ansible_collections.llmops.sglang.plugins.module_utils._restart_cost import ask_running

# Health probes are not among them. It counts a request at its end.
_ENDED = "sglang:num_requests_total"
_PAUSE = 0.05
# A router's health probe may be seen at work once, a request of ours is there for longer.
_LOOKS = 2


class Counted(t.NamedTuple):
    """What a worker counts: requests that ended since its start, and those at work; ``None`` where it does not tell."""

    ended: t.Optional[float] = None
    running: t.Optional[int] = None
    unknown_because: str = ""


class Landing:
    """Sends requests, several at a time, until one has landed.

    :arg send: sends the request of that number through the router; empty where it was answered well, else why not.
    :arg look: what the worker counts now. Nobody else than the router may send it requests.
    :arg at_a_time: how many requests are under way together.
    """

    def __init__(
        self,
        send: t.Callable[[int], str],
        look: t.Callable[[], Counted],
        at_a_time: int,
        *,
        clock: t.Callable[[], float] = time.monotonic,
        sleep: t.Callable[[float], None] = time.sleep,
    ) -> None:
        self._send, self._look, self._at_a_time = send, look, at_a_time
        self._clock, self._sleep = clock, sleep
        self._stop, self._lock = threading.Event(), threading.Lock()
        self.sent = 0
        self.answered = 0
        self.last_error = ""
        self.told_by = ""
        self.unknown_because = ""

    def wait(self, timeout: float) -> bool:
        """Whether one landed, and one was answered, within *timeout* seconds."""
        deadline = self._clock() + timeout
        first = self._look()
        senders = [Handle(self._keep_sending) for dummy in range(self._at_a_time)]
        busy = 0
        try:
            while True:
                now = self._look()
                busy = busy + 1 if now.running else 0
                if not self.told_by:
                    self.told_by = _told_by(first, now, busy)
                self.unknown_because = now.unknown_because
                if self.told_by and self.answered:
                    return True
                if self._clock() >= deadline:
                    return False
                self._sleep(_PAUSE)
        finally:
            self._stop.set()
            # They are short, and what is cut off would look like a lost request at the router.
            for sender in senders:
                sender.wait(max(deadline - self._clock(), 1.0))

    def _keep_sending(self) -> None:
        while not self._stop.is_set():
            with self._lock:
                number = self.sent
                self.sent += 1
            error = self._send(number)
            with self._lock:
                if error:
                    self.last_error = error
                else:
                    self.answered += 1
            if error:
                self._stop.wait(1.0)


def _told_by(first: Counted, now: Counted, busy: int) -> str:
    if first.ended is not None and now.ended is not None and now.ended > first.ended:
        return "metrics"
    return "load" if busy >= _LOOKS else ""


def counts_of(client: HttpClient, timeout: float) -> Counted:
    """By ``/metrics`` where the worker has them, else by its load."""
    try:
        answer = client.send("GET", "/metrics", timeout=timeout)
        if answer.ok:
            sums = metric_sums(answer.body.decode("utf-8", "replace"))
            # One that has counted nothing yet has no such line.
            return (
                Counted(ended=sums.get(_ENDED, 0.0)) if any(name.startswith("sglang:") for name in sums) else Counted()
            )
    except HttpError:
        pass
    told = ask_running(client, timeout)
    return Counted(running=told.count, unknown_because=told.unknown_because)


def another_prompt(number: int) -> str:
    """A prompt whose beginning no other request has, so that a router that looks at beginnings spreads them."""
    return f"{random.getrandbits(48):x} {PROMPTS[number % len(PROMPTS)]}"


def refuse_unlanded(landing: Landing, router_url: str, worker_url: str, timeout: float) -> None:
    """:raises Failure: ``router_failed`` with what is known of requests that did not land."""
    if not landing.answered:
        why = f"none of the {landing.sent} requests through it was answered: {landing.last_error or 'they take longer'}"
    elif landing.unknown_because:
        why = f"the worker does not tell what it has in hand: {landing.unknown_because}"
    else:
        why = f"{landing.answered} requests through it were answered, and by what the worker counts none was its"
    raise Failure(
        "router_failed",
        f"No request through the router '{router_url}' was seen to reach the worker '{worker_url}' within {timeout:g} s; {why}. "
        "See the router's policy and whether it really sends requests there.",
    )
