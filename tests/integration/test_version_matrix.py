# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The main job under the oldest, the middle and the newest ansible-core, each with every Python that a target may have.

A pair without an interpreter on this machine is not run; ``tests/run.py`` says which these are.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
import yaml
from other_versions import CLONE, TARGETS, controller, controller_python, interpreter, target

SIMULATOR = "/opt/versions-sim"
PORT = 4331


@pytest.mark.parametrize("core", [core for core in TARGETS if controller_python(core)])
def test_the_main_job(hosts, core, tmp_path):
    """One host stands for as many as there are Pythons; tests/long has the benchmark and a second run under every core."""
    install = f"python3 {hosts.repository}/tests/simulator/install.py {SIMULATOR} --version 0.5.15.post1 --python /usr/bin/python3"
    done = hosts.ssh("host1", f"test -e {SIMULATOR} || {install}")
    assert done.returncode == 0, done.stderr
    pythons = {version: found for version in TARGETS[core] if (found := interpreter(version))}
    # A machine without any of them has at least the one that runs this.
    pythons = pythons or {f"{sys.version_info.major}.{sys.version_info.minor}": sys.executable}
    variables = {
        "server_python": f"{SIMULATOR}/bin/python",
        "server_speculative": {"algorithm": "DFLASH", "draft_model_path": "org/draft", "draft_window_size": 2048},
        "server_environment": {"SIM_LOAD_SECONDS": "1", "SIM_PACE": "0.2"},
        "server_wait": {"timeout": 120, "require_speculation": True},
        **yaml.safe_load(hosts.inventory.read_text())["all"]["hosts"]["host1"],
    }
    members = {
        f"target-{version}": {
            "server_name": f"sglang-{version}",
            "server_args": {"model_path": "org/model", "port": PORT + number},
            "ansible_python_interpreter": str(target(version, found)),
        }
        for number, (version, found) in enumerate(pythons.items())
    }
    inventory = tmp_path / "inventory.yml"
    inventory.write_text(yaml.safe_dump({"sglang": {"hosts": members, "vars": variables}}))
    program = controller(core, controller_python(core)) / "ansible-playbook"
    words = [
        str(program),
        "-i",
        str(hosts.inventory),
        "-i",
        str(inventory),
        "playbooks/site.yml",
        "--skip-tags",
        "benchmark",
    ]
    done = subprocess.run(words, cwd=CLONE, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[WARNING]: Deprecat" not in done.stdout + done.stderr
    for name, member in members.items():
        assert f"{name} {member['server_name']}: ready" in done.stdout, done.stdout
    units = " ".join(f"sglang-{version}" for version in pythons)
    hosts.ssh(
        "host1", f"systemctl disable --now {units}; rm -rf /etc/systemd/system/sglang-3.*; systemctl daemon-reload"
    )
