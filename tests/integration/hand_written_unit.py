# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A unit that a person wrote by hand on a test host, and a package sglang of which nothing but the port is real."""

from __future__ import annotations

import textwrap

import pytest

SERVE = "/usr/bin/python3 -m http.server {port} --bind 127.0.0.1"


class Unit:
    """One unit on a host, written by hand."""

    def __init__(self, hosts, name, user=None):
        self.hosts, self.name, self.user = hosts, name, user
        self.folder = "/etc/systemd/system" if user is None else "/home/operator/.config/systemd/user"
        self.systemctl = "systemctl" if user is None else "XDG_RUNTIME_DIR=/run/user/$(id -u) systemctl --user"

    def write(self, exec_start, extra="", reload=True):
        text = textwrap.dedent(f"""\
            [Service]
            Type=exec
            ExecStart={exec_start}
            {extra}
            """)
        reload_command = f" && {self.systemctl} daemon-reload" if reload else ""
        self.shell(
            f"mkdir -p {self.folder} && cat > {self.folder}/{self.name}.service <<'END'\n{text}END\ntrue{reload_command}"
        )

    def bring_deaf(self, extra):
        """A running server that ignores SIGTERM, and does so by now: for systemd it has started before that."""
        deaf = f"/run/{self.name}.deaf"
        self.write(f"/bin/sh -c 'trap \"\" TERM; touch {deaf}; while :; do sleep 1; done'", extra)
        self.bring()
        self.shell(f"until test -e {deaf}; do sleep 0.1; done; rm {deaf}")

    def shell(self, command):
        done = self.hosts.ssh("host1", command, user=self.user or "root")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def bring(self, state="converged", check=False, diff=False, **options):
        scope = "system" if self.user is None else "user"
        args = {"name": self.name, "state": state, "scope": scope, "stop_timeout": 60, "start_timeout": 60, **options}
        return self.hosts.run_module(
            "host1", "llmops.sglang.server_service", args, check=check, diff=diff, user=self.user
        )

    def info(self):
        scope = "system" if self.user is None else "user"
        return self.hosts.run_module(
            "host1", "llmops.sglang.server_info", {"name": self.name, "scope": scope}, user=self.user
        )


@pytest.fixture
def unit(hosts, request):
    made = Unit(hosts, "svc-" + request.node.name.replace("_", "-").replace("[", "-").replace("]", "")[:60])
    yield made
    hosts.ssh(
        "host1",
        f"systemctl kill -s KILL {made.name}; systemctl stop {made.name}; rm -f {made.folder}/{made.name}.service",
    )


STAND_IN = "import http.server, sys\nhttp.server.ThreadingHTTPServer(('127.0.0.1', {port}), http.server.SimpleHTTPRequestHandler).serve_forever()\n"


def stand_in(unit, port):
    """A package sglang below the unit's folder whose server binds a port and understands every flag."""
    package = f"{unit.folder}/{unit.name}.d/sglang"
    unit.shell(
        f"mkdir -p {package} {package}-0.5.15.dist-info && touch {package}/__init__.py && echo a > {package}-0.5.15.dist-info/RECORD"
        f" && printf 'Metadata-Version: 2.1\\nName: sglang\\nVersion: 0.5.15\\n' > {package}-0.5.15.dist-info/METADATA"
        f" && cat > {package}/launch_server.py <<'END'\n{STAND_IN.format(port=port)}END\n"
    )
