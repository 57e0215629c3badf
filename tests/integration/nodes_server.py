# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One stand-in server over two real hosts, as the role deploys it."""

from __future__ import annotations

import json

import yaml
from deployed_server import KEYS, DeployedServer
from host_set import REPOSITORY

SIMULATOR = "/opt/change-sim"
NAME = "sglang-nodes"
PORT = 4341


class NodesServer(DeployedServer):
    """The server, with host1 as its rank 0, and host2 as rank 1."""

    def __init__(self, hosts, folder, **more):
        super().__init__(
            hosts,
            folder,
            server_name=NAME,
            server_nodes="sglang",
            server_dist_init_addr=f"{hosts.address('host1')}:29501",
            server_args={"model_path": "org/model", "port": PORT, "host": "0.0.0.0", "tp_size": 4},
            server_wait={"timeout": 120, "progress_interval": 1},
            server_journal={"preset": "clean_start"},
            **more,
        )
        draft = f"{SIMULATOR}/draft/config.json"
        done = hosts.ssh("host1", f"cat {draft}")
        assert done.returncode == 0, done.stderr
        self.on(
            "host2",
            f"python3 {hosts.repository}/tests/simulator/install.py {SIMULATOR} --version 0.5.15.post1"
            f" --python /usr/bin/python3 && mkdir -p {SIMULATOR}/draft && cat > {draft} <<'END'\n{done.stdout}\nEND",
        )

    def on(self, host, command):
        done = self.hosts.ssh(host, command)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def run(self, playbook="", *words, hosts=None, **changed):
        """Deploy, or run one of the collection's playbooks; *hosts* has further variables by host."""
        inventory = self.folder / "inventory.yml"
        by_host = {name: dict((hosts or {}).get(name, {})) for name in ("host1", "host2")}
        inventory.write_text(yaml.safe_dump({"sglang": {"hosts": by_host, "vars": {**self.vars, **changed}}}))
        path = REPOSITORY / "playbooks" / f"{playbook}.yml" if playbook else self.folder / "deploy.yml"
        done = self.hosts.playbook(path, words=words, inventories=[inventory], timeout=self.LONGEST)
        done.said = done.stdout + done.stderr
        return done

    def show(self, host, *properties):
        """Properties of the unit on *host*."""
        said = self.on(host, f"systemctl show -p {','.join(properties)} {NAME}")
        return dict(line.split("=", 1) for line in said.splitlines())

    def invocations(self):
        return [self.show(host, "InvocationID")["InvocationID"] for host in ("host1", "host2")]

    def journal(self, host):
        return self.on(host, f"journalctl -o cat _SYSTEMD_INVOCATION_ID=$(systemctl show -P InvocationID {NAME})")

    def generates(self, key=KEYS[0]):
        body = json.dumps({"text": "Once", "sampling_params": {"max_new_tokens": 4}})
        said = self.shell(
            f"curl -s -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' -d '{body}'"
            f" http://127.0.0.1:{PORT}/generate"
        )
        return "text" in json.loads(said)

    def take_away(self):
        done = self.run(server_state="absent")
        assert done.returncode == 0, done.said

    def stop(self):
        """End it without a play, which is quicker, for tests that are about other things."""
        for host in ("host1", "host2"):
            self.on(host, f"systemctl disable --now {NAME}")
