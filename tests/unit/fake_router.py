# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A router and a worker that behave as sglang-router and SGLang were recorded to, in this process.

The statuses and bodies are those of sglang-router 0.1.9 (*query*), 0.2.4 (ids are URLs) and 0.3.2 (ids are UUIDs).
"""

from __future__ import annotations

import collections
import http.server
import json
import threading
import uuid
from urllib.parse import parse_qs, unquote, urlsplit


class Stub:
    """An HTTP server on a free port; subclasses answer in :meth:`reply` with (status, body)."""

    def __init__(self, key=""):
        stub = self
        self.key = key
        self.asked = collections.Counter()
        self.bodies = []
        self.paths = []
        self.fault = None

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *words):
                pass

            def any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                stub.asked[self.command] += 1
                stub.paths.append(f"{self.command} {self.path}")
                if body:
                    stub.bodies.append(json.loads(body))
                right = not stub.key or self.headers.get("Authorization") == f"Bearer {stub.key}"
                answer = stub.fault(self.command, self.path) if stub.fault else None
                status, said = answer or stub.reply(self.command, self.path, json.loads(body or b"null"), right)
                data = (
                    said if isinstance(said, bytes) else (said if isinstance(said, str) else json.dumps(said)).encode()
                )
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = any

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def reply(self, method, path, body, right):
        raise NotImplementedError


class FakeWorker(Stub):
    """Counts in hand what *running* says, one entry a question, the last one for ever."""

    def __init__(self, running=(0,), key="", health=(200,), routes=("/v1/loads",)):
        super().__init__(key)
        self.running, self.health, self.routes = list(running), list(health), routes

    def reply(self, method, path, body, right):
        if path == "/health":
            return (self.health.pop(0) if len(self.health) > 1 else self.health[0]), ""
        if not right:
            return 401, {"error": "Unauthorized"}
        if path == "/v1/models":
            return 200, {"data": [{"id": "m"}]}
        if path in self.routes and path == "/v1/loads":
            running = self.running.pop(0) if len(self.running) > 1 else self.running[0]
            return 200, {"loads": [{"num_running_reqs": running, "num_waiting_reqs": 0}]}
        return 404, {"detail": "Not Found"}


class FakeRouter(Stub):
    """interface: ``uuid``, ``url`` or ``query``. ranks: entries a server has (0: no ranks).

    slow: looks until what was asked for shows. sick: looks for which a worker that was added is not healthy.
    """

    def __init__(self, workers=(), interface="uuid", key="", ranks=0, slow=1, sick=0):
        super().__init__(key)
        self.interface, self.ranks, self.slow, self.sick = interface, ranks, slow, sick
        self.ids, self.jobs, self.entries, self.queue = {}, {}, {}, []
        self.refusal = ""  # why additions fail
        self.stuck = False  # removals do nothing
        for url in workers:
            self._enter(url)

    def _id(self, url):
        return self.ids.setdefault(url, str(uuid.uuid4())) if self.interface == "uuid" else url

    def _enter(self, url, body=None):
        names = [f"{url}@{rank}" for rank in range(self.ranks)] or [url]
        for name in names:
            more = {k: v for k, v in (body or {}).items() if k in ("priority", "cost", "worker_type")}
            entry = {"priority": 50, "cost": 1.0, "worker_type": "regular", **more, "sick": self.sick}
            self.entries[name] = {"id": self._id(name), "url": name, "load": 0, **entry}

    def _step(self):
        for job in list(self.queue):
            job["looks"] -= 1
            if job["looks"] > 0:
                continue
            self.queue.remove(job)
            url, known = job["url"], [n for n in self.entries if n.split("@")[0] == job["url"]]
            if job["kind"] == "AddWorker":
                failed = self.refusal or (
                    f"create_worker - Worker {url} already exists" if known and not self.ranks else ""
                )
                if not failed and not known:
                    self._enter(url, job["body"])
            else:
                failed = "" if known and not self.stuck else f"find_workers_to_remove - Worker {url} not found"
                for name in known if not failed else ():
                    del self.entries[name]
            self.jobs.pop(url, None)
            if failed:
                self.jobs[url] = {"job_type": job["kind"], "status": "failed", "message": failed}

    def _queue(self, kind, url, body=None):
        self.jobs[url] = {"job_type": kind, "status": "processing", "message": None}
        self.queue.append({"kind": kind, "url": url, "body": body, "looks": self.slow})
        return 202, {"status": "accepted", "worker_id": self._id(url), "message": "queued for background processing"}

    def reply(self, method, path, body, right):
        if not right:
            return 401, ""
        parts = urlsplit(path)
        if self.interface == "query":
            return self._query(method, parts.path, (parse_qs(parts.query).get("url") or [""])[0])
        if parts.path == "/workers":
            if method == "POST":
                return self._queue("AddWorker", body["url"], body)
            self._step()
            return 200, {"workers": [self._shown(entry) for entry in self.entries.values()], "total": len(self.entries)}
        if parts.path.startswith("/workers/"):
            return self._one(method, unquote(parts.path[len("/workers/") :]), parts.path)
        return 404, ""

    def _shown(self, entry):
        sick, entry["sick"] = entry["sick"], max(entry["sick"] - 1, 0)
        return {**{k: v for k, v in entry.items() if k != "sick"}, "is_healthy": sick == 0}

    def _one(self, method, name, path):
        if "//" in path:
            return 404, ""
        url = name if self.interface == "url" else next((u for u, i in self.ids.items() if i == name), None)
        if method == "DELETE":
            return (404, {"code": "WORKER_NOT_FOUND"}) if url is None else self._queue("RemoveWorker", url)
        self._step()
        if url not in self.entries and url not in self.jobs:
            return 404, {"error": f"Worker {name} not found", "code": "WORKER_NOT_FOUND"}
        return 200, {**self.entries.get(url, {"url": url, "is_healthy": False}), "job_status": self.jobs.get(url)}

    def _query(self, method, path, url):
        if (method, path) == ("GET", "/list_workers"):
            return 200, {"urls": list(self.entries)}
        if (method, path) == ("POST", "/add_worker"):
            if url in self.entries:
                return 400, f"Worker {url} already exists"
            if self.refusal:
                return 500, self.refusal
            self._enter(url)
            return 200, f"Successfully added worker: {url}"
        if (method, path) == ("POST", "/remove_worker"):
            for name in [n for n in self.entries if n.split("@")[0] == url]:
                del self.entries[name]
            return 200, f"Successfully removed worker: {url}"
        return 404, ""
