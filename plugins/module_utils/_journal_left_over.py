# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Rows of an older invocation's processes, to which journald gives the invocation that their unit has now.

It does so for a process that outlived its invocation, and for the last words of one that has ended where journald came to
read them only after the unit had started again (both tried on 252).
"""

from __future__ import annotations

import re
import typing as t

if t.TYPE_CHECKING:
    from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import Journal, Row

# cgroup.c and unit.c, 239 to 258.
_LEFT_OVER = re.compile(r": Found left-over process (\d+) \(")
# Outputs whose first words are looked for; a server's processes share one or two.
_MOST_OUTPUTS = 64


class LeftOver:
    """Tells the rows of an older process from those of *invocation_id*; shown all rows in their order."""

    def __init__(self, journal: Journal, invocation_id: str) -> None:
        self._journal, self._invocation = journal, invocation_id
        self._processes: set[t.Any] = set()
        self._outputs: set[t.Any] = set()
        self._known: set[t.Any] = set()

    def note(self, text: str) -> None:
        """A line of the manager about the invocation, which names what it could not end."""
        self._processes.update(_LEFT_OVER.findall(text))

    def wrote(self, row: Row) -> bool:
        """Whether an older process wrote *row*."""
        output, process = row.get("_STREAM_ID"), row.get("_PID")
        if not (self._processes or self._outputs) and output in self._known:
            return False
        if output and (process in self._processes or self._is_older(output)):
            # What that process has started since writes to the same output.
            self._outputs.add(output)
        return process in self._processes or output in self._outputs

    def _is_older(self, output: str) -> bool:
        """Whether another invocation began to write to *output*."""
        if self._invocation == "any" or output in self._known or len(self._known) >= _MOST_OUTPUTS:
            return False
        self._known.add(output)
        first = self._journal.first([f"_STREAM_ID={output}"])[0]
        return first.get("_SYSTEMD_INVOCATION_ID", self._invocation) != self._invocation
