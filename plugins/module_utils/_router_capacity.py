# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Whether enough workers of a router serve while some of them are out."""

from __future__ import annotations

import math
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._router_api import Worker, worker_key


def required(rule: str, workers: int) -> int:
    """How many of *workers* have to serve by *rule*, a number or a percentage of them; 0 for an empty one.

    :raises Failure: ``bad_request`` for another rule.
    """
    text = str(rule or "").strip()
    match = re.fullmatch(r"(\d+)\s*(%?)", text)
    if not text:
        return 0
    if not match or (match.group(2) and int(match.group(1)) > 100):
        raise Failure(
            "bad_request",
            f"'{rule}' says not how many workers have to serve: give a number such as 6, or a percentage such as '75%'.",
        )
    number = int(match.group(1))
    return math.ceil(workers * number / 100) if match.group(2) else number


class Fleet:
    """The workers of one router, each with whether it is healthy.

    :arg listed: the router's entries; those of one worker's ranks count as one, healthy where all are.
    :arg expected: URLs of workers that belong to it though the router may not know them now.
    """

    def __init__(self, listed: t.Iterable[Worker], expected: t.Iterable[str] = ()) -> None:
        self._healthy: dict[t.Any, bool] = {}
        for worker in listed:
            key = worker_key(worker.url)
            self._healthy[key] = self._healthy.get(key, True) and worker.healthy is True
        self.known = len(self._healthy)
        for url in expected:
            self._healthy.setdefault(worker_key(url), False)

    @property
    def size(self) -> int:
        return len(self._healthy)

    @property
    def healthy(self) -> int:
        return sum(self._healthy.values())

    def serves(self, url: str) -> bool:
        """Whether the router knows the worker *url* and calls it healthy."""
        return self._healthy.get(worker_key(url), False)

    def left_without(self, urls: t.Iterable[str]) -> int:
        """How many serve while *urls* are out."""
        out = {worker_key(url) for url in urls}
        return sum(healthy for key, healthy in self._healthy.items() if key not in out)

    def back_in_service(self, urls: t.Iterable[str]) -> None:
        for url in urls:
            self._healthy[worker_key(url)] = True


def refuse_too_few(router_url: str, fleet: Fleet, urls: t.Sequence[str], rule: str, who: str) -> int:
    """How many serve while *urls* are out.

    What does not serve anyway may be taken out at any time: that it comes back is all that can mend a fleet.
    :arg who: what is taken out, for the message.
    :raises Failure: ``rule_violated`` where that is less than *rule*.
    """
    least, left = required(rule, fleet.size), fleet.left_without(urls)
    if left >= least or not any(fleet.serves(url) for url in urls):
        return left
    of_rule = f" ({rule} of {fleet.size})" if "%" in str(rule) else ""
    raise Failure(
        "rule_violated",
        f"Without {who} only {left} of the {fleet.size} workers of the router '{router_url}' would serve, and "
        f"'restart_min_available' wants {least}{of_rule}: {fleet.size - fleet.healthy} of them do not serve now; "
        "bring these back, take fewer out at a time, or lower the rule.",
    )
