# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A virtual environment that holds what meta/execution-environment.yml names, ansible-core and ansible-runner."""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

import yaml

CLONE = pathlib.Path(__file__).resolve().parents[2]
LOCK = CLONE / "tests" / "setup" / "dev.lock"


def requirements() -> pathlib.Path:
    """The file that the execution environment names."""
    definition = yaml.safe_load((CLONE / "meta" / "execution-environment.yml").read_text())
    assert set(definition["dependencies"]) == {"python"}, "this environment knows of Python packages only"
    return CLONE / definition["dependencies"]["python"]


def python() -> str:
    """Its interpreter; the environment is kept between runs."""
    files = requirements().read_bytes() + LOCK.read_bytes() + sys.version.encode()
    venv = pathlib.Path(os.environ["LLMOPS_SGLANG_CACHE"]) / f"ee-{hashlib.sha256(files).hexdigest()[:12]}"
    if not (venv / ".complete").exists():
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        # The lock only says which versions of those.
        words = [
            "-m",
            "pip",
            "install",
            "-qq",
            "--disable-pip-version-check",
            "-c",
            str(LOCK),
            "-r",
            str(requirements()),
        ]
        subprocess.run([str(venv / "bin/python"), *words, "ansible-core", "ansible-runner"], check=True)
        (venv / ".complete").touch()
    return str(venv / "bin" / "python")
