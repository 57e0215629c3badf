# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Versions of SGLang, compared."""

from __future__ import annotations

import re


def version_key(version: str) -> tuple[int, ...]:
    """A sort key: release, then pre-releases before it and post-releases after it; build tags do not count.

    :raises ValueError: if *version* does not begin with a number.
    """
    match = re.match(r"v?(\d+(?:\.\d+)*)(?:[._-]?(a|b|rc|post|dev)[._-]?(\d*))?", version.strip())
    if not match:
        raise ValueError(f"'{version}' is not a version")
    release = [int(part) for part in match.group(1).split(".")][:4]
    release += [0] * (4 - len(release))
    rank = {"dev": -4, "a": -3, "b": -2, "rc": -1, None: 0, "post": 1}[match.group(2)]
    return (*release, rank, int(match.group(3) or 0))


def at_least(version: str, release: str) -> bool:
    """Whether *version* is *release* or newer."""
    return version_key(version) >= version_key(release)
