# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The engine's own worker processes of a unit, and those that died under a living main process.

SGLang's port accepts for 6 s after its scheduler was killed and for 65 s after its detokenizer (measured on 0.5.15 and
0.5.23): the missing child is known at once.
"""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._listener import process_stat

# Names that SGLang and vLLM give their workers; the kernel keeps 15 characters. Compilers and helpers come and go.
_TITLES = ("sglang::", "VLLM::")


def workers(pids: t.Iterable[int], proc: str = "/proc") -> dict[int, str]:
    """The living workers among *pids* with their names.

    A compiler that a worker starts has the worker's name until it is executed, and none of them a moment later.
    """
    stats = {pid: stat for pid in pids if (stat := process_stat(pid, proc)) is not None}
    named = {pid: stat for pid, stat in stats.items() if stat.comm.startswith(_TITLES) and stat.state not in "ZX"}
    return {
        pid: stat.comm
        for pid, stat in named.items()
        if stat.parent not in named or named[stat.parent].comm != stat.comm
    }


def dead(seen: t.Mapping[int, str], proc: str = "/proc") -> dict[int, str]:
    """Those of *seen* that are gone or only wait to be reaped."""
    gone = {}
    for pid, name in seen.items():
        stat = process_stat(pid, proc)
        if stat is None or stat.state in "ZX" or stat.comm != name:
            gone[pid] = name
    return gone
