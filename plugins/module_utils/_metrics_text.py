# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Metrics in the text format of Prometheus."""

from __future__ import annotations

import re

_SAMPLE = re.compile(r"^(?P<name>[a-zA-Z_:][\w:]*)(?:\{[^}]*\})?\s+(?P<value>[0-9.eE+-]+)", re.MULTILINE)


def metric_sums(text: str) -> dict[str, float]:
    """Each metric of a Prometheus text, summed over its labels.

    A rank of tensor or pipeline parallelism repeats what its first one counts, so only their rank 0 is taken.
    """
    sums: dict[str, float] = {}
    for match in _SAMPLE.finditer(text):
        if re.search(r'\b(?:tp|pp)_rank="[1-9]', match.group(0)):
            continue
        try:
            sums[match.group("name")] = sums.get(match.group("name"), 0.0) + float(match.group("value"))
        except ValueError:
            continue
    return sums
