# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The options of wait_for_generation beside those of unit and connection."""

from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.module_utils._argspec import Spec

PROBE_SPEC: Spec = {
    "api": {"type": "str", "choices": ["chat", "completions", "generate"], "default": "chat"},
    "path": {"type": "str"},
    "model": {"type": "str"},
    "expected_model": {"type": "str"},
    "prompt": {"type": "str"},
    "max_tokens": {"type": "int", "default": 64, "no_log": False},
    "extra_body": {"type": "dict", "default": {}},
    "headers": {"type": "dict", "default": {}},
    "stream": {"type": "bool", "default": False},
    "ready_when": {"type": "str"},
    "expect_regex": {"type": "str"},
    "degenerate_output": {"type": "str", "choices": ["fail", "warn", "ignore"], "default": "fail"},
    "require_content": {"type": "bool", "default": False},
    "require_speculation": {"type": "bool", "default": False},
    "warmup_contexts": {"type": "list", "elements": "int", "default": []},
    "warmup_concurrency": {"type": "int", "default": 1},
}
WAIT_SPEC: Spec = {
    "timeout": {"type": "float", "default": 1800},
    "request_timeout": {"type": "float", "default": 60},
    "poll_interval": {"type": "float", "default": 10},
    "successes": {"type": "int", "default": 2},
    "previous_invocation_id": {"type": "str"},
    "invocation_id": {"type": "str"},
    "require_owner": {"type": "bool"},
    "max_restarts": {"type": "int", "default": 0},
    "health_path": {"type": "str"},
    "fail_fast": {"type": "bool", "default": True},
    "progress_interval": {"type": "int", "default": 15},
    "until": {"type": "str", "choices": ["generation", "node"], "default": "generation"},
    "nodes": {"type": "dict"},
    "keep_start_time": {"type": "bool", "default": True},
    "slice_seconds": {"type": "float", "default": 86400},
    "slice_limit": {"type": "float", "default": 86400},
    "slice_state": {"type": "dict"},
}
