# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Merge the frozen requirements of Python 3.11 and of a newer one into one lock file with environment markers."""

from __future__ import annotations

import pathlib
import sys


def read(path: str) -> dict[str, str]:
    lines = pathlib.Path(path).read_text(encoding="utf-8").split()
    return {line.partition("==")[0].lower(): line for line in lines if "==" in line}


old, new = read(sys.argv[1]), read(sys.argv[2])
print("# Copyright (c) 2026 The llmops.sglang contributors")
print("# SPDX-License-Identifier: GPL-3.0-or-later")
print('# Made by "make lock" from dev.in; do not edit.')
for name in sorted({**old, **new}):
    if old.get(name) == new.get(name):
        print(old[name])
        continue
    for frozen, marker in ((old, '< "3.12"'), (new, '>= "3.12"')):
        if name in frozen:
            print(f"{frozen[name]} ; python_version {marker}")
