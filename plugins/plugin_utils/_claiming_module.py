# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""A module that changes a unit, and so is told which play asks and which others go on here."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.plugin_utils import _play_process
from ansible_collections.llmops.sglang.plugins.plugin_utils._told_module import ToldModule


class ClaimingModule(ToldModule):
    """Runs the module that has the action's name, once more where only this controller knows that the other play has ended."""

    def run(self, tmp: t.Optional[str] = None, task_vars: t.Optional[dict[str, t.Any]] = None) -> dict[str, t.Any]:
        asked = dict(self._task.args)
        play = _play_process.asking_play()
        if not _play_process.goes_on():
            # Nobody sees any more what the rest of a loop or another try would do, and the next play may be at work.
            msg = (
                f"The unit '{asked.get('name')}' is not changed, since the process {play['pid']} of this play has ended: "
                "run the play again."
            )
            return {"failed": True, "failure_class": "condition_not_met", "msg": msg, "log_tail": []}
        self._task.args = {**asked, "play": play}
        result = super().run(tmp, task_vars)
        holder = result.get("claimed_by")
        if holder and holder.get("machine") == play["machine"] and not _play_process.still_runs(holder):
            self._task.args = {**asked, "play": {**play, "ended": holder}}
            result = super().run(tmp, task_vars)
        # Of the module itself the warning would be shown also where that is asked once more.
        warning = result.pop("claimed_warning", None)
        if warning:
            result["warnings"] = [*result.get("warnings", []), warning]
        return result
