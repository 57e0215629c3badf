# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep tests/unit/fixtures/awx/modules.json, the options of the awx.awx modules that a playbook here uses.

They are read in the source of the modules as the package ``ansible`` carries them, and nothing of it is run:

    python tests/tools/awx_modules.py

``--check`` compares and writes nothing; ``--wheel FILE`` takes that wheel instead of fetching it by pip (55 MB).
"""

from __future__ import annotations

import argparse
import ast
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import typing as t
import zipfile

CLONE = pathlib.Path(__file__).resolve().parents[2]
TARGET = CLONE / "tests" / "unit" / "fixtures" / "awx" / "modules.json"
TASKS = CLONE / "playbooks" / "tasks" / "awx.yml"
# The bundle of ansible-core 2.19; later ones carry the same release of awx.awx, or none.
PACKAGE = "ansible==12.3.0"
INSIDE = "ansible_collections/awx/awx"


def used() -> list[str]:
    """The names of the modules that the playbook uses."""
    return sorted(set(re.findall(r"^ +awx\.awx\.(\w+):", TASKS.read_text(encoding="utf-8"), flags=re.M)))


def literal(node: ast.expr) -> t.Any:
    """A value of ``dict(...)`` calls and constants; a name, such as that of a fallback, is left out."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        return {word.arg: literal(word.value) for word in node.keywords if word.arg and word.arg != "fallback"}
    return ast.literal_eval(node)


def assigned(source: bytes, name: str) -> dict[str, t.Any]:
    """The mapping that *source* gives to a variable of this name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assign) and [getattr(one, "id", "") for one in node.targets] == [name]:
            return literal(node.value)
    raise SystemExit(f"there is no '{name}' in this module")


def read(wheel: pathlib.Path) -> dict[str, t.Any]:
    with zipfile.ZipFile(wheel) as archive:
        common = assigned(archive.read(f"{INSIDE}/plugins/module_utils/controller_api.py"), "AUTH_ARGSPEC")
        version = json.loads(archive.read(f"{INSIDE}/MANIFEST.json"))["collection_info"]["version"]
        modules = {
            name: {**common, **assigned(archive.read(f"{INSIDE}/plugins/modules/{name}.py"), "argument_spec")}
            for name in used()
        }
    return {"package": PACKAGE, "collection": f"awx.awx {version}", "modules": modules}


def fetch(folder: str) -> pathlib.Path:
    words = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--disable-pip-version-check"]
    subprocess.run([*words, "-d", folder, PACKAGE], check=True)
    (wheel,) = pathlib.Path(folder).glob("ansible-*.whl")
    return wheel


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--wheel", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = read(options.wheel or fetch(folder))
    text = json.dumps(found, indent=1, sort_keys=True) + "\n"
    same = TARGET.exists() and TARGET.read_text(encoding="utf-8") == text
    if not (options.check or same):
        TARGET.parent.mkdir(parents=True, exist_ok=True)
        TARGET.write_text(text, encoding="utf-8")
    print("no difference" if same else f"{TARGET.relative_to(CLONE)} {'differs' if options.check else 'was written'}")
    return int(options.check and not same)


if __name__ == "__main__":
    sys.exit(main())
