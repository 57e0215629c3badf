# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges on the controller what modules saw of a server; the module of the same name documents it."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.plugin_utils._controller_action import ControllerAction
from ansible_collections.llmops.sglang.plugins.plugin_utils._server_verdict import DRIFTED, Looks, Verdict

# What the inventory asks for would be refused, or nothing could be looked at: that is no drift.
REFUSED_IN_REVIEWS = {"inventory", "host"}


class ActionModule(ControllerAction):
    LOOKS_IN_CHECK_MODE = True
    SPEC = {
        "name": {"type": "str", "required": True},
        "info": {"type": "dict", "required": True},
        "unit": {"type": "dict", "default": {}},
        "generation": {"type": "dict", "default": {}},
        "journal": {"type": "dict", "default": {}},
        "arguments": {"type": "dict", "default": {}},
        "min_acceptance_length": {"type": "float"},
        "ignore": {"type": "list", "elements": "str", "default": []},
    }
    NOTHING = {"ok": False, "drift": [], "ignored": [], "unchecked": [], "acceptance": {"length": None, "source": None}}

    def work(self, params: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        floor = params["min_acceptance_length"]
        looks = Looks(
            **{k: params[k] for k in ("name", "info", "unit", "generation", "journal", "arguments")}, floor=floor
        )
        verdict = Verdict(looks)
        drift = [item for item in verdict.drift if item["subject"] not in params["ignore"]]
        result = {
            "drift": drift,
            "ignored": [item for item in verdict.drift if item not in drift],
            "unchecked": verdict.unchecked,
            "acceptance": verdict.acceptance,
        }
        if not drift:
            return {**result, "ok": True, "msg": f"The server '{looks.name}' is what the inventory says."}
        told = "; ".join(f"{item['subject']}: {item['msg']}" for item in drift)
        msg = f"The server '{looks.name}' is not what the inventory says: {told}."
        if self._task.check_mode and not {item["subject"] for item in drift} & REFUSED_IN_REVIEWS:
            return {**result, "msg": f"{msg} In check mode that is told and fails nothing."}
        failure_class = next((item["failure_class"] for item in drift if item["failure_class"]), DRIFTED)
        raise Failure(failure_class, msg, **result)
