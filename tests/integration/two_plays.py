# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two plays that want one unit, each with its own idea of the server."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import sys

import ansible_fork
import pytest
from deployed_server import NAME, DeployedServer, wait_until

REFUSED = f"Another play changes the unit '{NAME}.service' now"
GATE = "/run/two-plays.go"


class Play(DeployedServer):
    """One of the two, with its own idea of the server."""

    def __init__(self, hosts, folder, requests):
        folder.mkdir()
        super().__init__(hosts, folder)
        self.word = f"--max-running-requests {requests}"
        self.vars["server_args"] = {**self.vars["server_args"], "max_running_requests": requests}

    @contextlib.contextmanager
    def begun(self, *wrapper, **changed):
        """The same in another process, as another user or machine starts it, whose connections are its own."""
        assert self.run("", "--list-tasks", **changed).returncode == 0
        words = [sys.executable, "-m", "ansible", "playbook", "-i", str(self.hosts.inventory)]
        words += ["-i", str(self.folder / "inventory.yml"), str(self.folder / "deploy.yml")]
        words += ["-e", f"ansible_control_path_dir={self.folder}"]
        environ = {**os.environ, **ansible_fork.SETTINGS, "PYTHONUNBUFFERED": "1"}
        with (self.folder / "said").open("wb") as sink:
            run = subprocess.Popen(
                [*wrapper, *words], env=environ, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            yield run
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
            run.wait()
            for socket in filter(pathlib.Path.is_socket, self.folder.iterdir()):
                leave = ["ssh", "-F", "none", "-o", f"ControlPath={socket}", "-O", "exit", "host"]
                subprocess.run(leave, capture_output=True, check=False)

    @contextlib.contextmanager
    def starting(self, *wrapper):
        """Within its change: systemd does not start the server before the gate is open."""
        self.shell(f"rm -f {GATE}")
        wait = f"/bin/sh -c 'until test -e {GATE}; do sleep 0.1; done'"
        with self.begun(*wrapper, server_service={"ExecStartPre": wait}) as run:
            active = f"systemctl show -P ActiveState {NAME}"
            wait_until(lambda: run.poll() is not None or self.shell(active) == "activating")
            assert run.poll() is None, self.told()
            yield run

    def told(self):
        return (self.folder / "said").read_text()

    def refused(self, *words, by=None):
        done = self.run(*words)
        assert done.returncode != 0 and done.changed == "0" and "wait until it has ended" in done.said, done.said
        assert f"{REFUSED} (process {by.pid if by else ''}" in done.said, done.said
        return done

    def has_its_server(self):
        """Whether unit, process and proof are of this play, all of them."""
        assert self.in_line() and self.generates()
        pid = self.shell(f"systemctl show -P MainPID {NAME}")
        assert self.word in self.files() and self.word in self.shell(f"tr '\\0' ' ' < /proc/{pid}/cmdline")
        known = self.history()
        assert [kept["id"] for kept in known["configurations"] if kept["on_host"] and kept["proven"]] == [
            known["last_good"]
        ]


@pytest.fixture
def plays(hosts, tmp_path):
    first, second = (Play(hosts, tmp_path / name, number) for name, number in (("first", 8), ("second", 4)))
    if first.files():
        first.deploy(server_state="absent")
    yield first, second
    first.shell(f"rm -f {GATE}")
