# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The processes of a unit, by its control group."""

from __future__ import annotations

import os
import typing as t


def members(control_group: str, cgroup_root: str = "/sys/fs/cgroup") -> list[int]:
    """The processes in a control group and below it, in the unified or in systemd's own hierarchy."""
    if control_group in ("", "/"):
        return []
    pids: set[int] = set()
    for hierarchy in ("", "unified", "systemd"):
        for folder, dummy, files in os.walk(os.path.join(cgroup_root, hierarchy, control_group.lstrip("/"))):
            if "cgroup.procs" in files:
                pids.update(_pids(os.path.join(folder, "cgroup.procs")))
    return sorted(pids)


def _pids(path: str) -> t.Iterator[int]:
    try:
        with open(path, encoding="ascii") as handle:
            yield from (int(line) for line in handle if line.strip().isdigit())
    except OSError:
        return
