# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every command of the documents that needs a host, run on one with the inventory and the files of the documents.

It is run as it stands but for what a reader has of his own: the path of the inventory, the password of a vault (this inventory has
none), and the id of a kept configuration. A command substitution is let through to the shell.
"""

from __future__ import annotations

import json
import os
import pathlib
import shlex
import subprocess
import sys

import pytest
import yaml

CLONE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CLONE / "tests" / "tools"))

import doc_examples

HOST = "gpu-a.example.com"
ON_HOST = [
    (command, shlex.join(command.words))
    for page in doc_examples.PAGES
    for command in doc_examples.commands(page)
    if doc_examples.where(command) == "host"
]
# How a command ends that asks for what this host cannot have, and what it says then.
REFUSED = {
    "restart_min_available=75%": "restart_min_available",
    # The stand-in answers a probe in few steps.
    "verify_min_acceptance_length=2.5": "it must be at least 2.5",
}
SMALL = {
    "ansible_become": False,
    "server_manage_requirements": False,
    "server_environment": {"SIM_LOAD_SECONDS": "0.5", "SIM_PACE": "0.05", "SIM_STEP_MS": "100"},
    "benchmark_matrix": {"contexts": [60], "concurrency": [1], "requests": 2, "warmup": 1, "max_tokens": 16},
    "benchmark_coding": {"task_names": ["fib"]},
    "sweep_name": "documented",
    "sweep_points": [{"name": "window-1024", "speculative": {"draft_window_size": 1024}}],
}


def shown(name):
    """A file that a page shows, by its name; the first page that has it counts."""
    for page in doc_examples.PAGES:
        for block in doc_examples.blocks(page):
            for found, text in doc_examples.files(block):
                if found == name:
                    return text
    raise AssertionError(f"no page shows {name}")


class Reader:
    """Somebody who follows the documents from one folder."""

    def __init__(self, hosts, folder):
        self.hosts, self.folder = hosts, folder
        inventory = yaml.safe_load(shown("inventory.yml"))
        group = inventory["sglang"]
        known = yaml.safe_load(hosts.inventory.read_text())["all"]
        reached = {**known.get("vars", {}), **known["hosts"]["host1"]}
        group["hosts"] = {HOST: {**reached, **SMALL, "benchmark_results_dir": str(folder), "sweep_dir": str(folder)}}
        (folder / "inventory.yml").write_text(yaml.safe_dump(inventory))
        for name in ("adopt.yml", "deploy.yml", "logs.yml", "pager.yml"):
            # The whole matrix takes a quarter of an hour.
            (folder / name).write_text(shown(name).replace("concurrency: [1, 8, 32]", "concurrency: [1]"))
        (folder / "group_vars").mkdir()
        model, draft = (
            group["vars"]["server_args"]["model_path"],
            group["vars"]["server_speculative"]["draft_model_path"],
        )
        config = {
            "block_size": 8,
            "sliding_window": 2048,
            "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
        }
        self.shell(
            f"python3 {hosts.repository}/tests/simulator/install.py /opt/sglang --version 0.5.15.post1 --python /usr/bin/python3"
            f" && mkdir -p {model} {draft} && echo '{{}}' > {model}/config.json"
            f" && echo '{json.dumps(config)}' > {draft}/config.json && useradd --system sglang"
            " && useradd --create-home observer && loginctl enable-linger operator"
        )
        self.page, self.model = "", model

    def turn_to(self, page):
        """Be where the reader of a page is: with a server of a script on that of scripts, and else with one of the role."""
        if page == self.page:
            return
        was, self.page = self.page, page
        if page.endswith("script_to_role.rst"):
            self.site("-e", "server_state=absent")
            unit = (
                "[Service]\nEnvironment=SIM_LOAD_SECONDS=0.5 SIM_PACE=0.05\nExecStart=/opt/sglang/bin/python -m sglang.launch_server"
                f" --model-path {self.model} --port 30001 --max-running-requests 8\n"
            )
            self.shell(
                f"echo '{unit}' >/etc/systemd/system/llm.service && systemctl daemon-reload && systemctl restart llm"
            )
        elif was.endswith("script_to_role.rst") or not was:
            (self.folder / "host_vars" / f"{HOST}.yml").unlink(missing_ok=True)
            self.shell("systemctl stop llm; rm -rf /etc/systemd/system/llm.service*; systemctl daemon-reload")
            self.keep_two()

    def site(self, *words):
        code, said = self.run(
            ["ansible-playbook", "-i", "inventory.yml", "llmops.sglang.site", "--tags", "server", *words]
        )
        assert code == 0, said

    def keep_two(self):
        """Configurations that worked, one of them by a name, and then that of the inventory."""
        self.site("-e", json.dumps({"server_extra_args": ["--max-prefill-tokens", "1000"]}))
        label = {"name": "sglang-k26", "state": "recorded", "proven": True, "label": "before-the-upgrade"}
        self.hosts.run_module("host1", "llmops.sglang.server_history", label)
        self.site()

    def shell(self, command):
        done = self.hosts.ssh("host1", command, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def run(self, words, environ=()):
        variables = dict(pair.split("=", 1) for pair in environ)
        path = {"ANSIBLE_COLLECTIONS_PATH": str(CLONE / ".build" / "collections"), "ANSIBLE_HOST_KEY_CHECKING": "1"}
        done = subprocess.run(
            words,
            cwd=self.folder,
            env={**os.environ, "ANSIBLE_CONFIG": str(self.folder / "none.cfg"), **path, **variables},
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        return done.returncode, done.stdout + done.stderr

    def kept(self):
        known = self.hosts.run_module("host1", "llmops.sglang.server_history", {"name": "sglang-k26"})
        return known["configurations"]


@pytest.fixture(scope="module")
def reader(hosts, tmp_path_factory):
    return Reader(hosts, tmp_path_factory.mktemp("reader"))


def test_there_are_commands_of_every_playbook():
    lines = [line for dummy, line in ON_HOST]
    names = {path.stem for path in (CLONE / "playbooks").glob("*.yml")} - {"awx"}
    assert not [name for name in names if not any(f"llmops.sglang.{name}" in line for line in lines)]


@pytest.mark.parametrize(
    ("command", "line"),
    ON_HOST,
    ids=[f"{command.page.rpartition('/')[2]}:{command.line}" for command, dummy in ON_HOST],
)
def test_a_command_of_the_documents(reader, command, line):
    words = list(command.words)
    reader.turn_to(command.page)
    if "inventory/production" in line:
        words = [word.replace("inventory/production", str(reader.folder / "inventory.yml")) for word in words]
        words = [str(CLONE / word) if word.startswith("playbooks/") else word for word in words]
    # Nobody is there to be asked, and this inventory has no vault.
    words = [word for word in words if word != "--ask-vault-password"]
    if "20261130T071500Z" in line:
        words = [word.replace("20261130T071500Z", reader.kept()[-1]["id"]) for word in words]
    if command.program not in ("ansible", "ansible-playbook"):
        reader.shell(
            line.replace("'_SYSTEMD_INVOCATION_ID=$(", "_SYSTEMD_INVOCATION_ID=$(").replace(
                "sglang-k26)'", "sglang-k26)"
            )
        )
        return
    code, said = reader.run(words, [pair for pair in command.environ if "=" in pair])
    refusal = next((text for part, text in REFUSED.items() if part in line), "")
    assert "Traceback" not in said
    assert code == 0 or (refusal and refusal in said), said
    if "llmops.sglang.rollback" in words and "--check" not in words:
        # The inventory still has the other one.
        reader.site()
