# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A unit on a test host whose process is a shell script, and what is asked of its journal."""

from __future__ import annotations

import pytest

HOST = "host2"


FOREVER = "exec sleep infinity"
# Waits until a module that asks the journal is under way, which has a folder while it is.
ASKED = "until ls -d /tmp/ansible_llmops.sglang.journal_assert_payload_*; do sleep 0.1; done > /dev/null 2>&1; sleep 1"


class Service:
    """A unit whose process is a shell script."""

    def __init__(self, hosts, name, user=None):
        self.hosts, self.name, self.user = hosts, name, user
        home = "/home/operator"
        self.folder = "/etc/systemd/system" if user is None else f"{home}/.config/systemd/user"
        self.script = f"/srv/{name}.sh" if user is None else f"{home}/{name}.sh"
        self.systemctl = "systemctl" if user is None else "XDG_RUNTIME_DIR=/run/user/$(id -u) systemctl --user"

    def shell(self, command, check=True):
        done = self.hosts.ssh(HOST, command, user=self.user or "root")
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout.strip()

    def write(self, script, settings=""):
        self.shell(
            f"mkdir -p {self.folder} && cat > {self.script} <<'END'\n{script}\nEND\n"
            f"cat > {self.folder}/{self.name}.service <<'END'\n[Service]\nExecStart=/bin/bash {self.script}\n{settings}\nEND\n"
            f"{self.systemctl} daemon-reload"
        )

    def start(self, script, settings=""):
        """Write and (re)start; the invocation. What the script says may come to the journal later: until() waits for that."""
        self.write(script, settings)
        self.shell(f"{self.systemctl} restart {self.name}")
        return self.invocation()

    def invocation(self):
        return self.shell(f"{self.systemctl} show --property=InvocationID --value {self.name}.service")

    def ask(self, user=None, **options):
        scope = "system" if self.user is None else "user"
        options = {"name": self.name, "scope": scope, **options}
        return self.hosts.run_module(HOST, "llmops.sglang.journal_assert", options, user=user or self.user)

    def until(self, line):
        """Wait for LINE, which the script says."""
        result = self.ask(expect=[{"contains": line}], timeout=120)
        assert result["ok"], result["msg"]
        return result


@pytest.fixture
def service(hosts, request):
    made = Service(hosts, "ja-" + request.node.name.split("[")[0].replace("_", "-")[5:40])
    yield made
    hosts.ssh(
        HOST,
        f"systemctl stop {made.name}; rm -f {made.folder}/{made.name}.service {made.script}; systemctl daemon-reload",
    )


RUNNER = (
    "[2026-05-30 08:20:46 TP0] Initialized DFLASH draft runner. attention_backend=triton, "
    "model=DFlashDraftModel, block_size={}, draft_window_size=None, compact_cache=False"
)
