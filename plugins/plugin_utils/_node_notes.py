# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What the waits for the nodes of one server tell each other on the controller while they run side by side.

Each worker of Ansible waits for one host and knows nothing of the others, and a rank whose peer has died may hang for long. So
each wait leaves a small file, named by the invocation that it waits for, in the directory that all workers of a run share and
that Ansible removes at its end.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
import typing as t

# The last is what another node's failure made of a wait: it is no failure of its own.
WAITING, ENDED_WELL, FAILED, GIVEN_UP = "waiting", "ended well", "failed", "given up"


class Other(t.NamedTuple):
    """Another node whose wait failed."""

    rank: int
    host: str
    failure_class: str
    msg: str
    log_tail: list[str]


class NodeNotes:
    """The notes about *nodes*, a mapping from host to invocation with rank 0 first, as the wait for *host* sees them."""

    def __init__(self, directory: str, nodes: t.Mapping[str, t.Any], host: str) -> None:
        self._directory = os.path.join(directory, "llmops-sglang-nodes")
        self._nodes = {str(name): re.sub(r"[^0-9a-f]", "", str(value or "").lower()) for name, value in nodes.items()}
        self._host = host

    @property
    def rank(self) -> int:
        """The rank of the own host."""
        return list(self._nodes).index(self._host)

    @classmethod
    def of(cls, directory: str, nodes: t.Any, host: str) -> t.Optional[NodeNotes]:
        """The notes, or ``None`` where *host* is not one of at least two nodes whose invocations are all known."""
        if not isinstance(nodes, t.Mapping) or len(nodes) < 2 or host not in nodes or not all(nodes.values()):
            return None
        return cls(directory, nodes, host)

    def write(self, state: str, result: t.Optional[t.Mapping[str, t.Any]] = None) -> None:
        """Leave a note about the own node. What cannot be written only makes the others wait longer."""
        result = result or {}
        note = {"state": state, **{key: result.get(key) for key in ("failure_class", "msg", "log_tail")}}
        with contextlib.suppress(OSError):
            os.makedirs(self._directory, mode=0o700, exist_ok=True)
            descriptor, path = tempfile.mkstemp(dir=self._directory)
            with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
                json.dump(note, handle, default=str)
            os.replace(path, self._path(self._host))

    def failed(self) -> t.Optional[Other]:
        """The first other node, by rank, whose wait has failed."""
        for rank, host in enumerate(self._nodes):
            note = self._read(host) if host != self._host else {}
            if note.get("state") == FAILED:
                return Other(
                    rank,
                    host,
                    str(note.get("failure_class") or ""),
                    str(note.get("msg") or "no reason was given"),
                    [str(line) for line in note.get("log_tail") or []],
                )
        return None

    def first(self) -> str:
        """What rank 0's wait is at; empty where it has not begun."""
        return str(self._read(next(iter(self._nodes))).get("state") or "")

    def _path(self, host: str) -> str:
        return os.path.join(self._directory, self._nodes[host])

    def _read(self, host: str) -> dict[str, t.Any]:
        try:
            with open(self._path(host), encoding="utf-8") as handle:
                note = json.load(handle)
        except (OSError, ValueError, RecursionError):
            return {}
        whole = isinstance(note, dict) and isinstance(note.get("log_tail") or [], list)
        return note if whole else {}
