# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Which command line flags a release of SGLang knows, and how a command line reads with them."""

from __future__ import annotations

import base64
import functools
import json
import math
import re
import typing as t
import zlib

from ansible_collections.llmops.sglang.plugins.module_utils._flag_catalogue import PACKED, VERSIONS
from ansible_collections.llmops.sglang.plugins.module_utils._version import version_key

# Kinds (argparse actions): a value, a bare flag, a pair --x/--no-x, and four sorts of deprecated flag:
# an alias that takes a value, one that sets true, one that stores a constant, one that does nothing.
VALUE, SWITCH, PAIR, OLD_VALUE, OLD_SWITCH, OLD_CONSTANT, DEAD = "v", "t", "b", "d", "T", "c", "x"

_NEGATIVE_NUMBER = re.compile(r"-\d+|-\d*\.\d+")


class Flag(t.NamedTuple):
    """One flag of one release; ``type`` is int, float, str, bool, json or the server's own word for a parser."""

    flag: str
    dest: str
    kind: str = VALUE
    type: str = "str"
    nargs: str = ""
    choices: t.Optional[t.Tuple[str, ...]] = None
    aliases: t.Tuple[str, ...] = ()
    note: str = ""

    @property
    def takes_value(self) -> bool:
        # A constant with choices stands for a flag that had that one value.
        return self.kind in (VALUE, OLD_VALUE) or (self.kind == OLD_CONSTANT and self.choices is not None)

    @property
    def deprecated(self) -> bool:
        return bool(self.note)

    @property
    def replacement(self) -> str:
        """The flag that replaces this one, where it is a plain flag; otherwise empty."""
        return self.note if re.fullmatch(r"--[a-z0-9][a-z0-9-]*", self.note) else ""

    @property
    def is_json(self) -> bool:
        return self.type in ("json", "json_list_type")


class Ambiguous(Exception):
    """An abbreviation that fits several flags, which are ``args``."""


class FlagTable:
    """The flags of one server.

    :arg version: the server's version as it calls itself.
    :arg base: the release of the catalogue that the types and choices come from.
    :arg origin: ``catalogue``, ``nearest`` (the catalogue does not know the version) or ``help`` (the server was asked).
    :arg help_text: what the server printed when it was asked.
    """

    def __init__(
        self, version: str, base: str, flags: t.Iterable[Flag], origin: str = "catalogue", help_text: str = ""
    ) -> None:
        self.version = version
        self.base = base
        self.origin = origin
        self.help_text = help_text
        self.flags = list(flags)
        self._by_word: dict[str, Flag] = {}
        for flag in self.flags:
            for word in (flag.flag, *flag.aliases):
                self._by_word.setdefault(word, flag)

    def words(self) -> list[str]:
        """Every spelling that this server takes."""
        return list(self._by_word)

    def get_exact(self, word: str) -> t.Optional[Flag]:
        """The flag spelled *word*."""
        return self._by_word.get(word)

    def find(self, word: str) -> t.Optional[Flag]:
        """The flag that argparse takes *word* for, a unique abbreviation included.

        :raises Ambiguous: if *word* abbreviates several flags.
        """
        exact = self._by_word.get(word)
        if exact is not None or not word.startswith("--") or len(word) < 3:
            return exact
        fits = [w for w in self._by_word if w.startswith(word)]
        if len(fits) > 1:
            raise Ambiguous(*sorted(fits))
        return self._by_word[fits[0]] if fits else None

    def of_dest(self, dest: str) -> t.Optional[Flag]:
        """The flag that sets argument *dest*: the one in good standing where there are several."""
        found = [f for f in self.flags if f.dest == dest]
        plain = "--" + dest.replace("_", "-")
        found.sort(key=lambda f: (f.kind not in (VALUE, SWITCH, PAIR), f.deprecated, f.flag != plain))
        return found[0] if found else None


def nearest_release(version: str) -> str:
    """The newest release of the catalogue that is not newer than *version*; the oldest where all are newer."""
    key = version_key(version)
    older = [v for v in VERSIONS if version_key(v) <= key]
    return older[-1] if older else VERSIONS[0]


@functools.cache
def _rows() -> t.Tuple[t.List[t.Any], ...]:
    packed = "".join(PACKED.split())
    return tuple(json.loads(zlib.decompress(base64.b85decode(packed))))


def _flag(row: t.Sequence[t.Any]) -> Flag:
    flag, dest, kind, kind_of_value, nargs, choices, aliases, note = row[2:]
    return Flag(
        flag,
        dest or flag[2:].replace("-", "_"),
        kind,
        kind_of_value,
        nargs,
        tuple(choices) if choices else None,
        tuple(aliases),
        note,
    )


@functools.lru_cache(maxsize=8)
def table_of(version: t.Optional[str] = None) -> FlagTable:
    """The flags of *version* by the catalogue (default: the newest release); ``origin`` says whether it knows that version.

    :raises ValueError: if *version* does not begin with a number.
    """
    wanted = version or VERSIONS[-1]
    base = wanted if wanted in VERSIONS else nearest_release(wanted)
    number = VERSIONS.index(base)
    flags = [_flag(row) for row in _rows() if row[0] <= number <= row[1]]
    return FlagTable(wanted, base, flags, "catalogue" if base == wanted else "nearest")


@functools.cache
def spans() -> t.Dict[str, t.Tuple[str, str]]:
    """First and last release of every spelling that any release knows."""
    found: dict[str, tuple[int, int]] = {}
    for row in _rows():
        for word in (row[2], *row[8]):
            first, last = found.get(word, (row[0], row[1]))
            found[word] = (min(first, row[0]), max(last, row[1]))
    return {word: (VERSIONS[first], VERSIONS[last]) for word, (first, last) in found.items()}


@functools.cache
def renames() -> t.Dict[str, str]:
    """Old flag to new flag, where some release took both for the same argument."""
    flags = [_flag(row) for row in _rows()]
    known = {(f.flag, f.dest) for f in flags}
    return {
        f.flag: f.replacement
        for f in flags
        if f.kind in (OLD_VALUE, OLD_SWITCH) and f.replacement and (f.replacement, f.dest) in known
    }


@functools.cache
def replacements() -> t.Dict[str, str]:
    """Old flag to what its last release said instead, where that is not the same argument: a flag, ``--flag=value`` or advice."""
    notes: dict[str, tuple[int, str]] = {}
    for row in _rows():
        flag = _flag(row)
        if flag.note and flag.flag not in renames() and row[1] >= notes.get(flag.flag, (-1, ""))[0]:
            notes[flag.flag] = (row[1], flag.note)
    return {flag: note for flag, (dummy, note) in notes.items()}


@functools.cache
def words_of_dest(dest: str) -> t.Tuple[str, ...]:
    """Every flag that set argument *dest* to any value in some release, plain ones first."""
    rows = [row for row in _rows() if row[4] != OLD_CONSTANT and (row[3] or row[2][2:].replace("-", "_")) == dest]
    return tuple(dict.fromkeys(row[2] for row in sorted(rows, key=lambda r: (r[4] not in "vtb", r[2]))))


def relatives(word: str) -> list[str]:
    """Flags that meant the same as *word* in some release, by any chain of renames; *word* itself is left out."""
    found, todo = {word}, [word]
    while todo:
        current = todo.pop(0)
        near = [new for old, new in renames().items() if old == current] + [
            old for old, new in renames().items() if new == current
        ]
        todo.extend(w for w in near if w not in found)
        found.update(near)
    return sorted(found - {word}, key=lambda w: (w in renames(), w))


def newest_dest(flag: Flag) -> str:
    """The name of the flag's argument in the newest release that has it: one spelling for all releases."""
    newest = table_of(None)
    for word in (flag.flag, *flag.aliases):
        while word in renames():
            word = renames()[word]
        later = newest.get_exact(word)
        if later is not None:
            return later.dest
    return flag.dest


class Use(t.NamedTuple):
    """One use of a flag on a command line; ``flag`` is ``None`` where the server does not know ``word``."""

    word: str
    flag: t.Optional[Flag]
    values: t.List[str]
    surplus: t.List[str]
    ambiguous: t.Tuple[str, ...] = ()


def server_words(argv: t.Sequence[str]) -> list[str]:
    """The part of a whole command line that is meant for the server: from its first long option on."""
    for index, word in enumerate(argv):
        if word.startswith("--"):
            return list(argv[index:])
    return []


def uses(words: t.Sequence[str], table: FlagTable) -> list[Use]:
    """Read *words* as argparse does; words that no flag takes are the ``surplus`` of the flag before them."""
    found: list[Use] = []
    pending: list[str] = []
    for word in [*words, "--"]:
        if not is_option(word):
            pending.append(word)
            continue
        if found:
            found[-1] = _settle(found[-1], pending)
        elif pending:
            found.append(Use("", None, [], pending))
        pending = []
        if word == "--":
            continue
        name, sep, value = word.partition("=")
        try:
            flag, ambiguous = table.find(name), ()
        except Ambiguous as exc:
            flag, ambiguous = None, exc.args
        found.append(Use(name, flag, [value] if sep else [], [], ambiguous))
    return found


def is_option(word: str) -> bool:
    """Whether argparse takes *word* for an option: not a negative number, nothing with a space outside ``--x=``."""
    if not word.startswith("-") or word == "-" or _NEGATIVE_NUMBER.fullmatch(word):
        return False
    return " " not in word.partition("=")[0]


def _settle(use: Use, pending: list[str]) -> Use:
    """Give the words after a flag to it, as many as it takes."""
    if use.flag is None:
        return use._replace(values=use.values + pending)
    if use.values or not use.flag.takes_value:
        return use._replace(surplus=[*use.surplus, *pending])
    room = len(pending) if use.flag.nargs in ("+", "*") else 1
    return use._replace(values=pending[:room], surplus=[*use.surplus, *pending[room:]])


def arguments_of(
    argv: t.Sequence[str], version: t.Optional[str] = None, table: t.Optional[FlagTable] = None
) -> dict[str, t.Any]:
    """The arguments of a command line under one spelling for all releases: a mapping of argument name to value.

    A bare flag is true, ``--no-x`` false, a flag of several words a list; numbers are numbers where the release says so;
    the last use of a flag counts. Flags that the release does not know stand under their own name.

    :arg argv: the words of the whole command, or of the server alone.
    :arg version: the server's version; the newest release where it is not known.
    :arg table: the server's flags, where they are known better than by the version.
    """
    if table is None:
        try:
            table = table_of(version)
        except ValueError:
            table = table_of(None)
    found: dict[str, t.Any] = {}
    for use in uses(server_words(argv), table):
        if use.flag is not None:
            found[newest_dest(use.flag)] = value_of(use)
        elif use.word:
            found[_dest_anywhere(use.word)] = _plain(use.values)
    return found


def _dest_anywhere(word: str) -> str:
    """The newest name of the argument behind *word* by the last release that knows it; its own spelling where none does."""
    if word not in spans():
        return word.lstrip("-").replace("-", "_")
    return newest_dest(t.cast(Flag, table_of(spans()[word][1]).get_exact(word)))


def value_of(use: Use) -> t.Any:
    """The value of one use of a known flag, in the flag's own type where it reads so."""
    flag = t.cast(Flag, use.flag)
    if flag.kind == OLD_CONSTANT:
        return True
    if not flag.takes_value:
        return not (flag.kind == PAIR and use.word.startswith("--no-") and not flag.flag.startswith("--no-"))
    values = [_typed(value, flag.type) for value in use.values]
    if flag.nargs in ("+", "*"):
        return values
    return values[0] if values else True


def _plain(values: list[str]) -> t.Any:
    if not values:
        return True
    return values[0] if len(values) == 1 else values


def _typed(value: str, kind: str) -> t.Any:
    try:
        if kind == "int":
            return int(value)
        # What is not finite equals not even itself, or is nothing that JSON has.
        if kind == "float" and math.isfinite(float(value)):
            return float(value)
    except ValueError:
        pass
    return value
