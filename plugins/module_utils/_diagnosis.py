# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Everything that helps to understand one server, as named texts without secrets."""

from __future__ import annotations

import json
import os
import stat
import time
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._control_group import members
from ansible_collections.llmops.sglang.plugins.module_utils._diagnosis_host import HostFacts
from ansible_collections.llmops.sglang.plugins.module_utils._diagnosis_journal import JournalEnds, Rows
from ansible_collections.llmops.sglang.plugins.module_utils._endpoint import address_of, from_argv
from ansible_collections.llmops.sglang.plugins.module_utils._environment_file import read_file
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._journal import InvocationReader
from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import Journal
from ansible_collections.llmops.sglang.plugins.module_utils._known_secrets import known_secrets
from ansible_collections.llmops.sglang.plugins.module_utils._log_failures import failure_of
from ansible_collections.llmops.sglang.plugins.module_utils._redaction import Redaction
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import read_argv
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import read_api_key
from ansible_collections.llmops.sglang.plugins.module_utils._server_report import report
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState

# Bytes of one part: its begin and its end are kept.
_LARGEST_PART = 1024 * 1024
_LARGEST_JOURNAL = 8 * 1024 * 1024
_BEFORE = 300


@dataclass
class Diagnosis:
    """*parts* are the texts by their file names; *summary* is the outcome in one sentence."""

    stem: str
    summary: str = ""
    parts: dict[str, str] = field(default_factory=dict)


class Diagnoser:
    """Looks at one unit. What cannot be read is told in its part; nothing here fails for it.

    :arg params: the connection options, and ``timeout`` in seconds for each question to the server.
    """

    def __init__(self, manager: Manager, name: str, params: t.Mapping[str, t.Any]) -> None:
        self._manager, self._name, self._params = manager, name, params
        self._said: list[str] = []
        self.state = self._shown()
        self._argv = (read_argv(self.state.main_pid) or []) if self.state.main_pid else []
        words = manager.exec_start(name) if self.state.exists else []
        pids = members(self.state.control_group) if self.state.main_pid else []
        lines = [self._argv, words, *(read_argv(pid) or [] for pid in pids[:50])]
        known = known_secrets(manager, self.state, [self.state.main_pid, *pids[:50]] if self._argv else [], lines)
        self._learned: list[str] = [*known, *filter(None, [params.get("api_key")])]
        self._info: dict[str, t.Any] = {}
        self._rows = Rows([])

    def _shown(self) -> UnitState:
        try:
            return self._manager.show(self._name)
        except Failure as failure:
            self._said.append(failure.msg)
            return UnitState(self._name, {})

    def run(self) -> Diagnosis:
        """Look at everything once."""
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        made = Diagnosis(f"{self._name}-{self.state.invocation_id or moment}")
        # The server's own answers come first: the keys that it gives out are secrets in all other parts.
        parts: dict[str, t.Callable[[], str]] = {"server.json": self._server}
        redact = self._redaction
        parts.update(
            {
                "journal.txt": self._journal,
                "journal-before.txt": self._journal_before,
                "unit.txt": self._unit,
                "show.txt": self._show,
                "processes.txt": lambda: HostFacts(self._manager, redact()).processes(self.state),
                "memory.txt": lambda: HostFacts(self._manager, redact()).memory(self.state),
                "gpus.txt": lambda: HostFacts(self._manager, redact()).gpus(),
                "listener.txt": self._listener,
                "system.txt": lambda: HostFacts(self._manager, redact()).system(),
                "kernel.txt": lambda: HostFacts(self._manager, redact()).kernel(),
            }
        )
        for name, part in parts.items():
            text = bounded(self._attempt(part), _LARGEST_JOURNAL if name.startswith("journal") else _LARGEST_PART)
            made.parts[name] = text
        # What a later part taught was not known to an earlier one.
        last = redact()
        made.parts = {name: last.known(text) for name, text in made.parts.items()}
        made.summary = last.text(self._summary())
        made.parts["summary.txt"] = "\n".join([made.summary, "", f"made at {moment}", *map(last.text, self._said), ""])
        return made

    def _redaction(self) -> Redaction:
        return Redaction(self._learned)

    def _attempt(self, part: t.Callable[[], str]) -> str:
        try:
            return part()
        except Failure as failure:
            return self._redaction().text(f"could not be read ({failure.failure_class}): {failure.msg}\n")
        except Exception as exc:
            return self._redaction().text(f"could not be read: {type(exc).__name__}: {exc}\n")

    def _server(self) -> str:
        params = dict(self._params)
        try:
            self._learned += filter(None, [read_api_key(params.get("api_key"), params.get("api_key_file"))])
        except Failure as failure:
            self._said.append(failure.msg)
            params["api_key_file"] = None
        self._info = report(self._manager, self._name, params, self._said.append, self._learned)
        return json.dumps(self._redaction().value(self._info), indent=2, sort_keys=True) + "\n"

    def _journal(self) -> str:
        if not self.state.invocation_id:
            return "the unit has no invocation\n"
        journal = Journal(self._manager, namespace=self._namespace())
        journal.sync()
        ends = JournalEnds(journal, self._redaction())
        rows = ends.read(journal.invocation_matches(self.state.invocation_id))
        reader = InvocationReader(journal, self._name, self.state.invocation_id)
        reader.last(_BEFORE)
        self._rows = rows._replace(lines=[*rows.lines, *map(ends.shown, reader.log.late)])
        return self._rows.text()

    def _journal_before(self) -> str:
        """The last rows of the unit and of its manager about it, of whichever invocation."""
        journal = Journal(self._manager, namespace=self._namespace())
        ends = JournalEnds(journal, self._redaction())
        matches = [*journal.unit_matches(self._name), "+", *journal.manager_matches(self._name)]
        return ends.read(matches, first=0, last=_BEFORE).text()

    def _namespace(self) -> str:
        dummy, out, dummy2 = self._manager.systemctl(
            "show", "--value", "--property=LogNamespace", "--", self._name, check=False
        )
        return out.strip()

    def _unit(self) -> str:
        redaction = self._redaction()
        texts = []
        for path in filter(None, [self.state.fragment_path, *self.state.drop_in_paths]):
            text = read_file(path)
            shown = "cannot be read" if text is None else redaction.unit_text(text)
            texts.append(f"# {path}\n{shown}")
        if not texts:
            texts = [self._manager.no_such_unit(self.state).msg if not self.state.exists else "the unit has no file"]
        return "\n".join([*texts, *self._secret_files(), ""])

    def _secret_files(self) -> list[str]:
        """Names, modes and sizes; never what is in them."""
        directory = f"{self.state.fragment_path or '/etc/systemd/system/' + self._name}.secrets"
        lines = [f"# {directory} (its files are not part of this)"] if os.path.isdir(directory) else []
        for path in sorted(os.listdir(directory)) if lines else []:
            found = os.stat(os.path.join(directory, path))
            lines.append(f"{stat.filemode(found.st_mode)} {found.st_uid}:{found.st_gid} {found.st_size} {path}")
        return lines

    def _show(self) -> str:
        dummy, out, err = self._manager.systemctl("show", "--no-pager", "--all", "--", self._name, check=False)
        return self._redaction().unit_text(out + err)

    def _listener(self) -> str:
        url = self._params.get("base_url") or from_argv(self._argv or self._manager.exec_start(self._name))
        seen = json.dumps(self._info.get("listener"), indent=2, sort_keys=True)
        text = HostFacts(self._manager, self._redaction()).listener(address_of(url).port)
        return f"{self._redaction().text(seen)}\n{text}"

    def _summary(self) -> str:
        state = self.state
        if not state.load_state:
            return f"What the unit '{self._name}' is could not be read: {self._said[0]}"
        if not state.exists:
            return self._manager.no_such_unit(state).msg
        masked = ", and masked, so that it cannot be started again" if state.load_state == "masked" else ""
        parts = [f"The unit '{self._name}' is {state.active_state} ({state.sub_state}){masked}"]
        parts.append(f"invocation {state.invocation_id}" if state.invocation_id else "never started")
        # A server that runs may have logged and survived much.
        cause = failure_of(self._rows.lines, state) if state.active_state != "active" else None
        if cause:
            parts.append(f"{cause[0]}: {cause[1].rstrip('.')}")
        if state.main_pid:
            answers = (self._info.get("server") or {}).get("reachable")
            parts.append("the server answers" if answers else "the server does not answer")
        conflicts = self._info.get("conflicts") or []
        parts += [str(one["msg"]).rstrip(".") for one in conflicts[:3]]
        return "; ".join(parts)[:1500] + "."


def bounded(text: str, most: int) -> str:
    """*text* as UTF-8 can carry it, at most *most* characters of it: of one that is longer its begin and its end."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters were left out ...\n{text[-half:]}"
