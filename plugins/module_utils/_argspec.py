# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Options that several modules share; the documentation fragments are their twins."""

from __future__ import annotations

import typing as t

Spec = t.Dict[str, t.Dict[str, t.Any]]

UNIT_SPEC: Spec = {
    "name": {"type": "str"},
    "scope": {"type": "str", "choices": ["system", "user"], "default": "system"},
}

PLAY_SPEC: Spec = {"play": {"type": "dict"}}

CONNECTION_SPEC: Spec = {
    "base_url": {"type": "str"},
    "api_key": {"type": "str", "no_log": True},
    "api_key_file": {"type": "path", "no_log": False},
    "validate_certs": {"type": "bool", "default": True},
    "ca_path": {"type": "path"},
    "client_cert": {"type": "path"},
    "client_key": {"type": "path", "no_log": False},
    "use_proxy": {"type": "bool", "default": False},
}

ROUTER_SPEC: Spec = {
    "router_url": {"type": "str", "required": True},
    "request_timeout": {"type": "float", "default": 30},
    "api_key": {"type": "str", "no_log": True},
    "validate_certs": {"type": "bool", "default": True},
    "ca_path": {"type": "path"},
    "use_proxy": {"type": "bool", "default": False},
}


def required_unit() -> Spec:
    """:data:`UNIT_SPEC` for a module that cannot do without a unit."""
    return {**UNIT_SPEC, "name": {**UNIT_SPEC["name"], "required": True}}
