# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Cut prompts to a number of tokens: by the server's tokenizer, else by the counts in its answers.

Text is uneven: passages of the same length differ by a tenth in their tokens, and by more where they are short. So each
prompt is fitted by itself; a length that is right on the average of some prompts is wrong for the next few.
"""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._prompt_text import Draft, PromptText

TOLERANCE = 0.02
# Of one prompt, where counting costs nothing.
_COUNTED_TOLERANCE = 0.005
_CUTS = 8
# A passage with a run of single tokens where its end should be has no end that fits.
_PASSAGES = 5
_ROUNDS = 14
# Each count by an answer has the server compute a prompt: at the most so many tokens, but a few prompts always.
_COMPUTED_TOKENS = 2**18
_FEWEST_COMPUTED = 16


class _Fitting:
    """One draft on its way to its length.

    :arg wanted: tokens that it shall have.
    :arg overhead: tokens of the prompt beside its text.
    :arg characters: the length to try first.
    :arg earlier: another passage for the same prompt, which had no end that fits.
    """

    def __init__(
        self, draft: Draft, wanted: int, overhead: int, characters: int, earlier: t.Optional[_Fitting] = None
    ) -> None:
        self.draft, self.wanted, self.overhead = draft, wanted, overhead
        self.earlier = earlier
        self.characters = max(len(draft.head), characters)
        self.counted: list[tuple[int, int]] = []
        self.exhausted = False

    @property
    def off(self) -> float:
        """How far the best count is from the wanted one; infinite before the first."""
        return min((abs(tokens - self.wanted) for dummy, tokens in self.counted), default=float("inf"))

    @property
    def best(self) -> int:
        """The length of the best count."""
        return min(self.counted, key=lambda one: abs(one[1] - self.wanted))[0]

    def nearest(self) -> _Fitting:
        """This one, or an earlier passage whose best count is nearer."""
        earlier = self.earlier.nearest() if self.earlier else None
        return earlier if earlier and earlier.off < self.off else self

    @property
    def hopeless(self) -> bool:
        """Whether another passage is likely to end better: there is no end that fits, or it was not found soon."""
        return bool(self.counted) and self.best > len(self.draft.head) and (self.exhausted or len(self.counted) > 2)

    def learn(self, tokens: int) -> None:
        """Note the count at the present length, and choose the length to try next."""
        self.counted.append((self.characters, tokens))
        short = max((one for one in self.counted if one[1] <= self.wanted), default=None)
        long = min((one for one in self.counted if one[1] > self.wanted), default=None)
        if short and long:
            # Text is uneven: between a prompt too short and one too long there is a better one, beyond them perhaps none.
            share = (self.wanted - short[1]) / (long[1] - short[1])
            guess = min(max(round(short[0] + share * (long[0] - short[0])), short[0] + 1), long[0] - 1)
            self.exhausted = guess <= short[0]
        else:
            rate = min(4.0, max(0.05, (tokens - self.overhead) / self.characters))
            guess = max(len(self.draft.head), round(self.characters + (self.wanted - tokens) / rate))
            # A template or a salt longer than the wanted prompt leaves nothing to shorten.
            self.exhausted = guess == self.characters
        self.characters = guess


def fit_by_tokenizer(
    prompts: PromptText, wanted: int, characters: int, count: t.Callable[[str], t.Optional[int]]
) -> tuple[str, int]:
    """The next prompt, cut where it has *wanted* tokens by *count* (``None`` where it cannot tell), and its length.

    :arg characters: the length to try first.
    """
    draft = prompts.draft()
    found: list[tuple[float, int, Draft]] = []
    while len(found) < _PASSAGES and all(off > TOLERANCE * wanted for off, dummy, dummy2 in found):
        draft = prompts.draft(draft) if found else draft
        off, length = _cut(draft, wanted, characters, count)
        found.append((off, length, draft))
    dummy, length, draft = min(found, key=lambda one: one[0])
    return prompts.finish(draft, length), length


def _cut(draft: Draft, wanted: int, characters: int, count: t.Callable[[str], t.Optional[int]]) -> tuple[float, int]:
    """How far the best cut of *draft* is from *wanted* tokens, and its length in characters."""
    fitting = _Fitting(draft, wanted, 0, characters)
    for dummy in range(_CUTS):
        tokens = count(draft.head + draft.body(fitting.characters))
        if tokens is None:
            # Where nothing is counted, the length to try first is as good as any.
            return 0.0, fitting.best if fitting.counted else characters
        fitting.learn(tokens)
        if fitting.exhausted or fitting.off <= _COUNTED_TOLERANCE * wanted:
            break
    return fitting.off, fitting.best


def fit_by_answers(
    prompts: PromptText,
    wanted: int,
    number: int,
    characters: int,
    overhead: int,
    ask: t.Callable[[list[str]], list[t.Optional[int]]],
) -> tuple[list[str], int]:
    """The next *number* prompts of *wanted* tokens, and their mean length in characters.

    :arg characters: the length to try first.
    :arg overhead: tokens of a prompt beside its text.
    :arg ask: sends prompts, and gives the tokens of each by its answer. It gets twins, so that the prompts stay new.
    """
    fittings = [_Fitting(prompts.draft(), wanted, overhead, characters) for dummy in range(number)]
    enough, affordable = max(1.0, TOLERANCE * wanted), max(_FEWEST_COMPUTED, _COMPUTED_TOKENS // wanted)
    for turn in range(_ROUNDS):
        for place, one in enumerate(fittings):
            if one.off > enough and one.hopeless:
                fittings[place] = _Fitting(prompts.draft(one.draft), wanted, overhead, one.best, one)
        rough = [one for one in fittings if one.off > enough and not one.exhausted][:affordable]
        affordable -= len(rough)
        counts = ask([prompts.twin(one.draft, one.characters, turn) for one in rough]) if rough else []
        if all(tokens is None for tokens in counts):
            break
        for one, tokens in zip(rough, counts):
            if tokens is not None:
                one.learn(tokens)
    fittings = [one.nearest() for one in fittings]
    # The last try of a prompt that is still rough was not counted, but chosen by its counts.
    known = [one.best if one.off <= enough or one.exhausted else one.characters for one in fittings if one.counted]
    mean = round(sum(known) / len(known)) if known else characters
    lengths = iter(known)
    return [prompts.finish(one.draft, next(lengths) if one.counted else mean) for one in fittings], mean
