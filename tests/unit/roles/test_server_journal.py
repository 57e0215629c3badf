# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role asks of the journal: what server_unit derived, and what the inventory asks on top."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.tests.unit import role_variables

PROOF = {"preset": ["dflash"], "preset_fields": {"compact_cache": True, "draft_window_size": 2048}}
HOST = {"inventory_hostname": "gpu1", "groups": {"all": ["gpu1"]}}
NOTHING = {"preset": [], "preset_fields": {}}


def options(**variables):
    return role_variables.of_role("server", "server_journal_options", **{**HOST, **variables})


def written(proof):
    return {"server_unit_written": {"changed": False, "path": "/e/sglang.service", "journal_proof": proof}}


@pytest.mark.parametrize("proof", [PROOF, NOTHING])
@pytest.mark.parametrize("journal", [{}, {"preset": None, "preset_fields": None}, {"timeout": 5}])
def test_what_the_unit_says_of_its_speculation_is_asked(proof, journal):
    assert options(**written(proof), server_journal=journal) == {**journal, **proof}


@pytest.mark.parametrize(
    ("preset", "together"),
    [
        (["clean_start"], ["dflash", "clean_start"]),
        ("clean_start", ["dflash", "clean_start"]),
        ("dflash,clean_start", ["dflash", "clean_start"]),
        (["dflash"], ["dflash"]),
    ],
)
def test_the_inventory_adds_presets(preset, together):
    asked = options(**written(PROOF), server_journal={"preset": preset, "must_not_match": ["x"]})
    assert asked == {**PROOF, "preset": together, "must_not_match": ["x"]}


def test_the_inventory_adds_fields_and_has_the_last_word():
    asked = options(
        **written(PROOF), server_journal={"preset_fields": {"block_size": 8, "draft_window_size": {"min": 1024}}}
    )
    assert asked["preset_fields"] == {"compact_cache": True, "block_size": 8, "draft_window_size": {"min": 1024}}


def test_an_empty_preset_asks_only_what_the_inventory_asks():
    journal = {"preset": [], "expect": [{"contains": "ready"}]}
    assert options(**written(PROOF), server_journal=journal) == {**journal, **NOTHING}


@pytest.mark.parametrize("proof", [PROOF, NOTHING])
def test_where_the_unit_is_somebody_else_s_its_command_line_is_asked(proof):
    running = {"server_running_info": {"journal_proof": proof}}
    assert options(**running) == proof
    # The inventory's own word is compared with that command line by server_info.
    assert options(**running, server_speculative={"algorithm": "DFLASH", "draft_window_size": 8}) == proof
    assert options(**running, **written(PROOF)) == PROOF
    # One that failed says nothing.
    assert options(**running, server_unit_written={"failed": True, "msg": "no"}) == proof


def test_before_anything_is_known_only_the_inventory_asks():
    assert options(server_journal={"must_not_match": ["x"]}) == {"must_not_match": ["x"], **NOTHING}


@pytest.mark.parametrize(
    ("name", "path", "known"),
    [
        ("sglang", "/etc/systemd/system/sglang.service", True),
        ("sglang.service", "/etc/systemd/system/sglang.service", True),
        ("sglang@a", "/etc/systemd/system/sglang@a.service.d/50-llmops-sglang.conf", True),
        ("sglang", "/etc/systemd/system/sglang-b.service", False),
        ("b", "/etc/systemd/system/sglang-b.service", False),
        ("sglang", "", False),
    ],
    ids=str,
)
def test_what_another_server_of_the_play_left_is_not_taken_for_this_one(name, path, known):
    written = {"path": path, "journal_proof": {"preset": ["dflash"], "preset_fields": {}}}
    asked = options(server_name=name, server_unit_written=written)
    assert asked["preset"] == (["dflash"] if known else [])
