# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Asserts expectations against the journal of one invocation, waiting for lines where that is asked for."""

from __future__ import annotations

import re
import time
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils import _journal_result
from ansible_collections.llmops.sglang.plugins.module_utils._completeness import hides, output_settings
from ansible_collections.llmops.sglang.plugins.module_utils._expectation import Expectation, Verdict, compile_pattern
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._journal import InvocationReader
from ansible_collections.llmops.sglang.plugins.module_utils._journal_burst import RecentRows, interval_of
from ansible_collections.llmops.sglang.plugins.module_utils._journal_presets import preset_expectations
from ansible_collections.llmops.sglang.plugins.module_utils._journal_rows import Line, number
from ansible_collections.llmops.sglang.plugins.module_utils._journal_traceback import Tracebacks
from ansible_collections.llmops.sglang.plugins.module_utils._journal_wholeness import Wholeness
from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import CommandRunner, Journal
from ansible_collections.llmops.sglang.plugins.module_utils._journald import with_journalds_own
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState, plain_invocation_id
from ansible_collections.llmops.sglang.plugins.module_utils._time_limit import TimeLimitExceeded, cpu_time_limit
from ansible_collections.llmops.sglang.plugins.module_utils._unit_name import unit_name

# Seconds from a line's being written until it is seen. ``journalctl --follow`` is later (0.37 s on 252), because journald
# wakes those who follow at most four times a second.
SEEN_WITHIN = 0.24
# Seconds between two looks at the journal: at most and at least, however long a look takes.
POLL, SHORTEST_POLL = 0.12, 0.02
# Seconds for the rest of a traceback to be written.
TRACEBACK_TIME = 1.0
# Seconds between two looks at the unit itself.
UNIT_POLL = 1.0
# Processor seconds that one pattern may take in all, and those on top for each line: many lines are no slow pattern.
PATTERN_TIME = 3.0
LINE_TIME = 50e-6
# How many lines, and characters, are looked at together and held for that time.
BATCH_LINES = 500
BATCH_CHARACTERS = 1024 * 1024


@dataclass
class Question:
    """What a task asks, in the module's own option names."""

    name: str
    scope: str = "system"
    invocation: str = "current"
    directory: t.Optional[str] = None
    files: t.Sequence[str] = ()
    expect: t.Sequence[t.Mapping[str, t.Any]] = ()
    must_not_match: t.Sequence[t.Any] = ()
    preset: t.Sequence[str] = ()
    preset_fields: t.Mapping[str, t.Any] = field(default_factory=dict)
    timeout: float = 0
    end_wait_when_failed: bool = True


def expectations_of(question: Question) -> list[Expectation]:
    """All expectations of *question* in the order of its options.

    :raises Failure: ``rule_violated`` for what is no expectation.
    """
    comparing = [preset for preset in question.preset if preset in ("dflash", "node")]
    if question.preset_fields and not comparing:
        raise Failure(
            "rule_violated",
            "'preset_fields' is compared by the presets 'dflash' and 'node' alone: add one to 'preset'.",
        )
    if len(set(comparing)) > 1:
        raise Failure(
            "rule_violated",
            "The presets 'dflash' and 'node' are for different ranks of a server: 'dflash' for rank 0, 'node' for the others.",
        )
    made = [_wanted(entry, place) for place, entry in enumerate(question.expect, 1)]
    for preset in question.preset:
        made += preset_expectations(preset, question.preset_fields)
    made += [_unwanted(entry) for entry in question.must_not_match]
    if not made:
        raise Failure("rule_violated", "Nothing is asked: 'expect', 'must_not_match' and 'preset' are empty.")
    return made


class Assertion:
    """Runs one question.

    :arg sleep, clock: for tests.
    """

    def __init__(
        self,
        question: Question,
        run_command: t.Callable[..., tuple[int, str, str]],
        sleep: t.Callable[[float], None] = time.sleep,
        clock: t.Callable[[], float] = time.monotonic,
    ) -> None:
        self.question = question
        self.expectations = expectations_of(question)
        self.mask = Mask()
        self._sleep, self._clock = sleep, clock
        self._lines: list[Line] = []
        self._characters = 0
        self._tracebacks = Tracebacks()
        self._rest_until: t.Optional[float] = None
        self._spent = [0.0] * len(self.expectations)
        self._fed = 0
        self.unit = unit_name(question.name)
        self.exported = bool(question.directory or question.files)
        self.manager = None if self.exported else Manager(run_command, question.scope)
        self._runner = self.manager or CommandRunner(run_command, question.scope)
        self.settings: dict[str, str] = {}
        self.reader: t.Optional[InvocationReader] = None
        self._whole: t.Optional[Wholeness] = None

    def run(self) -> dict[str, t.Any]:
        """The result keys; ``failure_class`` is empty where everything holds.

        :raises Failure: where there is no invocation to speak of.
        """
        state = self.manager.show(self.unit) if self.manager else None
        if self.manager and state and state.exists:
            # The rows of a unit with several names carry the one that its file has.
            self.unit = state.properties.get("Id") or self.unit
            settings = output_settings(self.manager, self.unit, state.load_state == "masked")
            self.settings = with_journalds_own(self.manager, settings)
        journal = Journal(
            self._runner,
            self.question.directory,
            self.question.files,
            self.settings.get("LogNamespace", ""),
        )
        invocation_id = self._resolve(journal, state)
        self.reader = InvocationReader(journal, self.unit, invocation_id, sink=self._take)
        self.reader.log.recent = RecentRows(interval_of(self.settings))
        self._whole = Wholeness(self.manager, self.reader, self.settings, self.question.directory)
        if state and self._is(state, invocation_id):
            self._whole.began_us = number(state.properties, "InactiveExitTimestampMonotonic")
        verdicts, ended = self._watch(journal, invocation_id)
        log = self.reader.log
        asked_by_id = self.question.invocation not in ("current", "previous")
        if asked_by_id and not log.entries_scanned and not log.not_allowed and not self._is(state, invocation_id):
            if self.manager and state and not state.exists:
                raise self.manager.no_such_unit(state)
            raise self._unknown_invocation()
        absent = any(expectation.rests_on_absence for expectation in self.expectations)
        assumed = self._whole.assumed if absent else ""
        return _journal_result.compose(log, self.expectations, verdicts, self.mask, ended, assumed)

    def _watch(self, journal: Journal, invocation_id: str) -> tuple[list[Verdict], bool]:
        """Look at the journal until the answer is known or the time is over."""
        deadline = self._clock() + self.question.timeout
        next_unit_look = self._clock()
        ended = False
        self._whole.synced = journal.sync()
        while True:
            looked = self._clock()
            self.reader.read()
            self._feed()
            verdicts = [expectation.verdict() for expectation in self.expectations]
            now = self._clock()
            last = (
                now >= deadline
                or self._whole.unreadable
                or (self.question.end_wait_when_failed and (ended or any(v.final for v in verdicts)))
            )
            known = last or not any(v.failure_class for v in verdicts)
            if known and (ended or not self._awaits_a_rest(now)):
                verdicts = self._conclude()
                if last or not any(v.failure_class == "no_entries" for v in verdicts):
                    return verdicts, ended
            if self.manager and now >= next_unit_look:
                next_unit_look = now + UNIT_POLL
                ended = self._has_ended(self.manager.show(self.unit), invocation_id)
                if ended and self.question.end_wait_when_failed:
                    # What it said last may still be on its way into the journal.
                    self._whole.synced = journal.sync()
                    continue
            # What is written right after a look is seen at the end of the next one.
            left = SEEN_WITHIN - (self._clock() - looked) - (now - looked)
            self._sleep(max(SHORTEST_POLL, min(POLL, left, deadline - now)))

    def _awaits_a_rest(self, now: float) -> bool:
        """Whether a traceback that the result shows goes on, and there is still time for it."""
        if not any(expectation.unfinished for expectation in self.expectations):
            return False
        self._rest_until = now + TRACEBACK_TIME if self._rest_until is None else self._rest_until
        return now < self._rest_until

    def _conclude(self) -> list[Verdict]:
        """The verdicts for good: with what stands outside the invocation's rows, and with how complete they are."""
        self.reader.finish()
        self._feed()
        log = self.reader.log
        incomplete, why = self._whole.reason()
        hidden, because = ("", "") if incomplete else self._whole.hidden()
        lost_us = log.journald_restarted_us if incomplete == "log_truncated" and log.covers_start else 0
        verdicts = []
        for expectation in self.expectations:
            if expectation.over_us is not None and expectation.over_us < lost_us:
                # What ended before journald was restarted is whole.
                verdicts.append(expectation.verdict())
            elif not incomplete and hides(hidden, expectation.level):
                verdicts.append(expectation.verdict("log_level_hidden", because))
            else:
                verdicts.append(expectation.verdict(incomplete, why))
        return verdicts

    def _take(self, line: Line) -> None:
        self._lines.append(line)
        if line.source == "service" and "server_args=" in line.text:
            self._whole.told_arguments = True
        self._characters += len(line.text)
        if len(self._lines) >= BATCH_LINES or self._characters >= BATCH_CHARACTERS:
            self._feed()

    def _feed(self) -> None:
        """Show the lines that wait to each expectation, and let go of them."""
        lines, self._lines, self._characters = self._lines, [], 0
        self._fed += len(lines)
        allowed = PATTERN_TIME + LINE_TIME * self._fed
        blocks = self._tracebacks.among(lines)
        for place, expectation in enumerate(self.expectations if lines else ()):
            began = time.process_time()
            try:
                with cpu_time_limit(allowed - self._spent[place]):
                    expectation.feed_all(lines, blocks)
            except TimeLimitExceeded:
                raise Failure(
                    "pattern_too_slow",
                    f"The pattern of '{expectation.title}' took more than {allowed:.1f} s of processor time for {self._fed} lines: "
                    "make it simpler (no nested repetitions), or use 'contains'.",
                ) from None
            self._spent[place] += time.process_time() - began

    def _resolve(self, journal: Journal, state: t.Optional[UnitState]) -> str:
        asked = self.question.invocation
        if self.exported and asked in ("current", "previous"):
            raise Failure(
                "rule_violated",
                f"The invocation '{asked}' is only known on the host itself: with 'directory' or 'files' give an id or 'any'.",
            )
        if asked == "any":
            if self.exported:
                return asked
            raise Failure(
                "rule_violated",
                "The invocation 'any' is only for 'directory' and 'files': a fact belongs to one invocation.",
            )
        if asked not in ("current", "previous"):
            plain = plain_invocation_id(asked)
            if not re.fullmatch(r"[0-9a-f]{32}", plain):
                raise Failure(
                    "no_such_invocation",
                    f"The invocation '{asked}' is no id: give 32 hexadecimal digits, 'current' or 'previous'.",
                )
            # A transient unit is gone from the manager when it has ended, and its rows are not.
            return plain
        if not state.exists:
            raise self.manager.no_such_unit(state)
        if asked == "current" and not state.invocation_id:
            # systemd forgets the invocation of a unit that ended well and that nothing refers to.
            before = journal.previous_invocation(self.unit, "")
            advice = f"ask for 'previous' ({before}), or start it" if before else "start it, then assert"
            raise Failure("never_started", f"The unit '{self.unit}' has no invocation now: {advice}.")
        if asked == "current":
            return state.invocation_id
        previous = journal.previous_invocation(self.unit, state.invocation_id)
        if not previous:
            raise Failure(
                "no_such_invocation",
                f"The journal knows no invocation of '{self.unit}' before {state.invocation_id or 'now'}.",
            )
        return previous

    def _unknown_invocation(self) -> Failure:
        log = self.reader.log
        if log.other_units:
            others = ", ".join(sorted(log.other_units)[:3])
            return Failure(
                "no_such_invocation",
                f"The invocation {log.invocation_id} does not belong to '{self.unit}' but to '{others}'.",
            )
        where = f" ({log.complaint})" if log.complaint else ""
        return Failure(
            "no_such_invocation",
            f"The journal has no row of invocation {log.invocation_id} of '{self.unit}'{where}: check the id and the unit's name.",
        )

    @staticmethod
    def _is(state: t.Optional[UnitState], invocation_id: str) -> bool:
        return state is not None and state.invocation_id == invocation_id

    @staticmethod
    def _has_ended(state: UnitState, invocation_id: str) -> bool:
        return (
            state.invocation_id != invocation_id
            or state.active_state in ("inactive", "failed")
            or state.sub_state.startswith("auto-restart")
        )


def _wanted(entry: t.Mapping[str, t.Any], place: int) -> Expectation:
    contains, pattern = entry.get("contains"), entry.get("pattern")
    title = entry.get("title") or contains or pattern or f"expectation {place}"
    if (contains is None) == (pattern is None):
        raise Failure("rule_violated", f"The expectation '{title}' needs either 'pattern' or 'contains'.")
    if not (contains or pattern):
        raise Failure(
            "rule_violated", f"The expectation '{title}' looks for an empty text, which every line has: name a text."
        )
    bounds = (entry.get("min_count"), entry.get("max_count"))
    if entry.get("count") is not None and bounds != (None, None):
        raise Failure(
            "rule_violated",
            f"The expectation '{title}' has 'count', which leaves nothing to 'min_count' and 'max_count'.",
        )
    for key, expected in (entry.get("fields") or {}).items():
        if isinstance(expected, dict) and "regex" in expected:
            compile_pattern(str(expected["regex"]), f"{title}: {key}")
    return Expectation(
        title,
        str(contains) if pattern is None else compile_pattern(pattern, title),
        fields=dict(entry.get("fields") or {}),
        count=entry.get("count"),
        min_count=entry.get("min_count"),
        max_count=entry.get("max_count"),
        occurrence=entry.get("occurrence") or "all",
        source=entry.get("source") or "service",
    )


def _unwanted(entry: t.Any) -> Expectation:
    if isinstance(entry, str):
        entry = {"title": entry, "pattern": entry}
    if (
        not isinstance(entry, dict)
        or not isinstance(entry.get("pattern") or None, str)
        or set(entry) - {"title", "pattern"}
    ):
        raise Failure(
            "rule_violated",
            "An entry of 'must_not_match' is a regular expression, or a mapping of 'title' and 'pattern'.",
        )
    title = str(entry.get("title") or entry["pattern"])
    return Expectation(title, compile_pattern(entry["pattern"], title), source="any", forbidden=True)
