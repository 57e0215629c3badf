# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Read the simple commands of a shell script that starts a server, as far as that needs no shell."""

from __future__ import annotations

import re
import typing as t

_OPERATORS = ";&|()\n"
_KEYWORDS = frozenset(("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "{"))
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)(?::?-([^}$`]*))?\}|([A-Za-z_]\w*))")
# What values put into words, in all: variables made of each other many times over would fill the memory.
_MOST_EXPANDED = 1024 * 1024
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


class Command(t.NamedTuple):
    """One simple command: its words, the variables set before them for it alone, and whether the words are certain."""

    words: t.List[str]
    assigned: t.Dict[str, str]
    clear: bool


class Script:
    """The commands of *text* in order.

    ``variables`` begins with what is given and takes the script's own; ``exported`` holds those that its commands inherit.
    """

    def __init__(self, text: str, variables: t.Mapping[str, str]) -> None:
        self.variables = dict(variables)
        self.exported: dict[str, str] = {}
        self.commands: list[Command] = []
        self._text, self._index = text.replace("\\\n", ""), 0
        self._words: list[str] = []
        # In pieces: a text that grows by one character at a time is copied each time.
        self._word: t.Optional[list[str]] = None
        self._clear = True
        self._room = _MOST_EXPANDED
        self._read()

    def _read(self) -> None:
        while self._index < len(self._text):
            char = self._text[self._index]
            if char == "#" and self._word is None:
                end = self._text.find("\n", self._index)
                self._index = len(self._text) if end < 0 else end
            elif char in " \t\r":
                self._end_word()
                self._index += 1
            elif char in _OPERATORS:
                self._end_command(char)
            elif char in "<>":
                self._redirect()
            else:
                self._part(char)
        self._end_command("")

    def _part(self, char: str) -> None:
        """One quoted or plain piece of a word."""
        self._index += 1
        if char == "'":
            end = self._text.find("'", self._index)
            self._add(self._text[self._index : end if end >= 0 else None])
            self._index = end + 1 if end >= 0 else len(self._text)
        elif char == '"':
            self._double_quoted()
        elif char == "\\":
            self._add(self._text[self._index : self._index + 1])
            self._index += 1
        elif char in "$`":
            self._expand(char, split=True)
        else:
            if char in "*?[" or (char == "~" and self._word is None):
                self._clear = False
            self._add(char)

    def _double_quoted(self) -> None:
        self._add("")
        while self._index < len(self._text):
            char = self._text[self._index]
            self._index += 1
            if char == '"':
                return
            if char == "\\" and self._text[self._index : self._index + 1] in ("$", "`", '"', "\\"):
                self._add(self._text[self._index])
                self._index += 1
            elif char in "$`":
                self._expand(char, split=False)
            else:
                self._add(char)
        self._clear = False

    def _expand(self, char: str, split: bool) -> None:
        match = _VARIABLE.match(self._text, self._index - 1)
        if not match:
            # A lone dollar is literal; commands, positions and arithmetic are the shell's.
            after = self._text[self._index : self._index + 1]
            self._clear = self._clear and char == "$" and (after == "" or after in ' \t\n"')
            self._add(char)
            return
        name = match.group(1) or match.group(3)
        self._index = match.end()
        value = self.variables.get(name) or match.group(2) or ""
        if (name not in self.variables and match.group(2) is None) or len(value) > self._room:
            self._clear = False
        value = value if len(value) <= self._room else ""
        self._room -= len(value)
        if not split:
            self._add(value)
            return
        pieces = value.split()
        if value[:1].isspace():
            self._end_word()
        for number, piece in enumerate(pieces):
            if number:
                self._end_word()
            self._add(piece)
        if pieces and value[-1:].isspace():
            self._end_word()

    def _redirect(self) -> None:
        """Leave out ``2>&1``, ``>>file`` and their like."""
        if self._word is not None and "".join(self._word).isdigit():
            self._word = None
        self._end_word()
        match = re.compile(r"[<>]+(?:&\d?-?|\s*[^\s;&|]+)?").match(self._text, self._index)
        self._index = match.end() if match else self._index + 1

    def _add(self, text: str) -> None:
        if self._word is None:
            self._word = []
        self._word.append(text)

    def _end_word(self) -> None:
        if self._word is not None:
            self._words.append("".join(self._word))
        self._word = None

    def _end_command(self, operator: str) -> None:
        self._end_word()
        self._index += len(operator)
        words, self._words = self._words, []
        assigned: dict[str, str] = {}
        begin = 0
        for word in words:
            match = _ASSIGNMENT.fullmatch(word)
            if not match:
                break
            assigned[match.group(1)] = match.group(2)
            begin += 1
        while begin < len(words) and words[begin] in _KEYWORDS:
            begin += 1
            self._clear = False
        words = words[begin:]
        if not words:
            self.variables.update(assigned)
            self.exported.update({k: v for k, v in assigned.items() if k in self.exported})
            if not assigned:
                return
        if words and words[0] == "export":
            self._export(words[1:])
        self.commands.append(Command(words, assigned, self._clear))
        self._clear = True

    def _export(self, words: t.Sequence[str]) -> None:
        for word in words:
            name, sep, value = word.partition("=")
            if sep:
                self.variables[name] = value
            if name in self.variables:
                self.exported[name] = self.variables[name]
