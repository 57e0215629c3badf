# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The syntax of systemd's unit files: quote words so that they survive it, and read them back (systemd.syntax(7))."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure

_BARE = re.compile(r"[A-Za-z0-9_@%+=:,./{}\[\]()*?!<>|&^~-][A-Za-z0-9_@%+=:,./{}\[\]()*?!<>|&^~#-]*")
# systemd ends a line at either, and takes the two together for one end.
_LINE_END = re.compile(r"\r\n|\n\r|[\r\n]")
_SPACE = " \t"
_C_ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "s": 32, "\\": 92, '"': 34, "'": 39}


def check_text(text: str, what: str) -> None:
    """Refuse what a unit file cannot carry.

    :raises Failure: ``unit_invalid`` for a line break, a NUL, a noncharacter of Unicode or text that is not UTF-8.
    """
    odd = next((c for c in text if c in "\n\0" or ord(c) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(c) <= 0xFDEF), "")
    if odd:
        found = {"\n": "a line break", "\0": "a NUL character"}.get(odd, f"the noncharacter U+{ord(odd):04X}")
        raise Failure("unit_invalid", f"{what} holds {found}, which a unit file cannot carry: take it out.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise Failure("unit_invalid", f"{what} is not valid UTF-8 ({exc.reason}): give it as UTF-8 text.") from exc


def quote(word: str) -> str:
    """*word* as one word of a list in a unit file, in double quotes where it needs them."""
    if _BARE.fullmatch(word):
        return word
    return '"' + "".join(_escaped(c) for c in word) + '"'


def _escaped(char: str) -> str:
    if char in '\\"':
        return "\\" + char
    return f"\\x{ord(char):02x}" if ord(char) < 32 or ord(char) == 127 else char


def argument_word(word: str) -> str:
    """*word* for ``ExecStart=``: neither a specifier nor a variable is left in it."""
    check_text(word, f"The argument {word!r}")
    return quote(word.replace("%", "%%").replace("$", "$$"))


def environment_word(name: str, value: str) -> str:
    """``NAME=value`` for ``Environment=``, where ``$`` has no meaning.

    :raises Failure: ``unit_invalid`` for a name or value that systemd would ignore.
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise Failure(
            "unit_invalid",
            f"The environment variable name '{name}' is not valid: use letters, digits and '_', no digit first.",
        )
    check_text(value, f"The environment variable '{name}'")
    if any(ord(c) < 32 and c != "\t" or ord(c) == 127 for c in value):
        raise Failure(
            "unit_invalid",
            f"The environment variable '{name}' holds a control character, which systemd ignores: take it out.",
        )
    return quote(f"{name}={value}".replace("%", "%%"))


def environment_file_line(name: str, value: str) -> str:
    """``NAME="value"`` for a file of ``EnvironmentFile=``, whose quoting is the shell's and knows no specifier."""
    environment_word(name, value)
    return f'{name}="' + re.sub(r'([\\"$`])', r"\\\1", value) + '"'


def parse_unit(text: str) -> list[tuple[str, str, str]]:
    """The settings of a unit file in order, as section, key and raw value; continuation lines are joined."""
    settings: list[tuple[str, str, str]] = []
    section = ""
    begun: list[str] = []
    for line in _LINE_END.split(text):
        stripped = line.strip(_SPACE)
        if stripped.startswith(("#", ";")) or (not stripped and not begun):
            continue
        if line.endswith("\\"):
            begun.append(line[:-1])
            continue
        entry = " ".join([*begun, line]).strip(_SPACE)
        begun = []
        if entry.startswith("[") and entry.endswith("]"):
            section = entry[1:-1]
        elif "=" in entry:
            key, dummy, value = entry.partition("=")
            settings.append((section, key.strip(_SPACE), value.strip(_SPACE)))
    return settings


def setting(settings: t.Iterable[tuple[str, str, str]], section: str, key: str) -> list[str]:
    """The raw values of one key; an empty assignment drops those before it, as systemd does for lists."""
    values: list[str] = []
    for one, name, value in settings:
        if (one, name) != (section, key):
            continue
        if value:
            values.append(value)
        else:
            values.clear()
    return values


def split_words(text: str) -> list[str]:
    """The words of a raw value: quotes and C escapes are resolved, specifiers and variables are left.

    :raises Failure: ``unit_invalid`` if a quote is not closed.
    """
    data = text.encode("utf-8", "surrogateescape")
    words: list[bytes] = []
    word: t.Optional[bytearray] = None
    quoted, index = 0, 0
    while index < len(data):
        char = data[index]
        if char == 0x5C and index + 1 < len(data):
            word = word if word is not None else bytearray()
            value, index = _unescaped(data, index + 1)
            word += value
            continue
        index += 1
        if quoted and char == quoted:
            quoted = 0
        elif not quoted and char in b"\"'":
            quoted, word = char, (word if word is not None else bytearray())
        elif not quoted and char in b" \t\r\n":
            words.extend([bytes(word)] if word is not None else [])
            word = None
        else:
            word = word if word is not None else bytearray()
            word.append(char)
    if quoted:
        raise Failure("unit_invalid", f"The value {text!r} of a unit file has a quote that is not closed: close it.")
    words.extend([bytes(word)] if word is not None else [])
    return [w.decode("utf-8", "surrogateescape") for w in words]


def _unescaped(data: bytes, index: int) -> tuple[bytes, int]:
    """The bytes that the C escape at *index* (after its backslash) stands for, and where the text goes on."""
    char = chr(data[index])
    if char in _C_ESCAPES:
        return bytes([_C_ESCAPES[char]]), index + 1
    for lead, width, base in (("x", 2, 16), ("u", 4, 16), ("U", 8, 16), ("", 3, 8)):
        start = index + len(lead)
        digits = data[start : start + width].decode("ascii", "replace")
        valid = "01234567" if base == 8 else "0123456789abcdefABCDEF"
        if (not lead or char == lead) and len(digits) == width and all(d in valid for d in digits):
            number = int(digits, base)
            if lead in ("x", "") and 0 < number < 256:
                return bytes([number]), start + width
            if lead in ("u", "U") and 0 < number < 0x110000 and not 0xD800 <= number < 0xE000:
                return chr(number).encode("utf-8"), start + width
    # systemd keeps the backslash of an escape that it does not know, or that stands for no character.
    return b"\\" + data[index : index + 1], index + 1


def literal_words(text: str) -> list[str]:
    """The words of an ``ExecStart=`` as the process gets them, as far as the file alone tells: specifiers and variables stay."""
    words = split_words(text.lstrip("@-:+!") if text[:1] in "@-:+!" else text)
    return [w.replace("%%", "%").replace("$$", "$") for w in words]


def exec_start_of(text: str) -> list[str]:
    """The command line in a unit file or drop-in; empty where it has none or one that cannot be read."""
    values = setting(parse_unit(text), "Service", "ExecStart")
    try:
        return literal_words(values[-1]) if values else []
    except Failure:
        return []
