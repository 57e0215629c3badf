# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kills the whole run at the start of a task, as a job's time limit or a lost machine does."""

from __future__ import annotations

import os
import signal

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: kill_at_task
type: aggregate
short_description: Kills Ansible with SIGKILL at the start of the task that LLMOPS_KILL_AT tells
description:
  - LLMOPS_KILL_AT is the number of the task in the run, from one, or the name of a task.
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "kill_at_task"

    _count = 0

    def v2_playbook_on_task_start(self, task, is_conditional):
        self._count += 1
        wanted = os.environ.get("LLMOPS_KILL_AT", "")
        if wanted and wanted in (str(self._count), task.name):
            os.kill(os.getpid(), signal.SIGKILL)
