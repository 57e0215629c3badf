# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-in servers on real hosts behind a real sglang-router on this machine, and restart.yml run over them."""

from __future__ import annotations

import json
import pathlib
import shutil
import socket
import subprocess
import sys
import urllib.request

import yaml
from deployed_server import wait_until
from host_set import REPOSITORY

SIMULATOR = "/opt/rolling-sim"
NAME = "sglang-rolling"
PORT = 4341


class Router:
    """The router of its published package, without retries, so that no request that a worker lost is sent once more."""

    def __init__(self, folder):
        self.port, metrics = free_ports(2)
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = (folder / "router.log").open("wb")
        beside = pathlib.Path(sys.executable).with_name("sglang-router")
        program = str(beside) if beside.exists() else shutil.which("sglang-router")
        words = [program, "launch", "--host", "127.0.0.1", "--port", str(self.port), "--policy", "round_robin"]
        words += ["--prometheus-host", "127.0.0.1", "--prometheus-port", str(metrics)]
        words += ["--disable-retries", "--disable-circuit-breaker", "--health-check-timeout-secs", "60"]
        self.process = subprocess.Popen(words, stdout=self._log, stderr=subprocess.STDOUT)
        try:
            wait_until(self._answers)
        except BaseException:
            self.stop()
            raise

    def _answers(self):
        try:
            return self.workers() is not None
        except OSError:
            assert self.process.poll() is None, "the router has ended"
            return False

    def workers(self):
        """Whether each worker is healthy, by its URL."""
        with urllib.request.urlopen(f"{self.url}/workers", timeout=30) as answer:
            return {one["url"]: one["is_healthy"] for one in json.load(answer)["workers"]}

    def stop(self):
        self.process.kill()
        self.process.wait()
        self._log.close()


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for dummy in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Fleet:
    """The servers of *hosts* and the inventory that describes them."""

    # Seconds for a play over all of them.
    LONGEST = 1800

    def __init__(self, hosts, folder, router):
        self.hosts, self.folder, self.router = hosts, folder, router
        self.vars = {
            "server_name": NAME,
            "server_python": f"{SIMULATOR}/bin/python",
            "server_args": {
                "model_path": "org/model",
                "host": "0.0.0.0",
                "port": PORT,
                # What a worker counts is told by its metrics, or by its load.
                "enable_metrics": "{{ inventory_hostname is search('[13579]$') }}",
            },
            "server_environment": self.environment(),
            "server_wait": {"timeout": 300, "progress_interval": 0},
            "server_router": {
                "router_url": router.url,
                "worker_url": f"http://{{{{ ansible_host }}}}:{PORT}",
                "delegate_to": "localhost",
                "drain_timeout": 300,
            },
        }
        install = f"python3 {hosts.repository}/tests/simulator/install.py {SIMULATOR} --version 0.5.15.post1 --python /usr/bin/python3"
        for host in hosts.names:
            self.shell(host, f"test -e {SIMULATOR} || {install}")

    @staticmethod
    def environment(fault="", **more):
        """Short starts and answers of some seconds; *fault* is one of the stand-in's."""
        fast = {"SIM_LOAD_SECONDS": "0.2", "SIM_WARMUP_SECONDS": "0.1", "SIM_TEARDOWN_SECONDS": "0", "SIM_PACE": "0.05"}
        return {**fast, "SIM_STEP_MS": "40", **({"SIM_FAULT": fault} if fault else {}), **more}

    def restart(self, *words, kill_at="", of=None, only=(), **changed):
        """Run restart.yml, over *only* these hosts; *of* changes variables of single ones."""
        inventory = self.folder / "fleet.yml"
        members = {host: (of or {}).get(host, {}) for host in only or self.hosts.names}
        inventory.write_text(yaml.safe_dump({"sglang": {"hosts": members, "vars": {**self.vars, **changed}}}))
        environ = {"LLMOPS_KILL_AT": kill_at} if kill_at else {}
        path = REPOSITORY / "playbooks" / "restart.yml"
        done = self.hosts.playbook(path, words=words, inventories=[inventory], environ=environ, timeout=self.LONGEST)
        done.said = done.stdout + done.stderr
        return done

    def shell(self, host, command):
        done = self.hosts.ssh(host, command)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def worker(self, host):
        return f"http://{self.hosts.address(host)}:{PORT}"

    def invocations(self):
        return {host: self.shell(host, f"systemctl show -P InvocationID {NAME}") for host in self.hosts.names}

    def in_service(self):
        """The hosts whose workers the router calls healthy."""
        healthy = self.router.workers()
        return [host for host in self.hosts.names if healthy.get(self.worker(host))]
