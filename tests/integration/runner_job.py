# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbooks run as AWX runs them: by ansible-runner, from a private data directory, with extra variables."""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import yaml
from host_set import REPOSITORY


class Job:
    """One run, while it goes on and after its end."""

    def __init__(self, process: subprocess.Popen, folder: pathlib.Path) -> None:
        self._process, self._folder = process, folder
        self.stdout, self.stderr = "", ""

    def lines(self) -> list[str]:
        """What it has shown up to now."""
        return [line for event in self.events() for line in event["stdout"].splitlines()]

    def events(self) -> list[dict[str, Any]]:
        # A file that is still written has no name of an event.
        paths = (self._folder / "job_events").glob("[0-9]*-*.json")
        found = [(int(path.name.partition("-")[0]), path) for path in paths if not path.name.endswith("-partial.json")]
        return [json.loads(path.read_text()) for dummy, path in sorted(found)]

    def cancel(self) -> None:
        """As AWX does it: runner is told to end, and ends the playbook."""
        self._process.send_signal(signal.SIGTERM)

    def wait(self, timeout: float = 900) -> Job:
        try:
            self.stdout, self.stderr = self._process.communicate(timeout=timeout)
        finally:
            if self._process.poll() is None:
                self._process.kill()
        return self

    @property
    def returncode(self) -> int:
        return self._process.returncode

    @property
    def status(self) -> str:
        return (self._folder / "status").read_text()

    @property
    def artifacts(self) -> dict[str, Any]:
        """What set_stats handed on, as AWX takes it."""
        last = [event for event in self.events() if event["event"] == "playbook_on_stats"][-1]
        return last["event_data"]["artifact_data"]

    @property
    def longest_silence(self) -> float:
        """Seconds between an event and the next."""
        times = [datetime.datetime.fromisoformat(event["created"]) for event in self.events()]
        gaps = [(after - before).total_seconds() for before, after in zip(times, times[1:], strict=False)]
        return max(gaps)

    @property
    def said(self) -> str:
        return "\n".join([*self.lines(), self.stdout, self.stderr])


class Runner:
    """A private data directory with a project whose playbooks import those of the collection.

    :arg python: interpreter of the environment that holds ansible-runner, and nothing else that counts.
    """

    def __init__(self, hosts, folder: pathlib.Path, variables: Mapping[str, Any], python: str = sys.executable) -> None:
        self.folder, self.python, self._count = folder, python, 0
        for name in ("project/playbooks", "inventory", "env"):
            (folder / name).mkdir(parents=True)
        shutil.copy(hosts.inventory, folder / "inventory" / "hosts.yml")
        site = {"sglang": {"hosts": {"host1": {}}, "vars": dict(variables)}}
        (folder / "inventory" / "site.yml").write_text(yaml.safe_dump(site))
        for path in (REPOSITORY / "playbooks").glob("*.yml"):
            play = [{"ansible.builtin.import_playbook": f"llmops.sglang.{path.stem}"}]
            (folder / "project" / "playbooks" / path.name).write_text(yaml.safe_dump(play))

    def start(self, playbook: str, **extra_vars: Any) -> Job:
        self._count += 1
        ident = f"{self._count}-{playbook}"
        (self.folder / "env" / "extravars").write_text(json.dumps(extra_vars))
        binaries = pathlib.Path(self.python).parent
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTHON"))}
        environ = {
            **kept,
            "PATH": f"{binaries}:{os.environ['PATH']}",
            "ANSIBLE_COLLECTIONS_PATH": str(REPOSITORY / ".build" / "collections"),
        }
        words = [self.python, "-m", "ansible_runner", "run", str(self.folder), "-p", f"playbooks/{playbook}.yml"]
        process = subprocess.Popen(
            [*words, "--ident", ident, "-q"],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        return Job(process, self.folder / "artifacts" / ident)

    def run(self, playbook: str, **extra_vars: Any) -> Job:
        return self.start(playbook, **extra_vars).wait()
