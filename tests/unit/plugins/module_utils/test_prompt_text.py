# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prompts: of the wanted length by the server's count, real, unrepeated, and never the same start."""

from __future__ import annotations

import os
import re

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._prompt_text import Calibration, PromptText


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


@pytest.mark.parametrize("wanted", [60, 300, 4000])
def test_a_counted_prompt_has_its_tokens_within_two_percent(wanted):
    prompts, counted = PromptText("0", "s"), []

    def count(text):
        counted.append(text)
        return 12 + len(re.findall(r"[A-Za-z]{1,4}|\d|\s+|[^A-Za-z\d\s]", text))

    texts = [prompts.fit(wanted, None, count) for dummy in range(12)]
    found = [count(text) for text in texts]
    assert found == pytest.approx([wanted] * 12, abs=wanted * 0.02)
    assert len(counted) <= 12 * 7
    assert len({text[13:] for text in texts}) == 12


def test_a_count_that_fails_leaves_the_length_that_is_known():
    assert abs(len(PromptText("0", "s").fit(60, 240, lambda text: None)) - 240) < 10


@pytest.mark.parametrize("rate", [0.18, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("wanted", [60, 1024, 4096])
def test_calibration_finds_the_length_for_any_tokenizer(rate, wanted):
    calibration, overhead = Calibration(wanted), 12
    for dummy in range(5):
        calibration.learn(overhead + int(calibration.characters * rate))
        if calibration.done:
            break
    assert calibration.done
    assert abs(overhead + calibration.characters * rate - wanted) <= 0.03 * wanted + 1


def test_a_template_longer_than_the_prompt_ends_at_the_shortest():
    calibration = Calibration(10)
    for dummy in range(5):
        calibration.learn(50 + calibration.characters * 0.25)
    assert calibration.characters == 1 and not calibration.done
