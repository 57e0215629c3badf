# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What benchmark_compare lets differ between two sides, and what it does not."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._compare_subject import subject_of
from ansible_collections.llmops.sglang.tests.unit.compared_records import CELLS, record

CLONE = pathlib.Path(__file__).resolve().parents[4]
SAME, FAST = (100.0, 100.5, 99.5), (120.0, 121.0, 119.0)
DRAFTED = {"arguments": {"speculative_algorithm": "DFLASH"}}


DIFFERENT = {
    "tp_size": {"server": {"arguments": {"tp_size": 4}}},
    "max_running_requests": {"server": {"arguments": {"max_running_requests": 4096}}},
    "environment.SGLANG_X": {"server": {"environment": {"SGLANG_X": "2"}}},
    "environment": {"server": {"environment": None}},
    "sglang_version": {"evidence_before": {"sglang_version": "0.5.24"}},
    "sglang_files": {"evidence_before": {"inputs_sha256": {"sglang": "9" * 64}}},
    "model_path": {"evidence_before": {"model_path": "/models/n"}},
    "model_files": {"evidence_before": {"inputs_sha256": {"model": "9" * 64}}},
    "revision": {"evidence_before": {"model_revision": "main"}},
    "chat_template_file": {"evidence_before": {"inputs_sha256": {"chat_template": "9" * 64}}},
    "gpu": {"evidence_before": {"gpu": {"model": "NVIDIA H100"}}},
    "gpu_count": {"evidence_before": {"gpu": {"count": 4}}},
    "gpu_driver": {"evidence_before": {"gpu": {"driver": "580.1"}}},
    "host_name": {"evidence_before": {"host": "gpu2"}, "client": {"host": "gpu2"}},
    "kernel": {"evidence_before": {"kernel": "6.2.0"}},
    "client_host": {"client": {"host": "laptop"}},
    "engine": {"engine": {"name": "sglang", "version": "0.5.23"}},
    "api": {"options": {"settings": {"api": "generate"}}},
    "max_tokens": {"options": {"settings": {"max_tokens": 128}}},
    "arrival": {"options": {"settings": {"arrival": "constant"}}},
    "temperature": {"options": {"settings": {"temperature": 0.7}}},
    "ignore_eos": {"options": {"settings": {"ignore_eos": False}}},
    "load_model": {"options": {"settings": {"load_model": "open"}}},
    "rate": {"options": {"settings": {"rate": 4.0}}},
    "seed": {"options": {"settings": {"seed": 1}}},
}
DIFFERENT_CELLS = {
    "corpus": {"corpus": "documentation and sources of Python 3.13.0"},
    "requests": {"requests": 8},
    "warmup_requests": {"warmup_requests": 1},
}


def different(name):
    made = record(FAST, **DIFFERENT.get(name, {}))
    for cell in made["cells"]:
        cell.update(DIFFERENT_CELLS.get(name, {}))
    return made


@pytest.mark.parametrize("name", [*DIFFERENT, *DIFFERENT_CELLS])
def test_nothing_may_differ_but_what_is_allowed(compared, name):
    result = compared([record(SAME)], [different(name)])
    assert result["failed"] and result["verdict"] == "not_comparable"
    assert [(one["name"], one["where"], one["allowed"]) for one in result["differences"]] == [(name, "sides", False)]
    assert name in result["msg"] and "allow_differences" in result["msg"] and name in result["markdown"]
    assert (result["cells"], result["geometric_mean_speedup"], result["p_value"]) == ([], None, None)
    allowed = compared([record(SAME)], [different(name)], allow_differences=[name])
    assert allowed["verdict"] == "improved" and [one["allowed"] for one in allowed["differences"]] == [True]
    within = compared([record(SAME)], [record(FAST), different(name)], allow_differences=[name])
    assert within["verdict"] == "not_comparable" and within["differences"][0]["where"] == "candidate"


@pytest.mark.parametrize(
    ("ours", "theirs", "names"),
    [
        # Measured by one client: the server of each is another machine.
        ({"host": "laptop", "same_host": False}, {"host": "laptop", "same_host": False}, ["host_name"]),
        ({"host": "laptop", "same_host": False}, {"host": "desk", "same_host": False}, ["client_host", "host_name"]),
        ({"host": "gpu1", "same_host": True}, {"host": "gpu2", "same_host": True}, ["host_name"]),
        # A name does not tell whether the load came from the server's own machine.
        ({"host": "gpu1", "same_host": True}, {"host": "gpu2", "same_host": False}, ["client_host", "host_name"]),
    ],
)
def test_where_the_load_came_from_is_told_by_the_record(compared, ours, theirs, names):
    sides = [record(SAME, client=ours), record(SAME, client=theirs, evidence_before={"host": "gpu2"})]
    assert [one["name"] for one in compared(sides[:1], sides[1:])["differences"]] == names


def test_another_model_of_one_server_is_another_model(compared):
    """A server with adapters answers under several names."""
    named = [record(SAME, options={"settings": {"model": name}}) for name in ("model", "model:adapter")]
    result = compared(named[:1], named[1:])
    assert [(one["name"], one["candidate"]) for one in result["differences"]] == [("model", "model:adapter")]
    alias = record(SAME, options={"settings": {"model": "alias"}}, evidence_before={"served_model": "alias"})
    assert compared(named[:1], [alias])["differences"] == []


def test_an_own_list_of_what_may_differ_replaces_the_speculative_arguments(compared):
    result = compared([record(SAME)], [record(FAST, server=DRAFTED)], allow_differences=["tp_size"])
    assert result["verdict"] == "not_comparable"


@pytest.mark.parametrize(
    "changed",
    [
        {"server": {"arguments": {"random_seed": 7, "port": 1}}, "evidence_before": {"argv_sha256": "e" * 64}},
        {"evidence_before": {"invocation_id": "b" * 32, "main_pid": 1, "n_restarts": 3}},
        # What the server and its process tell, the script that started them need not tell again.
        {"evidence_before": {"inputs_sha256": {"script": "9" * 64}}},
        {"options": {"profile": "long", "label": "x"}, "client": {"python": "3.13.0"}},
    ],
)
def test_what_changes_no_figure_may_differ(compared, changed):
    result = compared([record(SAME)], [record(FAST, **changed)])
    assert (result["verdict"], result["differences"]) == ("improved", [])


def test_drafting_and_what_it_brings_along_are_allowed(compared):
    drafted = {
        "server": DRAFTED,
        "evidence_before": {"draft_model_path": "/models/d", "inputs_sha256": {"drafter": "5" * 64}},
    }
    result = compared([record(SAME)], [record(FAST, **drafted)])
    assert result["verdict"] == "improved" and {one["name"] for one in result["differences"]} == {
        "speculative_algorithm",
        "speculative_draft_model_path",
        "speculative_draft_model_files",
    }


def test_another_release_brings_its_own_arguments_along(compared):
    newer = {
        "evidence_before": {"sglang_version": "0.5.24", "inputs_sha256": {"sglang": "7" * 64}},
        "server": {"arguments": {"a_new_one": True}},
    }
    result = compared([record(SAME)], [record(FAST, **newer)], allow_differences=["sglang_version"])
    assert result["verdict"] == "improved" and len(result["differences"]) == 3
    newer["server"]["arguments"]["tp_size"] = 4
    result = compared([record(SAME)], [record(FAST, **newer)], allow_differences=["sglang_version"])
    assert [one["name"] for one in result["differences"] if not one["allowed"]] == ["tp_size"]


def test_arguments_that_nobody_told_are_the_same_only_with_the_same_command_line(compared):
    old = {"server": {"arguments": None, "arguments_from": None}}
    assert compared([record(SAME, **old)], [record(FAST, **old)])["verdict"] == "improved"
    for other in ("e" * 64, None):
        unlike = {**old, "evidence_before": {"argv_sha256": other}}
        result = compared([record(SAME, **unlike)], [record(FAST, **old)])
        assert result["verdict"] == "not_comparable" and result["differences"][0]["name"] == "arguments"
    unknown = {**old, "evidence_before": {"argv_sha256": None}}
    assert compared([record(SAME, **unknown)], [record(FAST, **unknown)])["verdict"] == "not_comparable"
    allowed = compared([record(SAME, **unknown)], [record(FAST, **unknown)], allow_differences=["arguments"])
    assert allowed["verdict"] == "improved"


def test_where_the_server_does_not_tell_its_arguments_the_script_that_starts_it_counts(compared):
    given = {"server": {"arguments_from": "command_line"}}
    other = {**given, "evidence_before": {"inputs_sha256": {"script": "9" * 64, "config_file": "9" * 64}}}
    result = compared([record(SAME, **given)], [record(FAST, **other)])
    assert [one["name"] for one in result["differences"]] == ["config_file", "launch_script"]
    assert result["verdict"] == "not_comparable"


def test_resolved_and_given_arguments_are_not_held_against_each_other(compared):
    given = {"server": {"arguments": {"tp_size": 8}, "arguments_from": "command_line"}}
    assert compared([record(SAME)], [record(FAST, **given)])["verdict"] == "improved"
    other = {**given, "evidence_before": {"argv_sha256": "e" * 64}}
    assert compared([record(SAME)], [record(FAST, **other)])["differences"][0]["name"] == "arguments"


def test_other_cells_are_a_difference_and_then_the_common_ones_count(compared):
    small, other = record(FAST, cells=CELLS[:1]), record(FAST, cells=((4096, 1),))
    assert compared([record(SAME)], [small])["differences"][0]["name"] == "cells"
    result = compared([record(SAME)], [small], allow_differences=["cells"])
    assert result["verdict"] == "improved" and len(result["cells"]) == 1
    # Nothing in common cannot be allowed.
    assert compared([record(SAME)], [other], allow_differences=["*"])["verdict"] == "not_comparable"


def test_prompts_of_the_user_must_be_the_same(compared):
    old, new = record(SAME, cells=((None, 1),)), record(FAST, cells=((None, 1),))
    assert compared([old], [new])["verdict"] == "improved"
    new = record(FAST, cells=((None, 1),))
    for cell in new["cells"]:
        cell["prompt_digest"] = "e" * 16
    assert compared([record(SAME, cells=((None, 1),))], [new])["differences"][0]["name"] == "prompts"


def test_a_record_whose_valid_cells_are_of_another_server_is_of_no_one_thing(compared):
    mixed = record(FAST)
    mixed["cells"][-1]["evidence_before"]["argv_sha256"] = "e" * 64
    result = compared([record(SAME)], [mixed], allow_differences=["*"])
    assert result["verdict"] == "not_comparable"
    assert (result["differences"][0]["name"], result["differences"][0]["where"]) == ("arguments", "candidate")
    mixed["cells"][-1].update(valid=False, reasons=["evidence_changed"])
    assert compared([record(SAME)], [mixed])["verdict"] != "not_comparable"


def test_every_name_of_a_difference_is_documented():
    guide = (CLONE / "docs" / "docsite" / "rst" / "benchmark_comparison.rst").read_text(encoding="utf-8")
    names = {*DIFFERENT, *DIFFERENT_CELLS, *subject_of(record())} - {"tp_size", "max_running_requests"}
    assert [name for name in names if f"``{name.partition('.')[0]}``" not in guide] == []
