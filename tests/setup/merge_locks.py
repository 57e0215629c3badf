# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Merge frozen requirements, one file a Python version, into one lock file with environment markers.

Usage: merge_locks.py NAME FOLDER    (FOLDER holds files named 3.11, 3.13, ...)
"""

from __future__ import annotations

import itertools
import pathlib
import sys


def version_key(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def marker(versions: list[str], of: list[str]) -> str:
    """The condition under which *versions*, which follow each other in *of*, are meant; empty where all are."""
    low = [] if versions[0] == of[0] else [f'python_version >= "{versions[0]}"']
    last = of.index(versions[-1])
    high = [] if last == len(of) - 1 else [f'python_version < "{next_minor(versions[-1])}"']
    return " and ".join(low + high)


def next_minor(version: str) -> str:
    major, minor = version_key(version)
    return f"{major}.{minor + 1}"


def main(name: str, folder: str) -> None:
    files = sorted(pathlib.Path(folder).iterdir(), key=lambda path: version_key(path.name))
    order = [path.name for path in files]
    # A version that was not frozen takes what the next newer one does.
    lower = {order[0]: order[0], **{new: next_minor(old) for old, new in itertools.pairwise(order)}}
    order = [lower[version] for version in order]
    pins: dict[str, list[str]] = {}
    for version, path in zip(order, files):
        for line in path.read_text(encoding="utf-8").split():
            if "==" in line:
                pins.setdefault(line, []).append(version)
    print("# Copyright (c) 2026 The llmops.sglang contributors")
    print("# SPDX-License-Identifier: GPL-3.0-or-later")
    print(f'# Made by "make lock" from {name}.in; do not edit.')
    for pin, versions in sorted(pins.items(), key=lambda row: (row[0].partition("==")[0].lower(), row[1])):
        condition = marker(versions, order)
        print(f"{pin} ; {condition}" if condition else pin)


main(*sys.argv[1:])
