# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the action of a module that works on the controller alone."""

from __future__ import annotations

import importlib
import types

import yaml
from ansible.plugins.action import ActionBase


def run(action, monkeypatch, args, check_mode=False, host="gpu1", task_vars=None):
    """The result of a task with these options."""
    plugin = action.ActionModule.__new__(action.ActionModule)
    plugin._task = types.SimpleNamespace(args=args, check_mode=check_mode, async_val=0, no_log=False)
    monkeypatch.setattr(ActionBase, "run", lambda self, tmp=None, task_vars=None: {})
    return plugin.run(None, {"inventory_hostname": host, **(task_vars or {})})


def documented(module):
    """The options of a module with what their entries say, and its result keys that are always there."""
    text = yaml.safe_load(module.DOCUMENTATION)
    options = dict(text["options"])
    for name in text["extends_documentation_fragment"]:
        options.update(_fragment(name)["options"])
    returned = yaml.safe_load(module.RETURN)
    always = {key for key, entry in returned.items() if entry["returned"] == "always"}
    return {name: _told(entry) for name, entry in options.items()}, always


def _fragment(name):
    module, dummy, part = name.removeprefix("llmops.sglang.").partition(".")
    found = importlib.import_module(f"ansible_collections.llmops.sglang.plugins.doc_fragments.{module}")
    return yaml.safe_load(getattr(found.ModuleDocFragment, part.upper() or "DOCUMENTATION"))


def _told(entry):
    told = {key: entry[key] for key in ("type", "elements", "required", "choices", "default") if key in entry}
    if "suboptions" in entry:
        told["options"] = {name: _told(one) for name, one in entry["suboptions"].items()}
    return told
