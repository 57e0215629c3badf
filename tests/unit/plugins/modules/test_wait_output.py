# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module from its arguments to what it prints: nothing secret, and a memory that no key damages."""

from __future__ import annotations

import json

import pytest
from ansible.module_utils.common.parameters import PASS_VARS

from ansible_collections.llmops.sglang.plugins.modules import wait_for_generation

NOBODY = {"timeout": 0.1, "health_path": ""}


def test_what_is_secret_in_headers_and_url_shows_nowhere(run_module):
    headers = {"X-Api-Token": "tok-secret-99", "X-Team": "blue-team"}
    options = {**NOBODY, "base_url": "http://me:pa55word9@127.0.0.1:1", "headers": headers}
    # Newer releases of ansible-core show the arguments only where they are asked to.
    shown = {"_ansible_inject_invocation": True} if "inject_invocation" in PASS_VARS else {}
    said = json.dumps(run_module(wait_for_generation, {**options, **shown}))
    assert "tok-secret-99" not in said and "pa55word9" not in said and "blue-team" in said


@pytest.mark.parametrize("key", ["1", "0", ".", "123"])
def test_the_memory_of_a_slice_outlives_a_key_of_digits(run_module, key):
    options = {"base_url": "http://127.0.0.1:1", "api_key": key, "timeout": 600, "slice_seconds": 0.01}
    result = run_module(wait_for_generation, options)
    assert all(isinstance(result["slice_state"][name], float) for name in ("started", "origin", "next_probe"))
    assert run_module(wait_for_generation, {**options, "slice_state": result["slice_state"]})["slice_state"]


def test_a_key_is_in_no_slice(run_module):
    options = {"base_url": "http://127.0.0.1:1", "api_key": "sk-secret-99", "timeout": 600, "slice_seconds": 0.01}
    assert "sk-secret-99" not in json.dumps(run_module(wait_for_generation, options))
