# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What a wait for a generation is asked, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class WaitOptions:
    """The names are those of the module's options; times in seconds.

    guessed: nothing tells yet where the server will listen, and its default address is looked at meanwhile.
    """

    timeout: float = 1800.0
    request_timeout: float = 60.0
    poll_interval: float = 10.0
    successes: int = 2
    previous_invocation_id: str = ""
    invocation_id: str = ""
    require_owner: bool = True
    max_restarts: int = 0
    fail_fast: bool = True
    health_path: str = "/health"
    warmup_contexts: list[int] = field(default_factory=list)
    warmup_concurrency: int = 1
    guessed: bool = False
    until: str = "generation"


class Verdict(Exception):
    """The wait is over. failure_class: empty where the server is ready."""

    def __init__(self, failure_class: str, msg: str = "") -> None:
        super().__init__(msg)
        self.failure_class = failure_class
        self.msg = msg
