# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draft runner, stages and the line worth showing."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._log_facts import draft_runner, last_telling, stage_of

LOGS = pathlib.Path(__file__).parents[2] / "fixtures" / "logs"
ORIGIN = (
    "[2026-05-30 08:20:46 TP0] Initialized DDTREE draft runner. attention_backend=triton, model=DFlashDraftModel, "
    "block_size=8, draft_window_size=2048, compact_cache=True"
)


def lines_of(name):
    return (LOGS / f"{name}.log").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("name", "block", "window"),
    [
        ("healthy/0.5.15-dflash-window", 8, 2048),
        ("healthy/0.5.15-dflash-no-window-api-key", 8, None),
        ("healthy/0.5.15-dflash-old-flag", 8, 2048),
        ("healthy/0.5.15-dflash-block-16", 16, 2048),
        ("healthy/0.5.15-dflash-cpu", 4, 2048),
        ("failing/0.5.15-port-in-use", 8, 2048),
    ],
)
def test_the_draft_runner_of_a_recording(name, block, window):
    assert draft_runner(lines_of(name)) == {
        "algorithm": "DFLASH",
        "attention_backend": "triton",
        "model": "DFlashDraftModel",
        "block_size": block,
        "draft_window_size": window,
        "compact_cache": window is not None,
    }


def test_the_draft_runner_of_a_fork():
    assert draft_runner(["x", ORIGIN])["algorithm"] == "DDTREE"
    assert draft_runner([ORIGIN])["draft_window_size"] == 2048


def test_no_draft_runner():
    assert draft_runner(lines_of("healthy/0.5.15-no-speculation")) is None


def test_the_stages_of_a_start_come_in_order():
    lines = lines_of("healthy/0.5.15-dflash-window")
    seen = list(dict.fromkeys(stage for stage in (stage_of(lines[:end]) for end in range(len(lines) + 1)) if stage))
    order = [
        "arguments accepted",
        "loading weights",
        "draft runner made",
        "capturing graphs",
        "engine ready",
        "listening",
    ]
    assert [stage for stage in seen if stage in order] == order
    assert seen[-1] == "says that it is ready"


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        ([], ""),
        (["[2026-05-30 08:20:46] Load weight begin. avail mem=78.50 GB"], "Load weight begin. avail mem=78.50 GB"),
        (
            ["Multi-thread loading shards:  20% Completed | 12/61 [00:20<01:11,  1.5s/it]", "  warnings.warn(", ""],
            "Multi-thread loading shards: 20% Completed | 12/61",
        ),
        (
            ["Capturing batches (bs=8 avail_mem=59.75 GB):  12%|█▎        | 1/8 [00:00<00:01,  6.26it/s]"],
            "Capturing batches (bs=8 avail_mem=59.75 GB): 12%| 1/8",
        ),
        (['[2026-05-30 08:20:46] INFO:     127.0.0.1:1 - "GET /health HTTP/1.1" 503', "compiling a kernel"], ""),
        (
            ["compiling a kernel", '[2026-05-30 08:20:46] INFO:     127.0.0.1:1 - "GET / HTTP/1.1" 503'],
            "compiling a kernel",
        ),
    ],
)
def test_the_line_worth_showing(lines, shown):
    assert last_telling(lines) == (shown or ("compiling a kernel" if lines else ""))


@pytest.mark.parametrize("file", sorted(LOGS.rglob("*.log")), ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_no_remark_of_a_recorded_start_is_shown(file):
    lines = file.read_text(encoding="utf-8").splitlines()
    shown = {last_telling(lines[:end]) for end in range(len(lines) + 1)}
    for remark in (
        "RLIMIT", "nvidia-smi", "kill_process_tree", "generation config", "template", "deprecated", "the above", "usage:",
    ):  # fmt: skip
        assert [line for line in shown if remark in line and "rror" not in line] == []


def test_no_server_arguments_are_shown():
    assert last_telling(lines_of("healthy/0.5.15-dflash-no-window-api-key")[:8]).find("api_key") == -1
    assert last_telling(["[2026-05-30 08:20:46] server_args=ServerArgs(api_key='sk-1234')"]) == ""


def test_a_long_line_is_cut_between_words():
    """Half a key is not known to be one by whoever masks the line."""
    key = "sk-" + "0123456789" * 5
    for padding in range(90, 200):
        told = last_telling(["x" * padding + " " + key])
        assert len(told) <= 160 and (key in told or "0123" not in told)
