# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one assertion costs in a journal of a million rows, beside the same rows through journalctl and grep alone.

And how soon one that waits sees its line.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

import ansible
import big_journal
import pytest
from on_host_run import run_on_host

ROUNDS = 5
LINES = 40
MEMORY = 60 * 1024
EXPECT = [
    {
        "pattern": r"Initialized (\w+) draft runner\.",
        "fields": {"draft_window_size": 2048, "compact_cache": True},
    },
    {"contains": "Decode batch", "min_count": 9_000},
    {"pattern": "Traceback|OutOfMemoryError", "count": 0},
]
# What getrusage() says of this process would begin with the size of the one that started it.
PROGRAM = """
import atexit, resource, runpy, sys
def tell():
    own = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:"))
    print(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
atexit.register(tell)
runpy.run_module("ansible_collections.llmops.sglang.plugins.modules.journal_assert", run_name="__main__")
"""


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    folder = tmp_path_factory.mktemp("journal")
    big_journal.write(folder)
    yield folder
    shutil.rmtree(folder)


def bare(folder):
    """Seconds, and peak memory in KiB, of the shell's own way."""
    words = ["journalctl", f"--directory={folder}", "-o", "cat", "--no-pager"]
    matches = [f"_SYSTEMD_INVOCATION_ID={big_journal.NOW}", "+", f"INVOCATION_ID={big_journal.NOW}"]
    began = time.monotonic()
    with subprocess.Popen([*words, *matches], stdout=subprocess.PIPE) as reader:
        found = subprocess.run(
            ["grep", "-E", EXPECT[0]["pattern"]], stdin=reader.stdout, capture_output=True, check=False
        )
        reader.stdout.close()
        dummy, status, used = os.wait4(reader.pid, 0)
        reader.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    assert found.stdout.decode().splitlines() == [big_journal.RUNNER]
    return seconds, used.ru_maxrss


def ours(folder, **options):
    """Seconds, peak memory in KiB of the module and of the journalctl that it runs, and the result."""
    asked = {"name": "llm0", "directory": str(folder), "invocation": big_journal.NOW, "expect": EXPECT, **options}
    library = pathlib.Path(ansible.__file__).parents[1]
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": asked}),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f".build/collections:{library}"},
        check=False,
    )
    seconds = time.monotonic() - began
    own, child = map(int, done.stderr.split()[-2:])
    return seconds, own, child, json.loads(done.stdout)


def test_a_million_rows(journal, figures):
    bare_runs, our_runs = [], []
    for dummy in range(ROUNDS):
        bare_runs.append(bare(journal))
        our_runs.append(ours(journal))
        result = our_runs[-1][3]
        assert result["ok"] and result["entries_scanned"] == big_journal.CURRENT, result["msg"]
        assert [entry["count"] for entry in result["results"]] == [1, 9_999, 0]
    grep, module = (statistics.median(run[0] for run in runs) for runs in (bare_runs, our_runs))
    memory = max(run[1] for run in our_runs)
    subject = f"three expectations of an invocation with {big_journal.CURRENT:,} of {big_journal.ROWS:,} rows"
    beside = f"one pattern by journalctl -o cat | grep {grep:.2f} s: {(module - 0.3) / grep:.1f} times and 0.3 s"
    figures.add(subject, f"{module:.2f} s", beside, aim="3 times and 0.3 s")
    pages = f"that of journalctl {max(run[2] for run in our_runs) / 1024:.0f} MiB, the journal's own pages"
    alone = f"journalctl alone {max(run[1] for run in bare_runs) / 1024:.0f} MiB"
    figures.add("peak memory", f"{memory / 1024:.0f} MiB, and {pages}", alone, aim=f"{MEMORY // 1024} MiB")
    assert memory < MEMORY
    assert module <= 3 * grep + 0.3


def test_memory_does_not_grow_with_the_rows(journal, figures):
    few, many = ours(journal), ours(journal, invocation="any", expect=[{"contains": "Decode batch"}])
    assert many[3]["entries_scanned"] == big_journal.ROWS // big_journal.UNITS > 2 * few[3]["entries_scanned"]
    grown = f"{many[1] / 1024:.1f} MiB, and {few[1] / 1024:.1f} MiB without"
    figures.add("peak memory with 2.5 times the rows", grown, aim="1.2 times")
    assert many[1] < min(MEMORY, few[1] * 1.2)


def test_a_line_is_seen_soon(hosts, figures):
    with hosts.first("host1"):
        delays = sorted(run_on_host(hosts, "journal_watch.py", {"lines": LINES}, timeout=120))
    assert len(delays) == LINES
    words = f"median {statistics.median(delays):.3f} s, at most {delays[-1]:.3f} s, n {LINES}"
    figures.add("from a row to its being seen by a wait", words, aim="0.25 s for 95 %")
    assert delays[int(LINES * 0.95) - 1] < 0.25
