# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Show the release notes that the fragments make: ``python tests/tools/release_notes.py``, into ``.build/CHANGELOG.md``.

The release itself is ``antsibull-changelog release`` in the clone, which deletes the fragments; here it has a copy.
"""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
import tempfile

import yaml

CLONE = pathlib.Path(__file__).resolve().parents[2]
FRAGMENTS = CLONE / "changelogs" / "fragments"
NOTES = CLONE / ".build" / "CHANGELOG.md"
# What antsibull-changelog reads: the version, the fragments, and which plugins are new.
READ = ("galaxy.yml", "changelogs", "meta", "playbooks", "plugins", "roles")


def version() -> str:
    """The release whose summary is written, which gives its fragment the name; before there is one, that of galaxy.yml."""
    for path in FRAGMENTS.glob("*.yml"):
        if "release_summary" in yaml.safe_load(path.read_text("utf-8")):
            return path.stem
    return yaml.safe_load((CLONE / "galaxy.yml").read_text("utf-8"))["version"]


def release_notes() -> str:
    """The text of CHANGELOG.md as the release would write it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder, "ansible_collections", "llmops", "sglang")
        copy.mkdir(parents=True)
        for name in READ:
            source = CLONE / name
            (shutil.copytree if source.is_dir() else shutil.copy2)(source, copy / name)
        subprocess.run(["antsibull-changelog", "release", "--version", version()], cwd=copy, check=True)
        return (copy / "CHANGELOG.md").read_text("utf-8")


def main() -> int:
    NOTES.parent.mkdir(exist_ok=True)
    NOTES.write_text(release_notes(), "utf-8")
    print(f"The release notes for {version()} are in {NOTES.relative_to(CLONE)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
