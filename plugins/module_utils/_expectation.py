# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""One expectation about log lines: fed line by line, then asked for its result."""

from __future__ import annotations

import functools
import json
import re
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._field_match import differs, look_up
from ansible_collections.llmops.sglang.plugins.module_utils._journal import LONGEST_SHOWN, cut, shown
from ansible_collections.llmops.sglang.plugins.module_utils._journal_rows import Line
from ansible_collections.llmops.sglang.plugins.module_utils._journal_traceback import Block
from ansible_collections.llmops.sglang.plugins.module_utils._log_fields import parse_fields
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask

OCCURRENCES = ("all", "first", "last", "any")
SOURCES = ("service", "manager", "any")
_MISSING: t.Any = object()
_MASK = Mask()
# Of the keys of a line, or of an expectation: more than a result has room for, and than a sentence.
MOST_KEYS, _MOST_SAID = 60, 8


@functools.lru_cache(maxsize=4)
def _all_fields_of(text: str) -> tuple[dict[str, t.Any], dict[str, list[t.Any]]]:
    """The fields of *text*, and the later values of those that stand there more than once.

    Many expectations may ask for fields of the same line, which may be long. Nobody changes what this returns.
    """
    others: dict[str, list[t.Any]] = {}
    return parse_fields(text, others), others


def _fields_of(text: str) -> dict[str, t.Any]:
    return _all_fields_of(text)[0]


class Verdict(t.NamedTuple):
    """``failure_class`` is empty where the expectation holds; ``final`` says that no later line can change it."""

    failure_class: str
    msg: str
    final: bool = False


@dataclass
class _Match:
    """A line that fits, and what of its fields was asked for."""

    line: Line
    fields: dict[str, t.Any]
    mismatches: list[tuple[str, t.Any, t.Any]]
    missing: list[str]
    # The traceback that the line belongs to; it may still grow.
    block: t.Optional[Block] = None

    @property
    def ok(self) -> bool:
        return not (self.mismatches or self.missing)


@dataclass
class Expectation:
    """What should (or, with *forbidden*, should not) stand in the log.

    :arg pattern: a compiled regular expression, or a text that the line contains.
    :arg fields: what the line's fields should be; see ``_field_match.differs``.
    :arg level: the level of such lines, as the server's ``--log-level`` has it.
    :arg until: lines after the first one that this matches do not count (start-up presets).
    """

    title: str
    pattern: t.Union[t.Pattern[str], str]
    fields: dict[str, t.Any] = field(default_factory=dict)
    count: t.Optional[int] = None
    min_count: t.Optional[int] = None
    max_count: t.Optional[int] = None
    occurrence: str = "all"
    source: str = "service"
    forbidden: bool = False
    level: str = "info"
    until: t.Optional[t.Pattern[str]] = None

    found: int = field(default=0, init=False)
    _first: t.Optional[_Match] = field(default=None, init=False)
    _last: t.Optional[_Match] = field(default=None, init=False)
    _good: t.Optional[_Match] = field(default=None, init=False)
    _bad: t.Optional[_Match] = field(default=None, init=False)
    # A line for each kind of what the lines have of the fields that were asked for.
    _kinds: list[_Match] = field(default_factory=list, init=False)
    # When the line that ends it was written, by the host's own clock; ``None`` while none was.
    over_us: t.Optional[int] = field(default=None, init=False)

    def feed(self, line: Line, block: t.Optional[Block] = None) -> None:
        """Look at one more line, and at the traceback that it belongs to; lines come in the order of the journal."""
        if self.over_us is not None or not self._wants(line.source):
            return
        if isinstance(self.pattern, str):
            hit = self.pattern in line.text
        else:
            hit = bool(self.pattern.search(line.text))
        if hit:
            self._note(line, block)
        if self.until and self.until.search(line.text):
            self.over_us = line.monotonic_us

    def feed_all(self, lines: t.Iterable[Line], blocks: t.Mapping[int, Block]) -> None:
        """The same for many lines, most of which do not fit; *blocks* has the tracebacks by their lines' places."""
        if self.over_us is not None:
            return
        for place, line in enumerate(lines):
            self.feed(line, blocks.get(place) if blocks else None)

    @property
    def rests_on_absence(self) -> bool:
        """Whether it holds only because lines are not there."""
        bounded = self.forbidden or self.count is not None or self.max_count is not None
        return bounded or self.min_count == 0 or self.occurrence in ("first", "last")

    @property
    def unfinished(self) -> bool:
        """Whether the line that the result shows is of a traceback whose exception is not there yet."""
        match = self._decisive()
        return bool(match and match.block and not match.block.ended)

    def verdict(self, incomplete: str = "", why: str = "") -> Verdict:
        """Whether it holds by the lines so far.

        :arg incomplete: the failure class that forbids conclusions from what is not there, and *why* as a sentence.
        """
        name = f"The expectation '{self.title}'"
        if self.forbidden:
            if self.found:
                return Verdict("forbidden_match", f"The line '{self.title}' must not be there and is.", True)
            return Verdict(incomplete, why) if incomplete else Verdict("", "")
        low = self.min_count if self.count is None else self.count
        high = self.max_count if self.count is None else self.count
        if high is not None and self.found > high:
            return Verdict("count_mismatch", f"{name} allows {high} lines and {self.found} are there.", True)
        # A line that may be absent has to be said so: an upper bound alone does not.
        if self.found == 0 and 0 in (low, high):
            return Verdict(incomplete, why) if incomplete else Verdict("", "")
        if self.found == 0:
            return Verdict(incomplete or "pattern_not_found", why or f"{name} fits no line of the invocation.")
        if low is not None and self.found < low:
            sentence = f"{name} wants {low} lines and {self.found} are there."
            return Verdict(incomplete or "count_mismatch", why or sentence)
        verdict = self._field_verdict(name)
        # Where rows are missing another line may be the first, or the last if not only the start is gone.
        unsure = high is not None or self.occurrence == "first"
        unsure = unsure or (self.occurrence == "last" and incomplete != "log_truncated")
        if not verdict.failure_class and unsure and incomplete:
            return Verdict(incomplete, why)
        return verdict

    def result(self, verdict: Verdict, most: int = MOST_KEYS) -> dict[str, t.Any]:
        """The entry of ``results`` for *verdict*, masked; of keys at most that many."""
        match = self._decisive()
        seen = _fields_of(match.line.text) if match else {}
        fields = (match.fields if self.fields else seen) if match else {}
        masked = _MASK.value
        return {
            "title": masked(self.title),
            "ok": not verdict.failure_class,
            "failure_class": verdict.failure_class,
            "count": self.found,
            "line": masked(shown(match.line).text) if match else "",
            "cursor": match.line.cursor if match else "",
            "traceback": masked(list(match.block.lines)) if match and match.block else [],
            "missing": masked(match.missing[:most]) if match else [],
            "seen_keys": masked(sorted(seen)[:most]),
            "fields": {_MASK.text(key): _safe(key, fields[key]) for key in list(fields)[:most]},
            "mismatches": [
                {"key": _MASK.text(key), "expected": _safe(key, expected), "actual": _safe(key, actual)}
                for key, expected, actual in (match.mismatches if match else [])[:most]
            ],
        }

    def _wants(self, source: str) -> bool:
        # What must not be there must not be in a row without an invocation either; nothing is proved by such a row.
        return self.forbidden if source == "unattributed" else self.source in ("any", source)

    def _note(self, line: Line, block: t.Optional[Block]) -> None:
        self.found += 1
        match = _Match(line, {}, [], [], block)
        if self.fields:
            seen, others = _all_fields_of(line.text)
            for key, expected in self.fields.items():
                actual = look_up(seen, key, _MISSING)
                if actual is _MISSING:
                    match.missing.append(key)
                    continue
                # Which of several values is the one that counts nobody knows: each must be right.
                wrong = [value for value in (actual, *look_up(others, key, ())) if differs(expected, value)]
                match.fields[key] = wrong[0] if wrong else actual
                if wrong:
                    match.mismatches.append((key, expected, wrong[0]))
            if len(self._kinds) < 10 and not any(kind.fields == match.fields for kind in self._kinds):
                self._kinds.append(match)
        self._first = self._first or match
        self._last = match
        if match.ok:
            self._good = self._good or match
        else:
            self._bad = self._bad or match

    def _decisive(self) -> t.Optional[_Match]:
        """The match that the result shows."""
        if self.occurrence == "first":
            return self._first
        if self.occurrence == "last":
            return self._last
        if self.occurrence == "any":
            return self._good or self._last
        return self._bad or self._first

    def _field_verdict(self, name: str) -> Verdict:
        match = self._decisive()
        if match is None or match.ok:
            return Verdict("", "")
        final = self.occurrence in ("all", "first")
        if self.occurrence == "all" and len(self._kinds) > 1:
            values = "; ".join(_compact(kind) for kind in self._kinds[:4])
            return Verdict("ambiguous_match", f"{name} fits {self.found} lines that do not agree: {values}.", final)
        if match.mismatches:
            said = ", ".join(
                f"{key} should be {_shown(key, expected)} and is {_shown(key, actual)}"
                for key, expected, actual in match.mismatches[:_MOST_SAID]
            )
            lacks = f", and {', '.join(match.missing[:_MOST_SAID])} is not there" if match.missing else ""
            return Verdict("field_mismatch", f"{name} found its line, but {said}{lacks}.", final)
        there = ", ".join(sorted(_fields_of(match.line.text))[:20]) or "none"
        lacks = ", ".join(match.missing[:_MOST_SAID])
        said = f"{name} found its line, but it lacks {lacks}; its fields are: {there}."
        return Verdict("field_missing", said, final)


def compile_pattern(pattern: str, title: str) -> t.Pattern[str]:
    """*pattern* compiled.

    :raises Failure: ``rule_violated`` if it is no regular expression.
    """
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as exc:
        raise Failure(
            "rule_violated",
            f"The pattern of '{title}' is no regular expression of Python: {exc}; use 'contains' for a plain text.",
        ) from exc


def _safe(key: str, value: t.Any) -> t.Any:
    """As much of *value* as is shown, masked where *key* is one of the names under which a server prints its secrets."""
    if isinstance(value, (list, dict)):
        text = json.dumps(value, default=str)
        value = value if len(text) <= LONGEST_SHOWN else text
    if isinstance(value, str) and len(value) > LONGEST_SHOWN:
        value = cut(_MASK.text(value), LONGEST_SHOWN)
    return _MASK.value({key: value})[key]


def _compact(match: _Match) -> str:
    parts = [f"{key}={_shown(key, value)}" for key, value in list(match.fields.items())[:_MOST_SAID]]
    return ", ".join(parts + [f"{key} missing" for key in match.missing[:_MOST_SAID]])


def _shown(key: str, value: t.Any) -> str:
    return cut(repr(_safe(key, value)), 80)
