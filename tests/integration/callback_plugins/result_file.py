# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes each host's result to a file, whole and as JSON; the screen stays as it is for people."""

from __future__ import annotations

import json
import os
import time

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: result_file
type: aggregate
short_description: Writes each host's result to the file named by LLMOPS_RESULT_FILE
description:
  - One JSON object a line, with C(host), C(action), C(task), C(ended) by this machine's monotonic clock,
    C(seconds) since the task's start and C(result). For tests that want the result and not its display.
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "result_file"

    _begun = 0.0

    def v2_playbook_on_task_start(self, task, is_conditional):
        self._begun = time.monotonic()

    def _write(self, result, **added):
        path = os.environ.get("LLMOPS_RESULT_FILE")
        if not path:
            return
        # ansible-core 2.19 made the names public; before, only the ones with an underscore exist.
        host = getattr(result, "host", None) or result._host
        values = getattr(result, "result", None) or result._result
        task = getattr(result, "task", None) or result._task
        shown = {key: value for key, value in values.items() if not key.startswith("_ansible_")}
        entry = {"host": host.get_name(), "action": task.action, "task": task.name, "result": {**shown, **added}}
        entry["ended"] = time.monotonic()
        entry["seconds"] = entry["ended"] - self._begun
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry, default=str) + "\n")

    def v2_runner_on_ok(self, result):
        self._write(result, failed=False)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._write(result, failed=True)

    def v2_runner_on_unreachable(self, result):
        self._write(result, failed=True, unreachable=True)
