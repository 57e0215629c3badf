# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What a wait remembers, also from one slice to the next, and the result that it becomes."""

from __future__ import annotations

import json
import re
import typing as t
from dataclasses import asdict, dataclass, field

if t.TYPE_CHECKING:
    from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask

OUTCOMES = ("generated", "refused", "reset", "timeout", "http_error", "bad_answer", "tls_error", "not_ready")
STAGES = ("process_started", "port_bound", "first_http_answer", "first_generation", "ready")
_LONGEST_TEXT = 2000
_LARGEST_USAGE = 4000
_PERCENT = re.compile(r" \d+ %$")


def _no_outcomes() -> dict[str, int]:
    return dict.fromkeys(OUTCOMES, 0)


def _no_stages() -> dict[str, float | None]:
    return dict.fromkeys(STAGES)


@dataclass
class WaitMemory:
    """All times are monotonic seconds of the host, but for stages (seconds from the start of the invocation)."""

    started: float = 0.0
    # By the controller's clock: a host that is started anew begins its own at zero.
    spent: float = 0.0
    origin: float = 0.0
    bound_at: float | None = None
    from_start: bool = False
    restarts_before: int | None = None
    restarts: int = 0
    invocation_id: str = ""
    earlier_invocation_id: str = ""
    last_end: str = ""
    main_pid: int = 0
    attempts: int = 0
    index: int = 0
    outcomes: dict[str, int] = field(default_factory=_no_outcomes)
    stages: dict[str, float | None] = field(default_factory=_no_stages)
    streak: int = 0
    broken: bool = False
    unfinished: float | None = None
    next_probe: float = 0.0
    last_error: str = ""
    last_class: str = ""
    listening: bool = False
    # Whether any connection of a request came about.
    reached: bool = False
    foreign_since: float | None = None
    doubt: str = ""
    workers: dict[int, str] = field(default_factory=dict)
    worker_gone_at: float | None = None
    workers_seen_at: float = 0.0
    health: str = ""
    listener: dict[str, t.Any] = field(default_factory=dict)
    models: list[str] = field(default_factory=list)
    identities: list[list[str]] = field(default_factory=list)
    warmups: list[dict[str, t.Any]] = field(default_factory=list)
    resets: int = 0
    answer: dict[str, t.Any] = field(default_factory=dict)
    expected_elapsed: float | None = None
    warnings: list[str] = field(default_factory=list)
    stage: str = ""
    log_stage: str = ""
    detail: str = ""
    words_per_token: float = 0.0

    @property
    def phase(self) -> str:
        """The stage without how far it has come."""
        return _PERCENT.sub("", self.stage)

    def reach(self, stage: str, now: float) -> None:
        """Note the time of *stage*, once."""
        if self.stages.get(stage) is None:
            self.stages[stage] = round(max(now - self.origin, 0.0), 3)

    def late_in(self, now: float) -> float | None:
        """Seconds until this start takes more than twice the usual, negative where it does or did.

        ``None`` where the usual is not known, or where the server was up before the wait began.
        """
        if not self.expected_elapsed or not self.from_start:
            return None
        ready = self.stages["ready"]
        return round(2 * self.expected_elapsed - (now - self.origin if ready is None else ready), 1)

    def count(self, outcome: str) -> None:
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1

    def forget_invocation(self) -> None:
        """Another invocation runs now: nothing that was seen of the old one counts for it."""
        self.streak, self.resets, self.health, self.stage = 0, 0, "", ""
        self.workers, self.warmups, self.stages = {}, [], _no_stages()
        self.worker_gone_at = self.bound_at = self.foreign_since = None
        self.from_start = False
        self.answer = {}

    def warn(self, text: str) -> None:
        if text[:500] not in self.warnings:
            self.warnings.append(text[:500])

    def dump(self) -> dict[str, t.Any]:
        """As JSON can carry it."""
        data = asdict(self)
        data["workers"] = [[pid, name] for pid, name in self.workers.items()]
        return data

    @classmethod
    def load(cls, data: t.Mapping[str, t.Any] | None, now: float) -> WaitMemory:
        """From dump(); a new one where there is none, or where the host was started anew in between."""
        known = {key: value for key, value in (data or {}).items() if key in cls.__dataclass_fields__}
        if "started" not in known or float(known["started"]) > now:
            return cls(started=now - float(known.get("spent", 0.0)), origin=now)
        known["workers"] = {int(pid): str(name) for pid, name in known.get("workers") or []}
        return cls(**known)


def empty_result() -> dict[str, t.Any]:
    """Every documented key, for the paths that end before anything is known."""
    return {
        "changed": False,
        "ok": None,
        "failure_class": None,
        "elapsed": 0.0,
        "attempts": 0,
        "outcomes": _no_outcomes(),
        "last_error": None,
        "stages": _no_stages(),
        "from_start": False,
        "invocation_id": None,
        "main_pid": None,
        "listener": {"pid": None, "unit": "", "cmdline": "", "owned": "unknown"},
        "models": [],
        "generated_from": None,
        "text": None,
        "finish_reason": None,
        "usage": {},
        "acceptance_length": None,
        "warmups": [],
        "expected_elapsed": None,
        "base_url": None,
        "node_rank": None,
        "log_tail": [],
        "skipped_reason": None,
    }


def result_of(memory: WaitMemory, now: float, mask: Mask) -> dict[str, t.Any]:
    """The documented keys but C(ok), C(failure_class), C(msg) and C(log_tail), masked and bounded."""
    result = empty_result()
    result.update(
        elapsed=round(max(now - memory.started, 0.0), 3),
        attempts=memory.attempts,
        outcomes=memory.outcomes,
        last_error=memory.last_error[:500] or None,
        stages=memory.stages,
        from_start=memory.from_start,
        invocation_id=memory.invocation_id or None,
        main_pid=memory.main_pid or None,
        models=[name[:200] for name in memory.models[:20]],
        warmups=memory.warmups[:50],
        expected_elapsed=memory.expected_elapsed,
    )
    result.update(memory.answer)
    result["listener"] = {**result["listener"], **memory.listener}
    result.update({key: mask.value(result[key]) for key in ("last_error", "listener", "models", "text", "usage")})
    # Cut only now: half a secret would not be known as one.
    result["text"] = result["text"] and result["text"][:_LONGEST_TEXT]
    return result


def answer_of(generation: t.Any) -> dict[str, t.Any]:
    """The result keys that describe a generation; text and usage are bounded."""
    return {
        "generated_from": generation.generated_from,
        "text": generation.text[: 2 * _LONGEST_TEXT],
        "finish_reason": generation.finish_reason[:200] or None,
        "usage": _bounded_usage(generation.usage),
        "acceptance_length": _acceptance(generation),
    }


def _acceptance(generation: t.Any) -> float | None:
    """Tokens per verify step of this answer without the token of the prefill; ``None`` where it does not count the steps."""
    steps, tokens = generation.verify_steps, generation.tokens
    return round((tokens - 1) / steps, 3) if steps and tokens and tokens > 1 else None


def _bounded_usage(usage: dict[str, t.Any]) -> dict[str, t.Any]:
    """Usage as servers send it is small; one that is not must not fill the result."""
    bounded: dict[str, t.Any] = _bounded(usage)
    if len(json.dumps(bounded)) <= _LARGEST_USAGE:
        return bounded
    return _bounded({key: value for key, value in usage.items() if isinstance(value, (int, float))})


def _bounded(value: t.Any, depth: int = 0) -> t.Any:
    if isinstance(value, dict):
        return {str(k)[:60]: _bounded(v, depth + 1) for k, v in list(value.items())[:30]} if depth < 3 else {}
    if isinstance(value, list):
        return [_bounded(v, depth + 1) for v in value[:20]] if depth < 3 else []
    if isinstance(value, str):
        return value[:200]
    # What no other reader of JSON takes as a number is none.
    return value if value is None or abs(value) < 1e18 else None
