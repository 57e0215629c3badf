# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""How long an accepted draft is on average, from counts of these very requests and from nothing else.

The length counts the bonus token of a verify step and not the token of the prefill. Where the server counts correct
drafts it is correct drafts / verify steps + 1, which a last step cut by the token limit leaves exact; else it is
(completion tokens - 1) / verify steps.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, fields

from ansible_collections.llmops.sglang.plugins.module_utils._request_sample import RequestSample

# First release with the detail on the OpenAI routes' streams, by request.
DETAILS_SINCE = "0.5.19"


@dataclass
class Counters:
    """Sums over all ranks of a server's lifetime counters; ``None`` where it does not export them.

    ``readable`` tells that the server answered at all: a counter with labels is absent until it first counts.
    """

    requests: t.Optional[float] = None
    generation_tokens: t.Optional[float] = None
    verify_steps: t.Optional[float] = None
    cached_tokens: t.Optional[float] = None
    prompt_tokens: t.Optional[float] = None
    readable: bool = True

    def minus(self, before: Counters) -> Counters:
        """What was counted since *before*; ``None`` where either is unknown or a counter fell."""

        if not self.readable or not before.readable:
            return Counters(readable=False)

        def rise(name: str) -> t.Optional[float]:
            new, old = getattr(self, name), getattr(before, name) or 0.0
            return None if new is None or new < old else new - old

        return Counters(*(rise(one.name) for one in fields(self) if one.name != "readable"))


@dataclass
class Acceptance:
    """A length with where it comes from.

    ``source`` is ``per_request``, ``counters`` or ``unknown``; ``formula`` is ``correct_drafts`` or ``completion_tokens``.
    """

    length: t.Optional[float] = None
    source: str = "unknown"
    formula: t.Optional[str] = None
    draft_rate: t.Optional[float] = None
    mean_of_requests: t.Optional[float] = None
    verify_steps: t.Optional[int] = None


def of_requests(samples: t.Sequence[RequestSample]) -> Acceptance:
    """From the detail of each request; unknown unless every whole answer with more than one token carries it."""
    rows = [s for s in samples if s.ok and (s.completion_tokens or 0) > 1]
    if not rows or not all(s.speculation.get("verify_steps") for s in rows):
        return Acceptance()
    steps = sum(s.speculation["verify_steps"] for s in rows)
    if all("correct_drafts" in s.speculation for s in rows):
        formula, lengths = (
            "correct_drafts",
            [s.speculation["correct_drafts"] + s.speculation["verify_steps"] for s in rows],
        )
    else:
        formula, lengths = "completion_tokens", [(s.completion_tokens or 1) - 1 for s in rows]
    found = Acceptance(sum(lengths) / steps, "per_request", formula, verify_steps=steps)
    found.mean_of_requests = sum(n / s.speculation["verify_steps"] for n, s in zip(lengths, rows)) / len(rows)
    proposed = sum(s.speculation.get("proposed_drafts", 0) for s in rows)
    if formula == "correct_drafts" and proposed:
        found.draft_rate = sum(s.speculation["correct_drafts"] for s in rows) / proposed
    return found


def of_counters(delta: Counters, samples: t.Sequence[RequestSample]) -> Acceptance:
    """From how far the server's counters rose; unknown where requests other than these, or failed ones, are in them."""
    if not samples or not all(s.ok for s in samples) or not delta.verify_steps or delta.requests != len(samples):
        return Acceptance()
    tokens = sum(s.completion_tokens or 0 for s in samples)
    if delta.generation_tokens is not None and delta.generation_tokens != tokens:
        return Acceptance()
    steps = int(delta.verify_steps)
    return Acceptance((tokens - len(samples)) / steps, "counters", "completion_tokens", verify_steps=steps)


def find(samples: t.Sequence[RequestSample], delta: Counters) -> Acceptance:
    """The best that is known: per request, else from counters, else unknown."""
    found = of_requests(samples)
    return found if found.length is not None else of_counters(delta, samples)
