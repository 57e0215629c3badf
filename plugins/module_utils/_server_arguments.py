# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Turn argument names and values into the command line words of one release of SGLang."""

from __future__ import annotations

import difflib
import json
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils import _flags
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._flags import (
    DEAD,
    OLD_CONSTANT,
    PAIR,
    VALUE,
    Flag,
    FlagTable,
)
from ansible_collections.llmops.sglang.plugins.module_utils._version import at_least

# human_readable_int of SGLang: suffixes are case-sensitive, decimals only before those of powers of ten.
_HUMAN_INTEGER = re.compile(r"-?\d+|\d+(?:\.\d+)?[kMGT]|\d+[KMGT]i")


class Entry(t.NamedTuple):
    """One argument as the user gave it: the option for messages, the argument's name, its value, the option ``flag_names``' flag."""

    option: str
    name: str
    value: t.Any
    flag: str = ""


def direct_flag(table: FlagTable, name: str) -> t.Optional[Flag]:
    """The flag of this server that sets argument *name* or is spelled like it."""
    return table.of_dest(name) or table.get_exact("--" + name.replace("_", "-"))


def related_flag(table: FlagTable, name: str) -> t.Optional[Flag]:
    """The flag of this server that other releases know as argument *name*: the same one under another name."""
    for spelling in dict.fromkeys(("--" + name.replace("_", "-"), *_flags.words_of_dest(name))):
        for relative in (spelling, *_flags.relatives(spelling)):
            found = table.get_exact(relative)
            if found is not None:
                return found
    return None


class Words:
    """Collects the words of a command line; ``warnings`` are sentences.

    :arg table: the flags that the server knows.
    """

    def __init__(self, table: FlagTable) -> None:
        self.table = table
        self.warnings: list[str] = []
        self._groups: dict[str, list[str]] = {}
        self._owners: dict[str, str] = {}

    def add(self, entry: Entry) -> None:
        """Add one argument.

        :raises Failure: ``unknown_flag`` or ``rule_violated``.
        """
        if entry.value is None:
            return
        if entry.flag:
            self._put(entry, entry.flag, _generic_words(entry.flag, entry))
            return
        flag, constant = self._resolve(entry)
        if constant is not None:
            value = _boolean(entry)
            self._put(entry, flag.flag, [flag.flag, constant] if value else [])
            return
        self._put(entry, flag.flag, value_words(flag._replace(flag=_preferred(flag)), entry, self.table.version))

    def words(self) -> list[str]:
        """All words, the model first and the others by flag: the same for equal input in any order."""
        order = sorted(self._groups, key=lambda flag: (flag != "--model-path", flag))
        return [word for flag in order for word in self._groups[flag]]

    def _put(self, entry: Entry, flag: str, words: list[str]) -> None:
        if flag in self._owners:
            raise Failure(
                "rule_violated",
                f"The options '{self._owners[flag]}' and '{entry.option}' both set {flag}: keep one of them.",
            )
        self._owners[flag] = entry.option
        self._groups[flag] = words

    def _resolve(self, entry: Entry) -> tuple[Flag, t.Optional[str]]:
        """The flag for an argument name, and a constant value where a switch became one."""
        if not re.fullmatch(r"[a-z0-9][a-z0-9_]*", entry.name):
            plain = re.sub(r"[^a-z0-9]+", "_", entry.name.lower()).strip("_")
            raise Failure(
                "unknown_flag",
                f"The name '{entry.option}' is not an argument name: names are the server's own, with underscores; write '{plain}'.",
            )
        direct = direct_flag(self.table, entry.name)
        if direct is not None:
            return self._current(entry, direct), None
        related = related_flag(self.table, entry.name)
        if related is not None:
            return related, None
        return self._replaced(entry, "--" + entry.name.replace("_", "-"))

    def _current(self, entry: Entry, flag: Flag) -> Flag:
        """*flag*, or what this release itself says to use instead where that is the same argument."""
        newer = self.table.get_exact(flag.replacement) if flag.replacement else None
        if newer is not None and newer.dest == flag.dest and newer.takes_value == flag.takes_value:
            return newer
        if flag.kind == DEAD:
            self.warnings.append(
                f"{flag.flag} (option '{entry.option}') has no effect any more in SGLang {self.table.version}: leave it out."
            )
        elif flag.deprecated:
            self.warnings.append(
                f"{flag.flag} (option '{entry.option}') is deprecated in SGLang {self.table.version}: {_advice(flag.note)}"
            )
        return flag

    def _replaced(self, entry: Entry, word: str) -> tuple[Flag, t.Optional[str]]:
        """What replaces an argument that is gone, where that is not quite the same one; a warning says so."""
        note = _flags.replacements().get(word, "")
        flag_word, sep, constant = note.partition("=")
        found = self.table.get_exact(flag_word)
        gone = found is None or (sep and found.choices is not None and constant not in found.choices)
        if found is None or gone or " " in note:
            raise unknown_argument(entry, word, self.table)
        self.warnings.append(
            f"The option '{entry.option}' is no argument of SGLang {self.table.version} any more; it became {note}, whose meaning may differ: "
            f"write '{found.dest}{': ' + constant if sep else ''}'."
        )
        return found, (constant if sep else None)


def _preferred(flag: Flag) -> str:
    """The spelling that equals the argument's name, where the flag has several: --tp-size for tp_size."""
    plain = "--" + _flags.newest_dest(flag).replace("_", "-")
    return plain if plain in flag.aliases else flag.flag


def unknown_argument(entry: Entry, word: str, table: FlagTable) -> Failure:
    """The failure for an argument that this server does not have, with the releases that do and the nearest right name."""
    spelled = [word, *_flags.words_of_dest(entry.name)]
    span = next((_flags.spans()[w] for w in spelled if w in _flags.spans()), None)
    names = {f.dest for f in table.flags} | {w[2:].replace("-", "_") for w in table.words()}
    parts = [f"The option '{entry.option}' is no argument of SGLang {table.version}"]
    if span:
        parts.append(_span_sentence(span, table.base))
        parts += _replacement(_flags.replacements().get(word, ""), table)
    else:
        abbreviated = sorted(w[2:].replace("-", "_") for w in table.words() if w.startswith(word + "-"))[:4]
        near = abbreviated or difflib.get_close_matches(entry.name, sorted(names), n=3, cutoff=0.6)
        parts.append(f"the nearest is {', '.join(repr(n) for n in near)}" if near else "no name looks like it")
    parts.append("a flag of a fork goes into 'flag_names'")
    return Failure("unknown_flag", "; ".join(parts) + ".")


def _replacement(note: str, table: FlagTable) -> list[str]:
    """What the last release that had an argument said to use instead, as far as it still holds for this server."""
    flag_word, sep, constant = note.partition("=")
    if not flag_word.startswith("--") or " " in note:
        return [_advice(note).rstrip(".")] if note else []
    found = table.get_exact(flag_word)
    if found is None:
        return []
    if sep and found.choices is not None and constant not in found.choices:
        return [f"{flag_word} replaced it, which takes {', '.join(found.choices)} and '{constant}' no more"]
    return [_advice(note).rstrip(".")]


def _span_sentence(span: tuple[str, str], base: str) -> str:
    first, last = span
    if not at_least(base, first):
        return f"SGLang {first} is the first that has it"
    return f"SGLang {last} was the last that had it"


def _advice(note: str) -> str:
    return f"use {note}." if note.startswith("--") and "no longer" not in note else note.rstrip(".") + "."


def _boolean(entry: Entry) -> bool:
    if not isinstance(entry.value, bool):
        raise _wrong(entry, "true or false")
    return entry.value


def _wrong(entry: Entry, wanted: str, extra: str = "") -> Failure:
    return Failure(
        "rule_violated",
        f"The option '{entry.option}' takes {wanted}, not {_shown(entry.value)}{extra}: correct the value.",
    )


def _shown(value: t.Any) -> str:
    kind = {dict: "a mapping", list: "a list", bool: "true" if value is True else "false"}.get(type(value))
    return kind or repr(value)


def value_words(flag: Flag, entry: Entry, version: str) -> list[str]:
    """The words for one known flag and its value.

    :raises Failure: ``rule_violated`` if the value does not fit the flag.
    """
    if flag.kind == PAIR:
        return [flag.flag] if _boolean(entry) else [next(a for a in flag.aliases if a.startswith("--no-"))]
    if not flag.takes_value or (flag.nargs == "?" and isinstance(entry.value, bool)):
        return [flag.flag] if _boolean(entry) else []
    if flag.nargs in ("+", "*"):
        values = entry.value if isinstance(entry.value, list) else [entry.value]
        if not values and flag.nargs == "+":
            raise _wrong(entry, "at least one value", " without entries")
        texts = [_text(flag, entry._replace(value=value), version) for value in values]
        for text in texts:
            if _flags.is_option(text):
                raise _wrong(entry._replace(value=text), "values that do not begin with '-'")
        return [flag.flag, *texts]
    return joined(flag.flag, _text(flag, entry, version))


def joined(flag: str, text: str) -> list[str]:
    """Flag and value as two words, or as one where argparse would take the value for an option."""
    return [f"{flag}={text}"] if text.startswith("-") and _flags.is_option(text) else [flag, text]


def _text(flag: Flag, entry: Entry, version: str) -> str:
    """One value as a word, checked against the flag's type and choices."""
    value = entry.value
    if isinstance(value, dict) or (isinstance(value, list) and flag.is_json):
        if not (flag.is_json or flag.type == "str"):
            raise _wrong(entry, _type_name(flag))
        if flag.dest == "lora_paths" and not {"lora_name", "lora_path"} <= set(value):
            # The server takes no other mapping, and would only say so after it was stopped and started.
            raise _wrong(entry, "a path, NAME=PATH, or mappings with 'lora_name' and 'lora_path'")
        return json.dumps(value, sort_keys=True, ensure_ascii=False)
    if isinstance(value, (list, bool)):
        raise _wrong(entry, "one value" if isinstance(value, list) else _type_name(flag))
    text = repr(value) if isinstance(value, float) else str(value)
    if flag.choices is not None and text not in flag.choices:
        near = difflib.get_close_matches(text.lower(), [c.lower() for c in flag.choices], n=1, cutoff=0.6)
        hint = next((f"; the nearest is '{c}'" for c in flag.choices if near and c.lower() == near[0]), "")
        raise _wrong(entry, f"one of {', '.join(flag.choices)} in SGLang {version}", hint)
    if not _reads_as(flag.type, text):
        raise _wrong(entry, _type_name(flag))
    return text


def _type_name(flag: Flag) -> str:
    names = {
        "int": "a whole number",
        "float": "a number",
        "human_readable_int": "a whole number such as 4096 or 4k",
        "json": "JSON",
    }
    return names.get(flag.type, "one value")


def _reads_as(kind: str, text: str) -> bool:
    try:
        if kind == "int":
            int(text)
        elif kind == "float":
            float(text)
        elif kind == "json":
            json.loads(text)
    except ValueError:
        return False
    return kind != "human_readable_int" or bool(_HUMAN_INTEGER.fullmatch(text))


def _generic_words(flag: str, entry: Entry) -> list[str]:
    """The words for a flag that only the user knows."""
    value = entry.value
    if isinstance(value, bool):
        return [flag] if value else []
    plain = Flag(flag, "", VALUE, "str", "*" if isinstance(value, list) else "")
    return value_words(plain, entry, "")


def check_extra(words: t.Sequence[str], table: FlagTable, known: t.Collection[str]) -> list[str]:
    """Check words that are handed on as they are; returns warnings.

    :arg known: flags that the user has vouched for.
    :raises Failure: ``unknown_flag`` or ``rule_violated``.
    """
    warnings: list[str] = []
    for use in _flags.uses(words, table):
        if use.word in known:
            continue
        if use.flag is None:
            raise _unknown_word(use, table)
        if use.surplus:
            raise Failure(
                "rule_violated",
                f"The word '{use.surplus[0]}' in 'extra_args' belongs to no flag ({use.word} does not take it): remove it.",
            )
        if use.flag.takes_value and not use.values and use.flag.nargs not in ("*", "?"):
            raise Failure(
                "rule_violated", f"The flag {use.word} in 'extra_args' needs a value: give it as the next word."
            )
        for value in use.values:
            _text(use.flag, Entry(f"extra_args: {use.word}", use.flag.dest, value), table.version)
        if use.flag.kind == OLD_CONSTANT or use.flag.deprecated:
            warnings.append(
                f"{use.word} in 'extra_args' is deprecated in SGLang {table.version}: {_advice(use.flag.note)}"
            )
    return warnings


def _unknown_word(use: _flags.Use, table: FlagTable) -> Failure:
    if use.ambiguous:
        return Failure(
            "unknown_flag",
            f"The flag {use.word} in 'extra_args' is ambiguous in SGLang {table.version}: write one of {', '.join(use.ambiguous)}.",
        )
    if not use.word:
        return Failure("rule_violated", f"The word '{use.surplus[0]}' in 'extra_args' belongs to no flag: remove it.")
    if "_" in use.word:
        return Failure(
            "unknown_flag",
            f"The flag {use.word} in 'extra_args' has underscores, which no flag has: write {use.word.replace('_', '-')}.",
        )
    name = use.word.lstrip("-").replace("-", "_")
    failure = unknown_argument(Entry(f"extra_args: {use.word}", name, None), use.word, table)
    near = [w for w in _flags.relatives(use.word) if table.get_exact(w)]
    return Failure("unknown_flag", f"{failure.msg[:-1]}; write {near[0]}.") if near else failure
