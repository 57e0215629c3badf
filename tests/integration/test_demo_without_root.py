# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The quick demo by a user who cannot boot a test host: it falls back to units of the user's own systemd, and says so."""

from __future__ import annotations

import os
import pathlib
import sys

import pytest
from host_set import HostSet

COPY = """
set -e
mkdir /home/operator/clone && cd /home/operator/clone
for part in ansible.cfg galaxy.yml inventory meta playbooks plugins roles; do cp -r /srv/llmops/$part .; done
mkdir tests && cp -r /srv/llmops/tests/demo /srv/llmops/tests/hosts /srv/llmops/tests/real /srv/llmops/tests/simulator tests/
mkdir -p .build/collections/ansible_collections/llmops
ln -s /home/operator/clone .build/collections/ansible_collections/llmops/sglang
chown -R operator: .
"""
DEMO = (
    "cd clone && ANSIBLE_CONFIG=$PWD/ansible.cfg ANSIBLE_COLLECTIONS_PATH=$PWD/.build/collections LLMOPS_SGLANG_CACHE=$HOME/cache "
    "/srv/tools/bin/python tests/demo/run.py --quick --set load_seconds=2"
)


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """A host where the tools' Python can be read by everybody; root's home is closed else."""
    made = HostSet(f"u{os.getpid()}", ["lone"], tmp_path_factory.mktemp("lone"), owner_pid=os.getpid())
    created = made.create(binds=[{"source": sys.prefix, "target": "/srv/tools", "read_only": True}])
    assert created.returncode == 0, created.stdout + created.stderr
    for parent in pathlib.Path(sys.base_prefix).parents:
        made.ssh("lone", f"chmod o+x {parent}")
    copied = made.ssh("lone", COPY)
    assert copied.returncode == 0, copied.stderr
    yield made
    made.destroy()


def test_the_quick_demo_runs_as_a_user_with_lingering_and_leaves_nothing(host):
    done = host.ssh("lone", DEMO, user="operator", timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No test host can be booted" in done.stdout
    assert "units" in done.stdout or "your own systemd" in done.stdout
    for word in (
        "field_mismatch",
        "no_such_unit",
        "Coding: ",
        ", 0 not run.",
        "Record: /home/operator/clone/tests/output/demo/quick/",
    ):
        assert word in done.stdout
    left = host.ssh(
        "lone", "systemctl --user --all --plain list-units 'sglang-demo*' 'left-over*'", user="operator"
    ).stdout
    assert "0 loaded units listed" in left
    assert host.ssh("lone", "pgrep -u operator -fa launch_server", user="operator").returncode == 1
