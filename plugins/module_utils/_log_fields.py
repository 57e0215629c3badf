# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The ``key=value`` fields of a log line, typed as Python prints them."""

from __future__ import annotations

import ast
import math
import re
import typing as t
import warnings

# A key begins where no word, dot or dash stands before it; == is a comparison.
_KEY = re.compile(r"(?<![\w.\-])(?:--)?([A-Za-z_][\w.\-]*)=(?!=)")
# SGLang writes "avail mem=5.00 GB, mem usage=0.40 GB": two plain words that begin an entry of the list are one key.
_TWO_WORDS = re.compile(r"(?:^|[,.] )([a-z]+) ([a-z]+)=\Z")
_WHOLE_ARGS = re.compile(r"(?<![\w.\-])server_args=(?=\{|[A-Za-z_]\w*\()")
_BARE = re.compile(r"[^\s,;()\[\]{}]*")
_CALL = re.compile(r"[A-Za-z_][\w.]*(?=[(\[{])")
_INTEGER = re.compile(r"[+-]?\d{1,400}")
_FLOAT = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?")
_WORDS = {"None": None, "True": True, "False": False}
# Python's own parser needs memory for each level; what is longer stays a text.
_LONGEST_LITERAL = 256 * 1024


def parse_fields(text: str, others: t.Optional[dict[str, list[t.Any]]] = None) -> dict[str, t.Any]:
    """The fields of *text* in their order.

    Values are None, booleans, numbers, texts, lists and mappings; what is none of these stays the text that it was. A
    unit that follows a number (``0.28 s``) is left off. Nothing inside of a value becomes a key, except that
    ``server_args=ServerArgs(...)`` and ``server_args={...}`` stand for their entries. Of a key that stands there twice the
    first value counts. Time and memory grow with the length of *text* alone, and no text raises.
    """
    whole = _WHOLE_ARGS.search(text)
    if whole:
        return _entries(text, whole.end())
    fields: dict[str, t.Any] = {}
    position, previous = 0, 0
    while True:
        match = _KEY.search(text, position)
        if not match:
            return fields
        two = _TWO_WORDS.search(text, max(previous, match.start() - 80), match.end())
        key = f"{two.group(1)}_{two.group(2)}" if two else match.group(1)
        end = _value_end(text, match.end())
        value = typed(text[match.end() : end])
        if others is not None and key in fields:
            others.setdefault(key, []).append(value)
        fields.setdefault(key, value)
        position = previous = max(end, match.end())


def typed(raw: str) -> t.Any:
    """*raw* as the Python value that it is the text of; *raw* itself where it is none."""
    if raw in _WORDS:
        return _WORDS[raw]
    if _INTEGER.fullmatch(raw):
        return int(raw)
    if _FLOAT.fullmatch(raw):
        value = float(raw)
        return value if math.isfinite(value) else raw
    if raw[:1] in ("'", '"', "[", "{", "(") and len(raw) <= _LONGEST_LITERAL:
        try:
            with warnings.catch_warnings():
                # Python warns of "\\d" in a text that is not its own; nobody here can mend it.
                warnings.simplefilter("ignore")
                return _plain(ast.literal_eval(raw))
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            pass
    return raw


def _plain(value: t.Any) -> t.Any:
    """*value* with nothing in it that JSON does not have."""
    if isinstance(value, dict):
        return {k if isinstance(k, str) else str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return [_plain(item) for item in sorted(value, key=repr)]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return str(value)


def _entries(text: str, start: int) -> dict[str, t.Any]:
    """The entries of a call's or a mapping's text that begins at *start*, as its representation prints them."""
    position = text.index("{" if text[start] == "{" else "(", start) + 1
    mapping = text[start] == "{"
    fields: dict[str, t.Any] = {}
    while position < len(text):
        while position < len(text) and text[position] in " ,":
            position += 1
        if position >= len(text) or text[position] in ")]}":
            break
        end = _entry_end(text, position)
        key, raw = _key_and_raw(text[position:end], mapping)
        if key:
            fields.setdefault(key, typed(raw))
        position = end
    return fields


def _key_and_raw(entry: str, mapping: bool) -> tuple[str, str]:
    if not mapping:
        key, sep, raw = entry.partition("=")
        return (key, raw.strip()) if sep and key.isidentifier() else ("", "")
    end = _string_end(entry, 0) if entry[:1] in ("'", '"') else entry.find(":")
    key = typed(entry[:end].strip()) if end > 0 else ""
    rest = entry[end:].lstrip() if end > 0 else ""
    return (str(key), rest[1:].strip()) if rest.startswith(":") else ("", "")


def _entry_end(text: str, start: int) -> int:
    """Where the entry at *start* ends: at the next comma or closing bracket outside of brackets and quotes."""
    position = start
    while position < len(text):
        char = text[position]
        if char in ",)]}":
            return position
        if char in "([{":
            position = _bracket_end(text, position)
        elif char in "'\"" and _opens_string(text, position):
            position = _string_end(text, position)
        else:
            position += 1
    return position


def _value_end(text: str, start: int) -> int:
    """Where the value at *start* ends in a line of prose: a text in quotes, brackets, a call, or one word."""
    char = text[start : start + 1]
    if char in ("'", '"'):
        return _string_end(text, start)
    if char in ("(", "[", "{"):
        return _bracket_end(text, start)
    if char == "<":
        close = text.find(">", start, start + 400)
        if close > 0:
            return close + 1
    call = _CALL.match(text, start)
    if call:
        return _bracket_end(text, call.end())
    match = _BARE.match(text, start)
    end = match.end() if match else start
    while end > start and text[end - 1] in ".:":
        end -= 1
    return end


def _bracket_end(text: str, start: int) -> int:
    """The place after the bracket that closes the one at *start*; the end of *text* where it stays open."""
    depth = 0
    position = start
    while position < len(text):
        char = text[position]
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth == 0:
                return position + 1
        elif char in "'\"" and _opens_string(text, position):
            position = _string_end(text, position)
            continue
        position += 1
    return len(text)


def _opens_string(text: str, position: int) -> bool:
    """Whether the quote at *position* begins a text: it does not after a letter, as in ``don't`` (but see ``b'x'``)."""
    before = text[position - 1 : position] if position else ""
    if not before.isalnum():
        return True
    return before in "bBrRuUfF" and not text[position - 2 : position - 1].isalnum()


def _string_end(text: str, start: int) -> int:
    """The place after the quote that closes the one at *start*; the end of *text* where it stays open."""
    quote = text[start]
    position = start + 1
    while position < len(text):
        if text[position] == "\\":
            position += 2
        elif text[position] == quote:
            return position + 1
        else:
            position += 1
    return len(text)
