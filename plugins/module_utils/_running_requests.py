# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""How many requests a server has in hand, by whichever of its routes tells it in its release."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._metrics_text import metric_sums

_GAUGES = ("sglang:num_running_reqs", "sglang:num_queue_reqs")


def of_loads(answer: t.Any) -> t.Optional[int]:
    """From ``/v1/loads`` (0.5.8 on): an entry for each data-parallel rank, which counts those that wait apart."""
    entries = answer.get("loads") if isinstance(answer, dict) else None
    return _sum(entries, ("num_running_reqs", "num_waiting_reqs"))


def of_get_load(answer: t.Any) -> t.Optional[int]:
    """From ``/get_load`` (to 0.5.20): a bare list, in which those that wait are among ``num_reqs``."""
    return _sum(answer, ("num_reqs",))


def of_metrics(text: str) -> t.Optional[int]:
    """From ``/metrics``, which needs no key and is there with ``--enable-metrics`` only."""
    sums = metric_sums(text)
    told = [name for name in _GAUGES if name in sums]
    # One that is there and no number may hide requests.
    hidden = any(re.search(rf"^{name}\b", text, re.MULTILINE) for name in _GAUGES if name not in sums)
    if hidden or _GAUGES[0] not in told or any(sums[name] < 0 for name in told):
        return None
    return int(sum(sums[name] for name in told))


def _sum(entries: t.Any, names: tuple[str, ...]) -> t.Optional[int]:
    if not isinstance(entries, list) or not entries:
        return None
    numbers = [entry.get(name) if isinstance(entry, dict) else None for entry in entries for name in names]
    if any(isinstance(number, bool) or not isinstance(number, int) or number < 0 for number in numbers):
        return None
    return sum(numbers)
