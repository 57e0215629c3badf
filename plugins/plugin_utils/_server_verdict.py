# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Whether a server is what its inventory says: every way in which it is not, from the results of the modules that looked."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._flags import newest_dest, table_of
from ansible_collections.llmops.sglang.plugins.module_utils._node_rules import node_of
from ansible_collections.llmops.sglang.plugins.module_utils._server_conflicts import unlike_server

Result = t.Mapping[str, t.Any]

# Where an item is of no failure class of its own.
DRIFTED = "condition_not_met"
# The subjects of server_info's conflicts that are another thing here.
_SUBJECTS = {"unit": "process", "argument": "server", "inventory": "server", "algorithm": "server"}
_CLASSES = {"listener": "foreign_listener"}
# What one expectation of the journal may fall short of; any other failure is of the journal as a whole.
_OF_EXPECTATION = (
    "pattern_not_found",
    "field_mismatch",
    "field_missing",
    "ambiguous_match",
    "forbidden_match",
    "count_mismatch",
)
_LONGEST = 600


@dataclass
class Looks:
    """The results of the modules; an empty one was not asked.

    unit: server_unit in check mode; info: server_info; generation: wait_for_generation; journal: journal_assert.
    arguments: what the inventory says of the server's arguments; floor: the least acceptance length.
    """

    name: str
    info: Result
    unit: Result = field(default_factory=dict)
    generation: Result = field(default_factory=dict)
    journal: Result = field(default_factory=dict)
    arguments: Result = field(default_factory=dict)
    floor: t.Optional[float] = None


class Verdict:
    """Judges each subject for itself, so that one that differs hides no other.

    ``drift`` has what differs (``subject``, ``msg``, ``failure_class`` or ``None``), ``unchecked`` what could not be judged, as
    sentences, and ``acceptance`` the length that was judged and where it comes from.
    """

    def __init__(self, looks: Looks) -> None:
        self.looks = looks
        self.drift: list[dict[str, t.Any]] = []
        self.unchecked: list[str] = []
        self.acceptance: dict[str, t.Any] = {"length": None, "source": None}
        self._judge()

    def _judge(self) -> None:
        state = self.looks.info.get("unit")
        if not isinstance(state, dict):
            self._differs("host", f"nothing could be read of it: {_reason(self.looks.info)}", self.looks.info)
            self.unchecked.append("nothing else was looked at")
            return
        there = self._unit(state)
        runs = there and self._process(state)
        if not runs:
            self.unchecked.append("journal, server, generation and acceptance: nothing runs")
            return
        self._server()
        self._journal()
        self._generation()
        self._acceptance()

    def _unit(self, state: Result) -> bool:
        """Whether there is a unit; and whether it is what the inventory asks for."""
        unit = self.looks.unit
        there = state.get("state") not in ("not-found", "bad-setting", "error", "masked")
        if not there:
            msg = _reason(self.looks.generation) if self._class("generation") == "no_such_unit" else ""
            self._differs("unit", msg or f"the unit is {state.get('state')}", failure_class="no_such_unit")
        if not unit or unit.get("skipped"):
            self.unchecked.append("unit: the inventory has no 'server_python', so that its file was not compared")
        elif unit.get("failed"):
            self._differs("inventory", _reason(unit), unit)
        elif there and unit.get("changed"):
            self._differs("unit", _changes(unit.get("flag_changes") or {}))
        return there

    def _process(self, state: Result) -> bool:
        """Whether a process runs; and whether it is what the unit says."""
        if not state.get("main_pid"):
            msg = f"nothing runs: the unit is {state.get('state')} ({state.get('sub_state')})"
            told = _reason(self.looks.generation) if self._class("generation") else ""
            self._differs(
                "process", f"{msg}; {told}" if told else msg, failure_class=self._class("generation") or "inactive"
            )
            return False
        if state.get("matches_unit") is None:
            self._differs(
                "process",
                "whether it is what its unit says could not be read: look as root",
                failure_class="no_permission",
            )
        return True

    def _server(self) -> None:
        server = self.looks.info.get("server") or {}
        for conflict in self.looks.info.get("conflicts") or []:
            subject = str(conflict.get("subject"))
            self._differs(
                _SUBJECTS.get(subject, subject), str(conflict.get("msg")), failure_class=_CLASSES.get(subject)
            )
        if self._rank():
            self.unchecked.append(
                f"server: rank {self._rank()} of its nodes serves nothing but its health, rank 0 tells the rest"
            )
        elif server.get("arguments_from") != "server":
            self.unchecked.append("server: it did not tell its arguments")
        elif not self.looks.unit or self.looks.unit.get("skipped"):
            for conflict in unlike_server(
                _newest(self.looks.arguments, server.get("version")), server.get("arguments") or {}
            ):
                self._differs("server", str(conflict["msg"]).replace("the command line", "the inventory"))

    def _journal(self) -> None:
        journal = self.looks.journal
        if not journal or journal.get("skipped"):
            self.unchecked.append("journal: nothing is asked of it")
            return
        if journal.get("ok"):
            return
        wrong = [one for one in journal.get("results") or [] if not one.get("ok")]
        if not wrong or self._class("journal") not in _OF_EXPECTATION:
            self._differs("journal", _reason(journal), journal)
            return
        for one in wrong:
            self._differs("journal", f"{one.get('title')}: {_mismatch(one)}", journal)

    def _rank(self) -> int:
        """The rank of a node that never generates; 0 for any other server."""
        return node_of((self.looks.info.get("server") or {}).get("arguments") or {})[0]

    def _generation(self) -> None:
        generation = self.looks.generation
        if generation.get("ok") and self._rank():
            self.unchecked.append(
                f"generation: the ranks of node rank {self._rank()} are loaded, and only rank 0 generates"
            )
        elif generation.get("ok") is None and not generation.get("failure_class"):
            self.unchecked.append(f"generation: {generation.get('skipped_reason') or 'it was not asked'}")
        elif not generation.get("ok"):
            self._differs("generation", _reason(generation), generation)

    def _acceptance(self) -> None:
        floor = self.looks.floor if not self._rank() else None
        speculation = (self.looks.info.get("server") or {}).get("speculation") or {}
        lengths = [one for one in speculation.get("lifetime_accept_lengths") or [] if isinstance(one, (int, float))]
        probe = self.looks.generation.get("acceptance_length")
        if lengths:
            self.acceptance = {"length": round(min(lengths), 3), "source": "lifetime"}
        elif isinstance(probe, (int, float)):
            self.acceptance = {"length": probe, "source": "probe"}
        if floor is None:
            return
        length, source = self.acceptance["length"], self.acceptance["source"]
        said = "mean since the server started" if source == "lifetime" else "of this one answer"
        if (self.looks.info.get("evidence") or {}).get("simulated_acceptance"):
            self._differs(
                "acceptance", "the server makes its acceptance up: take SGLANG_SIMULATE_ACC_LEN out of its environment"
            )
        elif length is None:
            self._differs(
                "acceptance",
                f"the length is unknown, and it must be at least {floor:g}",
                failure_class="no_speculation",
            )
        elif length < floor:
            self._differs("acceptance", f"the length is {length:g} ({said}), and it must be at least {floor:g}")

    def _class(self, look: str) -> str:
        return str(getattr(self.looks, look).get("failure_class") or "")

    def _differs(
        self, subject: str, msg: str, result: t.Optional[Result] = None, failure_class: t.Optional[str] = None
    ) -> None:
        item = {"subject": subject, "msg": " ".join(msg.split())[:_LONGEST].rstrip(".")}
        item["failure_class"] = failure_class or (result or {}).get("failure_class") or None
        if item not in self.drift:
            self.drift.append(item)


def _reason(result: Result) -> str:
    return str(result.get("msg") or result.get("module_stderr") or "no reason was given")


def _changes(changes: Result) -> str:
    """What would change in the unit's command line."""
    parts = [f"{name}={value} is missing" for name, value in (changes.get("added") or {}).items()]
    parts += [f"{name}={value} is too much" for name, value in (changes.get("removed") or {}).items()]
    parts += [f"{n}={v.get('before')} should be {v.get('after')}" for n, v in (changes.get("changed") or {}).items()]
    shown = ", ".join(parts[:6]) + (f" and {len(parts) - 6} more" if len(parts) > 6 else "")
    return (
        f"its arguments differ: {shown}"
        if shown
        else "other settings than its arguments differ: see the diff of the unit"
    )


def _mismatch(result: Result) -> str:
    """Why one expectation of the journal does not hold."""
    parts = [
        f"{one.get('key')} is {one.get('actual')} instead of {one.get('expected')}"
        for one in result.get("mismatches") or []
    ]
    parts += [f"{key} is missing" for key in result.get("missing") or []]
    return ", ".join(parts[:6]) or f"{result.get('count', 0)} such lines"


def _newest(arguments: Result, version: t.Any) -> dict[str, t.Any]:
    """Arguments under the names that the newest release has for them."""
    try:
        table = table_of(str(version) if version else None)
    except ValueError:
        table = table_of(None)
    flags = {
        str(name).replace("-", "_"): (table.of_dest(str(name).replace("-", "_")), value)
        for name, value in arguments.items()
    }
    return {newest_dest(flag) if flag else name: value for name, (flag, value) in flags.items()}
