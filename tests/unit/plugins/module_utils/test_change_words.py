# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a change of a unit means, in words for whoever reviews it."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._change_words import change_words, changed_settings
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask

BEFORE = """\
[Unit]
Description=A
[Service]
Environment=A=1 "B=two words"
Environment=C=3
Environment=LLMOPS_SGLANG_UNIT=00
ExecStart=/bin/server \\
    --port 1
Restart=always
[Install]
WantedBy=multi-user.target
"""


def test_flags_are_told_by_what_becomes_of_them():
    changes = {
        "added": {"tp_size": 8, "trust_remote_code": True, "preset": {"a": 1}},
        "removed": {"page_size": 16},
        "changed": {"max_running_requests": {"before": 8, "after": 6}},
    }
    assert change_words(changes, [], "restart").splitlines() == [
        "In words:",
        "  max_running_requests: 8 becomes 6",
        "  page_size: 16 goes",
        '  preset: {"a": 1} is new',
        "  tp_size: 8 is new",
        "  trust_remote_code: true is new",
        "  What runs was started otherwise: a restart is needed.",
    ]


@pytest.mark.parametrize(
    ("needs", "said"),
    [("start", "Nothing runs: it holds from the next start."), ("", ""), ("stop", "What runs is no longer described.")],
)
def test_what_follows_is_told(needs, said):
    text = change_words({}, ["Restart", "User"], needs)
    wanted = ["  no argument changes", "  other settings change: Restart, User"]
    assert text.splitlines()[1:] == wanted + ([f"  {said}"] if said else [])


def test_nothing_is_said_where_nothing_changes():
    assert change_words({"added": {}, "removed": {}, "changed": {}}, [], "") == ""
    assert change_words({}, [], "restart") == "In words:\n  What runs was started otherwise: a restart is needed.\n"


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("--port 1", "--port 2", []),
        ("UNIT=00", "UNIT=01", []),
        ("Restart=always", "Restart=no", ["Restart"]),
        ("Environment=C=3\n", "", ["C (environment)"]),
        ("A=1", "A=2", ["A (environment)"]),
        ('"B=two words"', '"B=two words" D=4', ["D (environment)"]),
        ("Description=A", "Description=B\nWants=x", ["Description", "Wants"]),
        ('"B=two words"', '"B=two words', ["A (environment)", "B (environment)", "Environment"]),
    ],
    ids=["command", "fingerprint", "setting", "gone", "variable", "new", "two", "unreadable"],
)
def test_other_settings_are_told_by_name(old, new, named):
    assert old in BEFORE
    assert changed_settings(BEFORE, BEFORE.replace(old, new)) == named


def test_of_a_file_that_is_new_or_goes_only_the_arguments_are_told():
    assert changed_settings("", BEFORE) == changed_settings(BEFORE, "") == []


def test_no_secret_is_told():
    changes = {"added": {"a": "the-secret-key"}, "removed": {}, "changed": {}}
    assert "the-secret" not in change_words(changes, [], "", Mask(["the-secret-key"]))
