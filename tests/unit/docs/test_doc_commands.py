# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each command in the documents: its program's own parser takes it, and what it names is there."""

from __future__ import annotations

import importlib
import os
import re
import subprocess

import pytest
import yaml
from ansible import constants
from ansible.parsing.splitter import parse_kv
from ansible.plugins.loader import callback_loader

from ansible_collections.llmops.sglang.tests.tools.doc_examples import (
    CLONE,
    PAGES,
    YAML,
    blocks,
    commands,
    files,
    split,
)
from ansible_collections.llmops.sglang.tests.unit.docs.documented_collection import (
    is_variable,
    module_options,
    playbooks,
)

COMMANDS = [command for page in PAGES for command in commands(page)]
# Inventories of the reader, and what a command in front made.
OF_THE_READER = {"inventory.yml", "inventory", "review.txt"}
PARSERS = {
    "ansible": ("ansible.cli.adhoc", "AdHocCLI"),
    "ansible-doc": ("ansible.cli.doc", "DocCLI"),
    "ansible-galaxy": ("ansible.cli.galaxy", "GalaxyCLI"),
    "ansible-inventory": ("ansible.cli.inventory", "InventoryCLI"),
    "ansible-playbook": ("ansible.cli.playbook", "PlaybookCLI"),
    "ansible-vault": ("ansible.cli.vault", "VaultCLI"),
}
# Of these each long option and each letter has to be in what --help says.
WITH_HELP = ("git", "grep", "journalctl", "openssl", "systemctl", "systemd-analyze", "tee", "usermod", "loginctl")
PLAIN = ("cd", "export", "printf", "python", "python3", "ansible-builder", "make")
ENVIRONMENT = {"FULL", "PYTHONUNBUFFERED", "CONTROLLER_HOST", "CONTROLLER_OAUTH_TOKEN"}


def parsed(command):
    module, name = PARSERS[command.program]
    cli = getattr(importlib.import_module(module), name)(list(command.words))
    cli.init_parser()
    return cli.parser.parse_args(list(command.words[1:]))


def shown_files(command):
    """The files that the command's page shows."""
    return {name for block in blocks(CLONE / command.page) if block.language in YAML for name, dummy in files(block)}


def is_there(command, path):
    place = CLONE / path.rstrip("/")
    if path in OF_THE_READER or path in shown_files(command) or place.exists():
        return True
    # A folder of files that the page shows, or a vault, which is made by the command and never in the repository.
    return any(name.startswith(f"{path}/") for name in shown_files(command)) or place.name == "vault.yml"


def of(program):
    found = [command for command in COMMANDS if command.program == program]
    return pytest.mark.parametrize("command", found, ids=str)


def test_there_are_commands_in_every_kind_of_document():
    assert len(COMMANDS) > 40
    assert {command.page.partition("/")[0] for command in COMMANDS} >= {"README.md", "docs"}


def test_lines_are_split_into_simple_commands_as_a_shell_does():
    line = "A=1 sudo -u me ansible-doc x | tee 'a b' && make y  # why"
    assert [command.words for command in split("p", 1, line)] == [("ansible-doc", "x"), ("tee", "a b"), ("make", "y")]
    assert [command.words for command in split("p", 1, 'printf "$(openssl rand 3)"')][1] == ("openssl", "rand", "3")


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_every_program_is_one_that_is_looked_at(command):
    assert command.program in (*PARSERS, *WITH_HELP, *PLAIN)


@pytest.mark.parametrize("command", [one for one in COMMANDS if one.environ], ids=str)
def test_every_variable_of_the_environment_is_known(command):
    callback_loader.get("default", class_only=True)
    settings = [
        *constants.config.get_configuration_definitions(ignore_private=True).values(),
        *constants.config.get_configuration_definitions("callback", "default").values(),
    ]
    known = ENVIRONMENT | {row["name"] for setting in settings for row in setting.get("env", ())}
    names = {word.partition("=")[0] for word in command.environ if "=" in word}
    assert names <= known
    assert all(is_there(command, word) for word in command.environ if "=" not in word)


@of("ansible-playbook")
def test_ansible_playbook_is_given_what_exists(command):
    check_playbook(command)


def check_playbook(command):
    options = parsed(command)
    # A reader's setting of an inventory is nobody else's.
    assert options.inventory or options.args == ["llmops.sglang.awx"]
    assert [path for path in options.inventory or [] if not is_there(command, path) and not path.endswith(",")] == []
    for playbook in options.args:
        assert playbook in playbooks() or is_there(command, playbook)
    unknown = [name for text in options.extra_vars for name in extra_variables(command, text) if not is_variable(name)]
    assert unknown == []
    assert set(options.tags) | set(options.skip_tags) <= tags_of(options.args)


@pytest.mark.parametrize(
    "line",
    [
        "ansible-playbook llmops.sglang.site",
        "ansible-playbook -i inventory.yml llmops.sglang.sites",
        "ansible-playbook -i nowhere.yml llmops.sglang.site",
        "ansible-playbook -i inventory.yml llmops.sglang.site -e server_resart=never",
        "ansible-playbook -i inventory.yml llmops.sglang.site -e @nowhere.yml",
        "ansible-playbook -i inventory.yml llmops.sglang.site --tags deploy",
        "ansible-playbook -i inventory.yml llmops.sglang.site --chek",
    ],
)
def test_what_ansible_playbook_would_not_find_is_found(line):
    with pytest.raises((AssertionError, SystemExit)):
        check_playbook(next(split("README.md", 1, line)))


def extra_variables(command, text):
    if text.startswith("@"):
        # The parser makes a whole path of it.
        assert is_there(command, os.path.relpath(text[1:]))
        return []
    if text.startswith("{"):
        return list(yaml.safe_load(text))
    pairs = text.split()
    assert all("=" in pair for pair in pairs)
    return [pair.partition("=")[0] for pair in pairs]


def tags_of(names):
    paths = [CLONE / "playbooks" / f"{name.rpartition('.')[2]}.yml" for name in names if name in playbooks()]
    return {tag for path in paths for row in re.findall(r"tags: \[(.*)\]", path.read_text()) for tag in row.split(", ")}


@of("ansible-doc")
def test_ansible_doc_is_asked_for_what_is_documented(command):
    options = parsed(command)
    kind = {"role": "roles", "module": "plugins/modules", "filter": "plugins/filter"}[options.type]
    for name in options.args:
        if name == "llmops.sglang.NAME":
            continue
        place = CLONE / kind / name.removeprefix("llmops.sglang.")
        assert name.startswith("llmops.sglang.") and (place.is_dir() or place.with_suffix(".py").exists())


@of("ansible")
def test_a_single_module_has_the_options(command):
    options = parsed(command)
    documented = module_options(options.module_name)
    assert documented is not None and all(is_there(command, path) for path in options.inventory)
    text = options.module_args or ""
    given = yaml.safe_load(text) if text.startswith("{") else parse_kv(text)
    assert set(given) <= set(documented)


@pytest.mark.parametrize("program", ["ansible-inventory", "ansible-vault", "ansible-galaxy"])
def test_other_programs_of_ansible_take_their_words(program):
    for command in [command for command in COMMANDS if command.program == program]:
        options = parsed(command)
        assert all(is_there(command, path) for path in getattr(options, "inventory", None) or [])
        assert not getattr(options, "output_file", None) or is_there(command, options.output_file)
        named = options.args if program == "ansible-galaxy" else []
        assert [name for name in named if name not in ("llmops.sglang", "awx.awx")] == []


@of("ansible-builder")
def test_ansible_builder_takes_its_words(command):
    options = importlib.import_module("ansible_builder.cli").parse_args(list(command.words[1:]))
    assert is_there(command, options.filename)


@of("make")
def test_every_target_of_make_exists(command):
    targets = re.findall(r"(?m)^([\w-]+):", (CLONE / "Makefile").read_text())
    assert [word for word in command.words[1:] if "=" not in word and word not in targets] == []


@pytest.mark.parametrize("command", [one for one in COMMANDS if one.program in ("python", "python3")], ids=str)
def test_every_script_that_python_runs_is_there(command):
    assert all(word.startswith("-") or is_there(command, word) for word in command.words[1:2])


@pytest.mark.parametrize("command", [one for one in COMMANDS if one.program in WITH_HELP], ids=str)
def test_programs_of_the_system_have_the_options(command):
    argv = [command.program, *(["rand"] if command.program == "openssl" else []), "--help"]
    if command.program == "git":
        argv = ["git", command.words[1], "-h"]
    told = subprocess.run(argv, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    text = told.stdout + told.stderr
    for word in command.words[1:]:
        letters = re.fullmatch(r"-([a-zA-Z]+)", word)
        names = [f"-{letter}" for letter in letters[1]] if letters and command.program != "openssl" else []
        if word.startswith("--") or (word.startswith("-") and command.program == "openssl"):
            names = [word.partition("=")[0]]
        assert [name for name in names if not re.search(rf"(?<![\w-]){name}(?![\w-])", text)] == []
    if command.program == "openssl":
        assert command.words[1] == "rand"
