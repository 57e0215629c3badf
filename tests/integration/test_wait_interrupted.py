# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an operator sees of a wait while it runs, and what is left of one that ends before its time."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import textwrap
import time

import ansible_fork
import pytest
import yaml
from fault_rows import fault

MODULE = "llmops.sglang.wait_for_generation"
PORT = 31990
# Longer than anything here takes on a slow machine, and shorter than the waits that are interrupted.
CEILING = 60


class Load:
    """A unit whose log says that weights are loaded, until it is let go and becomes the stand-in server."""

    def __init__(self, hosts, name):
        self.hosts, self.name = hosts, name
        simulator = f"PYTHONPATH={hosts.repository}/tests/simulator python3 -B -m sglang.launch_server"
        script = f"echo 'Load weight begin. avail mem=78.50 GB'; until test -e /run/{name}.go; do sleep 0.1; done; "
        text = textwrap.dedent(f"""\
            [Service]
            Environment=SIM_PACE=1 SIM_LOAD_SECONDS=0.2 SIM_WARMUP_SECONDS=0.1
            ExecStart=/bin/sh -c "{script} exec env {simulator} --model-path org/model --port {PORT}"
            """)
        self.shell(f"cat > /run/systemd/system/{name}.service <<'END'\n{text}END\nsystemctl daemon-reload")
        self.shell(f"systemctl restart {name}")

    def shell(self, command):
        done = self.hosts.ssh("host1", command)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout.strip()

    def let_go(self):
        self.shell(f"touch /run/{self.name}.go")

    def cut_connections(self):
        """End every connection to the host, this one included."""
        cut = "systemd-run --quiet --no-block pkill -KILL -f '^sshd.*: root'"
        self.hosts.ssh("host1", cut)
        until(lambda: self.hosts.ssh("host1", "true").returncode == 0)

    def modules(self):
        """The folders of modules under way on the host: each has one from when it has arrived whole until it ends by itself.

        Ansible's interpreters cannot be counted instead: one that was cut off while it was sent a module prints that
        module's one long line as a syntax error, and waits for a reader until the connection is closed.
        """
        return self.shell(f"find /tmp -maxdepth 1 -name 'ansible_{MODULE}_payload_*'").split()

    @contextlib.contextmanager
    def waited_for(self, tmp_path, task=None):
        """ansible-playbook as an operator starts it, in a process group of its own, with its output in a pipe."""
        # A slice lasts as long as the interval: nothing here may depend on that one ends.
        args = {"name": self.name, "timeout": 600, "progress_interval": 300}
        play = [{"hosts": "host1", "gather_facts": False, "tasks": [{MODULE: args, **(task or {})}]}]
        (tmp_path / "play.yml").write_text(yaml.safe_dump(play))
        words = [
            sys.executable,
            "-m",
            "ansible",
            "playbook",
            "-i",
            str(self.hosts.inventory),
            str(tmp_path / "play.yml"),
        ]
        environ = {**os.environ, **ansible_fork.SETTINGS, "PYTHONUNBUFFERED": "1"}
        run = subprocess.Popen(
            words, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        try:
            yield run
        finally:
            run.kill()
            run.wait()


@pytest.fixture
def load(hosts):
    made = Load(hosts, "interrupted")
    yield made
    made.shell(
        f"systemctl kill -s KILL {made.name}; systemctl stop {made.name}; rm -f /run/systemd/system/{made.name}.service /run/{made.name}.go"
    )


def line_of(run, text):
    """The next line with *text*, which is there although *run* goes on; the lines before it are dropped."""
    for line in run.stdout:
        if text in line:
            return line
    raise AssertionError(f"ansible ended with {run.wait()} and never said {text!r}")


def until(fact):
    end = time.monotonic() + CEILING
    while not fact():
        assert time.monotonic() < end, "it did not become true"
        time.sleep(0.1)


def test_lines_are_there_before_the_server_is_ready_and_a_lost_connection_is_no_end(load, tmp_path):
    before = load.modules()
    with load.waited_for(tmp_path) as run:
        line = line_of(run, "loading weights")
        assert re.match(rf"\[ *\d+ s\] host1 {load.name}: loading weights: Load weight begin", line), line
        until(lambda: set(load.modules()) - set(before))
        load.cut_connections()
        line_of(run, f"{load.name}: connection lost, trying again")
        # The server becomes ready only because these lines were read.
        load.let_go()
        line_of(run, f"{load.name}: ready")
        assert "ok=1" in run.stdout.read() and run.wait(CEILING) == 0
        fault(
            "network",
            "Every connection to the host is cut in mid-wait",
            "'connection lost, trying again', and the wait ends ready.",
        )


def test_an_interrupted_wait_ends_at_once_and_leaves_nothing(load, tmp_path):
    before = load.modules()
    with load.waited_for(tmp_path) as run:
        line_of(run, "loading weights")
        until(lambda: set(load.modules()) - set(before))
        os.killpg(run.pid, signal.SIGINT)
        said = run.stdout.read()
        assert run.wait(CEILING) not in (0, 2) and "Traceback" not in said, said
        fault("controller", "Ctrl-C in mid-wait", "It ends at once and leaves no process on the host.")
    until(lambda: not set(load.modules()) - set(before))
    load.let_go()
    result = load.hosts.run_module("host1", MODULE, {"name": load.name, "timeout": 120})
    assert result["ok"] is True, result


def test_the_timeout_of_the_task_ends_the_wait_and_leaves_nothing(load, tmp_path):
    before = load.modules()
    with load.waited_for(tmp_path, task={"timeout": 6}) as run:
        said = run.stdout.read()
        assert run.wait(CEILING) == 2 and "Traceback" not in said and "timed out" in said.lower(), said
        fault(
            "controller",
            "The timeout of the task in mid-wait",
            "The task fails as timed out and leaves no process on the host.",
        )
    until(lambda: not set(load.modules()) - set(before))
