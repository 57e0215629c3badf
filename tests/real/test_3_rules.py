# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of server_unit beside the code of two real releases: what these refuse is refused, what they change is warned of."""

from __future__ import annotations

import concurrent.futures
import pathlib

import pytest
from ask_server import ask

from ansible_collections.llmops.sglang.plugins.module_utils._drafter import read_drafter
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._flags import arguments_of
from ansible_collections.llmops.sglang.plugins.module_utils._planned_start import Start
from ansible_collections.llmops.sglang.plugins.module_utils._rules import check

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE / "models" / "dflash-nano"
DRAFT = ["--speculative-draft-model-path", str(MODELS / "draft")]
# The job itself, of which each case says again what it has otherwise: the last use of a flag counts.
ARGUMENTS = {
    "--model-path": str(MODELS / "target"),
    "--device": "cuda",
    "--attention-backend": "triton",
    "--max-running-requests": "4",
    "--speculative-algorithm": "DFLASH",
    "--speculative-draft-model-path": str(MODELS / "draft"),
    "--speculative-draft-window-size": "2048",
}
WINDOW, ALGORITHM = "--speculative-draft-window-size", "--speculative-algorithm"
LAYERS = "--return-aux-hidden-state-layer-ids"

CASES = [
    "",
    f"{WINDOW} 3",
    f"{WINDOW} 4",
    f"{WINDOW} 0",
    "--pp-size 2",
    "without --speculative-draft-model-path",
    "--speculative-dflash-block-size 8 --speculative-num-draft-tokens 4",
    "--speculative-dflash-block-size 8 --speculative-num-draft-tokens 8",
    f"--speculative-dflash-block-size 8 {WINDOW} 7",
    "--speculative-dflash-block-size 0",
    "--speculative-num-steps 3",
    "--speculative-eagle-topk 4",
    "without --max-running-requests",
    "--speculative-draft-attention-backend torch_native",
    "--speculative-draft-attention-backend trtllm_mha",
    "--attention-backend torch_native",
    "--device cpu",
    "--device xpu",
    "--device cuda:1",
    "--enable-dp-attention --dp-size 2 --tp-size 2",
    "--enable-dp-attention --dp-size 2 --tp-size 2 --enable-dp-lm-head",
    "--enable-mixed-chunk",
    f"{ALGORITHM} EAGLE3 {WINDOW} 64",
    f"{ALGORITHM} EAGLE3 {WINDOW} 0",
    "SGLANG_ENABLE_DP_SPEC_PREFILL_COORDINATION=y",
    "without --speculative-algorithm --speculative-draft-model-path",
]
NEWEST = [
    f"--speculative-draft-sink-size -4 {WINDOW} 64",
    "--speculative-draft-sink-size 4 without --speculative-draft-window-size",
    "--speculative-use-block-verification",
    "--speculative-use-block-verification --device xpu",
    f"--speculative-use-block-verification {ALGORITHM} STANDALONE",
    "--attn-dp-size 2 --tp-size 2",
    "--attn-dp-size 2 --tp-size 2 --enable-dp-lm-head",
    "--attn-dp-size 2 --tp-size 2 --enable-dp-lm-head --attn-cp-size 2",
    "--attn-dp-size 2 --tp-size 2 --enable-dp-lm-head --device xpu",
    "--enable-return-aux-hidden-states",
    "--enable-return-aux-hidden-states without --speculative-draft-model-path",
    f"--enable-return-aux-hidden-states {LAYERS} 1 without --speculative-draft-model-path",
    f"--enable-return-aux-hidden-states {LAYERS} 1 {ALGORITHM} EAGLE without --speculative-draft-model-path",
    "--disaggregation-mode decode --disaggregation-decode-enable-radix-cache",
]
RELEASES = {"0.5.15.post1": CASES, "0.5.23": [*CASES, *NEWEST]}


def command_of(case):
    """The environment and the words of one case."""
    said, dummy, without = case.partition("without ")
    environ = dict(word.split("=", 1) for word in said.split() if not word.startswith("--") and "=" in word)
    left = {flag: value for flag, value in ARGUMENTS.items() if flag not in without.split()}
    return environ, [word for pair in left.items() for word in pair] + [w for w in said.split() if "=" not in w]


@pytest.fixture(scope="module")
def all_answers():
    """What the server of each release says of each case; both load at the same time, which is what takes long."""

    def asked(version):
        answers = ask(version, "server_rules.py", [command_of(case) for case in RELEASES[version]])
        return dict(zip(RELEASES[version], answers, strict=True))

    with concurrent.futures.ThreadPoolExecutor() as pool:
        return dict(zip(RELEASES, pool.map(asked, RELEASES), strict=True))


@pytest.fixture(params=RELEASES)
def answers(request, all_answers):
    return request.param, all_answers[request.param]


def ours(version, case):
    """The message of our refusal, or none, and our warnings."""
    environ, words = command_of(case)
    arguments = arguments_of(["server", *words], version)
    draft = arguments.get("speculative_draft_model_path")
    try:
        return None, check(Start(arguments, version, read_drafter(draft, {}) if draft else None, environ))
    except Failure as failure:
        return failure.msg, []


def test_what_the_server_refuses_is_refused_and_nothing_else(answers):
    version, said = answers
    refused = {case: (raised, ours(version, case)[0]) for case, (raised, dummy) in said.items()}
    assert {case: pair for case, pair in refused.items() if (pair[0] is None) != (pair[1] is None)} == {}
    assert sum(pair[0] is not None for pair in refused.values()) >= 8


def test_what_the_server_changes_is_warned_of(answers):
    version, said = answers
    changed = {
        case: (texts, ours(version, case)[1]) for case, (raised, texts) in said.items() if raised is None and texts
    }
    assert {case: pair for case, pair in changed.items() if not pair[1]} == {}
    assert len(changed) >= 5
    assert ours(version, "") == (None, [])
