# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A router and its worker in this process, each with a key of its own, for tests of where those keys go."""

from __future__ import annotations

import time

from ansible_collections.llmops.sglang.tests.unit.fake_router import FakeRouter, FakeWorker

ANSWER = {"text": "Once upon a time", "meta_info": {"completion_tokens": 4, "finish_reason": {"type": "length"}}}


class KeyedRouter(FakeRouter):
    """Also generates, and answers only after its worker was seen to have that in hand."""

    def __init__(self, key, worker_key):
        self.worker = FakeWorker(key=worker_key)
        super().__init__([self.worker.url], key=key)

    def reply(self, method, path, body, right):
        if right and (method, path) == ("POST", "/generate"):
            self._let_see()
            return 200, ANSWER
        return super().reply(method, path, body, right)

    def _let_see(self):
        self.worker.running = [1]
        # Whoever has seen enough looks no more, and waits for the answers that are still to come.
        seen, deadline = self.worker.paths.count("GET /v1/loads"), time.monotonic() + 2
        while self.worker.paths.count("GET /v1/loads") < seen + 4 and time.monotonic() < deadline:
            time.sleep(0.02)
        self.worker.running = [0]

    @property
    def registered_keys(self):
        """Those of the workers that it was told of."""
        return {body["api_key"] for body in self.bodies if "api_key" in body}

    def close(self):
        super().close()
        self.worker.close()
