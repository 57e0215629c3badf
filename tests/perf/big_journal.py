# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes real journal files of many services with many rows, by systemd's own systemd-journal-remote."""

from __future__ import annotations

import pathlib
import subprocess
import typing as t

REMOTE = "/lib/systemd/systemd-journal-remote"
STARTED = "39f53479d3a045ac8e11786248231fbf"
UNITS, ROWS, CURRENT, OLDER = 20, 1_000_000, 20_000, 3_000
RUNNER = (
    "[2026-05-30 08:20:46 TP0] Initialized DFLASH draft runner. attention_backend=triton, model=DFlashDraftModel, "
    "block_size=8, draft_window_size=2048, compact_cache=True"
)


def invocation(unit: int, number: int) -> str:
    return f"{unit + 1:04x}{number:028x}"


# The invocation of the first unit that has the last 20,000 of its rows.
NOW = invocation(0, 999)


def rows() -> t.Iterator[str]:
    """In the export format; the units take turns, and each starts anew every 3,000 rows."""
    begins = ROWS - CURRENT * UNITS
    for index in range(ROWS):
        unit, own = index % UNITS, index // UNITS
        current = unit == 0 and index >= begins
        place = (index - begins) // UNITS if current else own % OLDER
        ident = NOW if current else invocation(unit, own // OLDER)
        name = f"llm{unit}.service"
        head = (
            f"__REALTIME_TIMESTAMP={1_780_000_000_000_000 + index * 500}\n__MONOTONIC_TIMESTAMP={1_000_000 + index * 500}\n"
            f"_BOOT_ID={'b' * 32}\n_MACHINE_ID={'c' * 32}\n_HOSTNAME=gpu1\nPRIORITY=6\n"
        )
        if place == 0:
            yield (
                f"{head}_TRANSPORT=journal\n_PID=1\n_UID=0\n_COMM=systemd\n_SYSTEMD_UNIT=init.scope\nMESSAGE_ID={STARTED}\n"
                f"JOB_TYPE=start\nJOB_RESULT=done\nUNIT={name}\nINVOCATION_ID={ident}\nMESSAGE=Started {name}.\n\n"
            )
            continue
        yield (
            f"{head}_TRANSPORT=stdout\n_STREAM_ID={ident}\n_PID={4000 + unit}\n_UID=997\n_GID=997\n_COMM=python3\n"
            f"_EXE=/opt/sglang/bin/python3.11\n_CMDLINE=/opt/sglang/bin/python3 -m sglang.launch_server --model-path /models/k26\n"
            f"_CAP_EFFECTIVE=0\n_SYSTEMD_CGROUP=/system.slice/{name}\n_SYSTEMD_UNIT={name}\n_SYSTEMD_SLICE=system.slice\n"
            f"_SYSTEMD_INVOCATION_ID={ident}\nSYSLOG_FACILITY=3\nSYSLOG_IDENTIFIER=python3\nMESSAGE={message(own, place)}\n\n"
        )


def message(own: int, place: int) -> str:
    """What a server under load says."""
    if place == 1:
        return RUNNER
    stamp = f"[2026-05-30 08:{own // 60 % 60:02d}:{own % 60:02d}"
    if own % 2:
        return (
            f"{stamp} TP0] Decode batch, #running-req: {own % 17}, #token: {own % 91331}, token usage: 0.{own % 97:02d}, "
            f"accept len: 3.{own % 89:02d}, cuda graph: True, gen throughput (token/s): {own % 9973}.17, #queue-req: 0"
        )
    return f'{stamp}] INFO:     10.0.0.{own % 251}:{30000 + own % 29999} - "POST /v1/chat/completions HTTP/1.1" 200 OK'


def write(folder: pathlib.Path) -> None:
    """The journal files go into *folder*."""
    words = [REMOTE, f"--output={folder / 'all.journal'}", "--split-mode=none", "-"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as remote:
        held: list[str] = []
        for row in rows():
            held.append(row)
            if len(held) == 2000:
                remote.stdin.write("".join(held).encode())
                held.clear()
        dummy, said = remote.communicate("".join(held).encode())
        assert remote.returncode == 0 and f"after writing {ROWS} entries" in said.decode(), said.decode()
