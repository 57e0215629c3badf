# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The execution environment: ansible-builder takes it, and it holds what the controller's plugins import."""

from __future__ import annotations

import ast
import pathlib
import re
import subprocess
import sys

import yaml

CLONE = pathlib.Path(__file__).resolve().parents[3]
COLLECTIONS = CLONE / ".build" / "collections"
REQUIREMENTS = CLONE / "meta" / "ee-requirements.txt"
# What every execution environment has besides Python's own library, and what requests brings along.
ALWAYS = {"ansible", "ansible_collections", "yaml", "jinja2", "urllib3"}


def builder(*words):
    command = [str(pathlib.Path(sys.executable).with_name("ansible-builder")), *map(str, words)]
    return subprocess.run(command, cwd=CLONE, capture_output=True, text=True, check=False)


def required():
    lines = [line for line in REQUIREMENTS.read_text().splitlines() if line and not line.startswith("#")]
    return {re.match(r"[\w-]+", line)[0] for line in lines}


def test_ansible_builder_makes_its_context(tmp_path):
    definition, context = CLONE / "extensions/ee/execution-environment.yml", tmp_path / "context"
    done = builder("create", "-f", definition, "-c", context, "--output-filename", "Containerfile")
    assert done.returncode == 0, done.stdout + done.stderr
    recipe = (context / "Containerfile").read_text()
    assert "ansible-runner" in recipe and "RUN $PYCMD -m pip install" in recipe
    galaxy = yaml.safe_load((context / "_build/requirements.yml").read_text())
    assert galaxy == {"collections": ["llmops.sglang"]}


def test_ansible_builder_finds_what_the_collection_needs():
    done = builder("introspect", COLLECTIONS)
    assert done.returncode == 0, done.stderr
    found = yaml.safe_load(done.stdout)
    assert {re.match(r"[\w-]+", line)[0] for line in found["python"]} == required()
    assert found["system"] == []


def imported(path):
    """The top-level names that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


def test_the_plugins_of_the_controller_import_nothing_else():
    """What runs on the controller: actions and their code, and modules that a play delegates to it."""
    plugins = CLONE / "plugins"
    found = set()
    for path in [*plugins.glob("action/*.py"), *plugins.glob("plugin_utils/*.py"), *plugins.glob("module_utils/*.py")]:
        found |= set(imported(path))
    assert found - ALWAYS - set(sys.stdlib_module_names) == required()
