# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host's directories below a test's, with configurations of one unit to keep."""

from __future__ import annotations

import shutil

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._kept_configuration import read_files
from ansible_collections.llmops.sglang.plugins.module_utils._server_history import Places, ServerHistory
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState

NAME = "llm@a.service"
KEY = "sk-very-secret"


class FakeManager:
    def __init__(self, units):
        self.units, self.reloads = units, 0
        self.vendor = False

    def show(self, name):
        there = self.vendor or (self.units / name).exists()
        return UnitState(name, {"LoadState": "loaded" if there else "not-found"})

    def exec_start(self, dummy_name):
        return ["/venv/bin/python", "-m", "sglang.launch_server", "--port", "4711", "--api-key", KEY]

    def daemon_reload(self):
        self.reloads += 1

    @staticmethod
    def no_such_unit(state):
        return Failure("no_such_unit", f"There is no unit '{state.name}'.")


class Host:
    """A host's directories below a test's."""

    def __init__(self, folder):
        self.units, self.state = folder / "units", folder / "state"
        self.units.mkdir()
        self.manager = FakeManager(self.units)
        self.places = Places(str(self.units), str(self.state), str(folder / "state" / "start-times.json"))

    def history(self, check_mode=False):
        return ServerHistory(self.manager, NAME, self.places, lambda dummy, dummy2: None, check_mode)

    def put(self, path, text, mode=0o644):
        file = self.units / path
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        file.chmod(mode)

    def old(self):
        """A configuration with everything that one can have."""
        shutil.rmtree(self.units)
        self.units.mkdir()
        self.put(NAME, b"[Service]\nExecStart=/bin/old \xff\n", 0o640)
        self.put(f"{NAME}.d/10-admin.conf", "[Service]\nNice=5\n", 0o600)
        (self.units / f"{NAME}.d/20-linked.conf").symlink_to("/opt/admin.conf")
        self.put(f"{NAME}.secrets/config.yaml", f'api-key: "{KEY}"\n', 0o600)
        self.put(f"{NAME}.secrets/environment", "LLMOPS_SGLANG_SECRETS=aa\nHF_TOKEN=hf_old\n", 0o600)
        (self.units / f"{NAME}.secrets").chmod(0o711)
        (self.units / "multi-user.target.wants").mkdir()
        (self.units / "multi-user.target.wants" / NAME).symlink_to(self.units / NAME)
        (self.units / "alias.service").symlink_to(NAME)
        return self.tree()

    def new(self):
        """Another one: files that are new, changed and gone, and the unit disabled."""
        shutil.rmtree(self.units)
        self.units.mkdir()
        self.put(NAME, "[Service]\nExecStart=/bin/new\n")
        self.put(f"{NAME}.d/zz-llmops-sglang.conf", "[Service]\nNice=1\n")
        self.put(f"{NAME}.secrets/environment", "LLMOPS_SGLANG_SECRETS=bb\nOTHER=x\n", 0o600)
        return self.tree()

    def tree(self):
        return read_files(str(self.units), NAME)


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)
