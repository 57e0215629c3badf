# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rolling restart of a fleet costs beside the servers' own start, by the number of hosts, and what the controller needs.

The servers are the stand-in, which loads at once. All hosts and the controller share this machine's cores.
"""

from __future__ import annotations

import collections
import json
import os
import pathlib
import subprocess
import sys

import ansible_fork
import controller
import host_set
import pytest
import yaml

SIZES = (1, 4, 16, 32)
FORKS = 8
NAME = "sglang-fleet"
SIMULATOR = "/opt/fleet-sim"
INSTALL = host_set.REPOSITORY / "tests" / "simulator" / "install.py"
AT_ONCE = {"SIM_LOAD_SECONDS": "0", "SIM_WARMUP_SECONDS": "0", "SIM_TEARDOWN_SECONDS": "0", "SIM_PACE": "0.01"}
# Seconds a host, for fleets that fill the forks, and how much more a host may cost in the largest.
AIM, LINEAR = 8.0, 1.25


class Fleet:
    """As many hosts as the largest size, each with a server; the playbooks run on the first of them."""

    def __init__(self, folder: pathlib.Path) -> None:
        names = [f"host{number:02}" for number in range(1, max(SIZES) + 1)]
        self.hosts = host_set.HostSet(f"f{os.getpid()}", names, folder, owner_pid=os.getpid())
        self.folder = folder
        sim = folder / "sim"
        words = [sys.executable, str(INSTALL), str(sim), "--version", "0.5.15.post1", "--python", "/usr/bin/python3"]
        subprocess.run(words, check=True, capture_output=True)
        (sim / "draft").mkdir()
        (sim / "draft" / "config.json").write_text('{"block_size": 8, "sliding_window": 2048}')
        created = self.hosts.create([{"source": str(sim), "target": SIMULATOR, "read_only": True}])
        assert created.returncode == 0, created.stdout

    def variables(self) -> dict:
        return {
            "server_name": NAME,
            "server_python": f"{SIMULATOR}/bin/python",
            "server_args": {"model_path": "org/model", "port": 4311},
            "server_speculative": {
                "algorithm": "DFLASH",
                "draft_model_path": f"{SIMULATOR}/draft",
                "draft_window_size": 2048,
            },
            "server_environment": AT_ONCE,
            "restart_serial": FORKS,
        }

    def run(self, playbook: pathlib.Path, size: int) -> tuple[controller.Run, list[dict]]:
        """The run, and the result of each task on each host."""
        results = self.folder / f"results-{playbook.stem}-{size}"
        results.unlink(missing_ok=True)
        inventory = self.folder / "fleet.yml"
        hosts = {name: {} for name in self.hosts.names[:size]}
        inventory.write_text(yaml.safe_dump({"sglang": {"hosts": hosts, "vars": self.variables()}}))
        words = ["-i", str(self.hosts.inventory), "-i", str(inventory), "-f", str(FORKS), str(playbook)]
        environ = {**ansible_fork.SETTINGS, "LLMOPS_RESULT_FILE": str(results)}
        done = controller.run_playbook(words, host_set.REPOSITORY, environ)
        assert done.returncode == 0, done.said[-6000:]
        return done, [json.loads(line) for line in results.read_text().splitlines()]

    def own_start(self, host: str) -> float:
        """Seconds from the start of the server's process to its word that it is ready, by systemd and the journal."""
        show = f"systemctl show -P ExecMainStartTimestampMonotonic {NAME}"
        said = f"journalctl -u {NAME} -o json --output-fields=MESSAGE --grep 'fired up and ready' -n 1 --no-pager"
        started, row = self.hosts.ssh(host, f"{show}; {said}").stdout.splitlines()
        return (int(json.loads(row)["__MONOTONIC_TIMESTAMP"]) - int(started)) / 1e6


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    made = Fleet(tmp_path_factory.mktemp("fleet"))
    play = {"hosts": "sglang", "gather_facts": False, "roles": ["llmops.sglang.server"]}
    deploy = made.folder / "deploy.yml"
    deploy.write_text(yaml.safe_dump([play]))
    made.run(deploy, max(SIZES))
    yield made
    made.hosts.destroy()


def dearest(rows, hosts):
    """Of each task the seconds until its last host was through, by batch; the dearest first, and how often it came."""
    batches = collections.defaultdict(float)
    for row in rows:
        # A batch of hosts begins a task at the same time.
        key = (row["task"], round(row["ended"] - row["seconds"], 3))
        batches[key] = max(batches[key], row["seconds"])
    by_task = collections.defaultdict(list)
    for (task, dummy), seconds in batches.items():
        by_task[task].append(seconds)
    ordered = sorted(by_task.items(), key=lambda one: -sum(one[1]))
    return [f"  {sum(times) / hosts:6.2f} s a host  {task} ({len(times)} times)" for task, times in ordered]


def test_overhead_of_a_rolling_restart_by_the_number_of_hosts(fleet, figures):
    print(f"\nload of this machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors, forks {FORKS}")
    cost = {}
    for size in SIZES:
        done, rows = fleet.run(host_set.REPOSITORY / "playbooks" / "restart.yml", size)
        names = fleet.hosts.names[:size]
        starts = [fleet.own_start(name) for name in names]
        # The servers of one step start side by side.
        own = sum(max(starts[first : first + FORKS]) for first in range(0, size, FORKS))
        cost[size] = (done.seconds - own) / size
        words = (
            f"{cost[size]:.2f} s a host ({done.seconds:.0f} s, of them {own:.0f} s the servers' own start); controller "
            f"{done.cpu / size:.2f} s of processors a host, {done.main_rss / 2**20:.0f} MiB, with its forks {done.all_pss / 2**20:.0f} MiB"
        )
        aim = f"{AIM:g} s a host" if size > FORKS else ""
        figures.add(f"restart.yml over {size} hosts, forks {FORKS}", words, aim=aim)
        restarted = [row for row in rows if row["result"].get("restarted")]
        assert {row["host"] for row in restarted} == set(names)
    print("\n".join(dearest(rows, max(SIZES))[:12]))
    assert max(cost[size] for size in SIZES if size > FORKS) < AIM
    assert cost[32] <= cost[16] * LINEAR
