# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prompts: of the wanted length by the server's count, real, unrepeated, and never the same start."""

from __future__ import annotations

import os

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._prompt_text import PromptText


def test_starts_differ_and_texts_do_not_depend_on_the_salt():
    one, other = PromptText("7", "salt"), PromptText("7", "another salt")
    first, second = [one.make(400) for dummy in range(16)], [other.make(400) for dummy in range(16)]
    assert one.digest == other.digest
    for a, b in zip(first, second):
        assert a.split(" ", 1)[1] == b.split(" ", 1)[1] and a.split(" ", 1)[0] != b.split(" ", 1)[0]
    starts = first + second
    longest = max(len(os.path.commonprefix([a, b])) for i, a in enumerate(starts) for b in starts[:i])
    assert longest < 6


def test_another_seed_gives_other_texts():
    assert PromptText("1", "s").make(400)[13:] != PromptText("2", "s").make(400)[13:]


@pytest.mark.parametrize("length", [240, 4000, 24000])
def test_texts_have_their_length_and_repeat_nothing(length):
    prompts = PromptText("0", "s")
    for dummy in range(8):
        text = prompts.make(length)
        assert 0.9 * length <= len(text) <= length + 60
        blocks = [text[n : n + 60] for n in range(0, len(text) - 60, 60)]
        assert len(set(blocks)) >= 0.99 * len(blocks)


def test_prompts_of_the_user_are_used_as_they_are():
    prompts = PromptText("0", "s", ["one", "two"])
    assert [prompts.make(0).split(" ", 1)[1] for dummy in range(3)] == ["one", "two", "one"]


def test_a_twin_differs_in_its_salt_alone():
    prompts = PromptText("0", "s")
    draft = prompts.draft()
    texts = [prompts.twin(draft, 400, 0), prompts.twin(draft, 400, 1), prompts.finish(draft, 400)]
    assert len({text.split(" ", 1)[0] for text in texts}) == 3
    assert {len(text.split(" ", 1)[0]) for text in texts} == {12}
    assert len({text.split(" ", 1)[1] for text in texts}) == 1


def test_only_what_is_sent_is_in_the_digest():
    one, other = PromptText("0", "s"), PromptText("0", "s")
    for prompts in (one, other):
        draft = prompts.draft()
        if prompts is one:
            prompts.twin(draft, 900, 0)
        prompts.finish(draft, 400)
    assert one.digest == other.digest
