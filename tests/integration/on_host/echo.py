# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A model that answers every prompt with the prompt itself: python3 echo.py PORT."""

from __future__ import annotations

import http.server
import json
import sys


class Echo(http.server.BaseHTTPRequestHandler):
    """Chat completions, and one model."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer({"object": "list", "data": [{"id": "echo", "object": "model"}]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"role": "assistant", "content": body["messages"][-1]["content"]}
        self.answer({"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"completion_tokens": 1}})

    def answer(self, what):
        data = json.dumps(what).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words):
        pass


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Echo).serve_forever()
