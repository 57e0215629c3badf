# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Bring one worker of a router into a state, each step within its deadline."""

from __future__ import annotations

import time
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._http_client import HttpClient, HttpError
from ansible_collections.llmops.sglang.plugins.module_utils._name_lookup import connect
from ansible_collections.llmops.sglang.plugins.module_utils._restart_cost import RunningRequests, ask_running
from ansible_collections.llmops.sglang.plugins.module_utils._router_api import RouterApi, Worker, same_worker

# A request that the router had chosen this worker for may arrive a moment after the worker left its list.
SETTLE = 1.0
_SHORTEST_PAUSE = 0.1
_LONGEST_PAUSE = 1.0


class RouterWorker:
    """The worker *url* of the router behind *api*.

    :arg running: asks the worker how many requests it has in hand, within the given seconds.
    :arg answers: whether the worker's own health route says that it is well, within the given seconds.
    """

    def __init__(
        self,
        api: RouterApi,
        url: str,
        running: t.Callable[[float], RunningRequests],
        answers: t.Callable[[float], bool],
        *,
        clock: t.Callable[[], float] = time.monotonic,
        sleep: t.Callable[[float], None] = time.sleep,
    ) -> None:
        self.api, self.url, self.running, self.answers = api, url, running, answers
        self.clock, self.sleep = clock, sleep
        self.started = clock()
        self.changed = False
        self.before: dict[str, t.Any] = {}
        self.requests: t.Optional[int] = None
        self.known: list[Worker] = []

    def look(self) -> list[Worker]:
        """The router's entries for this worker: none, one, or one for each data-parallel rank."""
        self.known = self.api.workers()
        return self.mine

    @property
    def mine(self) -> list[Worker]:
        """The entries for this worker of the last look."""
        return [worker for worker in self.known if same_worker(worker.url, self.url)]

    def present(self, registration: t.Mapping[str, t.Any], timeout: float, check: bool) -> None:
        """Known and healthy. :raises Failure: ``router_failed`` where it is not within *timeout* seconds."""
        deadline = self.clock() + timeout
        found = self._first_look()
        self.changed = not found
        if check:
            return
        job = ""
        if not found:
            job = self.api.add(self.url, registration, timeout)
        failed = ""
        for dummy in self._pauses(deadline):
            found = self.look()
            if found and all(self._healthy(worker) for worker in found):
                return
            failed = "" if found else self.api.job_failure(job)
            if failed and "already exists" not in failed:
                break
        state = "knows it and does not call it healthy" if found else "does not know it"
        raise self._failure(
            "router_failed",
            f"The router '{self.api.client.base_url}' could not take the worker '{self.url}': {failed}"
            if failed
            else f"The router '{self.api.client.base_url}' {state} after {timeout:g} s: worker '{self.url}'; "
            "see whether the worker generates and whether the router reaches it.",
        )

    def absent(self, check: bool) -> None:
        """Not known. :raises Failure: ``router_failed`` where the router keeps it."""
        found = self._first_look()
        self.changed = bool(found)
        if found and not check:
            self._deregister(found)

    def drained(self, timeout: float, check: bool) -> None:
        """Gets no new request and has none in hand: :raises Failure: ``drain_timeout`` where some are left."""
        found = self._first_look()
        first = self.running(self.api.request_timeout)
        if check:
            self.requests = first.count
            self.changed = bool(found)
            return
        self.changed = bool(found)
        if found:
            self._deregister(found)
        self._wait_for_the_last(timeout)

    def result(self) -> dict[str, t.Any]:
        """The keys of the module's result."""
        mine = self.mine
        return {
            "changed": self.changed,
            "worker": {
                "id": mine[0].id or None if mine else None,
                "url": self.url,
                "registered": bool(mine),
                "healthy": self._all_healthy(mine),
                "load": self.requests if self.requests is not None else _sum_of_loads(mine),
            },
            "router": {
                "interface": self.api.style,
                "workers": len({w.url for w in self.known}),
                "healthy_workers": sum(1 for w in self.known if w.healthy is not False),
            },
            "elapsed": round(self.clock() - self.started, 3),
        }

    def diff(self, state: str) -> dict[str, str]:
        """What changes, in a line."""
        if self.changed:
            after = "known and healthy" if state == "present" else "not known"
            return {"before": self._line(self.before), "after": f"{self.url}: {after}\n"}
        return {"before": self._line(self.before), "after": self._line(self.before)}

    def _line(self, state: t.Mapping[str, t.Any]) -> str:
        health = {True: " and healthy", False: " and unhealthy"}.get(state["healthy"], "")
        return f"{self.url}: {'known' + health if state['registered'] else 'not known'}\n"

    def _first_look(self) -> list[Worker]:
        found = self.look()
        self.before = {"registered": bool(found), "healthy": self._all_healthy(found)}
        return found

    def _healthy(self, worker: Worker) -> bool:
        return self.answers(self.api.request_timeout) if worker.healthy is None else worker.healthy

    def _all_healthy(self, found: list[Worker]) -> t.Optional[bool]:
        told = [worker.healthy for worker in found]
        return None if not told or None in told else all(told)

    def _deregister(self, found: list[Worker]) -> None:
        for worker in found:
            self.api.remove(worker)
        for dummy in self._pauses(self.clock() + self.api.request_timeout):
            left = self.look()
            if not left:
                return
        failed = self.api.job_failure(left[0].id)
        raise self._failure(
            "router_failed",
            f"The router '{self.api.client.base_url}' still lists the worker '{self.url}' {self.api.request_timeout:g} s after it was "
            f"told to remove it{f' ({failed})' if failed else ''}; look into the router's log.",
        )

    def _wait_for_the_last(self, timeout: float) -> None:
        deadline = self.clock() + timeout
        none_since: t.Optional[float] = None
        told = RunningRequests(None, "it was not asked")
        for dummy in self._pauses(deadline):
            told = self.running(self.api.request_timeout)
            self.requests = told.count
            now = self.clock()
            if told.count != 0:
                none_since = None
            elif none_since is None:
                none_since = now
            elif now - none_since >= SETTLE:
                return
        if told.count is None:
            what = f"cannot be counted: {told.unknown_because}"
        elif told.count:
            what = f"did not end: {told.count} are left"
        else:
            what = "had only just ended"
        raise self._failure(
            "drain_timeout",
            f"The requests of the worker '{self.url}' {what} after {timeout:g} s; it is out of the router: wait longer with "
            "'drain_timeout', or put it back with state=present.",
        )

    def _pauses(self, deadline: float) -> t.Iterator[None]:
        """Once at once, then again and again, the last time at *deadline*."""
        pause = _SHORTEST_PAUSE
        while True:
            yield
            left = deadline - self.clock()
            if left <= 0:
                return
            self.sleep(min(pause, left))
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    def _failure(self, failure_class: str, msg: str) -> Failure:
        return Failure(failure_class, msg, **self.result())


def _sum_of_loads(found: list[Worker]) -> t.Optional[int]:
    loads = [worker.load for worker in found if worker.load is not None]
    return sum(loads) if loads and len(loads) == len(found) else None


def running_requests(client: HttpClient, timeout: float) -> RunningRequests:
    """What the worker says; none where nothing listens, because then no process is left that could have any."""
    told = ask_running(client, timeout)
    if told.count is None:
        try:
            connect(client.host, client.port, timeout).close()
        except ConnectionRefusedError:
            return RunningRequests(0)
        except OSError:
            pass
    return told


def says_healthy(client: HttpClient, timeout: float) -> bool:
    """Whether the worker's health route answers with 200."""
    try:
        return client.send("GET", "/health", timeout=timeout).status == 200
    except HttpError:
        return False
