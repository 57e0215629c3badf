# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict on the nodes of one server: what a rank above 0 cannot tell is not judged, and said to be so."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.plugin_utils._server_verdict import Looks, Verdict

LOADED = {"ok": True, "failure_class": None, "acceptance_length": None}
PROVED = {"ok": True, "results": []}
SAME = {"changed": False}


def judged(rank, generation=None, conflicts=(), unit=None, journal=None, floor=4.0):
    info = {
        "unit": {"state": "active", "sub_state": "running", "main_pid": 7, "matches_unit": True},
        "server": {
            "version": None,
            "arguments": {"nnodes": 2, "node_rank": rank, "tp_size": 16},
            "arguments_from": "command_line",
            "speculation": {"lifetime_accept_lengths": []},
        },
        "conflicts": list(conflicts),
        "evidence": {},
    }
    looks = Looks("kimi", info, unit or SAME, generation or LOADED, journal or PROVED, {}, floor)
    return Verdict(looks)


def test_a_loaded_rank_is_no_drift_and_no_generation():
    verdict = judged(1)
    assert verdict.drift == []
    assert [one.partition(":")[0] for one in verdict.unchecked] == ["server", "generation"]
    assert all("rank 1" in one and "rank 0" in one for one in verdict.unchecked)


def test_rank_0_is_judged_as_any_server():
    assert [one["subject"] for one in judged(0).drift] == ["acceptance"]


@pytest.mark.parametrize(
    ("looks", "subject"),
    [
        (
            {"generation": {"ok": False, "failure_class": "connection_refused", "msg": "Nothing listened."}},
            "generation",
        ),
        ({"journal": {"ok": False, "failure_class": "no_entries", "msg": "No row."}}, "journal"),
        ({"unit": {"changed": True, "flag_changes": {"added": {"tp_size": 8}}}}, "unit"),
        ({"conflicts": [{"subject": "unit", "msg": "a restart is pending"}]}, "process"),
    ],
    ids=["not loaded", "no journal", "another unit", "a restart pending"],
)
def test_what_it_can_tell_is_judged(looks, subject):
    assert [one["subject"] for one in judged(1, **looks).drift] == [subject]
