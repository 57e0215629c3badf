# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A unit of the small server on the host that this runs on, and the module's own wait for it, in this process."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
_root = pathlib.Path(tempfile.mkdtemp(prefix="llmops-path-"), "ansible_collections", "llmops")
_root.mkdir(parents=True)
(_root / "sglang").symlink_to(REPOSITORY)
sys.path.insert(0, str(_root.parents[1]))

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._generation_wait import GenerationWait


def run_command(argv, environ_update=None, **_more):
    """As AnsibleModule.run_command, for what the module asks of it."""
    environ = {**os.environ, **(environ_update or {})}
    done = subprocess.run(argv, capture_output=True, env=environ, stdin=subprocess.DEVNULL, check=False)
    return done.returncode, *(out.decode("utf-8", "surrogateescape") for out in (done.stdout, done.stderr))


class Unit:
    """One unit *name* at *port*; *defaults* are those of the module's options."""

    def __init__(self, name, port, defaults, folder):
        self.name, self.port, self.defaults, self.folder = name, port, defaults, pathlib.Path(folder)
        self.url = f"http://127.0.0.1:{port}"
        self.plan = {}

    def write(self):
        server = pathlib.Path(__file__).with_name("server.py")
        plan = self.folder / f"{self.name}.json"
        pathlib.Path("/run/systemd/system", f"{self.name}.service").write_text(
            textwrap.dedent(f"""\
                [Unit]
                StartLimitIntervalSec=0
                [Service]
                Type=exec
                ExecStart=/usr/bin/python3 -S -E -B {server} --port {self.port} --plan {plan}
                KillMode=process
                TimeoutStopSec=10
                """)
        )

    def next_start(self, **plan):
        """What the process of the next start does."""
        self.plan = {
            "load": 0.0,
            "warm": 0.0,
            "linger": 0.0,
            "way": "child",
            "reuse": False,
            "until_asked": False,
            **plan,
        }
        (self.folder / f"{self.name}.json").write_text(json.dumps(self.plan))

    def systemctl(self, *words):
        done = subprocess.run(["systemctl", *words, self.name], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def property(self, name):
        return self.systemctl("show", "--value", "-p", name)

    def wait(self, **options):
        """The module's result, and the monotonic time at which it was there."""
        params = {**self.defaults, "name": self.name, "timeout": 300.0, **options}
        result = {"slice_state": None}
        try:
            while "slice_state" in result:
                result = GenerationWait({**params, "slice_state": result["slice_state"]}, run_command).run()
        except Failure as failure:
            result = {**failure.result, "failure_class": failure.failure_class, "msg": failure.msg}
        return result, time.monotonic()

    def file_of(self, invocation, what):
        return self.folder / f"{invocation}.{what}"

    def time_of(self, invocation, what):
        """When the invocation was *ready* for a generation, or *gone*; ``None`` before that."""
        file = self.file_of(invocation, what)
        return float(file.read_text()) if file.exists() else None

    def asked_at(self, invocation):
        """When a generation was asked of the invocation."""
        file = self.file_of(invocation, "asked")
        return [float(line) for line in file.read_text().split()] if file.exists() else []

    def remove(self):
        for words in (["kill", "-s", "KILL"], ["stop"]):
            subprocess.run(["systemctl", *words, self.name], capture_output=True, check=False)
        pathlib.Path("/run/systemd/system", f"{self.name}.service").unlink(missing_ok=True)
