# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Keep a module's result below the size that Ansible carries well (64 kB)."""

from __future__ import annotations

import json
import typing as t


def first_that_fit(entries: t.Sequence[dict[str, t.Any]], budget: int) -> list[dict[str, t.Any]]:
    """The first of *entries* that together take no more than *budget* bytes as JSON."""
    kept, size = [], 0
    for entry in entries:
        size += len(json.dumps(entry)) + 2
        if size > budget:
            break
        kept.append(entry)
    return kept
