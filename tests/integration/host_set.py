# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A set of test hosts in the hands of a test: modules, playbooks and commands on its hosts."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ansible_fork
import fault_rows
import yaml

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
HOSTS = REPOSITORY / "tests" / "hosts"
# Where a host sees this repository, read-only.
REPOSITORY_IN_HOST = "/srv/llmops"


class HostSet:
    """One set, made with create() and removed with destroy() or by the death of its owner."""

    def __init__(self, name: str, names: Sequence[str], directory: pathlib.Path, owner_pid: int | None = None) -> None:
        self.name = name
        self.names = list(names)
        self.inventory = directory / f"{name}.yml"
        self.owner_pid = owner_pid
        self.repository = REPOSITORY_IN_HOST

    def create(self, binds: Sequence[Mapping[str, Any]] = (), **more: Any) -> subprocess.CompletedProcess:
        repository = {"source": str(REPOSITORY), "target": REPOSITORY_IN_HOST, "read_only": True}
        variables = {
            "hosts_set": self.name,
            "hosts_names": self.names,
            "hosts_inventory": str(self.inventory),
            "hosts_binds": [repository, *binds],
            **more,
        }
        if self.owner_pid is not None:
            variables["hosts_owner_pid"] = self.owner_pid
        return run_ansible("playbook", [str(HOSTS / "create.yml")], variables)

    def destroy(self) -> subprocess.CompletedProcess:
        return run_ansible("playbook", [str(HOSTS / "destroy.yml")], {"hosts_set": self.name})

    @property
    def directory(self) -> str:
        return f"/run/llmops-hosts/{self.name}"

    def address(self, host: str) -> str:
        return yaml.safe_load(self.inventory.read_text())["all"]["hosts"][host]["ansible_host"]

    def run_module(
        self,
        host: str,
        module: str,
        args: Mapping[str, Any] | None = None,
        check: bool = False,
        diff: bool = False,
        become_user: str | None = None,
        user: str | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Run MODULE on HOST and return its result, with failed always set.

        USER logs in as that user (a session of its own); BECOME_USER changes to it after root's login, without one.
        """
        words = [host, "-i", str(self.inventory), "-m", module]
        words += ["-a", json.dumps(args)] if args else []
        words += ["--check"] if check else []
        words += ["--diff"] if diff else []
        words += ["--become", "--become-method", "su", "--become-user", become_user] if become_user else []
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / "result"
            done = run_ansible(
                "adhoc",
                words,
                {"ansible_user": user} if user else {},
                {**(environ or {}), "LLMOPS_RESULT_FILE": str(file)},
            )
            if not file.exists():
                raise AssertionError(f"ansible gave no result for {module} on {host}:\n{done.stdout}\n{done.stderr}")
            return json.loads(file.read_text().splitlines()[-1])["result"]

    def say(self, host: str, module: str, args: Mapping[str, Any], user: str | None = None) -> str:
        """All that "ansible -vvv --diff" says when it runs MODULE on HOST, with the module's arguments as the module hides them."""
        words = [host, "-i", str(self.inventory), "-m", module, "-a", json.dumps(args), "-vvv", "--diff"]
        done = run_ansible("adhoc", words, {"ansible_inject_invocation": True, "ansible_user": user or "root"})
        return done.stdout + done.stderr

    def playbook(
        self,
        path: str | os.PathLike[str],
        extra_vars: Mapping[str, Any] | None = None,
        words: Sequence[str] = (),
        inventories: Sequence[str | os.PathLike[str]] = (),
        environ: Mapping[str, str] | None = None,
        timeout: float = 600,
    ) -> subprocess.CompletedProcess:
        """Run a playbook with this set's inventory (and more INVENTORIES after it)."""
        sources = [str(self.inventory), *map(str, inventories)]
        options = [word for source in sources for word in ("-i", source)]
        return run_ansible("playbook", [*options, str(path), *words], extra_vars or {}, environ, timeout)

    def ssh(self, host: str, command: str, user: str = "root", timeout: float = 180) -> subprocess.CompletedProcess:
        """Run a shell command on HOST as USER (root or operator)."""
        words = ["ssh", "-F", "none", "-i", f"{self.directory}/ssh/id_ed25519", "-o", "BatchMode=yes"]
        words += ["-o", f"UserKnownHostsFile={self.directory}/ssh/known_hosts", "-o", "GlobalKnownHostsFile=/dev/null"]
        # A master of its own for each user, among those that the set's end takes down.
        words += ["-o", "ControlMaster=auto", "-o", "ControlPersist=60"]
        words += ["-o", f"ControlPath={self.directory}/ssh/control/t-%r-%h"]
        words += [f"{user}@{self.address(host)}", command]
        return subprocess.run(
            words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=timeout, check=False
        )

    @contextlib.contextmanager
    def first(self, host: str) -> Iterator[None]:
        """Within this, what comes through SSH has a processor whenever it wants one.

        What measures times must not wait for the server that it measures, or for whatever else runs on this machine.
        Where the host may not grant that, it takes turns as ever.
        """
        command = "for pid in $(pgrep '^sshd'); do chrt {} $pid; done"
        self.ssh(host, command.format("--fifo --pid 1"))
        try:
            yield
        finally:
            self.ssh(host, command.format("--other --pid 0"))


def run_ansible(
    program: str,
    words: Sequence[str],
    extra_vars: Mapping[str, Any],
    environ: Mapping[str, str] | None = None,
    timeout: float = 600,
) -> subprocess.CompletedProcess:
    """Run ansible's "adhoc" or "playbook" program of this interpreter, with extra variables passed by a file."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as variables:
        json.dump(dict(extra_vars), variables)
        variables.flush()
        words = [*words, "-e", f"@{variables.name}"]
        with tempfile.TemporaryDirectory() as directory:
            results = pathlib.Path((environ or {}).get("LLMOPS_RESULT_FILE") or f"{directory}/results")
            whole = {**(environ or {}), "LLMOPS_RESULT_FILE": str(results)}
            done = ansible_fork.run(program, words, REPOSITORY, whole, timeout)
            if results.exists():
                fault_rows.told_by_ansible(results.read_text())
            return done
