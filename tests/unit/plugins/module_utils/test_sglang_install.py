# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The version of SGLang in an environment, by its metadata alone."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._sglang_install import find_sglang


def run_command(argv, **dummy):
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def metadata(directory, name, version, body=""):
    (directory / name).mkdir(parents=True)
    file = "PKG-INFO" if name.endswith("egg-info") else "METADATA"
    (directory / name / file).write_text(f"Metadata-Version: 2.1\nName: sglang\nVersion: {version}\n{body}")


@pytest.mark.parametrize("name", ["sglang-0.5.12.dist-info", "sglang.egg-info"])
def test_the_pythonpath_of_the_server_counts(tmp_path, name):
    metadata(tmp_path, name, "0.5.12+fork")
    # A sitecustomize there is the server's business: here it would spoil the answer.
    (tmp_path / "sitecustomize.py").write_text("raise SystemExit(3)")
    assert find_sglang(run_command, sys.executable, {"PYTHONPATH": str(tmp_path)}).version == "0.5.12+fork"


def test_an_environment_without_sglang_is_named():
    with pytest.raises(Failure, match="no distribution 'sglang'") as caught:
        find_sglang(run_command, sys.executable, {})
    assert sys.executable in caught.value.msg


def test_an_interpreter_that_is_not_there():
    with pytest.raises(Failure, match="does not exist"):
        find_sglang(run_command, "/nowhere/python", {})


def test_an_interpreter_that_cannot_run_here(tmp_path):
    metadata(tmp_path / "lib" / "python3.11" / "site-packages", "sglang-0.5.9.dist-info", "0.5.9")
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\nexit 126\n")
    os.chmod(python, 0o755)
    assert find_sglang(run_command, str(python), {}) == ("0.5.9", "")


def test_the_stamp_follows_the_files(tmp_path):
    metadata(tmp_path, "sglang-0.5.12.dist-info", "0.5.12")
    (tmp_path / "sglang").mkdir()
    program = tmp_path / "sglang" / "launch_server.py"
    stamps = []
    for moment in (1, 1, 2):
        program.touch()
        os.utime(program, (moment, moment))
        stamps.append(find_sglang(run_command, sys.executable, {"PYTHONPATH": str(tmp_path)}).stamp)
    assert stamps[0] == stamps[1] != stamps[2] != ""
