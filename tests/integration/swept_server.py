# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server that is swept on a real host: its sweep's variables, its state, its starts and its files."""

from __future__ import annotations

import json
import re

from deployed_server import DeployedServer

SIMULATOR = "/opt/sweep-sim"
NAME = "sglang-swept"
FLAGS = {"tree_budget": "--speculative-ddtree-budget", "tree_topk": "--speculative-ddtree-topk"}


class SweptServer(DeployedServer):
    """The stand-in with the tree of a fork, whose speed depends on window, block size, budget and top-k."""

    LONGEST = 3600

    def __init__(self, hosts, folder, **more):
        super().__init__(hosts, folder)
        self.vars.update(
            server_name=NAME,
            server_python=f"{SIMULATOR}/bin/python",
            server_args={"model_path": "org/model", "port": 4321, "max_running_requests": 8, "enable_metrics": True},
            server_speculative={
                "algorithm": "DDTREE",
                "draft_model_path": f"{SIMULATOR}/draft",
                "draft_window_size": 2048,
                "block_size": 8,
                "tree_budget": 8,
            },
            server_flag_names=FLAGS,
            # Whether a wait sees the failure itself or the loop that systemd makes of it depends on how fast the machine is.
            server_service={"Restart": "no"},
            server_wait={"timeout": 120, "progress_interval": 0, "require_speculation": True},
            # A floor that a point without speculation must not be held to.
            benchmark_matrix={
                "contexts": [60],
                "concurrency": [1],
                "min_acceptance_length": 1.01,
                "progress_interval": 0,
            },
            benchmark_coding=False,
            sweep_dir=str(folder / "sweeps"),
            sweep_name="tree",
            **more,
        )
        self.shell(
            f"python3 {hosts.repository}/tests/simulator/install.py {SIMULATOR} --version 0.5.15.post1 --fork ddtree"
            f" --python /usr/bin/python3 && cp -r /opt/change-sim/draft {SIMULATOR}/"
        )

    def state(self, name="tree"):
        return json.loads((self.folder / "sweeps" / name / "host1" / "state.json").read_text())

    def became(self, name="tree"):
        return {point["name"]: point["status"] for point in self.state(name)["points"]}

    def command_lines(self):
        """The command line of each start, the oldest first, by the server's own log."""
        log = self.shell(f"journalctl -u {NAME} -o cat --no-pager | grep -a server_args= || true")
        return log.splitlines()

    def starts(self, budget, topk):
        wanted = (f"speculative_ddtree_budget={budget}", f"speculative_ddtree_topk={topk}")
        return sum(all(re.search(rf"\b{one}\b", line) for one in wanted) for line in self.command_lines())

    def on_host(self):
        """Every file of the unit with its mode and content, and the words of the process."""
        files = f"/etc/systemd/system/{NAME}.service*"
        listed = self.shell(
            f"find {files} -type f -exec stat -c '%a %u %n' {{}} + -exec sha256sum {{}} +; ls /etc/systemd/system/*.wants"
        )
        # A point that failed has no process.
        words = f"tr '\\0' ' ' < /proc/$(systemctl show -P MainPID {NAME})/cmdline 2>/dev/null || true"
        return listed, self.shell(words)

    def kept_labels(self):
        done = self.hosts.run_module("host1", "llmops.sglang.server_history", {"name": NAME})
        return [one["label"] for one in done["configurations"] if one["label"]]
