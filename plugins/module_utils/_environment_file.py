# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Read the files of ``EnvironmentFile=`` as systemd does (src/basic/env-file.c), and which variables are secrets."""

from __future__ import annotations

import os
import re
import typing as t

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPACE = " \t\r\n"
_LARGEST = 1024 * 1024
# Whole words of a name: TOKENIZERS_PARALLELISM and SSL_KEYFILE hold none of them.
_SECRET_WORDS = frozenset(
    ("APIKEY", "AUTH", "CREDENTIAL", "CREDENTIALS", "KEY", "PASSWD", "PASSWORD", "SECRET", "TOKEN")
)
_ASSIGNMENT = re.compile(r"""\b([A-Za-z_]\w*)=('[^']*'|"(?:\\.|[^"\\])*"|[^\s;&|'"]+)""")
_URL_WITH_PASSWORD = re.compile(r"://[^/@\s:]*:[^/@\s]+@")


def parse_environment_file(text: str) -> dict[str, str]:
    """The variables in *text*; names that systemd ignores are left out, and the last value of a name counts."""
    reader = _Reader()
    for char in text:
        getattr(reader, "_" + reader.state)(char)
    reader.push()
    return reader.found


def is_secret_variable(name: str, value: str) -> bool:
    """Whether a variable's value must not be shown: by a word of its name, or because it is a URL with a password."""
    return bool(_SECRET_WORDS & set(name.upper().split("_")) or _URL_WITH_PASSWORD.search(value))


def hide_secret_variables(text: str, hidden: str) -> str:
    """*text* of a command or script with *hidden* for the values of secret variables that it sets."""

    def one(match: t.Match[str]) -> str:
        name, value = match.group(1), match.group(2)
        return f"{name}={hidden}" if is_secret_variable(name, value) else match.group()

    return _ASSIGNMENT.sub(one, text)


class _Reader:
    """The states of systemd's own reader, one method a state."""

    def __init__(self) -> None:
        self.state = "before_key"
        self.found: dict[str, str] = {}
        # In pieces: a text that grows by one character at a time is copied each time.
        self.key: list[str] = []
        self.value: list[str] = []
        # Blanks at the end count only where they are quoted or escaped.
        self.kept = 0

    def push(self) -> None:
        if self.state in ("before_key", "key", "comment", "comment_escape"):
            return
        name = "".join(self.key).strip(_SPACE)
        value = "".join(self.value[: self.kept]) + "".join(self.value[self.kept :]).rstrip(_SPACE)
        if _NAME.fullmatch(name):
            self.found[name] = value

    def _before_key(self, char: str) -> None:
        if char in "#;":
            self.state = "comment"
        elif char not in _SPACE:
            self.state, self.key, self.value, self.kept = "key", [char], [], 0

    def _comment(self, char: str) -> None:
        if char in "\r\n":
            self.state = "before_key"
        elif char == "\\":
            self.state = "comment_escape"

    def _comment_escape(self, dummy_char: str) -> None:
        # systemd before 254 continues a comment over its line's end. To overlook such a variable there is mild; to
        # expect one that no process ever gets would restart a server each time.
        self.state = "comment"

    def _key(self, char: str) -> None:
        if char in "\r\n":
            self.state = "before_key"
        elif char == "=":
            self.state = "before_value"
        else:
            self.key.append(char)

    def _before_value(self, char: str) -> None:
        if char in "\r\n":
            self._end()
        elif char in "'\"":
            self.state = "single" if char == "'" else "double"
        elif char == "\\":
            self.state = "escape"
        elif char not in _SPACE:
            self.state = "value"
            self.value.append(char)

    def _value(self, char: str) -> None:
        if char in "\r\n":
            self._end()
        elif char == "\\":
            self.state = "escape"
        else:
            self.value.append(char)

    def _escape(self, char: str) -> None:
        self.state = "value"
        if char not in "\r\n":
            self.value.append(char)
            self.kept = len(self.value)

    def _single(self, char: str) -> None:
        self._quoted(char, "'")

    def _double(self, char: str) -> None:
        if char == "\\":
            self.state = "double_escape"
        else:
            self._quoted(char, '"')

    def _double_escape(self, char: str) -> None:
        self.state = "double"
        if char not in "\r\n":
            self.value.append(char if char in '"\\`$' else "\\" + char)

    def _quoted(self, char: str, quote: str) -> None:
        if char == quote:
            self.state, self.kept = "before_value", len(self.value)
        else:
            self.value.append(char)

    def _end(self) -> None:
        self.push()
        self.state = "before_key"


def read_environment_files(
    paths: t.Iterable[str], read: t.Callable[[str], t.Optional[str]]
) -> tuple[dict[str, str], list[str]]:
    """The variables of all *paths*, the later ones over the earlier, and the files that could not be read.

    :arg read: the text of a file, or ``None``.
    """
    found: dict[str, str] = {}
    unread = []
    for path in paths:
        text = read(path)
        if text is None:
            unread.append(path)
        else:
            found.update(parse_environment_file(text))
    return found, unread


def read_file(path: str) -> t.Optional[str]:
    """The text of a file; ``None`` where it is not there, cannot be read, or is no text of ordinary length."""
    try:
        # A pipe or a device would block.
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as handle:
            data = handle.read(_LARGEST)
    except OSError:
        return None
    return None if b"\0" in data else data.decode("utf-8", "surrogateescape")
