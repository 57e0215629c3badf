# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prompts get the tokens that are wanted, by a tokenizer and by the counts of answers, whatever the tokenizer is like."""

from __future__ import annotations

import re

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _prompt_fit
from ansible_collections.llmops.sglang.plugins.module_utils._prompt_fit import fit_by_answers, fit_by_tokenizer
from ansible_collections.llmops.sglang.plugins.module_utils._prompt_text import PromptText

OVERHEAD = 12
TOKENIZERS = {
    "parts of words": lambda text: len(re.findall(r"[A-Za-z]{1,4}|\d|\s+|[^A-Za-z\d\s]", text)),
    "words": lambda text: len(re.findall(r" ?\w+| ?[^\w\s]+|\s+", text)),
    "bytes": lambda text: len(text.encode()),
}


def counter(tokenizer):
    seen = []

    def count(text):
        seen.append(text)
        return OVERHEAD + TOKENIZERS[tokenizer](text)

    return count, seen


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("wanted", [60, 300, 4000])
def test_each_prompt_is_right_where_the_server_tokenizes(wanted, tokenizer):
    prompts, (count, seen) = PromptText("0", "s"), counter(tokenizer)
    texts, length = [], wanted * 4
    for dummy in range(12):
        text, length = fit_by_tokenizer(prompts, wanted, length, count)
        texts.append(text)
    assert len(seen) <= 12 * 7
    assert [count(text) for text in texts] == pytest.approx([wanted] * 12, abs=wanted * 0.02)
    assert len({text[13:] for text in texts}) == 12


def test_a_count_that_fails_leaves_the_length_that_is_known():
    text, length = fit_by_tokenizer(PromptText("0", "s"), 60, 240, lambda text: None)
    assert length == 240 and abs(len(text) - 240) < 10


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize(("wanted", "number"), [(60, 1), (60, 6), (60, 64), (1024, 10), (4096, 10)])
@pytest.mark.parametrize("seed", ["0", "1", "2"])
def test_the_mean_is_right_where_only_answers_tell(wanted, number, tokenizer, seed):
    (count, seen), prompts = counter(tokenizer), PromptText(seed, "s")
    texts, dummy = fit_by_answers(
        prompts, wanted, number, wanted * 4, OVERHEAD, lambda twins: [count(twin) for twin in twins]
    )
    assert len(texts) == number and len(seen) <= (5 if number > 1 else 8) * number
    starts = {text.split(" ", 1)[0] for text in seen}
    found = [count(text) for text in texts]
    assert sum(found) / number == pytest.approx(wanted, abs=max(1, wanted * 0.02))
    assert not starts & {text.split(" ", 1)[0] for text in texts}, "a prompt is known to the server before it is sent"


@pytest.mark.parametrize(("wanted", "number"), [(40, 5), (60, 3), (60, 6), (100, 2)])
@pytest.mark.parametrize("tokenizer", ["bytes", "words"])
def test_the_mean_is_right_whatever_the_passages_are(wanted, number, tokenizer):
    """A passage of code may end in a long indentation, which is no end that fits; then another one is drawn."""

    def distance(seed):
        count, dummy = counter(tokenizer)
        prompts = PromptText(str(seed), "s")
        texts, dummy = fit_by_answers(
            prompts, wanted, number, wanted * 4, OVERHEAD, lambda twins: list(map(count, twins))
        )
        return abs(sum(map(count, texts)) / number - wanted)

    off = {seed: distance(seed) for seed in range(60)}
    assert {seed: far for seed, far in off.items() if far > max(1, wanted * 0.02)} == {}


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_only_some_of_many_long_prompts_are_computed(tokenizer):
    count, seen = counter(tokenizer)
    # The first length is one that another cell has found out: near, but not right for each.
    length = {"parts of words": 8900, "words": 16000, "bytes": 4000}[tokenizer]
    texts, dummy = fit_by_answers(
        PromptText("0", "s"), 4096, 160, length, OVERHEAD, lambda twins: [count(twin) for twin in twins]
    )
    assert len(seen) <= 64
    found = [count(text) for text in texts]
    assert sum(found) / 160 == pytest.approx(4096, rel=0.02)


def test_answers_without_counts_leave_the_length_that_is_known():
    texts, length = fit_by_answers(PromptText("0", "s"), 60, 3, 240, OVERHEAD, lambda twins: [None] * len(twins))
    assert length == 240 and all(abs(len(text) - 240) < 10 for text in texts)


def test_a_template_longer_than_the_prompt_ends_at_the_shortest():
    texts, dummy = fit_by_answers(
        PromptText("0", "s"), 10, 2, 40, 50, lambda twins: [50 + len(twin) // 4 for twin in twins]
    )
    assert [text.split(" ", 1)[1] for text in texts] == ["", ""]


def test_no_more_is_computed_than_is_affordable(monkeypatch):
    monkeypatch.setattr(_prompt_fit, "_FEWEST_COMPUTED", 5)
    monkeypatch.setattr(_prompt_fit, "_COMPUTED_TOKENS", 60)
    count, seen = counter("words")
    texts, dummy = fit_by_answers(PromptText("0", "s"), 60, 40, 240, OVERHEAD, lambda twins: [count(t) for t in twins])
    assert (len(seen), len(texts)) == (5, 40)
