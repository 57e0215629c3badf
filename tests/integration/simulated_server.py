# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start and question the stand-in server: shared by the tests that need no host."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass

SIMULATOR = pathlib.Path(__file__).resolve().parents[1] / "simulator"
FAST = {"SIM_LOAD_SECONDS": "0.1", "SIM_WARMUP_SECONDS": "0.05", "SIM_TEARDOWN_SECONDS": "0", "SIM_PACE": "0.04"}
DFLASH = ("--speculative-algorithm", "DFLASH", "--speculative-draft-model-path", "org/draft")


@dataclass
class Answer:
    status: int
    headers: dict
    body: bytes
    seconds: float

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def events(self):
        """The `data:` payloads of a stream, parsed, "[DONE]" as it is."""
        payloads = [line[6:] for line in self.text.split("\n") if line.startswith("data: ")]
        return [payload if payload == "[DONE]" else json.loads(payload) for payload in payloads]


def state(pid):
    """The letter of a process's state; that of a dead one where there is none."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def reaches(pid, letter):
    """Wait until a process is in a state: a signal is there at once, what it does may take a while."""
    deadline = time.monotonic() + 60
    while state(pid) != letter:
        assert time.monotonic() < deadline, f"{pid} is {state(pid)!r} and not {letter!r}"
        time.sleep(0.005)


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    reaches(pid, "T")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class SimulatedServer:
    """One process of the stand-in, in a session of its own, with its output in a file."""

    def __init__(self, directory, *args, version="0.5.15.post1", fork="", port=None, env=None, model="org/model"):
        self.port = port or free_port()
        self.output = pathlib.Path(directory) / f"server-{self.port}-{time.monotonic_ns()}.log"
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SIM_", "SGLANG_", "SGL_"))}
        environment.update(FAST, PYTHONPATH=str(SIMULATOR), SIM_VERSION=version, SIM_FORK=fork)
        environment.update(env or {})
        argv = [sys.executable, "-m", "sglang.launch_server", "--model-path", model, "--port", str(self.port), *args]
        with self.output.open("wb") as handle:
            self.process = subprocess.Popen(argv, stdout=handle, stderr=handle, env=environment, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    @property
    def log(self):
        return self.output.read_bytes().decode()

    def wait_line(self, pattern, timeout=60.0):
        """The match of a pattern in the output; fails when the process ends or time runs out without it."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            ended = self.process.poll() is not None
            found = re.search(pattern, self.log, re.M)
            if found:
                return found
            if ended:
                break
            time.sleep(0.01)
        raise AssertionError(f"no line like {pattern!r} (exit {self.process.poll()}) in:\n{self.log[-3000:]}")

    def wait_ready(self):
        self.wait_line(r"fired up and ready to roll!$")
        return self

    def wait_exit(self, timeout=60.0):
        return self.process.wait(timeout)

    @contextlib.contextmanager
    def held(self):
        """Within it no token is made: what is under way stays so, however slow the test."""
        pid = self.children()["sglang::schedul"]
        stop(pid)
        try:
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def stays(self, seconds=0.3):
        """Fails as soon as the process ends, within a time that is long for what it does at its fastest pace.

        For a process that does nothing more at all: where anything comes later, a test waits for that.
        """
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return self
        raise AssertionError(f"it ended with {status}:\n{self.log[-3000:]}")

    def call(self, method, path, body=None, headers=None, timeout=30.0):
        """One request on a connection of its own. A dict goes as JSON, text and bytes as they are."""
        began = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        fields = {"Content-Type": "application/json", **(headers or {})}
        data = json.dumps(body) if isinstance(body, (dict, list)) else body
        try:
            connection.request(method, path, data, fields)
            reply = connection.getresponse()
            content = reply.read()
            names = {name.lower(): value for name, value in reply.getheaders()}
            return Answer(reply.status, names, content, time.monotonic() - began)
        finally:
            connection.close()

    def get(self, path, **more):
        return self.call("GET", path, **more)

    def chat(self, content="Hello", timeout=60.0, headers=None, **fields):
        body = {"model": "m", "messages": [{"role": "user", "content": content}], "max_tokens": 16, "temperature": 0}
        return self.call("POST", "/v1/chat/completions", {**body, **fields}, headers, timeout)

    def generate(self, text="Once", tokens=32, **more):
        body = {"text": text, "sampling_params": {"max_new_tokens": tokens, "temperature": 0}, **more}
        return self.call("POST", "/generate", body)

    def children(self):
        """{comm: pid} of the server's child processes."""
        out = subprocess.run(
            ["ps", "--ppid", str(self.process.pid), "-o", "pid=,comm="], stdout=subprocess.PIPE, text=True, check=False
        ).stdout
        return {line.split(None, 1)[1]: int(line.split()[0]) for line in out.splitlines()}
