# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""A module that is run as any other, with a line on the controller whenever it has shown nothing for a while."""

from __future__ import annotations

import typing as t

from ansible.plugins.action.normal import ActionModule as NormalAction

from ansible_collections.llmops.sglang.plugins.plugin_utils._progress import ProgressLines, subject_of

# Seconds between two lines, with what a busy controller needs around them less than the 15 that are promised; a module that
# ends before shows no line at all.
INTERVAL = 10.0


class ToldModule(NormalAction):
    """Runs the module that has the action's name."""

    # What it does, as the line says it; set by the action.
    DOES: t.ClassVar[str] = ""

    def run(self, tmp: t.Optional[str] = None, task_vars: t.Optional[dict[str, t.Any]] = None) -> dict[str, t.Any]:
        interval = 0.0 if self._task.no_log or self._task.async_val else INTERVAL
        with ProgressLines(subject_of(self._task, task_vars or {}), interval) as lines:
            lines.tell(self.DOES, news=False)
            return super().run(tmp, task_vars)
