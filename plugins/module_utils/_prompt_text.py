# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Prompts of any length: real text, nowhere repeated, each with a start of its own.

Random tokens and repeated paragraphs are no workload for speculative decoding: drafts are then accepted far too seldom or
far too often. The text is the documentation and the source code that come with this Python: hundreds of kilobytes of
English and code on every host, with nothing to ship and nothing to fetch.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import platform
import random
import re
import typing as t
from dataclasses import dataclass, replace

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


@dataclass(frozen=True)
class Draft:
    """A prompt whose length is still open: its salt, what to do, and the place in a source where its text begins."""

    head: str
    task: str
    source: str
    start: int

    def body(self, characters: int) -> str:
        """The prompt behind its salt, cut so that both have *characters* characters (or a little less, at a blank)."""
        length = max(0, characters - len(self.head))
        # In a very short prompt the task would leave no room for what tells one prompt from another.
        task = self.task if length > 2 * len(self.task) else ""
        text = task + self.source[self.start : self.start + length]
        if len(text) < length:
            text += self.source[: length - len(text)]
        return text[:length].rstrip()


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

    def draft(self, like: t.Optional[Draft] = None) -> Draft:
        """The next prompt of the corpus.

        :arg like: draw another passage for this one, whose place it takes.
        """
        if like is None:
            number, self._number = self._number, self._number + 1
            like = Draft(self._start(str(number)), *self._kind(number), 0)
        start = like.source.find(" ", self._random.randrange(max(1, len(like.source)))) + 1
        return replace(like, start=start)

    def finish(self, draft: Draft, characters: int) -> str:
        """The text of *draft*, of *characters* characters, salt and task included."""
        return draft.head + self._noted(draft.body(characters))

    def make(self, characters: int) -> str:
        """The next prompt, of *characters* characters; prompts of the user are used as they are."""
        if not self.prompts:
            return self.finish(self.draft(), characters)
        number, self._number = self._number, self._number + 1
        return self._start(str(number)) + self._noted(self.prompts[number % len(self.prompts)])

    def twin(self, draft: Draft, characters: int, number: int) -> str:
        """The text of *draft* behind another salt: of the same length to a server, and unknown to its prefix cache."""
        return self._start(f"{draft.head} {number}") + draft.body(characters)

    def _noted(self, body: str) -> str:
        self._digest.update(body.encode("utf-8"))
        return body

    def _kind(self, number: int) -> tuple[str, str]:
        """What to do, and the source of the text to do it with."""
        kind = number % len(_TASKS)
        return _TASKS[kind], self._code if kind == _CODE_TASK else self._prose

    def _start(self, number: str) -> str:
        # The first letters differ from prompt to prompt: a radix cache matches token by token from the start.
        return hashlib.sha256(f"{self.salt}/{number}".encode()).hexdigest()[:12].translate(_LETTERS) + " "


# Hexadecimal digits become letters: some tokenizers take digits apart, and a long salt would fill a short prompt.
_LETTERS = str.maketrans("0123456789", "ghijklmnop")


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
