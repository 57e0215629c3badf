# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-in servers on real hosts behind a real sglang-router on this machine, and restart.yml run over them."""

from __future__ import annotations

import contextlib
import os

import yaml
from deployed_server import wait_until
from host_set import REPOSITORY, HostSet
from load_client import LoadClient
from router import Router

SIMULATOR = "/opt/rolling-sim"
NAME = "sglang-rolling"
PORT = 4341
# No request that a worker lost is sent once more, and a worker is looked at as seldom as by default.
STRICT = ("--disable-retries", "--disable-circuit-breaker", "--health-check-timeout-secs", "60")


def strict_router(folder):
    return Router(folder, words=STRICT, health_seconds=60)


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
        healthy = {worker["url"]: worker["is_healthy"] for worker in self.router.workers()}
        return [host for host in self.hosts.names if healthy.get(self.worker(host))]

    def restarted(self, before):
        """The hosts whose invocation is another one than *before*."""
        return [host for host, invocation in self.invocations().items() if invocation != before[host]]

    @contextlib.contextmanager
    def loaded(self, streams):
        """Constant load that loses nothing, from before the first to after the last step."""
        with LoadClient(self.router.url, streams) as client:
            wait_until(lambda: client.whole["stream"] and client.whole["answer"], 900)
            yield client
            reached = client.whole.total()
            wait_until(lambda: client.whole.total() > reached + streams, 900)
        assert client.lost == []


@contextlib.contextmanager
def fleet_of(names, tmp_path_factory):
    """Servers on hosts of their own, all of them in a router of their own."""
    hosts = HostSet(f"r{os.getpid()}", names, tmp_path_factory.mktemp("fleet"), owner_pid=os.getpid())
    created = hosts.create(hosts_keep_compiled=True)
    assert created.returncode == 0, created.stdout + created.stderr
    folder = tmp_path_factory.mktemp("rolling")
    with strict_router(folder) as router:
        made = Fleet(hosts, folder, router)
        first = made.restart(restart_serial=len(names))
        assert first.returncode == 0, first.said
        assert made.in_service() == names
        yield made
    hosts.destroy()
