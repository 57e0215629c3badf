# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run all measurements and write docs/performance.md from what they found on this machine."""

from __future__ import annotations

import datetime
import itertools
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
from importlib import metadata

import figures

CLONE = pathlib.Path(__file__).resolve().parents[2]
PAGE = CLONE / "docs" / "performance.md"
HEAD = """<!--
Copyright (c) 2026 The llmops.sglang contributors
SPDX-License-Identifier: GPL-3.0-or-later
-->
# Performance

What the collection costs, beside what a user would do otherwise. `make performance` measures it all and writes this page; nothing in
it is written by hand. A ratio was measured within one run, both sides in turn; a time alone is of the machine below.

| | |
| --- | --- |
"""


def machine() -> list[tuple[str, str]]:
    """What the figures depend on."""
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    revision = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=CLONE, capture_output=True, text=True, check=False
    ).stdout.strip()
    systemd = subprocess.run(["systemctl", "--version"], capture_output=True, text=True, check=False).stdout.split()
    return [
        ("Command", "`make performance`"),
        ("Date", datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")),
        ("Revision", f"`{revision or 'not known'}`"),
        (
            "Machine",
            f"{os.cpu_count()} processors ({model[1] if model else platform.machine()}), {memory:.0f} GiB of memory",
        ),
        ("Load before", f"{os.getloadavg()[0]:.1f}"),
        ("System", f"Linux {platform.release()}, systemd {systemd[1] if len(systemd) > 1 else 'not known'}"),
        ("Controller", f"Python {platform.python_version()}, ansible-core {metadata.version('ansible-core')}"),
    ]


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def page(about: list[tuple[str, str]], rows: list[dict[str, str]]) -> str:
    """The page of *rows*, those of one test under its title."""
    out = [HEAD + "\n".join(f"| {name} | {cell(value)} |" for name, value in about)]
    for (test, title), group in itertools.groupby(rows, key=lambda row: (row["test"], row["title"])):
        out.append(f"\n## {title}\n\n`tests/perf/{test}`\n")
        columns = [("What", "subject"), ("Measured", "ours"), ("Otherwise", "beside"), ("Aim", "aim")]
        kept = list(group)
        used = [(head, key) for head, key in columns if any(row[key] for row in kept)]
        out.append("| " + " | ".join(head for head, dummy in used) + " |")
        out.append("|" + " --- |" * len(used))
        out += ["| " + " | ".join(cell(row[key]) or "-" for dummy, key in used) + " |" for row in kept]
    return "\n".join(out) + "\n"


def main() -> int:
    about = machine()
    found = CLONE / ".build" / "figures.jsonl"
    found.parent.mkdir(exist_ok=True)
    found.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-s", "tests/perf"]
    rc = subprocess.run(command, cwd=CLONE, env={**os.environ, figures.FILE: str(found)}, check=False).returncode
    if rc != 0:
        # A page of some of the figures would look like one of all of them.
        print("The page is left as it was, because not every measurement met its aim.", file=sys.stderr)
        return rc
    rows = [json.loads(line) for line in found.read_text(encoding="utf-8").splitlines()]
    PAGE.write_text(page(about, rows), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
