# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Names of service units."""

from __future__ import annotations

import difflib
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure

# systemd.unit(5): what a unit name may hold; 255 bytes at most with the suffix.
_VALID = re.compile(r"[A-Za-z0-9:_.\\-]+(@[A-Za-z0-9:_.\\-]*)?")


def unit_name(name: str) -> str:
    """*name* with its ``.service``.

    :raises Failure: ``unit_invalid`` for another unit type or a name that systemd would not take.
    """
    full = name if name.endswith(".service") else f"{name}.service"
    stem = full[: -len(".service")]
    if not _VALID.fullmatch(stem) or len(full) > 255:
        raise Failure(
            "unit_invalid",
            f"The unit name '{name}' is not valid: use letters, digits and ':-_.\\@', at most 255 characters in all.",
        )
    if stem.endswith("@"):
        raise Failure(
            "unit_invalid",
            f"The unit name '{name}' is a template, which never runs: name an instance, as in '{stem}1'.",
        )
    return full


def closest(name: str, names: t.Iterable[str], count: int = 3) -> list[str]:
    """At most *count* of *names* that look most like *name*, the nearest first."""
    # The suffix that all units share would make any two names look alike.
    by_stem = {other.rsplit(".", 1)[0]: other for other in sorted(set(names))}
    return [by_stem[stem] for stem in difflib.get_close_matches(name.rsplit(".", 1)[0], by_stem, n=count, cutoff=0.6)]
