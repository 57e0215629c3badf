# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cause every fault that a test is marked with, and write the page of what a user sees of each.

With ``--kept`` nothing is run: the page is made of the rows that earlier runs left in this clone.
"""

from __future__ import annotations

import argparse
import ast
import json
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator

CLONE = pathlib.Path(__file__).resolve().parents[2]
ROWS = CLONE / ".build" / "faults"
PAGE = CLONE / "docs" / "docsite" / "rst" / "faults.rst"
# A run of its own for each, since files of two of them may have the same name.
SUITES = ("tests/unit", "tests/integration", "tests/long")
LONGEST = 300
AREAS = {
    "start": "While the server starts",
    "serving": "While it serves",
    "journal": "The journal",
    "network": "Between controller, host and server",
    "host": "The host",
    "change": "A change that fails on its way",
    "several": "Several servers, nodes and plays",
    "controller": "What is kept on the controller",
}
HEAD = """\
..
  Copyright (c) 2026 The llmops.sglang contributors
  SPDX-License-Identifier: GPL-3.0-or-later

.. _ansible_collections.llmops.sglang.docsite.faults:

Faults, and what a user sees
============================

Each row is a test that causes the fault for real, and what the collection said while it ran: ``make faults`` runs them all and writes this
page. Numbers of processes, ports and seconds are those of that run. A row without a word is of a fault that changes nothing.
"""


def marked() -> Iterator[str]:
    """File and name of every test that is marked as a fault."""
    for suite in SUITES:
        for path in sorted((CLONE / suite).rglob("test_*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef) and any(map(_is_fault, node.decorator_list)):
                    yield f"{path.relative_to(CLONE)}::{node.name}"


def _is_fault(decorator: ast.expr) -> bool:
    words = ast.unparse(decorator)
    return words.startswith("pytest.mark.fault(") or "marks=pytest.mark.fault(" in words


def rows() -> list[dict[str, str]]:
    """The rows that are there, of tests that are there."""
    tests = set(marked())
    kept = [json.loads(path.read_text(encoding="utf-8")) for path in ROWS.glob("*.json")]
    return sorted(
        (row for row in kept if row["test"].partition("[")[0] in tests),
        key=lambda row: (list(AREAS).index(row["area"]), row["fault"], row["test"]),
    )


def plain(text: str) -> str:
    """TEXT on one line, as reStructuredText shows it unchanged."""
    text = " ".join(text.split())
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
    return re.sub(r"([\\*`|_<>])", r"\\\1", text)


def page(found: Iterable[dict[str, str]]) -> str:
    found = list(found)
    out = [HEAD, f"{len(found)} faults.\n"]
    for area, title in AREAS.items():
        out += [title, "-" * len(title), "", ".. list-table::", "   :header-rows: 1", "   :widths: 30 12 43 15", ""]
        cells = [("Fault", "Word", "What is said", "Test")]
        for row in (row for row in found if row["area"] == area):
            word = f"``{row['failure_class']}``" if row["failure_class"] else "\\-"
            file, name = row["test"].partition("[")[0].split("::")
            cells.append((plain(row["fault"]), word, plain(row["msg"]), f"``{pathlib.Path(file).name}::{name}``"))
        out += [f"   {'* -' if not column else '  -'} {cell}" for line in cells for column, cell in enumerate(line)]
        out.append("")
    return "\n".join(out).rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kept", action="store_true", help="run nothing, and use the rows that are there")
    if not parser.parse_args().kept:
        for suite in SUITES:
            command = [sys.executable, "-m", "pytest", "-q", "-m", "fault", suite]
            if subprocess.run(command, cwd=CLONE, check=False).returncode != 0:
                print(f"A fault of {suite} was not told as it has to be: the page is left as it is.")
                return 1
    found = rows()
    missing = set(marked()) - {row["test"].partition("[")[0] for row in found}
    if missing:
        print(f"There is no row of {sorted(missing)}: run 'make faults'.")
        return 1
    PAGE.write_text(page(found), encoding="utf-8")
    print(f"{PAGE.relative_to(CLONE)}: {len(found)} faults")
    return 0


if __name__ == "__main__":
    sys.exit(main())
