# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo on what Galaxy would hand out: nothing of the collection comes from the clone."""

from __future__ import annotations

import os
import subprocess
import sys

from host_set import REPOSITORY


def test_the_quick_demo_runs_from_the_artifact(tmp_path):
    build = ["ansible-galaxy", "collection", "build", "--output-path", str(tmp_path), str(REPOSITORY)]
    subprocess.run(build, check=True, capture_output=True)
    (artifact,) = tmp_path.glob("llmops-sglang-*.tar.gz")
    place = tmp_path / "installed"
    install = ["ansible-galaxy", "collection", "install", str(artifact), "-p", str(place), "--offline"]
    subprocess.run(install, check=True, capture_output=True, env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(place)})
    demo = [sys.executable, str(REPOSITORY / "tests/demo/run.py"), "--quick", "--installed", str(place)]
    done = subprocess.run(demo, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    included = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("included: ")]
    assert included and all(path.startswith(f"{place}/ansible_collections/llmops/sglang/roles/") for path in included)
    assert done.stdout.count("TASK [Caught]") == 3 and "Everything is stopped and removed" in done.stdout
