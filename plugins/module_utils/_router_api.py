# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The workers of an sglang-router, over whichever of its two interfaces it has.

``workers``: GET and POST /workers, GET and DELETE /workers/ID. The ID is a UUID since 0.3 and the worker's URL in 0.2.
Changes are queued: 202, and a job whose end is told at /workers/ID.
``query``: GET /list_workers, POST /add_worker?url= and /remove_worker?url= of 0.1. Adding waits for the worker's health.
All of it as 0.1.9, 0.2.0, 0.2.4 and 0.3.2 were seen to behave.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass
from urllib.parse import quote, urlsplit, urlunsplit

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._http_client import (
    Answer,
    HttpClient,
    HttpError,
    error_message,
)


@dataclass(frozen=True)
class Worker:
    """A worker as its router tells of it; healthy and load are ``None`` where it does not tell."""

    id: str
    url: str
    healthy: t.Optional[bool] = None
    load: t.Optional[int] = None
    details: t.Mapping[str, t.Any] = None  # type: ignore[assignment]


def same_worker(one: str, other: str) -> bool:
    """Whether two URLs name one server: case of the host, the scheme's own port, a slash at the end, and the rank do not count."""
    return worker_key(one) == worker_key(other)


def worker_key(url: str) -> tuple[t.Any, ...]:
    """What the URLs of one server have in common."""
    plain = without_rank(url)
    try:
        parts = urlsplit(plain)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
        return (parts.scheme, parts.hostname, port, parts.path.rstrip("/"))
    except ValueError:
        return (plain,)


def without_rank(url: str) -> str:
    """A router that knows data-parallel ranks lists each as ``URL@RANK``."""
    return re.sub(r"@\d+$", "", url)


def plain_url(url: str) -> str:
    """*url* as the router must be given it: it puts paths behind it as it is, and knows the scheme in small letters only."""
    parts = urlsplit(url.strip())
    path = parts.path.rstrip("/")
    path = path[: -len("/v1")] if path.endswith("/v1") else path
    return urlunsplit((parts.scheme.lower(), parts.netloc.lower(), path, "", ""))


class RouterApi:
    """One router. Every failure of it is a ``Failure`` of the class ``router_failed``.

    :arg request_timeout: seconds for one answer.
    """

    def __init__(self, client: HttpClient, request_timeout: float) -> None:
        self.client = client
        self.request_timeout = request_timeout
        self.style = ""

    def workers(self, timeout: t.Optional[float] = None) -> list[Worker]:
        """All workers that the router knows; finds out its interface the first time."""
        if self.style != "query":
            answer = self._send("GET", "/workers", timeout=timeout)
            if answer.status not in (404, 405):
                self.style = "workers"
                return self._listed(self._decoded(answer, "GET", "/workers").get("workers"))
        answer = self._send("GET", "/list_workers", timeout=timeout)
        if answer.status in (404, 405):
            raise self._failed("has neither '/workers' nor '/list_workers': it is no sglang-router")
        self.style = "query"
        return self._listed(self._decoded(answer, "GET", "/list_workers").get("urls"))

    def add(self, url: str, registration: t.Mapping[str, t.Any], timeout: float) -> str:
        """Ask for *url* to be added. The id under which the outcome is told; empty where it is already certain."""
        if self.style == "query":
            path = f"/add_worker?url={quote(url, safe='')}"
            answer = self._send("POST", path, timeout=timeout)
            if not answer.ok and "already exists" not in answer.text():
                raise self._refused(answer, "POST", "/add_worker")
            return ""
        answer = self._send("POST", "/workers", {**registration, "url": url}, timeout=timeout)
        if not answer.ok:
            raise self._refused(answer, "POST", "/workers")
        return str(self._decoded(answer, "POST", "/workers").get("worker_id") or "")

    def removal_id(self, worker: Worker) -> tuple[str, bool]:
        """The id by which *worker* can be removed, and whether an addition was queued to learn it.

        A rank's own id removes nothing. That of the server with all its ranks is told by the answer to an addition only,
        which fails by itself, because the server is known.
        """
        url = without_rank(worker.url)
        if self.style == "query" or worker.id == worker.url:
            return url, False
        return (worker.id, False) if url == worker.url else (self.add(url, {}, self.request_timeout), True)

    def remove(self, worker_id: str) -> None:
        """Ask for the worker of that :meth:`removal_id` to be removed; one that is already gone is no failure."""
        if self.style == "query":
            method, path = "POST", f"/remove_worker?url={quote(worker_id, safe='')}"
        else:
            method, path = "DELETE", f"/workers/{quote(worker_id, safe='')}"
        answer = self._send(method, path)
        if not answer.ok and answer.status != 404 and "not found" not in answer.text():
            raise self._refused(answer, method, path.partition("?")[0])

    def job(self, worker_id: str, kind: str) -> tuple[str, str]:
        """Status (``pending``, ``processing``, ``failed``) and message of the last *kind* of change of that id.

        Empty where none is told: a change that succeeded is forgotten, and 0.1 has no queue.

        :arg kind: ``AddWorker`` or ``RemoveWorker``.
        """
        if not worker_id:
            return "", ""
        answer = self._send("GET", f"/workers/{quote(worker_id, safe='')}")
        try:
            job = answer.json().get("job_status") if answer.ok else None
        except (HttpError, AttributeError):
            return "", ""
        if not isinstance(job, dict) or job.get("job_type") != kind:
            return "", ""
        message = self.client.mask.text(str(job.get("message") or "it gives no reason"))[:400]
        return str(job.get("status")), message

    def _send(self, method: str, path: str, payload: t.Any = None, timeout: t.Optional[float] = None) -> Answer:
        try:
            answer = self.client.send(method, path, payload, timeout=timeout or self.request_timeout)
        except HttpError as exc:
            raise Failure(
                "router_failed",
                f"The router '{self.client.base_url}' gave no answer: {exc.msg.rstrip('.')}; check router_url and the router.",
            ) from exc
        if answer.status in (401, 403):
            raise self._failed(
                f"refuses {method} {path.partition('?')[0]} (status {answer.status}): give its key as 'api_key'"
            )
        return answer

    def _decoded(self, answer: Answer, method: str, path: str) -> dict[str, t.Any]:
        if not answer.ok:
            raise self._refused(answer, method, path)
        try:
            body = answer.json()
        except HttpError as exc:
            raise self._failed(f"gave an answer to {method} {path} that cannot be read: {exc.msg}") from exc
        if not isinstance(body, dict):
            raise self._failed(f"answered {method} {path} with something else than a mapping: it is no sglang-router")
        return body

    def _listed(self, entries: t.Any) -> list[Worker]:
        if not isinstance(entries, list):
            raise self._failed("gave a list of workers that is none: it is no sglang-router")
        return [_worker(entry) for entry in entries if isinstance(entry, (str, dict))]

    def _refused(self, answer: Answer, method: str, path: str) -> Failure:
        said = error_message(answer)
        return self._failed(f"answered {method} {path} with status {answer.status}" + (f": {said}" if said else ""))

    def _failed(self, what: str) -> Failure:
        return Failure("router_failed", f"The router '{self.client.base_url}' {what.rstrip('.')}.")


def _worker(entry: t.Any) -> Worker:
    if isinstance(entry, str):
        return Worker("", entry)
    healthy, load = entry.get("is_healthy"), entry.get("load")
    return Worker(
        str(entry.get("id") or ""),
        str(entry.get("url") or ""),
        healthy if isinstance(healthy, bool) else None,
        load if isinstance(load, int) and not isinstance(load, bool) and load >= 0 else None,
        entry,
    )
