# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""A task that does all of its work on the controller, in the interpreter that runs Ansible, whatever host it is for."""

from __future__ import annotations

import copy
import typing as t

from ansible.plugins.action import ActionBase

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure


class ControllerAction(ActionBase):
    """Checks the options, and turns a Failure into a failing result with every key that is always there."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True
    _supports_async = False
    # Set by the action.
    SPEC: t.ClassVar[dict[str, t.Any]] = {}
    NOTHING: t.ClassVar[dict[str, t.Any]] = {}
    CHECK_MODE = "check mode: nothing is written"
    # Whether it works in check mode as well, and sees to it itself that nothing is written.
    LOOKS_IN_CHECK_MODE = False

    def run(self, tmp: t.Optional[str] = None, task_vars: t.Optional[dict[str, t.Any]] = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        # A copy: ansible-core fills defaults of options within options into the default itself.
        dummy, params = self.validate_argument_spec(argument_spec=copy.deepcopy(self.SPEC))
        if self._task.check_mode and not self.LOOKS_IN_CHECK_MODE:
            return {"changed": False, **self.NOTHING, "skipped_reason": self.CHECK_MODE}
        try:
            return {"changed": False, **self.NOTHING, **self.work(params, task_vars or {})}
        except Failure as failure:
            words = {"failed": True, "msg": failure.msg, "failure_class": failure.failure_class, "log_tail": []}
            return {"changed": False, **self.NOTHING, **failure.result, **words}

    def work(self, params: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """The result; raises Failure."""
        raise NotImplementedError
