# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventories to start from: they load, and server_unit takes what they describe."""

from __future__ import annotations

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

import pytest
import yaml

CLONE = pathlib.Path(__file__).resolve().parents[3]
INVENTORIES = CLONE / "inventory"
NAMES = ("demo", "multi_node", "production")
KEY = "sk-of-the-test"
# The module that the role runs, with the same options, below a directory of the test's own.
ASK = """
- hosts: sglang
  gather_facts: false
  connection: local
  become: false
  tasks:
    - llmops.sglang.server_unit:
        name: "{{ server_name }}"
        python: "{{ ansible_playbook_python }}"
        sglang_version: "0.5.23"
        args: "{{ server_args | combine(added | default({})) }}"
        speculative: "{{ server_speculative }}"
        environment: "{{ server_environment }}"
        api_key: "{{ server_api_key | default(omit, true) }}"
        user: "{{ server_user | default(omit, true) }}"
        preflight: skip
        verify: false
        dest_dir: "{{ folder }}"
      check_mode: true
      register: asked
    - ansible.builtin.copy:
        dest: "{{ folder }}/{{ inventory_hostname }}.json"
        content: "{{ asked | to_json }}"
"""


def ansible(program, *words, cwd=CLONE, stdin=""):
    command = [str(pathlib.Path(sys.executable).with_name(program)), *map(str, words)]
    environ = {**os.environ, "ANSIBLE_LOCALHOST_WARNING": "0", "ANSIBLE_NOCOLOR": "1"}
    return subprocess.run(command, cwd=cwd, env=environ, input=stdin, capture_output=True, text=True, check=False)


def test_these_are_all():
    assert sorted(path.name for path in INVENTORIES.iterdir() if path.is_dir()) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_it_loads_and_the_site_playbook_takes_it(name):
    listed = ansible("ansible-inventory", "-i", INVENTORIES / name, "--list")
    assert listed.returncode == 0 and "WARNING" not in listed.stderr, listed.stderr
    inventory = json.loads(listed.stdout)
    hosts = inventory["_meta"]["hostvars"]
    assert "sglang" in inventory["all"]["children"]
    # The demo's host comes with the demo.
    assert {"demo": 0, "multi_node": 2, "production": 5}[name] == len(hosts)
    done = ansible("ansible-playbook", "-i", INVENTORIES / name, "--syntax-check", "playbooks/site.yml")
    assert done.returncode == 0, done.stderr


@pytest.fixture
def asked(tmp_path):
    """A function of an inventory; what server_unit says for each of its hosts, and what Ansible said."""

    def ask(inventory, *words, **variables):
        play, folder = tmp_path / "ask.yml", tmp_path / "asked"
        play.write_text(ASK)
        folder.mkdir()
        given = {
            "folder": str(folder),
            "ansible_become": False,
            "ansible_python_interpreter": sys.executable,
            **variables,
        }
        done = ansible("ansible-playbook", "-i", inventory, play, "-e", json.dumps(given), *words)
        return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}, done

    return ask


@pytest.fixture
def copied(tmp_path):
    """A function of a name; a copy of that inventory, as somebody makes it, with models that are there."""
    models = tmp_path / "models"
    trained = {"block_size": 8, "sliding_window": 2048, "layer_types": ["sliding_attention"] * 5 + ["full_attention"]}
    for name, config in (("kimi-k2.6", {"model_type": "kimi_k25"}), ("kimi-k2.6-dflash", trained)):
        (models / name).mkdir(parents=True)
        (models / name / "config.json").write_text(json.dumps(config))

    def copy(name):
        made = pathlib.Path(shutil.copytree(INVENTORIES / name, tmp_path / "inventory" / name))
        group = made / "group_vars" / "kimi_k26.yml"
        group.write_text(group.read_text().replace(" /models/", f" {models}/"))
        return made

    return copy


def vault(production, tmp_path):
    """Do what keys.yml tells, with a key that the test knows; returns the options that open the vault."""
    lines = (production / "group_vars" / "sglang" / "keys.yml").read_text().splitlines()
    told = [line.lstrip("# ").rstrip("\\") for line in lines if "printf" in line or "ansible-vault encrypt" in line]
    password = tmp_path / "password"
    password.write_text("a password\n")
    command = " ".join(told).replace("$(openssl rand -hex 32)", KEY.removeprefix("sk-"))
    program = shlex.quote(str(pathlib.Path(sys.executable).with_name("ansible-vault")))
    command = command.replace("ansible-vault encrypt", f"{program} encrypt --vault-password-file {password}")
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True, capture_output=True)
    return "--vault-password-file", str(password)


def test_the_production_example_is_taken_by_server_unit(copied, asked, tmp_path):
    production = copied("production")
    results, done = asked(production, "--limit", "gpu-01*,gpu-04*", *vault(production, tmp_path))
    assert list(results) == ["gpu-01.example.com", "gpu-04.example.com"], done.stdout + done.stderr
    assert KEY not in (production / "group_vars" / "sglang" / "vault.yml").read_text()
    ports = []
    for result in results.values():
        assert result["changed"] and result.get("warnings", []) == [], result
        added = result["flag_changes"]["added"]
        window = {name: added[name] for name in ("speculative_algorithm", "speculative_draft_window_size", "tp_size")}
        assert window == {"speculative_algorithm": "DFLASH", "speculative_draft_window_size": 2048, "tp_size": 8}
        proof = result["journal_proof"]
        assert proof["preset"] == ["dflash"] and proof["preset_fields"]["draft_window_size"] == 2048
        # Handed over as a credential.
        assert KEY not in json.dumps(result) and "${CREDENTIALS_DIRECTORY}/config.yaml" in result["argv"]
        ports.append(added["port"])
    assert ports == [30001, 30011]


def test_without_the_vault_nothing_is_written(asked):
    results, done = asked(INVENTORIES / "production", "--limit", "gpu-01*")
    assert results == {} and "make group_vars/sglang/vault.yml as keys.yml tells" in done.stdout + done.stderr


def test_no_key_and_no_vault_is_published():
    for path in INVENTORIES.rglob("*"):
        assert path.name != "vault.yml" and (path.is_dir() or "$ANSIBLE_VAULT" not in path.read_text()), path
    main = yaml.safe_load((INVENTORIES / "production/group_vars/sglang/server.yml").read_text())
    assert not [name for name in main if "key" in name]


def test_each_rank_of_the_multi_node_example_is_taken_by_server_unit(copied, asked):
    rank = "{{ groups.kimi_k26.index(inventory_hostname) }}"
    added = {
        "nnodes": "{{ groups.kimi_k26 | length }}",
        "node_rank": rank,
        "dist_init_addr": "{{ server_dist_init_addr }}",
    }
    results, done = asked(copied("multi_node"), added=added)
    assert len(results) == 2, done.stdout + done.stderr
    ranks = [(one["flag_changes"]["added"]["node_rank"], one.get("warnings", [])) for one in results.values()]
    assert ranks == [(0, []), (1, [])]
