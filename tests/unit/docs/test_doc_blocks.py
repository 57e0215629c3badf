# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each YAML block in the documents: it is a file as Ansible would take it, and every option and variable in it exists."""

from __future__ import annotations

import configparser
import os
import pathlib
import re
import subprocess

import pytest
import yaml
from ansible import constants
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.playbook.block import Block as AnsibleBlock
from ansible.playbook.play import Play
from ansible.playbook.task import Task
from ansible.plugins.loader import connection_loader
from ansible_builder.ee_schema import validate_schema

from ansible_collections.llmops.sglang.plugins.module_utils import _flags, _speculative
from ansible_collections.llmops.sglang.tests.tools.doc_examples import CLONE, PAGES, YAML, blocks, examples, files
from ansible_collections.llmops.sglang.tests.unit.docs import documented_collection as collection

BLOCKS = [*(block for page in PAGES for block in blocks(page)), *examples()]
PARTS = [(block, name, text) for block in BLOCKS if block.language in YAML for name, text in files(block)]
TASK_WORDS = {*Task.fattributes, *AnsibleBlock.fattributes} - {"action", "args"}
BLOCK_LISTS = ("block", "rescue", "always")
ROLE_TASKS = {f"ansible.builtin.{name}" for name in ("include_role", "import_role")}
ROLE_WORDS = {"name", "tasks_from", "apply", "public", "vars_from", "defaults_from", "handlers_from"}


class OnceLoader(yaml.SafeLoader):
    """Refuses a key that a mapping has twice."""


def once(loader, node, deep=False):
    keys = [loader.construct_object(key) for key, dummy in node.value if key.tag != "tag:yaml.org,2002:merge"]
    assert len(keys) == len(set(keys)), f"a key stands twice: {keys}"
    loader.flatten_mapping(node)
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


OnceLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, once)


def is_template(value):
    return isinstance(value, str) and ("{{" in value or "{%" in value)


def argument_spec(options):
    """A spec of documented options for those that are given; what is required is looked at apart."""
    spec = {}
    for name, option in options.items():
        words = {key: option[key] for key in ("type", "elements", "aliases") if key in option}
        # Some document what each choice means.
        words |= {"choices": list(option["choices"])} if "choices" in option else {}
        inner = option.get("suboptions") or option.get("options")
        spec[name] = {**words, **({"options": argument_spec(inner)} if inner else {}), "no_log": False}
    return spec


def check_options(given, options):
    """Names, types and choices; templates and null count for any type."""
    plain = {name: value for name, value in given.items() if value is not None and not is_template(value)}
    result = ArgumentSpecValidator(argument_spec(options)).validate(without_templates(plain))
    assert result.error_messages == []
    names = {*options, *(alias for option in options.values() for alias in option.get("aliases", ()))}
    assert set(given) - names == set()


def without_templates(value):
    """A list of one template is a list of anything."""
    if isinstance(value, dict):
        return {name: without_templates(one) for name, one in value.items() if not is_template(one)}
    return [without_templates(one) for one in value if not is_template(one)] if isinstance(value, list) else value


def check_variables(given):
    options = {name: option for name, option in collection.variables().items() if name in given}
    check_options({name: value for name, value in given.items() if name in options}, options)
    assert [name for name in given if not collection.is_variable(name)] == []
    for name, module in collection.OPTIONS_OF.items():
        if isinstance(given.get(name), dict):
            check_options(given[name], collection.module_options(module))
    check_arguments(given.get("server_args"), given.get("server_speculative"), given.get("server_flag_names") or {})


def check_arguments(args, speculative, flag_names):
    """Names of the server's own arguments are those of some release, or of a fork that the block names the flags of."""
    known = {flag.dest for version in _flags.VERSIONS for flag in _flags.table_of(version).flags} | set(flag_names)
    if isinstance(args, dict):
        assert [name for name in args if name not in known] == []
    if isinstance(speculative, dict):
        algorithm = speculative.get("algorithm", "DFLASH")
        assert [name for name in speculative if not known & {name, *_speculative._names(name, algorithm)}] == []


def check_task(task):
    if any(name in task for name in BLOCK_LISTS):
        for name in BLOCK_LISTS:
            check_tasks(task.get(name, []))
        assert set(task) - {*BLOCK_LISTS, *AnsibleBlock.fattributes} == set()
        return
    actions = [name for name in task if name not in TASK_WORDS and not name.startswith("with_")]
    assert len(actions) == 1 and "." in actions[0]
    if actions[0] in ROLE_TASKS:
        check_role(task[actions[0]], task.get("vars", {}))
        return
    options = collection.module_options(actions[0])
    assert options is not None
    if isinstance(task[actions[0]], dict):
        check_options(task[actions[0]], options)
        required = {name for name, option in options.items() if option.get("required")}
        given = set(task[actions[0]])
        assert [name for name in required if not given & {name, *options[name].get("aliases", ())}] == []
        if actions[0] == "llmops.sglang.server_unit":
            given = task[actions[0]]
            check_arguments(given.get("args"), given.get("speculative"), given.get("flag_names") or {})


def check_role(words, variables):
    assert set(words) <= ROLE_WORDS
    role = words["name"].removeprefix("llmops.sglang.")
    place = CLONE / "roles" / role / "tasks" / words.get("tasks_from", "main.yml")
    assert words["name"].startswith("llmops.sglang.") and (place.exists() or place.with_suffix(".yml").exists())
    check_variables(variables)


def check_tasks(tasks):
    for task in tasks:
        check_task(task)


def check_play(play):
    if "ansible.builtin.import_playbook" in play:
        assert set(play) <= {"ansible.builtin.import_playbook", "name", "vars", "tags", "when"}
        assert play["ansible.builtin.import_playbook"] in collection.playbooks()
    else:
        assert set(play) <= set(Play.fattributes)
    check_variables(play.get("vars", {}))
    for part in ("tasks", "pre_tasks", "post_tasks", "handlers"):
        check_tasks(play.get(part, []))
    for role in play.get("roles", []):
        named = role if isinstance(role, dict) else {"role": role}
        check_role({"name": named["role"]}, named.get("vars", {}))


def check_group(group):
    assert set(group or {}) <= {"hosts", "vars", "children"}
    group = group or {}
    for variables in [group.get("vars") or {}, *(group.get("hosts") or {}).values()]:
        check_variables(variables or {})
    for child in (group.get("children") or {}).values():
        check_group(child)


def check_snippet(block, given):
    """Options of one of the modules that the page speaks of, without the module."""
    text = (CLONE / block.page).read_text(encoding="utf-8")
    for module in sorted(set(re.findall(r"llmops\.sglang\.(\w+)#module", text))):
        options = collection.module_options(f"llmops.sglang.{module}")
        if set(given) <= set(options):
            check_options(given, options)
            return
    raise AssertionError(f"neither variables, nor an inventory, nor options of a module of this page: {list(given)}")


def check(block, text):
    data = yaml.load(text, OnceLoader)
    if isinstance(data, list):
        plays = all("hosts" in one or "ansible.builtin.import_playbook" in one for one in data)
        for one in data:
            (check_play if plays else check_task)(one)
    elif "version" in data:
        assert data == yaml.safe_load(
            (CLONE / "extensions" / "ee" / "execution-environment.yml").read_text(encoding="utf-8")
        )
        validate_schema(data)
    elif all(isinstance(one, dict) and set(one) & {"hosts", "children", "vars"} for one in data.values()):
        check_group({"children": data})
    elif all(collection.is_variable(key) for key in data):
        check_variables(data)
    else:
        check_snippet(block, data)


def test_there_are_blocks_in_every_kind_of_document():
    assert len(PARTS) > 50
    assert {block.page.partition("/")[0] for block, dummy, dummy in PARTS} >= {"README.md", "docs", "plugins", "roles"}


def test_every_language_of_a_block_is_one_that_is_looked_at_or_plain_text():
    looked_at = {*YAML, "console", "shell", "ini", "text"}
    assert [str(block) for block in BLOCKS if block.language not in looked_at] == []


@pytest.mark.parametrize(
    ("block", "name", "text"), PARTS, ids=[f"{block}{name and ' '}{name}" for block, name, dummy in PARTS]
)
def test_what_a_block_shows_would_be_taken(block, name, text):
    check(block, text)


def test_ansible_itself_takes_every_play_and_task(tmp_path):
    """All in one go, since what costs is the start of the program."""
    playbooks = []
    for block, name, text in PARTS:
        data = yaml.safe_load(text)
        if isinstance(data, list):
            plays = all("hosts" in one or "ansible.builtin.import_playbook" in one for one in data)
            path = tmp_path / f"{block.page.replace('/', '_')}-{block.line}-{pathlib.Path(name).stem}.yml"
            path.write_text(text if plays else yaml.safe_dump([{"hosts": "all", "tasks": data}]), encoding="utf-8")
            playbooks.append(str(path))
    done = subprocess.run(
        ["ansible-playbook", "--syntax-check", "-i", "localhost,", *playbooks],
        cwd=CLONE, env={**os.environ, "ANSIBLE_NOCOLOR": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert len(playbooks) > 30
    assert done.returncode == 0, done.stderr


WRONG = {
    "module": "- llmops.sglang.server_units: {name: a}",
    "no full name": "- debug: {msg: a}",
    "option": "- llmops.sglang.wait_for_generation: {name: a, time_out: 3}",
    "type": "- llmops.sglang.wait_for_generation: {name: a, timeout: soon}",
    "choice": "- llmops.sglang.server_service: {name: a, state: running}",
    "inner option": "- llmops.sglang.journal_assert: {name: a, expect: [{contain: x}]}",
    "required option": "- llmops.sglang.server_service: {state: started}",
    "keyword": "- llmops.sglang.server_service: {name: a}\n  register_as: x",
    "role": "- hosts: a\n  roles: [{role: llmops.sglang.servers}]",
    "entry point": "- ansible.builtin.include_role: {name: llmops.sglang.server, tasks_from: prof.yml}",
    "variable of a role": "- hosts: a\n  roles: [{role: llmops.sglang.server, vars: {server_nam: a}}]",
    "playbook": "- ansible.builtin.import_playbook: llmops.sglang.sites",
    "type of a variable": "server_enabled: [1]",
    "choice of a variable": "server_restart: sometimes",
    "option in a variable": "server_wait: {time_out: 3}",
    "argument of the server": "server_args: {model_paths: /a}",
    "speculative option": "server_speculative: {draft_window: 2048}",
    "host's variable": "sglang: {hosts: {a: {server_arg: {}}}}",
    "key twice": "server_name: a\nserver_name: b",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_what_would_not_be_taken_is_found(text):
    block = next(block for block in BLOCKS if block.page == "README.md")
    with pytest.raises(AssertionError):
        check(block, text)


@pytest.mark.parametrize("block", [one for one in BLOCKS if one.language == "ini"], ids=str)
def test_every_setting_of_ansible_exists(block):
    shown = configparser.ConfigParser()
    shown.read_string(block.text)
    connection_loader.get("ssh", class_only=True)
    for kind, name in ((None, None), ("connection", "ssh")):
        definitions = constants.config.get_configuration_definitions(kind, name)
        known = {(row["section"], row["key"]) for one in definitions.values() for row in one.get("ini", ())}
        for section in shown.sections():
            if (section == "ssh_connection") == (kind == "connection"):
                assert [key for key in shown[section] if (section, key) not in known] == []
