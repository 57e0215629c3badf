# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a wait keeps of an answer and of a start."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._answer import Generation
from ansible_collections.llmops.sglang.plugins.module_utils._generation_wait import GenerationWait
from ansible_collections.llmops.sglang.plugins.module_utils._wait_memory import answer_of


@pytest.mark.parametrize(
    ("tokens", "steps", "length"),
    [(64, 15, 4.2), (64, 63, 1.0), (64, None, None), (64, 0, None), (1, 1, None), (None, 3, None)],
)
def test_the_acceptance_of_an_answer_is_told_where_it_counts_its_steps(tokens, steps, length):
    answer = answer_of(Generation(content="x", usage={"completion_tokens": tokens}, verify_steps=steps))
    assert answer["acceptance_length"] == length


@pytest.mark.parametrize(
    ("options", "kept"), [({}, 1), ({"keep_start_time": True}, 1), ({"keep_start_time": False}, 0)]
)
def test_a_start_is_kept_unless_nothing_may_be_written(options, kept):
    added = []
    wait = SimpleNamespace(
        argv=["x"],
        key="k",
        params=options,
        memory=SimpleNamespace(from_start=True, stages={"ready": 3.0}),
        times=SimpleNamespace(add=lambda key, seconds: added.append((key, seconds))),
    )
    GenerationWait._remember(wait)
    assert len(added) == kept
