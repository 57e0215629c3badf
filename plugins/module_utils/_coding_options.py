# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The options of coding_eval."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._argspec import CONNECTION_SPEC, UNIT_SPEC
from ansible_collections.llmops.sglang.plugins.module_utils._coding_tasks import COMPARISONS

TASK_OPTIONS = {
    "name": {"type": "str", "required": True},
    "prompt": {"type": "str", "required": True},
    "entry_point": {"type": "str", "required": True},
    "cases": {"type": "list", "elements": "dict", "required": True},
    "timeout": {"type": "float"},
    "compare": {"type": "str", "choices": list(COMPARISONS), "default": COMPARISONS[0]},
}


def argument_spec() -> dict[str, dict[str, t.Any]]:
    """What the module takes."""
    return {
        **UNIT_SPEC,
        **CONNECTION_SPEC,
        "model": {"type": "str"},
        "tasks": {"type": "list", "elements": "dict", "options": TASK_OPTIONS},
        "tasks_file": {"type": "path"},
        "task_names": {"type": "list", "elements": "str"},
        "max_tokens": {"type": "int", "default": 512, "no_log": False},
        "temperature": {"type": "float", "default": 0},
        "extra_body": {"type": "dict", "default": {}},
        "samples": {"type": "int", "default": 1},
        "request_timeout": {"type": "float", "default": 300},
        "sandbox": {"type": "str", "choices": ["systemd", "none"], "default": "systemd"},
        "task_timeout": {"type": "float", "default": 10},
        "memory_max": {"type": "str", "default": "256M"},
        "require_evidence": {"type": "bool", "default": True},
        "label": {"type": "str", "default": ""},
        "results_dir": {"type": "path", "default": "~/.local/state/llmops-sglang/coding"},
    }
