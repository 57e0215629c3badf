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
from ansible_collections.llmops.sglang.plugins.module_utils._router_api import (
    RouterApi,
    Worker,
    plain_url,
    same_worker,
    without_rank,
)

# A request that the router had chosen this worker for may arrive a moment after the worker left its list.
SETTLE = 1.0
_SHORTEST_PAUSE = 0.1
_LONGEST_PAUSE = 1.0
_UNDER_WAY = ("pending", "processing")
# What a listing tells of a registration, and what it is where nobody said anything.
_REGISTERED = {"priority": 50, "cost": 1.0, "worker_type": "regular", "bootstrap_port": None}


class Server(t.Protocol):
    """What is asked of the worker itself, each within the given seconds."""

    def running(self, timeout: float) -> RunningRequests:
        """How many requests it has in hand."""

    def unwell(self, timeout: float) -> str:
        """Why its health route does not say that it is well; empty where it does."""

    def refuses_key(self, timeout: float) -> bool:
        """Whether it answers that the key is not right."""


class RouterWorker:
    """The worker *url* of the router behind *api*. Failures carry the result so far."""

    def __init__(
        self,
        api: RouterApi,
        url: str,
        server: Server,
        *,
        clock: t.Callable[[], float] = time.monotonic,
        sleep: t.Callable[[float], None] = time.sleep,
    ) -> None:
        self.api, self.url, self.server = api, plain_url(url), server
        self.router = api.client.base_url
        self.clock, self.sleep = clock, sleep
        self.started = clock()
        self.changed = False
        self.before: dict[str, t.Any] = {"registered": None, "healthy": None}
        self.registration: dict[str, t.Any] = {}
        self.requests: t.Optional[int] = None
        self.known: list[Worker] = []
        self.warnings: list[str] = []

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
        if check:
            self.changed = not found
            return
        job = ""
        if not found:
            self._wait_until_well(deadline, timeout)
            self.changed = True
            job = self.api.add(self.url, registration, max(deadline - self.clock(), self.api.request_timeout))
        for dummy in self._pauses(deadline):
            found = self.look()
            if self._healthy(found):
                return
            status, message = ("", "") if found else self.api.job(job, "AddWorker")
            if status == "failed" and "already exists" not in message:
                raise self._failure(
                    "router_failed", f"The router '{self.router}' could not take the worker '{self.url}': {message}."
                )
        raise self._failure("router_failed", self._why_not_healthy(found, timeout))

    def absent(self, check: bool) -> None:
        """Not known. :raises Failure: ``router_failed`` where the router keeps it."""
        found = self._first_look()
        if check:
            self.changed = bool(found)
        elif found:
            self._deregister(found)

    def drained(self, timeout: float, check: bool) -> None:
        """Gets no new request and has none in hand. :raises Failure: ``drain_timeout`` where some are left."""
        found = self._first_look()
        told = self.server.running(self.api.request_timeout)
        self.requests = told.count
        if told.count is None and told.answered:
            # Found out now: a worker whose end cannot be seen had better stay in service.
            key = self.server.refuses_key(self.api.request_timeout)
            raise self._failure(
                "unauthorized" if key else "drain_timeout",
                f"How many requests the worker '{self.url}' has in hand cannot be read, so it was left in the router '{self.router}': "
                + ("it wants another key, give it as 'worker_api_key'." if key else _NO_ROUTE),
            )
        if check:
            self.changed = bool(found)
            return
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
                "interface": self.api.style or None,
                "workers": len({without_rank(w.url) for w in self.known}),
                "healthy_workers": len({without_rank(w.url) for w in self.known if w.healthy is not False}),
            },
            "registration": self.registration,
            "elapsed": round(self.clock() - self.started, 3),
        }

    def diff(self, state: str) -> dict[str, str]:
        """What changes, in a line."""
        before = self._line(self.before)
        if not self.changed:
            return {"before": before, "after": before}
        return {"before": before, "after": self._line({"registered": state == "present", "healthy": True})}

    def _line(self, state: t.Mapping[str, t.Any]) -> str:
        health = {True: ", healthy", False: ", unhealthy"}.get(state["healthy"], "")
        return f"{self.url}: {'in the router' + health if state['registered'] else 'not in the router'}\n"

    def _first_look(self) -> list[Worker]:
        found = self.look()
        self.before = {"registered": bool(found), "healthy": self._all_healthy(found)}
        told = (found[0].details or {}) if found else {}
        self.registration = {n: told[n] for n, usual in _REGISTERED.items() if told.get(n, usual) != usual}
        return found

    def _healthy(self, found: list[Worker]) -> bool:
        """The router finds out late that a worker is gone, 60 s by 3 by default, and 0.1 lists URLs and nothing else."""
        told = bool(found) and all(worker.healthy is not False for worker in found)
        return told and not self.server.unwell(self.api.request_timeout)

    def _all_healthy(self, found: list[Worker]) -> t.Optional[bool]:
        told = [worker.healthy for worker in found]
        return None if not told or None in told else all(told)

    def _wait_until_well(self, deadline: float, timeout: float) -> None:
        """An addition cannot be taken back: the router would keep it, and take the worker in whenever it comes up."""
        for dummy in self._pauses(deadline):
            unwell = self.server.unwell(self.api.request_timeout)
            if not unwell:
                if self.server.refuses_key(self.api.request_timeout):
                    raise self._failure(
                        "unauthorized",
                        f"The worker '{self.url}' refuses the key, so it was not put into the router '{self.router}', which would call it "
                        "healthy and pass on its refusals: give its key as 'worker_api_key'.",
                    )
                return
        raise self._failure(
            "router_failed",
            f"The worker '{self.url}' was not put into the router '{self.router}', because it was not well within {timeout:g} s: {unwell}; "
            "see whether the server is ready, and whether this host reaches it.",
        )

    def _why_not_healthy(self, found: list[Worker], timeout: float) -> str:
        if not found:
            return (
                f"The router '{self.router}' did not list the worker '{self.url}' within {timeout:g} s after it was told to add it, and may "
                "still do so later; see whether the router reaches that URL."
            )
        unwell = self.server.unwell(self.api.request_timeout)
        if unwell:
            return f"The worker '{self.url}' of the router '{self.router}' was not well within {timeout:g} s: {unwell}."
        return (
            f"The router '{self.router}' did not call the worker '{self.url}' healthy within {timeout:g} s, although it is, as seen from "
            "here: see whether the router reaches it, and let 'healthy_timeout' be longer than its health checks take, by default two "
            "of them 60 s apart."
        )

    def _deregister(self, found: list[Worker]) -> None:
        entries = {without_rank(worker.url): worker for worker in found}.values()
        ids = [self._removal_id(worker) for worker in entries]
        for worker_id in ids:
            self.api.remove(worker_id)
            self.changed = True
        for dummy in self._pauses(self.clock() + self.api.request_timeout):
            if not self.look():
                return
        reasons = [message for status, message in (self.api.job(i, "RemoveWorker") for i in ids) if status == "failed"]
        raise self._failure(
            "router_failed",
            f"The router '{self.router}' still lists the worker '{self.url}' {self.api.request_timeout:g} s after it was told to remove "
            f"it{': ' + reasons[0] if reasons else '; look into its log'}.",
        )

    def _removal_id(self, worker: Worker) -> str:
        worker_id, queued = self.api.removal_id(worker)
        if queued:
            for dummy in self._pauses(self.clock() + self.api.request_timeout):
                if self.api.job(worker_id, "AddWorker")[0] not in _UNDER_WAY:
                    return worker_id
            self.warnings.append(
                f"The router '{self.router}' may take the worker '{self.url}' in again by itself when that answers: only so could it be "
                "told to drop all of its data-parallel ranks."
            )
        return worker_id

    def _wait_for_the_last(self, timeout: float) -> None:
        none_since: t.Optional[float] = None
        for dummy in self._pauses(self.clock() + timeout):
            told = self.server.running(self.api.request_timeout)
            self.requests = told.count
            now = self.clock()
            if told.count != 0:
                none_since = None
            elif none_since is None:
                none_since = now
            elif now - none_since >= SETTLE:
                return
        if told.count is None:
            what = f"could not be counted: {told.unknown_because}"
        else:
            what = f"did not end: {told.count} are left" if told.count else "had only just ended"
        raise self._failure(
            "drain_timeout",
            f"Within {timeout:g} s the requests of the worker '{self.url}' {what}. It is out of the router '{self.router}': wait longer "
            "with 'drain_timeout', or put it back with state=present.",
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


_NO_ROUTE = "none of its routes tells it; take it out with state=absent, which does not wait."


def _sum_of_loads(found: list[Worker]) -> t.Optional[int]:
    loads = [worker.load for worker in found if worker.load is not None]
    return sum(loads) if loads and len(loads) == len(found) else None


class HttpServer:
    """The worker itself, asked over HTTP."""

    def __init__(self, client: HttpClient) -> None:
        self.client = client

    def running(self, timeout: float) -> RunningRequests:
        """None are in hand where nothing listens, because then no process is left that could have any."""
        told = ask_running(self.client, timeout)
        if told.count is None:
            try:
                connect(self.client.host, self.client.port, timeout).close()
            except ConnectionRefusedError:
                return RunningRequests(0)
            except OSError:
                pass
        return told

    def unwell(self, timeout: float) -> str:
        """The router itself asks this route by default."""
        try:
            status = self.client.send("GET", "/health", timeout=timeout).status
        except HttpError as exc:
            return exc.msg.rstrip(".")
        return "" if status == 200 else f"its /health answers with status {status}"

    def refuses_key(self, timeout: float) -> bool:
        """The health route wants no key, and so tells nothing about it."""
        try:
            return self.client.send("GET", "/v1/models", timeout=timeout).status in (401, 403)
        except HttpError:
            return False


def says_healthy(client: HttpClient, timeout: float) -> bool:
    """Whether the worker's health route answers with 200."""
    return not HttpServer(client).unwell(timeout)
