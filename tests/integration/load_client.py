# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Constant load on an address: a number of requests at any time, each of which counts as whole or as lost with the reason."""

from __future__ import annotations

import collections
import http.client
import json
import threading
import time
from urllib.parse import urlsplit

ROUTES = ("/generate", "/v1/chat/completions")


class LoadClient:
    """Within it *streams* requests are under way at any time, streamed and not, on both routes."""

    # Seconds after which an answer that has not ended is lost.
    LONGEST = 300

    def __init__(self, url, streams=8, tokens=40):
        self.host, self.port = urlsplit(url).hostname, urlsplit(url).port
        self.streams, self.tokens = streams, tokens
        self.whole, self.lost = collections.Counter(), []
        # When each whole answer ended, by the monotonic clock.
        self.ended = []
        self._stop, self._lock, self._threads = threading.Event(), threading.Lock(), []

    def __enter__(self):
        self._threads = [threading.Thread(target=self._work, args=(n,)) for n in range(self.streams)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *dummy):
        """Whatever is under way is waited for, and counts."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _work(self, number):
        count = number
        while not self._stop.is_set():
            route, stream = ROUTES[count % 2], bool(count // 2 % 2)
            try:
                why = self._ask(route, stream, f"{number} {count} tell me of the sea")
            except (OSError, http.client.HTTPException, ValueError) as exc:
                why = f"{type(exc).__name__}: {exc}"
            with self._lock:
                if why:
                    self.lost.append(f"{'stream' if stream else 'answer'} of {route}: {why}")
                else:
                    self.whole["stream" if stream else "answer"] += 1
                    self.ended.append(time.monotonic())
            count += 1

    def _ask(self, route, stream, prompt):
        """Empty where the answer is there to the last token."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=self.LONGEST)
        try:
            body = json.dumps(self._body(route, stream, prompt))
            connection.request("POST", route, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        if answer.status != 200:
            return f"status {answer.status} {text[:200]}"
        if stream:
            events = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
            if not events or events[-1] != "[DONE]":
                return f"the stream of {len(events)} events has no end: {text[-200:]}"
            bodies = [json.loads(event) for event in events[:-1]]
        else:
            bodies = [json.loads(text)]
        tokens = max((tokens_of(one) for one in bodies), default=0)
        return "" if tokens == self.tokens else f"{tokens} of {self.tokens} tokens: {text[-200:]}"

    def _body(self, route, stream, prompt):
        if route == "/generate":
            sampling = {"max_new_tokens": self.tokens, "ignore_eos": True}
            return {"text": prompt, "stream": stream, "sampling_params": sampling}
        more = {"stream_options": {"include_usage": True}} if stream else {}
        messages = [{"role": "user", "content": prompt}]
        asked = {"model": "org/model", "messages": messages, "max_tokens": self.tokens, "ignore_eos": True}
        return {**asked, "stream": stream, **more}


def tokens_of(body):
    """How many tokens an answer, or an event of a stream, says that there are by now."""
    if "error" in body:
        return -1
    return ((body.get("usage") or {}) | (body.get("meta_info") or {})).get("completion_tokens", 0)
