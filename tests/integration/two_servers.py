# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two stand-in servers on one real host, each a host of the inventory with the same address."""

from __future__ import annotations

import yaml
from deployed_server import DeployedServer
from host_set import REPOSITORY

NAMES = {"left": ("sglang@left", 4361, "sk-left-key"), "right": ("sglang-right", 4362, "sk-right-key")}


class TwoServers(DeployedServer):
    """One has the name of an instance, the other a plain one; their GPUs are split."""

    def run(self, playbook="", *words, by_server=None, **changed):
        servers = {}
        for server, (name, port, key) in NAMES.items():
            servers[server] = {
                "ansible_host": self.hosts.address("host1"),
                "server_name": name,
                "server_args": {"model_path": f"org/{server}", "port": port, "tp_size": 2},
                "server_api_key": key,
                "server_environment": self.environment(CUDA_VISIBLE_DEVICES="0,1" if server == "left" else "2,3"),
                **(by_server or {}).get(server, {}),
            }
        known = yaml.safe_load(self.hosts.inventory.read_text())["all"]
        inventory = self.folder / "two.yml"
        common = {**known.get("vars", {}), **known["hosts"]["host1"], **self.vars, **changed}
        for own in ("ansible_host", "server_name", "server_args", "server_api_key", "server_environment"):
            common.pop(own, None)
        inventory.write_text(yaml.safe_dump({"sglang": {"hosts": servers, "vars": common}}))
        path = REPOSITORY / "playbooks" / f"{playbook}.yml" if playbook else self.folder / "deploy.yml"
        done = self.hosts.playbook(path, words=[*words, "--limit", "left:right"], inventories=[inventory])
        done.said = done.stdout + done.stderr
        return done

    def module(self, server, name, **options):
        unit, _port, key = NAMES[server]
        asked = {"name": unit, "api_key": key} if name in ("server_info", "wait_for_generation") else {"name": unit}
        return self.hosts.run_module("host1", f"llmops.sglang.{name}", {**asked, **options})

    def state(self, server):
        return self.shell(f"systemctl show -p InvocationID,MainPID,NRestarts '{NAMES[server][0]}'")

    def stop(self):
        """End them without a play, which is quicker."""
        self.shell("systemctl disable --now " + " ".join(name for name, _port, _key in NAMES.values()))
