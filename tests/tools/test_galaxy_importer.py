# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Galaxy's own importer takes the artifact."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

CLONE = pathlib.Path(__file__).resolve().parents[2]
RELEASE = "0.4.44"
# Its own run of ansible-test wants a container; that is tests/run.py's here.
SETTINGS = """[galaxy-importer]
RUN_ANSIBLE_DOC = True
RUN_ANSIBLE_LINT = True
RUN_ANSIBLE_TEST = False
CHECK_REQUIRED_TAGS = True
REQUIRE_V1_OR_GREATER = False
"""


@pytest.fixture
def importer():
    """The folder with its programs, which is kept between runs."""
    venv = pathlib.Path(os.environ["LLMOPS_SGLANG_CACHE"]) / f"importer-{RELEASE}"
    if not (venv / ".complete").exists():
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        install = [str(venv / "bin/python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        subprocess.run([*install, f"galaxy-importer=={RELEASE}"], check=True)
        (venv / ".complete").touch()
    return venv / "bin"


def test_the_artifact_is_imported_without_a_word_of_warning(importer, tmp_path):
    build = ["ansible-galaxy", "collection", "build", "--output-path", str(tmp_path), str(CLONE)]
    subprocess.run(build, check=True, capture_output=True)
    (artifact,) = tmp_path.glob("llmops-sglang-*.tar.gz")
    (tmp_path / "importer.cfg").write_text(SETTINGS)
    environ = {"GALAXY_IMPORTER_CONFIG": str(tmp_path / "importer.cfg"), "PATH": f"{importer}:{os.environ['PATH']}"}
    done = subprocess.run(
        [str(importer / "python"), "-m", "galaxy_importer.main", str(artifact)],
        cwd=tmp_path,
        env={**os.environ, **environ, "ANSIBLE_COLLECTIONS_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "Importer processing completed successfully" in said, said
    assert not [line for line in said.splitlines() if "WARNING" in line or "ERROR" in line], said
