# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The vocabulary of failures: what users match on, what the code says, and what the guide explains."""

from __future__ import annotations

import ast
import pathlib
import re

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._failure import FAILURE_CLASSES, Failure

CLONE = pathlib.Path(__file__).resolve().parents[4]
# Playbooks match on these words: one that changes or goes away is a breaking change.
PUBLIC = """
    no_such_unit never_started inactive not_restarted crash_loop gave_up bad_arguments out_of_memory port_in_use
    foreign_listener ambiguous_listener model_load_failed server_crashed unauthorized route_not_found wrong_model
    tls_mismatch bad_request connection_refused generation_timeout server_error empty_output reasoning_consumed_budget
    garbage_output condition_not_met no_speculation unstable
    no_entries no_permission log_truncated rate_limited message_withheld
    pattern_not_found field_mismatch field_missing ambiguous_match forbidden_match count_mismatch
    log_level_hidden output_elsewhere no_such_invocation pattern_too_slow
    unit_invalid rule_violated unknown_flag write_failed stop_failed
    missing_dependency sandbox_unavailable router_failed drain_timeout
"""


def literal_classes():
    """Every literal first argument of a Failure or a verdict in the plugins, by file."""
    for path in sorted((CLONE / "plugins").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args
            if named and node.func.id in ("Failure", "UnitVerdict") and isinstance(node.args[0], ast.Constant):
                yield path.name, node.args[0].value


def test_the_vocabulary_is_the_public_one():
    assert sorted(PUBLIC.split()) == sorted(FAILURE_CLASSES)


def test_the_code_says_no_other_word():
    found = list(literal_classes())
    assert len(found) > 50
    assert [(name, word) for name, word in found if word not in FAILURE_CLASSES] == []


def test_a_word_of_no_vocabulary_is_a_programming_error():
    with pytest.raises(ValueError, match="'server_sad' is not a failure class"):
        raise Failure("server_sad", "The server is sad.")


def test_the_guide_explains_every_word():
    text = (CLONE / "docs" / "docsite" / "rst" / "failure_classes.rst").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^``([a-z_]+)``$", text, re.MULTILINE)) == sorted(FAILURE_CLASSES)
