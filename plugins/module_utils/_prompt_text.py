# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Prompts of a wanted length in the server's own tokens: real text, nowhere repeated, each with a start of its own.

Random tokens and repeated paragraphs are no workload for speculative decoding: drafts are then accepted far too seldom or
far too often. The text is the documentation and the source code that come with this Python: hundreds of kilobytes of
English and code on every host, with nothing to ship and nothing to fetch.
"""

from __future__ import annotations

import hashlib
import importlib
import math
import os
import platform
import random
import re
import typing as t

# What to do with the text; the kinds alternate, so that no cell measures one habit of a model.
_TASKS = (
    "Explain this text to a new colleague:\n",
    "Continue this text in the same style:\n",
    "Review this code and suggest tests:\n",
    "Summarise this text point by point:\n",
)
_CODE_TASK = 2
_CODE_MODULES = ("argparse", "asyncio.base_events", "configparser", "difflib", "email.message", "inspect", "json.encoder",
                 "logging", "optparse", "pathlib", "shutil", "subprocess", "tarfile", "textwrap", "urllib.parse", "zipfile")  # fmt: skip
_FIRST_GUESS = 4.0
_TOLERANCE = 0.02
# Of one prompt, where each is counted.
_PROMPT_TOLERANCE = 0.005
_PROMPT_TRIES = 8
# A passage with a run of single tokens where its end should be has no end that fits.
_PASSAGE_TRIES = 5


class PromptText:
    """Makes prompts from a corpus.

    :arg seed: the same text picks the same passages from the same corpus.
    :arg salt: text that differs from run to run; each prompt starts with it and its own number, so that no server finds the
        prompt in its prefix cache.
    :arg prompts: prompts to use as they are (behind the salt) instead of the corpus.
    """

    def __init__(self, seed: str, salt: str, prompts: t.Sequence[str] = ()) -> None:
        self.salt = salt
        self.prompts = list(prompts)
        self._random = random.Random(seed)
        self._prose, self._code, self.corpus = ("", "", "prompts of the user") if prompts else _corpus()
        self._number = 0
        self._digest = hashlib.sha256()

    @property
    def digest(self) -> str:
        """Hash of all texts made so far, without their salts."""
        return self._digest.hexdigest()[:16]

    def make(self, characters: int) -> str:
        """The next prompt, of about *characters* characters (salt and task included), cut at a word."""
        number, self._number = self._number, self._number + 1
        head = self._start(number)
        if self.prompts:
            body = self.prompts[number % len(self.prompts)]
        else:
            task, source = self._kind(number)
            body = task + _passage(source, self._random, max(0, characters - len(head) - len(task)))
        self._digest.update(body.encode("utf-8"))
        return head + body

    def fit(self, wanted: int, characters: t.Optional[int], count: t.Callable[[str], t.Optional[int]]) -> str:
        """The next prompt, cut where it has *wanted* tokens by *count*, which gives ``None`` where it cannot tell.

        :arg characters: the length to try first.
        """
        number, self._number = self._number, self._number + 1
        head = self._start(number)
        task, source = self._kind(number)
        found: list[tuple[float, str]] = []
        while len(found) < _PASSAGE_TRIES and min(found, default=(1.0, ""))[0] > _TOLERANCE:
            start = source.find(" ", self._random.randrange(max(1, len(source)))) + 1
            whole = head + task + source[start:] + source[:start]
            text, off = _cut(whole, len(head), wanted, characters or round(wanted * _FIRST_GUESS), count)
            found.append((off / wanted, text))
        text = min(found)[1]
        self._digest.update(text[len(head) :].encode("utf-8"))
        return text

    def _kind(self, number: int) -> tuple[str, str]:
        """What to do, and the source of the text to do it with."""
        kind = number % len(_TASKS)
        return _TASKS[kind], self._code if kind == _CODE_TASK else self._prose

    def _start(self, number: int) -> str:
        # The first letters differ from prompt to prompt: a radix cache matches token by token from the start.
        return hashlib.sha256(f"{self.salt}/{number}".encode()).hexdigest()[:12].translate(_LETTERS) + " "


# Hexadecimal digits become letters: some tokenizers take digits apart, and a long salt would fill a short prompt.
_LETTERS = str.maketrans("0123456789", "ghijklmnop")


class Calibration:
    """How many characters a prompt needs for a number of tokens, learnt from the server's own counts."""

    def __init__(self, wanted: int, characters: t.Optional[int] = None) -> None:
        self.wanted = wanted
        self.characters = characters or max(1, round(wanted * _FIRST_GUESS))
        self.tries: list[tuple[int, float]] = []

    @property
    def off(self) -> float:
        """How far the last count is from the wanted one, as a share; 1 before the first."""
        return abs(self.tries[-1][1] - self.wanted) / self.wanted if self.tries else 1.0

    @property
    def done(self) -> bool:
        """Whether the last count is near enough."""
        return self.off <= _TOLERANCE

    def learn(self, tokens: float) -> None:
        """Note the (mean) count of prompts of the present length, and choose the length for the next ones."""
        self.tries.append((self.characters, tokens))
        if self.done:
            return
        slope = self._slope()
        # A template or a salt longer than the wanted prompt leaves nothing to shorten.
        self.characters = max(1, round(self.characters + (self.wanted - tokens) / slope))

    def _slope(self) -> float:
        """Tokens a character: from the last two lengths, or from the first alone."""
        if len(self.tries) > 1:
            (c0, t0), (c1, t1) = self.tries[-2:]
            if c0 != c1 and 0.05 < (t1 - t0) / (c1 - c0) < 4:
                return (t1 - t0) / (c1 - c0)
        characters, tokens = self.tries[-1]
        return min(4.0, max(0.05, tokens / max(1, characters)))


def _cut(
    whole: str, fewest: int, wanted: int, characters: int, count: t.Callable[[str], t.Optional[int]]
) -> tuple[str, float]:
    """The start of *whole* whose count is nearest to *wanted*, and how far it is from it; at least *fewest* characters.

    *characters* is tried first. Where nothing is counted, that is as good as any.
    """
    best, off = whole[: max(fewest, characters)].rstrip(), float("inf")
    short: t.Optional[tuple[int, int]] = None
    long: t.Optional[tuple[int, int]] = None
    for dummy in range(_PROMPT_TRIES):
        characters = max(fewest, characters)
        text = whole[:characters].rstrip()
        tokens = count(text)
        if tokens is None:
            return best, 0.0 if math.isinf(off) else off
        if abs(tokens - wanted) < off:
            best, off = text, abs(tokens - wanted)
        if off <= wanted * _PROMPT_TOLERANCE or (tokens > wanted and characters == fewest):
            break
        short, long = (short, (characters, tokens)) if tokens > wanted else ((characters, tokens), long)
        if short and long:
            # Text is uneven: between a prompt too short and one too long there is a better one, beyond them perhaps none.
            share = (wanted - short[1]) / max(1, long[1] - short[1])
            characters = min(max(round(short[0] + share * (long[0] - short[0])), short[0] + 1), long[0] - 1)
            if characters <= short[0]:
                break
        else:
            characters = max(1, round(characters * wanted / max(1, tokens)))
    return best, off


def _passage(source: str, generator: random.Random, length: int) -> str:
    """*length* characters of *source* from a random place on, starting and ending at a word."""
    if length <= 0:
        return ""
    start = generator.randrange(max(1, len(source) - length - 200))
    start = source.find(" ", start) + 1
    text = source[start : start + length]
    if len(text) < length:
        text += source[: length - len(text)]
    cut = max(text.rfind(" "), text.rfind("\n"))
    return text[:cut] if cut > length * 0.9 else text


_loaded: t.Optional[tuple[str, str, str]] = None


def _corpus() -> tuple[str, str, str]:
    """Prose, code, and what they are."""
    global _loaded
    if _loaded is None:
        prose, code = _documentation(), _sources()
        _loaded = (prose or code, code or prose, f"documentation and sources of Python {platform.python_version()}")
    return _loaded


def _documentation() -> str:
    try:
        topics = importlib.import_module("pydoc_data.topics").topics
    except ImportError:
        return ""
    text = "\n".join(topics[key] for key in sorted(topics))
    # Underlines and tables are no prose, and their long runs of one character are trivially drafted.
    return re.sub(r"[ \t]+", " ", re.sub(r"([=*~^\-+|.])\1{3,}", "", text))


def _sources() -> str:
    texts = []
    for module in _CODE_MODULES:
        path = os.path.join(os.path.dirname(os.__file__), *module.split(".")) + ".py"
        path = path if os.path.exists(path) else os.path.join(path[:-3], "__init__.py")
        try:
            with open(path, encoding="utf-8") as handle:
                texts.append(re.sub(r"#[ #*=-]{8,}", "#", handle.read()))
        except (OSError, UnicodeDecodeError):
            continue
    return "\n".join(texts)
