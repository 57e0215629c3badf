# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The installer of the real servers: what it says before it starts, and when it takes an environment for complete."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import install
import install_plan
import pytest
import real_servers

NAME = "llama-cpp"


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LLMOPS_SGLANG_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def run(*words: str) -> subprocess.CompletedProcess:
    command = [sys.executable, install.__file__, *words, "--only", NAME]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_check_and_plan_fetch_nothing(empty_cache):
    check, plan = run("--check"), run("--plan")
    assert (check.returncode, plan.returncode) == (1, 0), plan.stdout
    assert f"{NAME}: missing" in check.stdout
    assert "GB to fetch" in plan.stdout and str(empty_cache) in plan.stdout
    assert not empty_cache.exists()


def test_a_stamp_of_other_requirements_does_not_count(empty_cache):
    env = real_servers.ENVIRONMENTS[NAME]
    interpreter = real_servers.interpreter(NAME)
    interpreter.parent.mkdir(parents=True)
    interpreter.touch()
    stamp = empty_cache / "real" / NAME / "complete"
    stamp.write_text(real_servers.wanted_stamp(env) + "\n")
    assert real_servers.is_complete(env)
    stamp.write_text("0" * 64 + "\n")
    assert not real_servers.is_complete(env)


def test_a_plan_names_the_space_and_the_python_that_are_missing(empty_cache, monkeypatch):
    usage = shutil.disk_usage("/")._replace(free=100_000_000)
    monkeypatch.setattr(install_plan.shutil, "disk_usage", lambda _path: usage)
    monkeypatch.setattr(install_plan, "find_python", lambda: None)
    plan = install_plan.make_plan(list(real_servers.ENVIRONMENTS))
    text = "\n".join(plan.lines())
    assert len(plan.problems) == 2
    assert "Python 3.11" in text and "0.1 GB are free" in text


def test_a_release_over_another_is_planned_after_that_and_only_where_it_is_asked_for(empty_cache, monkeypatch):
    monkeypatch.setattr(install_plan, "find_torch", lambda _python: None)
    assert set(install_plan.make_plan(list(real_servers.ENVIRONMENTS)).missing) == set(real_servers.ENVIRONMENTS)
    for name, env in real_servers.RELEASES.items():
        assert install_plan.make_plan([name]).missing == (env.over, name)
    assert (
        "sglang-0.5.11"
        not in subprocess.run(
            [sys.executable, install.__file__, "--check"], capture_output=True, text=True, check=False
        ).stdout
    )


FAKE_PIP = """\
#!/bin/sh
echo "Collecting torch==2.13.0"
echo "  Downloading {file} ({size})"
{then}
"""


@pytest.mark.parametrize(
    ("file", "size", "cuda"),
    [
        ("torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl", "901.2 MB", True),
        ("torch-2.13.0-cp311-cp311-manylinux_2_28_aarch64.whl", "104.1 MB", False),
        ("torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl", "191.8 MB", False),
    ],
)
def test_the_build_of_torch_is_told_by_the_first_line_of_a_download(tmp_path: pathlib.Path, file, size, cuda):
    pip = tmp_path / "python"
    # The download would take longer than any test.
    pip.write_text(FAKE_PIP.format(file=file, size=size, then="sleep 1000"))
    os.chmod(pip, 0o755)
    found = install_plan.find_torch(pip)
    assert (found.file, found.cuda) == (file, cuda)
