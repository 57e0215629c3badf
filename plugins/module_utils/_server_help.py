# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Ask an installed server for its flags: the help text of the entry point that the unit runs."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._flags import PAIR, SWITCH, VALUE, Flag, FlagTable, table_of

RunCommand = t.Callable[..., "tuple[int, str, str]"]

# torch alone takes tens of seconds to import from a cold disk.
HELP_TIMEOUT_S = 180


def ask_server(
    run_command: RunCommand, python: str, environment: t.Mapping[str, str], version: str
) -> tuple[t.Optional[FlagTable], str]:
    """The flags in the help text of ``PYTHON -m sglang.launch_server``, or ``None`` and why there is none.

    Types come from the catalogue's nearest release wherever the flag has the same shape there.
    """
    # A wide terminal and no colour: the text is then the same wherever it is read.
    wide = {**environment, "COLUMNS": "400", "NO_COLOR": "1", "LC_ALL": "C.UTF-8", "PYTHONWARNINGS": "ignore"}
    command = ["timeout", str(HELP_TIMEOUT_S), python, "-m", "sglang.launch_server", "--help"]
    rc, out, err = run_command(command, environ_update=wide, check_rc=False)
    if rc == 124:
        return None, f"its help text did not come within {HELP_TIMEOUT_S} s"
    found = parse_help(out)
    if rc != 0 or not found:
        return None, " ".join((err or out).split())[-300:] or f"exit status {rc}"
    base = table_of(version)
    flags = [_with_catalogue(flag, base.get_exact(flag.flag)) for flag in found]
    return FlagTable(version, base.base, flags, "help", out), ""


def parse_help(text: str) -> list[Flag]:
    """The options of an argparse help text (the forms of Python 3.9 to 3.14)."""
    found: list[Flag] = []
    for line in text.splitlines():
        match = re.match(r" {2}(-\S.*?)(?: {2,}\S.*)?$", line)
        if not match or not re.match(r"(?:-\w, )?--|--", match.group(1)):
            continue
        flag = _parse_invocation(match.group(1))
        if flag is not None:
            found.append(flag)
    return found


def _parse_invocation(text: str) -> t.Optional[Flag]:
    """One invocation: ``--a X, --b X``, ``--a, --b X`` or ``--a, --no-a``."""
    words = re.findall(r"(?<![\w-])--[A-Za-z0-9][\w-]*", re.sub(r"\{[^}]*\}", "", text))
    if not words:
        return None
    # What follows the last spelling is the metavar; each spelling has the same.
    metavar = text[text.rfind(words[-1]) + len(words[-1]) :].strip()
    plain = words[0][2:].replace("-", "_")
    if not metavar:
        pair = any(w == "--no-" + words[0][2:] for w in words[1:])
        return Flag(words[0], plain, PAIR if pair else SWITCH, "bool", aliases=tuple(words[1:]))
    choices = re.match(r"\{([^}]*)\}", metavar)
    name = re.match(r"\[?([A-Z][A-Z0-9_]*)", metavar)
    dest = name.group(1).lower() if name and not choices else plain
    nargs = "+" if re.search(r"\S \[.* \.\.\.\]$", metavar) else "*" if metavar.endswith("...]") else ""
    return Flag(
        words[0], dest, VALUE, "", nargs, tuple(choices.group(1).split(",")) if choices else None, tuple(words[1:])
    )


def _with_catalogue(asked: Flag, known: t.Optional[Flag]) -> Flag:
    if known is None or known.takes_value != asked.takes_value:
        return asked._replace(type=asked.type or "str")
    return known._replace(
        aliases=asked.aliases, choices=asked.choices or None, nargs=asked.nargs or known.nargs, flag=asked.flag
    )
