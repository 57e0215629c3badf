# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Environments with another ansible-core for the controller and another Python for a host, kept between runs."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Sequence

CLONE = pathlib.Path(__file__).resolve().parents[2]
# The Pythons that each core supports on a controller, the newest first; the tests themselves need one of 3.11 to 3.14.
CONTROLLERS = {
    "2.16": ("3.12", "3.11", "3.10"),
    "2.17": ("3.12", "3.11", "3.10"),
    "2.18": ("3.13", "3.12", "3.11"),
    "2.19": ("3.13", "3.12", "3.11"),
    "2.20": ("3.14", "3.13", "3.12"),
    "2.21": ("3.14", "3.13", "3.12"),
}
# Those that the collection supports and the core as well.
TARGETS = {"2.16": ["3.9", "3.11"], "2.19": ["3.9", "3.11", "3.13"], "2.21": ["3.9", "3.11", "3.13"]}


def interpreter(version: str) -> str | None:
    """A Python of VERSION that starts; a pyenv shim of a version that is not enabled does not."""
    root = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"), "versions")
    for candidate in [
        *(str(path / "bin/python") for path in root.glob(f"{version}.*")),
        shutil.which(f"python{version}"),
    ]:
        if candidate and subprocess.run([candidate, "-c", ""], capture_output=True, check=False).returncode == 0:
            return candidate
    return None


def controller_python(core: str) -> str | None:
    """The newest Python of this machine that CORE supports on a controller."""
    return next(filter(None, map(interpreter, CONTROLLERS[core])), None)


def controller(core: str, python: str) -> pathlib.Path:
    """The folder with the programs of the newest release of CORE."""
    version = subprocess.run([python, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    return _environment(f"core-{core}-{version}", python, [f"ansible-core=={core}.*"])


def target(version: str, python: str) -> pathlib.Path:
    """A Python for a host, with what the modules need."""
    lock = CLONE / "tests" / "setup" / "target.lock"
    return _environment(f"host-{version}", python, ["requests", "jmespath", "-c", str(lock)]) / "python"


def _environment(name: str, python: str, packages: Sequence[str]) -> pathlib.Path:
    venv = pathlib.Path(os.environ["LLMOPS_SGLANG_CACHE"]) / name
    if not (venv / ".complete").exists():
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([python, "-m", "venv", str(venv)], check=True)
        install = [str(venv / "bin/python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        subprocess.run([*install, *packages], check=True)
        (venv / ".complete").touch()
    return venv / "bin"


def main() -> int:
    """Say which pairs of the matrix have no interpreter on this machine, a line each."""
    for core, targets in TARGETS.items():
        if not controller_python(core):
            print(f"ansible-core {core}: none of the Pythons {', '.join(CONTROLLERS[core])}")
        for version in targets:
            if not interpreter(version):
                print(f"ansible-core {core} with a target's Python {version}: no such interpreter")
    return 0


if __name__ == "__main__":
    sys.exit(main())
