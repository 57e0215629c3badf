# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A router and its workers on loopback, small enough for tests of a module."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading


class RoutedWorkers:
    """Sends what it is asked to the workers of *turn*, one after the other; each counts.

    health: by worker, ``None`` where the router does not tell. ranks: how many entries each worker has.
    """

    def __init__(self, names=("a", "b"), turn=None, tells="metrics", status=200, style="workers", ranks=0):
        self.names, self.turn, self.tells, self.status = list(names), turn or list(names), tells, status
        self.style, self.ranks, self.lock = style, ranks, threading.Lock()
        self.health = dict.fromkeys(names, True)
        self.ended, self.running = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
        self.prompts, self.paths, self.keys = [], [], []
        self.urls = {}

    def answer(self, name, method, path, body):
        """Of the router (*name* empty) or a worker: a status and a body."""
        if not name:
            if path == "/workers" and self.style == "workers":
                return 200, {
                    "workers": [self.entry(one, rank) for one in self.names for rank in range(self.ranks or 1)]
                }
            if path == "/list_workers" and self.style == "query":
                return 200, {"urls": [self.urls[one] for one in self.names]}
            if path == "/v1/models":
                return 200, {"object": "list", "data": [{"id": "org/model"}]}
            return self.generate(body) if method == "POST" else (404, {"detail": "Not Found"})
        if path == "/health":
            return (200 if self.health[name] else 503), {}
        if path == "/metrics" and self.tells == "metrics":
            return 200, f"sglang:num_running_reqs 0\nsglang:num_requests_total {self.ended[name]}\n"
        if path == "/v1/loads" and self.tells == "load":
            return 200, {"loads": [{"num_running_reqs": self.running[name], "num_waiting_reqs": 0}]}
        return 404, {"detail": "Not Found"}

    def entry(self, name, rank):
        url = self.urls[name] + (f"@{rank}" if self.ranks else "")
        return {"id": f"id-{name}", "url": url, "is_healthy": self.health[name], "load": 0}

    def generate(self, body):
        with self.lock:
            name = self.turn[len(self.prompts) % len(self.turn)]
            self.prompts.append(body)
            self.running[name] += 1
        # For as long as somebody looks at the load.
        threading.Event().wait(0.3 if self.tells == "load" else 0)
        with self.lock:
            self.running[name] -= 1
            self.ended[name] += 1
        if self.status != 200:
            return self.status, {"error": {"message": "no worker"}}
        text = {"text": "blue", "meta_info": {"finish_reason": {"type": "length"}, "completion_tokens": 4}}
        chat = {
            "choices": [{"message": {"content": "blue"}, "finish_reason": "length"}],
            "usage": {"completion_tokens": 4},
        }
        return 200, chat if "messages" in body else text


@contextlib.contextmanager
def served(routed):
    """Its own URL, with those of the workers in ``routed.urls``."""
    with contextlib.ExitStack() as stack:
        for name in routed.names:
            routed.urls[name] = stack.enter_context(_listening(routed, name))
        yield stack.enter_context(_listening(routed, ""))


@contextlib.contextmanager
def _listening(routed, name):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.serve("GET", None)

        def do_POST(self):
            self.serve("POST", json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def serve(self, method, asked):
            routed.paths.append((name, self.path))
            routed.keys.append((name, self.headers.get("Authorization")))
            status, body = routed.answer(name, method, self.path, asked)
            raw = (body if isinstance(body, str) else json.dumps(body)).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *dummy):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
