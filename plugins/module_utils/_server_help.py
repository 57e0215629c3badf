# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Ask an installed server for its flags: the help text of the entry point that the unit runs."""

from __future__ import annotations

import hashlib
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._flags import PAIR, SWITCH, VALUE, Flag, FlagTable, table_of

RunCommand = t.Callable[..., "tuple[int, str, str]"]

# torch alone takes tens of seconds to import from a cold disk.
HELP_TIMEOUT_S = 180


class HelpStore(t.NamedTuple):
    """Where help texts are kept: ``read`` gives a text or ``None``, ``write`` keeps one; both take a key."""

    read: t.Callable[[str], t.Optional[str]]
    write: t.Callable[[str, str], None]


def ask_server(
    run_command: RunCommand,
    python: str,
    environment: t.Mapping[str, str],
    version: str,
    stamp: str = "",
    store: t.Optional[HelpStore] = None,
) -> tuple[t.Optional[FlagTable], str]:
    """The flags in the help text of ``PYTHON -m sglang.launch_server``, or ``None`` and why there is none.

    Types come from the catalogue's nearest release wherever the flag has the same shape there.

    :arg stamp: what changes with the server's files; empty where that is not known, and nothing is kept then.
    """
    named = sorted((k, v) for k, v in environment.items() if k.startswith(("PYTHON", "SGL")))
    key = hashlib.sha256(repr((python, version, stamp, named)).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    text = store.read(key) if store and stamp else None
    if text is None:
        text, why = _help_text(run_command, python, environment)
        if why:
            return None, why
        if store and stamp:
            store.write(key, text)
    base = table_of(version)
    asked = parse_help(text)
    spelled = {flag.flag for flag in asked}
    flags = [_with_catalogue(flag, base.get_exact(flag.flag), spelled) for flag in asked]
    if base.origin == "catalogue":
        # What is deprecated is often hidden in a help text; a known release still takes it.
        flags += [f for f in base.flags if f.kind not in (VALUE, SWITCH, PAIR) and f.flag not in spelled]
    return FlagTable(version, base.base, flags, "help", text), ""


def _help_text(run_command: RunCommand, python: str, environment: t.Mapping[str, str]) -> tuple[str, str]:
    """The help text, or nothing and why."""
    # A wide terminal and no colour: the text is then the same wherever it is read.
    wide = {**environment, "COLUMNS": "400", "NO_COLOR": "1", "LC_ALL": "C.UTF-8", "PYTHONWARNINGS": "ignore"}
    command = ["timeout", str(HELP_TIMEOUT_S), python, "-m", "sglang.launch_server", "--help"]
    rc, out, err = run_command(command, environ_update=wide, check_rc=False)
    if rc == 124:
        return "", f"its help text did not come within {HELP_TIMEOUT_S} s"
    if rc != 0 or not parse_help(out):
        return "", " ".join((err or out).split())[-300:] or f"exit status {rc}"
    return out, ""


def parse_help(text: str) -> list[Flag]:
    """The options of an argparse help text (the forms of Python 3.9 to 3.14)."""
    found: list[Flag] = []
    for line in text.splitlines():
        # Two blanks stand before an option and before what it means.
        invocation = line[2:].partition("  ")[0] if line.startswith("  ") else ""
        flag = _parse_invocation(invocation) if re.match(r"(?:-\w, )?--\S", invocation) else None
        if flag is not None:
            found.append(flag)
    return found


def _parse_invocation(text: str) -> t.Optional[Flag]:
    """One invocation: ``--a X, --b X``, ``--a, --b X`` or ``--a, --no-a``."""
    words = re.findall(r"(?<![\w-])--[A-Za-z0-9][\w-]*", re.sub(r"\{[^{}]*\}", "", text))
    if not words:
        return None
    # What follows the last spelling is the metavar; each spelling has the same.
    metavar = text[text.rfind(words[-1]) + len(words[-1]) :].strip()
    plain = words[0][2:].replace("-", "_")
    if not metavar:
        pair = any(w == "--no-" + words[0][2:] for w in words[1:])
        return Flag(words[0], plain, PAIR if pair else SWITCH, "bool", aliases=tuple(words[1:]))
    choices = re.match(r"\[?\{([^}]*)\}", metavar)
    name = re.match(r"\[?([A-Z][A-Z0-9_]*)", metavar)
    dest = name.group(1).lower() if name and not choices else plain
    nargs = "*" if metavar.endswith("...]") else ""
    if metavar.endswith(" ...]") and re.search(r"\S \[", metavar[: -len(" ...]")]):
        nargs = "+"
    return Flag(
        words[0], dest, VALUE, "", nargs, tuple(choices.group(1).split(",")) if choices else None, tuple(words[1:])
    )


def _with_catalogue(asked: Flag, known: t.Optional[Flag], spelled: t.Collection[str]) -> Flag:
    """*asked* with the type that the catalogue knows; what a server shows without its replacement is not deprecated there."""
    if known is None or known.takes_value != asked.takes_value:
        return asked._replace(type=asked.type or "str")
    if known.replacement and known.replacement not in spelled:
        known = known._replace(kind=asked.kind, note="")
    return known._replace(
        aliases=asked.aliases, choices=asked.choices or None, nargs=asked.nargs or known.nargs, flag=asked.flag
    )
