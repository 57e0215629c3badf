# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A unit that server_unit writes on a test host, whose interpreter writes down what it was started with."""

from __future__ import annotations

import json

import pytest

# Stands in for the interpreter: it writes down what it was started with.
RECORDER = """\
#!/usr/bin/python3
import json, os, sys, time
words = open("/proc/self/cmdline", "rb").read().rstrip(b"\\0").split(b"\\0")
record = {"argv": sys.argv[1:], "environ": dict(os.environ), "euid": os.geteuid()}
if "--config" in sys.argv:
    record["config"] = open(sys.argv[sys.argv.index("--config") + 1]).read()
path = os.environ["RECORD"]
json.dump(record, open(path + ".new", "w"))
os.rename(path + ".new", path)
while True:
    time.sleep(60)
"""


class Server:
    """One unit made by the module on host1."""

    def __init__(self, hosts, name, user=None):
        self.hosts, self.name, self.user = hosts, name, user
        home = "/srv/units" if user is None else "/home/operator/units"
        self.python, self.record = f"{home}/recorder", f"{home}/{name}.json"
        self.folder = "/etc/systemd/system" if user is None else "/home/operator/.config/systemd/user"
        self.systemctl = "systemctl" if user is None else "XDG_RUNTIME_DIR=/run/user/$(id -u) systemctl --user"
        self.shell(
            f"mkdir -p {home} && cat > {self.python} <<'END'\n{RECORDER}END\nchmod 755 {self.python}; chmod 1777 {home}"
        )

    def shell(self, command, check=True):
        done = self.hosts.ssh("host1", command, user=self.user or "root")
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout

    def options(self, **options):
        environment = {"RECORD": self.record, **options.pop("environment", {})}
        base = {
            "name": self.name,
            "scope": "system" if self.user is None else "user",
            "python": self.python,
            "sglang_version": "0.5.15",
            "args": {"model_path": "org/model"},
        }
        return {**base, "environment": environment, **options}

    def write(self, check=False, **options):
        return self.hosts.run_module(
            "host1", "llmops.sglang.server_unit", self.options(**options), check=check, diff=True, user=self.user
        )

    def start(self):
        """Start it anew and read what it was started with."""
        wait = f"for i in $(seq 500); do test -s {self.record} && break; sleep 0.1; done"
        self.shell(f"rm -f {self.record}; {self.systemctl} restart {self.name}; {wait}")
        text = self.shell(f"cat {self.record}", check=False)
        assert text, self.shell(f"{self.systemctl} status --full --lines=30 {self.name}", check=False)
        return json.loads(text)

    def unit(self):
        return self.shell(f"cat {self.folder}/{self.name}.service")


@pytest.fixture
def make(hosts, request):
    made = []

    def new(user=None):
        name = "unit-" + request.node.name.replace("_", "-").replace("[", "-").replace("]", "")[:60]
        made.append(Server(hosts, name, user))
        return made[-1]

    yield new
    for server in made:
        server.shell(
            f"{server.systemctl} kill -s KILL {server.name}; {server.systemctl} stop {server.name};"
            f"rm -rf {server.folder}/{server.name}.service*; {server.systemctl} daemon-reload",
            check=False,
        )
