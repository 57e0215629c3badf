# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The preset for a rank above 0: what its own log proves, and that nothing passes because it is not there."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.tests.unit.journal_host import Host

FIELDS = {
    "nnodes": 2,
    "node_rank": 1,
    "tp_size": 4,
    "speculative_algorithm": "DFLASH",
    "speculative_draft_window_size": 2048,
}
AT = "[2026-05-30 08:20:46"


def log(rank=1, window=2048, ranks=(2, 3), loads=("Qwen3ForCausalLM", "DFlashDraftModel"), shape="server_args={%s}"):
    pair = "'%s': %r" if shape.endswith("{%s}") else "%s=%r"
    said = {"model_path": "m", "tp_size": 4, "nnodes": 2, "node_rank": rank, "speculative_algorithm": "DFLASH"}
    said["speculative_draft_window_size"] = window
    lines = [f"{AT}] " + shape % ", ".join(pair % one for one in said.items())]
    for load in loads:
        lines += [
            f"{AT} TP{r}] Load weight end. elapsed=1.00 s, type={load}, avail mem=9.00 GB, mem usage=1.00 GB."
            for r in ranks
        ]
    return [*lines, f"{AT}] Dummy health check server started in background thread at 0.0.0.0:30000"]


def ask(lines, preset=("node",), fields=None):
    host = Host()
    host.start()
    host.say(*lines)
    return host.ask(preset=list(preset), preset_fields=FIELDS if fields is None else fields)


@pytest.mark.parametrize("shape", ["server_args={%s}", "server_args=ServerArgs(%s)"])
def test_a_node_that_took_its_arguments_and_loaded_its_ranks(shape):
    answer = ask(log(shape=shape))
    assert answer["ok"], answer["msg"]
    by_title = {one["title"]: one for one in answer["results"]}
    assert by_title["arguments of the node"]["fields"]["node_rank"] == 1
    assert by_title["loads of 2 own ranks"]["count"] == 4


@pytest.mark.parametrize(
    ("lines", "failure_class"),
    [
        (log(rank=0), "field_mismatch"),
        (log(window=None), "field_mismatch"),
        (log(window=4096), "field_mismatch"),
        # The drafter of one rank, or of both, is missing.
        (log(loads=("Qwen3ForCausalLM",)), "count_mismatch"),
        (log()[:-2], "count_mismatch"),
        (log(loads=()), "pattern_not_found"),
        (log()[1:], "pattern_not_found"),
        ([f"{AT}] Dummy health check server started in background thread at 0.0.0.0:30000"], "pattern_not_found"),
        ([*log(), "Failed to infer DFLASH block_size from draft model config; defaulting"], "forbidden_match"),
    ],
    ids=[
        "another rank",
        "no window",
        "another window",
        "no drafter",
        "a drafter less",
        "nothing loaded",
        "no arguments",
        "only its health",
        "another setting",
    ],
)
def test_what_is_missing_does_not_pass(lines, failure_class):
    answer = ask(lines)
    assert (answer["ok"], answer["failure_class"]) == (False, failure_class), answer["msg"]


def test_a_node_without_a_log_does_not_pass():
    host = Host()
    host.start()
    assert host.ask(preset=["node"], preset_fields=FIELDS)["failure_class"] == "no_entries"


def test_without_speculation_each_rank_loads_once():
    fields = {name: FIELDS[name] for name in ("nnodes", "node_rank", "tp_size")}
    assert ask(log(loads=("Qwen3ForCausalLM",)), fields=fields)["ok"]
    assert not ask(log(loads=("Qwen3ForCausalLM",), ranks=(2,)), fields=fields)["ok"]


def test_a_node_is_not_asked_for_the_draft_runner_of_rank_0():
    with pytest.raises(Failure, match="different ranks"):
        ask(log(), preset=("node", "dflash"))
    assert ask(log(), preset=("dflash",), fields={})["failure_class"] == "pattern_not_found"
