# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-in server as a unit of a test host, and wait_for_generation on it."""

from __future__ import annotations

import re
import textwrap

import pytest

MODULE = "llmops.sglang.wait_for_generation"
FAST = "SIM_LOAD_SECONDS=0.5 SIM_WARMUP_SECONDS=0.2"
DFLASH = "--speculative-algorithm DFLASH --speculative-draft-model-path org/draft --speculative-num-draft-tokens 8"
OUTCOMES = {"generated", "refused", "reset", "timeout", "http_error", "bad_answer", "tls_error", "not_ready"}
KEYS = {
    "ok",
    "stages",
    "listener",
    "invocation_id",
    "main_pid",
    "expected_elapsed",
    "log_tail",
    "skipped_reason",
    "warmups",
}
PORTS = iter(range(31000, 31900, 10))


class Server:
    """The stand-in as a unit of its own on host1."""

    def __init__(self, hosts, name):
        self.hosts, self.name, self.port = hosts, name, next(PORTS)
        self.gate = f"/run/{name}.go"

    def write(self, environment=FAST, arguments="", extra="", **more):
        port = more.get("port", self.port)
        text = textwrap.dedent(f"""\
            [Unit]
            StartLimitIntervalSec=0
            [Service]
            Type=exec
            Environment=PYTHONPATH={self.hosts.repository}/tests/simulator PYTHONUNBUFFERED=1 SIM_PACE=1 {environment}
            ExecStart=/usr/bin/python3 -B -m sglang.launch_server --model-path org/model --port {port} {arguments}
            KillMode=mixed
            KillSignal=SIGINT
            TimeoutStopSec=10
            {extra}
            """)
        file = f"/etc/systemd/system/{self.name}.service"
        self.shell(f"cat > {file} <<'END'\n{text}END\nsystemctl daemon-reload")
        return self

    def start(self):
        self.shell(f"systemctl restart {self.name}")
        return self

    def shell(self, command, check=True):
        done = self.hosts.ssh("host1", command)
        assert done.returncode == 0 or not check, done.stderr + done.stdout
        return done.stdout.strip()

    def wait(self, check=False, user=None, **options):
        args = {"name": self.name, "timeout": 300, "progress_interval": 0, **options}
        result = self.hosts.run_module("host1", MODULE, args, check=check, user=user)
        assert set(result) >= KEYS, KEYS - set(result)
        assert set(result["outcomes"]) == OUTCOMES and result["changed"] is False
        assert len(result["log_tail"]) <= 10 and all(len(line) <= 400 for line in result["log_tail"])
        return result

    def fails(self, failure_class, **options):
        result = self.wait(**options)
        assert result["failed"] and result["ok"] is False
        assert result["failure_class"] == failure_class, (result["failure_class"], result["msg"], result["log_tail"])
        return result

    def ready(self, **options):
        result = self.wait(**options)
        assert result["ok"] is True, (result.get("failure_class"), result.get("msg"), result["log_tail"])
        return result

    def property(self, name):
        return self.shell(f"systemctl show --value -p {name} {self.name}")

    def write_gated(self, then=""):
        """The same, not begun before its gate is there; the log says meanwhile that weights are loaded."""
        program = f"/usr/bin/python3 -B -m sglang.launch_server --model-path org/model --port {self.port}"
        gate = f"echo 'Load weight begin. avail mem=78.50 GB'; until test -e {self.gate}; do sleep 0.1; done"
        self.shell(f"rm -f {self.gate}")
        return self.write(extra=f'ExecStart=\nExecStart=/bin/sh -c "{gate}; exec {program}"\n{then}')

    def when_waited_for(self, command):
        """Run *command* on the host once a module that waits is under way there: it has a folder while it is."""
        folders = f"/tmp/ansible_{MODULE}_payload_*"
        script = f"/run/{self.name}.when"
        self.shell(f"rm -rf {folders}; echo 'until ls -d {folders}; do sleep 0.1; done; {command}' > {script}")
        self.background(f"{self.name}-when", f"/bin/sh {script}")

    def background(self, name, command):
        """Run *command* on the host outside the unit, as a unit of its own."""
        self.shell(f"systemd-run --quiet --unit={name} {command}")


@pytest.fixture
def server(hosts, request):
    made = Server(hosts, "wait-" + re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:50])
    yield made
    made.shell(f"systemctl kill -s KILL '{made.name}*'", check=False)
    made.shell(f"systemctl stop '{made.name}*'; systemctl disable {made.name}", check=False)
    made.shell(f"rm -rf /etc/systemd/system/{made.name}.service* /run/{made.name}.*", check=False)
