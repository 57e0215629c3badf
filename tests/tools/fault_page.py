# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cause every fault that a test knows of, and write the page of what a user sees of each.

With ``--kept`` nothing is run: the page is made of the rows that earlier runs left in this clone.
"""

from __future__ import annotations

import argparse
import ast
import json
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable

CLONE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CLONE / "tests"))

from fault_rows import AREAS, ROWS

PAGE = CLONE / "docs" / "docsite" / "rst" / "faults.rst"
# A run of its own for each, since files of two of them may have the same name; side by side where that is what they are made for.
SIDE_BY_SIDE = ("-n", "4", "--dist", "worksteal")
SUITES = {"tests/unit": SIDE_BY_SIDE, "tests/integration": SIDE_BY_SIDE, "tests/long": ()}
LONGEST = 300
# A unit that is named by its test.
TEST = re.compile(r"\b([a-z]+-test)-[a-z0-9-]+")
MACHINE = re.compile(r"/(?:tmp|root|work|home/(?!operator)|srv/llmops)[^\s'\"(),]*/")
HEAD = """\
..
  Copyright (c) 2026 The llmops.sglang contributors
  SPDX-License-Identifier: GPL-3.0-or-later

.. _ansible_collections.llmops.sglang.docsite.faults:

Faults, and what a user sees
============================

Each row is a test that causes the fault for real, and what the collection said while it ran: ``make faults`` runs them all and writes this
page. Numbers of processes, ports and seconds are those of that run. A row without a word is of what others tell (Ansible, SSH), or of a
fault that changes nothing.
"""


def causing() -> dict[str, set[str]]:
    """Every test that causes faults, as file and name, with the words that do not depend on its parameters."""
    found: dict[str, set[str]] = {}
    for suite in SUITES:
        for path in sorted((CLONE / suite).rglob("test_*.py")):
            for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(function, ast.FunctionDef) and function.name.startswith("test_"):
                    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
                    words = [call.args[1] for call in calls if ast.unparse(call.func) == "fault"]
                    if words:
                        test = f"{path.relative_to(CLONE)}::{function.name}"
                        found[test] = {word.value for word in words if isinstance(word, ast.Constant)}
    return found


def rows() -> list[dict[str, str]]:
    """The rows that are there, of tests that still cause these faults."""
    tests = causing()
    kept = {}
    for path in sorted(ROWS.glob("*.json")):
        row = json.loads(path.read_text(encoding="utf-8"))
        if row["test"].partition("[")[0] in tests:
            # Several parameters of a test may stand for one fault.
            kept[row["area"], row["fault"]] = row
    return [kept[key] for key in sorted(kept, key=lambda key: (list(AREAS).index(key[0]), key[1]))]


def plain(text: str) -> str:
    """TEXT on one line, as reStructuredText shows it unchanged, without the folders of the machine that it is from."""
    text = TEST.sub(r"\1", MACHINE.sub("…/", " ".join(text.split())))
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
    tests = causing()
    if not parser.parse_args().kept:
        shutil.rmtree(ROWS, ignore_errors=True)
        for suite, options in SUITES.items():
            chosen = [test for test in tests if test.startswith(f"{suite}/")]
            command = [sys.executable, "-m", "pytest", "-q", *options, *chosen]
            if subprocess.run(command, cwd=CLONE, check=False).returncode != 0:
                print(f"A fault of {suite} was not told as it has to be: the page is left as it is.")
                return 1
    found = rows()
    there = {(row["test"].partition("[")[0], row["fault"]) for row in found}
    missing = [
        f"{test}: {word}" for test, words in tests.items() for word in sorted(words) if (test, word) not in there
    ]
    if missing:
        print("\n".join(["There is no row of these; 'make faults' runs them:", *missing]))
        return 1
    PAGE.write_text(page(found), encoding="utf-8")
    print(f"{PAGE.relative_to(CLONE)}: {len(found)} faults")
    return 0


if __name__ == "__main__":
    sys.exit(main())
