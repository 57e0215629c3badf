# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run ansible-playbook as operators do and watch what it takes: time, and memory of it and its forks."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence


@dataclasses.dataclass
class Run:
    """Seconds, also of its processors, and peaks in bytes: of the process itself (RSS), and of it with its forks, shared pages once (PSS)."""

    seconds: float
    cpu: float
    main_rss: int
    all_pss: int
    most_processes: int
    returncode: int
    said: str


def run_playbook(words: Sequence[str], cwd: pathlib.Path, environ: Mapping[str, str]) -> Run:
    """Run to its end, with a look at its processes several times a second."""
    program = pathlib.Path(sys.executable).with_name("ansible-playbook")
    run = Run(0, 0, 0, 0, 0, 0, "")
    begun, used = time.monotonic(), _used()
    process = subprocess.Popen(
        [str(program), *words],
        cwd=cwd,
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(process.pid, run, over))
    watcher.start()
    try:
        run.said = process.communicate()[0]
    finally:
        over.set()
        watcher.join()
    run.seconds, run.cpu, run.returncode = time.monotonic() - begun, _used() - used, process.returncode
    return run


def _used() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _watch(pid: int, run: Run, over: threading.Event) -> None:
    while not over.wait(0.25):
        found = [pss for one in _family(pid) if (pss := _kib(f"/proc/{one}/smaps_rollup", "Pss:")) is not None]
        run.all_pss = max(run.all_pss, sum(found) * 1024)
        run.most_processes = max(run.most_processes, len(found))
        run.main_rss = max(run.main_rss, (_kib(f"/proc/{pid}/status", "VmHWM:") or 0) * 1024)


def _family(pid: int) -> list[int]:
    """The process and its forks; the ssh masters that they leave behind are no part of it."""
    try:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(one for child in children for one in _family(int(child)))]


def _kib(path: str, key: str) -> int | None:
    try:
        lines = pathlib.Path(path).read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith(key)), None)
