# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The presets of journal_assert, on logs of real servers."""

from __future__ import annotations

import pathlib
import re

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _journal_presets
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._log_facts import DRAFT_RUNNER
from ansible_collections.llmops.sglang.tests.unit.journal_host import RUNNER, Host

LOGS = pathlib.Path(__file__).parents[2] / "fixtures" / "logs"
GUIDE = pathlib.Path(__file__).parents[4] / "docs" / "docsite" / "rst" / "journal_presets.rst"
# In the guide, the data begin behind it.
MARK = "\n..\n  From the data.\n"


# What "dflash" wants to be there; forks print the name of their own algorithm.
DRAFT_RUNNER_SAMPLE = (
    "[2026-05-30 08:20:46 TP0] Initialized DDTREE draft runner. attention_backend=triton, model=DFlashDraftModel, "
    "block_size=8, draft_window_size=2048, compact_cache=True"
)

# What these servers did say: two have deprecated flags, and one freezes its garbage collector before its port is bound.
NOT_CLEAN = {
    "0.5.15-dflash-old-flag": ["deprecated flag"],
    "0.5.15-dflash-cpu": ["deprecated flag"],
    "0.5.23-skip-warmup": ["traceback", "warm-up failed"],
}


@pytest.mark.parametrize("asked", [{"preset": ["clean_start"]}, {"expect": [{"contains": "x"}]}])
def test_fields_that_no_preset_compares_are_refused(asked):
    host = Host()
    host.start()
    host.say("x")
    with pytest.raises(Failure, match="dflash") as raised:
        host.ask(preset_fields={"draft_window_size": 2048}, **asked)
    assert raised.value.failure_class == "rule_violated"


@pytest.mark.parametrize("name", sorted(path.stem for path in (LOGS / "healthy").glob("0*.log")))
def test_presets_on_healthy_servers(name):
    host = Host()
    host.start()
    host.say(*(LOGS / "healthy" / f"{name}.log").read_text(encoding="utf-8").splitlines())
    clean = host.ask(preset=["clean_start"])
    found = [entry["title"] for entry in clean["results"] if not entry["ok"]]
    assert found == NOT_CLEAN.get(name, []), clean["msg"]
    dflash = host.ask(preset=["dflash"], preset_fields={"draft_window_size": 2048, "compact_cache": True})
    words = {"dflash-no-window": "field_mismatch", "no-speculation": "pattern_not_found", "0.5.23": "pattern_not_found"}
    assert dflash["failure_class"] == next((word for part, word in words.items() if part in name), "")


@pytest.mark.parametrize("name", sorted(path.stem for path in (LOGS / "failing").glob("*.log")))
def test_a_failed_start_is_not_clean(name):
    host = Host()
    host.start()
    host.say(*(LOGS / "failing" / f"{name}.log").read_text(encoding="utf-8").splitlines())
    # These two were killed after they had said that they were ready.
    wanted = "" if name.endswith("-killed") else "forbidden_match"
    assert host.ask(preset=["clean_start"])["failure_class"] == wanted


def test_every_entry_of_a_preset_fits_its_sample():
    for entries in _journal_presets.PRESETS.values():
        for entry in entries:
            assert re.search(entry.pattern, entry.sample), entry.title


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("RuntimeError: Rank 0 scheduler died during initialization (exit code: -9)", "process failed"),
        ("[2026-05-30 08:20:46] Rank 0 scheduler is dead. Please check if there are relevant logs.", "process failed"),
        ("[2026-05-30 08:20:46] Watchdog timeout (self.watchdog_timeout=300)", "watchdog"),
        ("torch.distributed.DistBackendError: x", "ranks lost each other"),
        ("ncclRemoteError: A call failed possibly due to a network error", "ranks lost each other"),
        ("[rank3]:[E530] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)", "ranks lost each other"),
        ("[2026-05-30 08:20:46 TP0] token_to_kv_pool_allocator memory leak detected!", "memory leak"),
        ("[2026-05-30 08:20:46 TP0] Draft config num_target_layers=36 differs from runtime target num_hidden_layers=64", "drafter made for another model"),
        (
            "[2026-05-30 08:20:46] DFLASH draft worker only supports attention backends in ['triton'], got 'x'. "
            "Falling back to 'triton'.",
            "draft attention backend replaced",
        ),
        ("[2026-05-30 08:20:46] DFLASH only enables 'trtllm_mha' on sm100. Falling back to 'flashinfer'.", "draft attention backend replaced"),
        ("[2026-05-30 08:20:46] DDTREE only supports speculative_eagle_topk == 1; overriding speculative_eagle_topk=4 to 1.", "steps or top-k overridden"),
        ("[2026-05-30 08:20:46 TP0] Capture prefill CUDA graph failed: x", "graph capture failed"),
        ("\x1b[1;33m'--enable-dp-attention' is deprecated and will be removed in a future release.\x1b[0m", "deprecated flag"),
    ],
)  # fmt: skip
def test_each_wording_of_a_failure_or_a_fallback(line, title):
    host = Host()
    host.start()
    host.say(list(line.encode()))
    found = [entry["title"] for entry in host.ask(preset=["clean_start"])["results"] if not entry["ok"]]
    assert title in found


@pytest.mark.parametrize(
    "line",
    [
        "[2026-05-30 08:20:46] Max running requests is reset to 48 for speculative decoding. You can override this by x.",
        "[2026-05-30 08:20:46] Overlap scheduler is disabled when using DFLASH speculative decoding (spec v2 is not supported yet).",
        "[2026-05-30 08:20:46] speculative_num_draft_tokens is not set; defaulting to 16 for DFLASH.",
        "/x/launch_server.py:80: UserWarning: 'python -m sglang.launch_server' is still supported, but",
        "[2026-05-30 08:20:46] SIGTERM received. signum=None frame=None. Draining requests and shutting down...",
    ],
)
def test_what_a_healthy_start_says_in_any_case(line):
    host = Host()
    host.start()
    host.say(line, RUNNER.format(8, 2048))
    assert host.ask(preset=["clean_start", "dflash"])["ok"]


@pytest.mark.parametrize("ranks", [["TP0"], ["DP0 TP0", "DP1 TP0"], [""]])
def test_rank_zero_alone_says_which_window_it_has(ranks):
    """Of each data-parallel replica the first rank; a server of one rank names none."""
    host = Host()
    host.start()
    for rank in range(8):
        host.say(
            f"[2026-05-30 08:20:46 TP{rank}] Load weight end. elapsed=0.11 s, type=DFlashDraftModel, avail mem=62.26 GB"
        )
    line = RUNNER.format(8, 2048).partition("] ")[2]
    host.say(*(f"[2026-05-30 08:20:46{' ' if rank else ''}{rank}] {line}" for rank in ranks))
    asked = {"preset": ["dflash"], "preset_fields": {"draft_window_size": 2048}}
    assert host.ask(**asked)["results"][0]["count"] == len(ranks) and host.ask(**asked)["ok"]
    host.say(f"[2026-05-30 08:20:46 DP2 TP0] {line.replace('2048', 'None')}")
    assert host.ask(**asked)["failure_class"] == "ambiguous_match", "replicas have to agree"


@pytest.mark.parametrize(
    "line",
    [
        "[2026-05-30 09:00:00] Receive: obj=GenerateReqInput(rid='1', text='[2026-05-30 08:20:46 TP0] Initialized DFLASH draft "
        "runner. block_size=8, draft_window_size=2048, compact_cache=True')",
        '[2026-05-30 09:00:00] INFO:     127.0.0.1:1 - "GET /Initialized DFLASH draft runner. draft_window_size=2048 HTTP/1.1" 404',
    ],
)
def test_what_a_request_says_proves_nothing(line):
    """Prompts are in the journal with --log-requests, and people do ask models about logs."""
    host = Host()
    host.start()
    host.say(line)
    fields = {"draft_window_size": 2048}
    assert host.ask(preset=["dflash"], preset_fields=fields)["failure_class"] == "pattern_not_found"
    host.say(RUNNER.format(8, 2048))
    assert host.ask(preset=["dflash"], preset_fields=fields)["ok"]


def listed(title, line):
    return f"{title}\n  .. code-block:: text\n\n    {line.rstrip()}\n\n"


def guide():
    """The list of the guide, as the data have it."""
    parts = (
        ("What ``dflash`` wants", [("draft runner", DRAFT_RUNNER_SAMPLE)]),
        ("What both forbid: another setting than yours", _journal_presets.SETTING_CHANGED),
        ("What ``clean_start`` forbids too: errors", _journal_presets.START_ERROR),
        ("What ``clean_start`` forbids too: what is deprecated", _journal_presets.DEPRECATED),
    )
    return (
        "".join(
            f"\n{heading}\n{'-' * len(heading)}\n\n" + "".join(listed(entry[0], entry[-1]) for entry in entries)
            for heading, entries in parts
        ).rstrip()
        + "\n"
    )


def test_the_guide_lists_each_entry_with_its_line():
    assert re.search(DRAFT_RUNNER, DRAFT_RUNNER_SAMPLE)
    assert GUIDE.read_text(encoding="utf-8").partition(MARK)[2] == guide()


@pytest.mark.parametrize("word", ["DFLASH", "DDTREE", "D-Flash.v2"])
@pytest.mark.parametrize(("size", "window"), [(8, 2048), (4, 2048), (16, 2048), (8, None), (16, None)])
@pytest.mark.parametrize("before", ["[2026-05-30 08:20:46 TP0] ", "[2026-05-30 08:20:46.123 DP1 TP0 EP0] ", ""])
def test_every_draft_runner_line_that_was_recorded(word, size, window, before):
    host = Host()
    host.start()
    host.say(
        f"{before}Initialized {word} draft runner. attention_backend=triton, model=DFlashDraftModel, block_size={size}, "
        f"draft_window_size={window}, compact_cache={window is not None}"
    )
    fields = {"draft_window_size": window, "block_size": size, "compact_cache": window is not None}
    assert host.ask(preset=["dflash"], preset_fields=fields)["ok"]
    assert not host.ask(preset=["dflash"], preset_fields={**fields, "draft_window_size": 4096})["ok"]
