# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host of the real lane in the hands of a test: plays with their results, processes of a unit, running streams."""

from __future__ import annotations

import http.client
import json
import pathlib
import re
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from host_set import REPOSITORY, HostSet
from real_servers import cache_directory

HERE = pathlib.Path(__file__).resolve().parent
HOST = "real1"
PORT = 30000
DFLASH, PLAIN = HERE / "dflash.yml", HERE / "plain.yml"
SERVERS_IN_HOST = "/srv/llmops-servers"


@dataclass
class Play:
    """What a run of a playbook came to."""

    returncode: int
    text: str
    results: list[dict[str, Any]]
    seconds: float

    def all(self, module: str) -> list[dict[str, Any]]:
        """The results of a module of this collection; there must be one."""
        found = [entry["result"] for entry in self.results if entry["action"] == f"llmops.sglang.{module}"]
        assert found, f"the play never came to {module}:\n{self.text}"
        return found

    def of(self, module: str) -> dict[str, Any]:
        """The last result of a module of this collection."""
        return self.all(module)[-1]

    def recap(self) -> dict[str, int]:
        line = re.search(rf"^{HOST}\s*:(.*)$", self.text, re.MULTILINE)
        assert line, self.text
        return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", line[1])}

    @property
    def failure(self) -> dict[str, Any]:
        """The first result that failed: what follows it tells of it."""
        failed = [entry["result"] for entry in self.results if entry["result"].get("failed")]
        assert failed, self.text
        return failed[0]

    @property
    def changes(self) -> list[str]:
        """The modules that changed something, in order."""
        return [entry["action"] for entry in self.results if entry["result"].get("changed")]


class Lane(HostSet):
    def boot(self) -> subprocess.CompletedProcess:
        servers = {"source": str(cache_directory()), "target": SERVERS_IN_HOST, "read_only": True}
        self.records = self.inventory.parent / "records"
        return self.create(binds=[servers], hosts_groups=["sglang"])

    def play(self, name: str, inventory: pathlib.Path, **variables: Any) -> Play:
        """Run one of the collection's playbooks with an inventory of this directory."""
        file = self.inventory.parent / "results"
        file.unlink(missing_ok=True)
        begun = time.monotonic()
        # Its benchmark, too: the servers keep two cores busy by themselves.
        with self.first(HOST):
            done = self.playbook(
                REPOSITORY / "playbooks" / f"{name}.yml",
                {"benchmark_results_dir": str(self.records), **variables},
                inventories=[inventory],
                environ={"LLMOPS_RESULT_FILE": str(file)},
            )
        results = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        play = Play(done.returncode, done.stdout + done.stderr, results, time.monotonic() - begun)
        print(play.text)
        return play

    def module(self, name: str, /, **options: Any) -> dict[str, Any]:
        result = self.run_module(HOST, f"llmops.sglang.{name}", options)
        print(name, json.dumps(result, indent=1))
        return result

    def shell(self, command: str) -> str:
        """What a command on the host prints; it must succeed."""
        done = self.ssh(HOST, command)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def show(self, unit: str, name: str) -> str:
        return self.shell(f"systemctl show --property={name} --value {unit}").strip()

    def processes(self, unit: str) -> dict[int, str]:
        """The processes in a unit's cgroup with their command lines; empty where there is no such cgroup."""
        text = self.shell(
            f"for p in $(cat /sys/fs/cgroup/system.slice/{unit}.service/cgroup.procs 2>/dev/null); do "
            "echo $p $(tr '\\0' ' ' </proc/$p/cmdline); done"
        )
        return {int(line.split()[0]): line.partition(" ")[2] for line in text.splitlines() if line.strip()}

    def process(self, unit: str, title: str) -> int:
        """The process whose title begins so."""
        found = [pid for pid, words in self.processes(unit).items() if words.startswith(title)]
        assert len(found) == 1, (title, self.processes(unit))
        return found[0]

    def wait_until(self, what: str, fact, seconds: float = 60) -> Any:
        """Poll until fact() is true, and return it."""
        deadline = time.monotonic() + seconds
        while not (value := fact()):
            assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
            time.sleep(0.3)
        return value

    def journal(self, unit: str, invocation: str = "") -> str:
        """What an invocation's service wrote; without one the current invocation's."""
        invocation = invocation or self.show(unit, "InvocationID")
        return self.shell(f"journalctl -o cat _SYSTEMD_INVOCATION_ID={invocation}")

    def journal_tail(self) -> str:
        return self.ssh(HOST, "journalctl -n 60 -o short-monotonic").stdout

    def stream(self, tokens: int) -> Stream:
        return Stream(self.address(HOST), tokens)


@dataclass
class Stream:
    """A chat that streams in a thread of its own, so that something can be done to the server meanwhile."""

    address: str
    tokens: int
    texts: list[str] = field(default_factory=list)
    usage: Mapping[str, int] = field(default_factory=dict)
    finish_reason: str | None = None
    done: bool = False
    error: str = ""

    def __post_init__(self) -> None:
        self._first = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        body = {
            "model": "any",
            "messages": [{"role": "user", "content": "hello"}],
            "temperature": 0,
            "max_tokens": self.tokens,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        try:
            connection = http.client.HTTPConnection(self.address, PORT, timeout=120)
            connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
            for line in connection.getresponse():
                self._take(line.decode().strip())
        except (OSError, http.client.HTTPException) as error:
            self.error = f"{type(error).__name__}: {error}"
        finally:
            self._first.set()

    def _take(self, line: str) -> None:
        if line == "data: [DONE]":
            self.done = True
        elif line.startswith("data: "):
            chunk = json.loads(line.removeprefix("data: "))
            self.usage = chunk.get("usage") or self.usage
            for choice in chunk["choices"]:
                self.finish_reason = choice.get("finish_reason") or self.finish_reason
                if choice["delta"].get("content"):
                    self.texts.append(choice["delta"]["content"])
                    self._first.set()

    def wait_for_text(self) -> None:
        assert self._first.wait(60) and self.texts, self.error or "no text came"

    def join(self) -> None:
        self._thread.join(120)
        assert not self._thread.is_alive(), "the stream never ended"
