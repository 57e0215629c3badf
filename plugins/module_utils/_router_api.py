# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The workers of an sglang-router, over whichever of its two interfaces it has.

``workers``: GET and POST /workers, GET and DELETE /workers/ID. The ID is a UUID since 0.2.4 and the worker's URL in 0.2.0
to 0.2.3. Changes are queued: 202, and a job whose end is told at /workers/ID.
``query``: GET /list_workers, POST /add_worker?url= and /remove_worker?url= of 0.1. Adding waits for the worker's health.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

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
    """Whether two URLs name one server: case of the host, the scheme's own port, a slash at the end, and the rank do not count.

    A router that knows data-parallel ranks lists each as ``URL@RANK``.
    """
    return worker_key(one) == worker_key(other)


def worker_key(url: str) -> tuple[t.Any, ...]:
    plain = re.sub(r"@\d+$", "", url)
    try:
        parts = urlsplit(plain)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
        return (parts.scheme, parts.hostname, port, parts.path.rstrip("/"))
    except ValueError:
        return (plain,)


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

    def remove(self, worker: Worker) -> None:
        """Ask for *worker* to be removed; one that is already gone is no failure."""
        if self.style == "query":
            method, path = "POST", f"/remove_worker?url={quote(worker.url, safe='')}"
        else:
            method, path = "DELETE", f"/workers/{quote(worker.id, safe='')}"
        answer = self._send(method, path)
        if not answer.ok and answer.status != 404:
            raise self._refused(answer, method, path.split("?")[0])

    def job_failure(self, worker_id: str) -> str:
        """Why the last change that was queued for *worker_id* failed; empty where it did not, or nobody tells."""
        if not worker_id:
            return ""
        answer = self._send("GET", f"/workers/{quote(worker_id, safe='')}")
        try:
            job = answer.json().get("job_status") if answer.ok else None
        except (HttpError, AttributeError):
            return ""
        if not isinstance(job, dict) or job.get("status") != "failed":
            return ""
        return self.client.mask.text(str(job.get("message") or "it gives no reason"))[:400]

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
                f"refuses {method} {path.split('?')[0]} (status {answer.status}): give its key as 'api_key'"
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
