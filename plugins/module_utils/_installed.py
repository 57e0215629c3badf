# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Find the installed SGLang behind an interpreter by its files alone: nothing is run or imported."""

from __future__ import annotations

import glob
import os
import re
import typing as t


class Distribution(t.NamedTuple):
    """One installed SGLang: its version and the directory of its metadata."""

    version: str
    metadata: str


def installed_sglang(python: str, pythonpath: str = "", home: str = "") -> t.Optional[Distribution]:
    """The SGLang that *python* would import; ``None`` where none is found.

    :arg python: absolute path of the interpreter as it is called, links included: a virtual environment is told by it.
    :arg pythonpath: the server's ``PYTHONPATH``; *home*: of the server's user, for packages that a user installed.
    """
    if not os.path.isabs(python):
        return None
    for directory in _directories(python, pythonpath, home):
        for path in sorted(glob.glob(os.path.join(glob.escape(directory), "sglang-*.dist-info"))):
            match = re.fullmatch(r"sglang-(.+)\.dist-info", os.path.basename(path))
            if match:
                return Distribution(match.group(1), path)
    return None


def _directories(python: str, pythonpath: str, home: str) -> t.Iterator[str]:
    """The directories of packages in the order in which the interpreter looks."""
    yield from (p for p in pythonpath.split(":") if p)
    root = os.path.dirname(os.path.dirname(python))
    number = re.search(r"python(\d+\.\d+)$", os.path.realpath(python))
    name = f"python{number.group(1)}" if number else "python3*"
    isolated = os.path.exists(os.path.join(root, "pyvenv.cfg"))
    roots = [root] if isolated else [*([os.path.join(home, ".local")] if home else []), "/usr/local", root]
    for base in dict.fromkeys(roots):
        for folder in (name, "python3"):
            for kind in ("site-packages", "dist-packages"):
                yield from sorted(glob.glob(os.path.join(glob.escape(base), "lib*", folder, kind)))


def absolute_interpreter(interpreter: str, environment: t.Mapping[str, str], running: str = "") -> str:
    """*interpreter* as an absolute path: as written, as it runs, or by the environment's ``PATH``; empty where not found."""
    for candidate in (interpreter, running):
        if candidate.startswith("/"):
            return candidate
    path = environment.get("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin")
    for directory in path.split(":") if interpreter and "/" not in interpreter else []:
        if directory.startswith("/") and os.access(os.path.join(directory, interpreter), os.X_OK):
            return os.path.join(directory, interpreter)
    return ""
