# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A review says that another play is at work, also where it fails: what it fails at may be half of that play's change."""

from __future__ import annotations

import contextlib

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._play_claim import Claimed
from ansible_collections.llmops.sglang.plugins.modules import server_history, server_service, server_unit

SEEN = {"claimed_by": {"pid": 20}, "claimed_warning": "Another play changes the unit"}


def no_manager(*dummy, **dummy2):
    raise Failure("no_permission", "It is half written.")


@pytest.mark.parametrize(
    ("module", "part", "options"),
    [
        (server_unit, "ServerUnit", {"python": "/usr/bin/python3"}),
        (server_service, "Manager", {}),
        (server_history, "Manager", {}),
    ],
)
def test_a_review_that_fails_hands_on_who_is_at_work(run_module, monkeypatch, module, part, options):
    monkeypatch.setattr(module, "claimed_unit", lambda *dummy: contextlib.nullcontext(Claimed(result=SEEN)))
    monkeypatch.setattr(module, part, no_manager)
    result = run_module(module, {"name": "llm", **options}, check=True)
    assert result["failed"] and {key: result[key] for key in SEEN} == SEEN
