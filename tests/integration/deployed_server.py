# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The server role alone on one real host with the stand-in server: changes that work, that fail, and that are killed."""

from __future__ import annotations

import contextlib
import json
import re
import time

import yaml
from host_set import REPOSITORY

SIMULATOR = "/opt/change-sim"
NAME = "sglang-change"
UNITS = "/etc/systemd/system"
KEYS = ("sk-first-key", "sk-second-key")


def wait_until(fact, timeout=120):
    deadline = time.monotonic() + timeout
    while not fact():
        assert time.monotonic() < deadline, f"it did not come true within {timeout} s"
        time.sleep(0.05)


class DeployedServer:
    """A unit and the variables of the role that describe it."""

    # Seconds for a play.
    LONGEST = 600

    def __init__(self, hosts, folder, **more):
        self.hosts, self.folder = hosts, folder
        self.vars = {
            "server_name": NAME,
            "server_python": f"{SIMULATOR}/bin/python",
            "server_args": {"model_path": "org/model", "port": 4311, "max_running_requests": 8},
            "server_speculative": {
                "algorithm": "DFLASH",
                "draft_model_path": f"{SIMULATOR}/draft",
                "draft_window_size": 2048,
            },
            "server_environment": self.environment(),
            "server_api_key": KEYS[0],
            "server_wait": {"timeout": 120, "progress_interval": 0},
            **more,
        }
        draft = {"block_size": 8, "sliding_window": 2048, "layer_types": ["sliding_attention"]}
        self.shell(
            f"python3 {hosts.repository}/tests/simulator/install.py {SIMULATOR} --version 0.5.15.post1"
            f" --python /usr/bin/python3 && mkdir -p {SIMULATOR}/draft"
            f" && cat > {SIMULATOR}/draft/config.json <<'END'\n{json.dumps(draft)}\nEND"
        )
        play = {"hosts": "sglang", "gather_facts": False, "roles": ["llmops.sglang.server"]}
        (folder / "deploy.yml").write_text(yaml.safe_dump([play]))

    @staticmethod
    def environment(fault="", **more):
        """Short steps; *fault* is one of the stand-in's."""
        fast = {"SIM_LOAD_SECONDS": "0.2", "SIM_WARMUP_SECONDS": "0.1", "SIM_TEARDOWN_SECONDS": "0", "SIM_PACE": "0.05"}
        return {**fast, **({"SIM_FAULT": fault} if fault else {}), **more}

    def run(self, playbook="", *words, kill_at="", **changed):
        """Deploy, or run one of the collection's playbooks, with *changed* variables."""
        inventory = self.folder / "inventory.yml"
        inventory.write_text(yaml.safe_dump({"sglang": {"hosts": {"host1": {}}, "vars": {**self.vars, **changed}}}))
        path = REPOSITORY / "playbooks" / f"{playbook}.yml" if playbook else self.folder / "deploy.yml"
        environ = {"LLMOPS_KILL_AT": str(kill_at)} if kill_at else {}
        done = self.hosts.playbook(path, words=words, inventories=[inventory], environ=environ, timeout=self.LONGEST)
        done.said = done.stdout + done.stderr
        done.changed = (re.findall(r"changed=(\d+)", done.stdout) or [None])[-1]
        return done

    def deploy(self, **changed):
        done = self.run(**changed)
        assert done.returncode == 0, done.said
        return done

    def shell(self, command):
        done = self.hosts.ssh("host1", command)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def files(self):
        """Every file of the unit with its mode, owner and content, and the links that enable it."""
        return self.shell(
            f"cd {UNITS} && for f in $(find . -name '{NAME}*' -o -path './{NAME}*/*' | sort); do"
            ' stat -c "%n %F %a %u:%g" $f; if test -h $f; then readlink $f; elif test -f $f; then cat $f; fi; done'
        )

    def invocation(self):
        return self.shell(f"systemctl show -P InvocationID {NAME}")

    def generates(self, key=KEYS[0]):
        body = json.dumps({"text": "Once", "sampling_params": {"max_new_tokens": 4}})
        said = self.shell(
            f"curl -s -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' -d '{body}'"
            " http://127.0.0.1:4311/generate"
        )
        return "text" in json.loads(said)

    def requests(self):
        """How many requests the server says that it has in hand."""
        asked = {"name": NAME, "api_key": KEYS[0]}
        return self.hosts.run_module("host1", "llmops.sglang.server_info", asked)["restart_cost"]["running_requests"]

    @contextlib.contextmanager
    def busy(self):
        """Within this some request runs at any time, and none after it."""
        body = '{"text": "Once", "stream": true, "sampling_params": {"max_new_tokens": 20000, "ignore_eos": true}}'
        words = (
            f"curl -s -o /dev/null -H 'Authorization: Bearer {KEYS[0]}' -H 'Content-Type: application/json' -d '{body}'"
        )
        loop = f"while :; do {words} http://127.0.0.1:4311/generate; done"
        (unit, script) = ("busy-client", "/run/busy-client.sh")
        self.shell(f"cat > {script} <<'END'\nfor i in 1 2 3; do ({loop}) & done; wait\nEND")
        self.shell(f"systemd-run --quiet --unit={unit} sh {script}")
        try:
            wait_until(lambda: (self.requests() or 0) > 0)
            yield
        finally:
            self.shell(f"systemctl stop {unit}")
        wait_until(lambda: self.requests() == 0)

    def history(self):
        return self.hosts.run_module("host1", "llmops.sglang.server_history", {"name": NAME})

    def in_line(self):
        """Whether the process is what its unit says, by a module that knows of no earlier run."""
        asked = {"name": NAME, "state": "converged"}
        return not self.hosts.run_module("host1", "llmops.sglang.server_service", asked, check=True)["changed"]
