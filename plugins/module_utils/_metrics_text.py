# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Metrics in the text format of Prometheus."""

from __future__ import annotations

import math
import re

_SAMPLE = re.compile(
    r"""^(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?:[^"}\n]|"(?:\\.|[^"\\\n])*")*\})?[ \t]*(?P<value>\S*)""", re.MULTILINE
)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def metric_sums(text: str) -> dict[str, float]:
    """Each metric of a Prometheus text, summed over its labels; one of which any value is no number is left out.

    A rank of tensor or pipeline parallelism repeats what its first one counts, so only their rank 0 is taken.
    """
    sums: dict[str, float] = {}
    unknown: set[str] = set()
    for match in _SAMPLE.finditer(text):
        if re.search(r'\b(?:tp|pp)_rank="[1-9]', match.group(0)):
            continue
        if _NUMBER.fullmatch(match.group("value")):
            sums[match.group("name")] = sums.get(match.group("name"), 0.0) + float(match.group("value"))
        else:
            unknown.add(match.group("name"))
    return {name: total for name, total in sums.items() if name not in unknown and math.isfinite(total)}
