# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the collection has, by which its documents are judged: options, variables, playbooks, words of the code."""

from __future__ import annotations

import functools
import re
import typing as t

import yaml
from ansible.errors import AnsibleError
from ansible.plugins.loader import fragment_loader, init_plugin_loader, module_loader
from ansible.utils.collection_loader import AnsibleCollectionConfig
from ansible.utils.plugin_docs import get_plugin_docs

from ansible_collections.llmops.sglang.tests.tools.doc_examples import CLONE

ROLES = ("server", "benchmark", "sweep")
# Of which module a role's variable holds the options.
OPTIONS_OF = {
    "server_wait": "llmops.sglang.wait_for_generation",
    "server_journal": "llmops.sglang.journal_assert",
    "server_node_journal": "llmops.sglang.journal_assert",
    "benchmark_matrix": "llmops.sglang.benchmark_matrix",
    "benchmark_coding": "llmops.sglang.coding_eval",
    "benchmark_compare": "llmops.sglang.benchmark_compare",
    "benchmark_report": "llmops.sglang.benchmark_report",
    "sweep_gate": "llmops.sglang.benchmark_compare",
    "sweep_report": "llmops.sglang.sweep_result",
}
# Variables of Ansible itself.
ANSIBLE_VARIABLES = re.compile(r"ansible_\w+")


@functools.cache
def module_options(name: str) -> dict[str, t.Any] | None:
    """The documented options of a module by its full name; None where there is no such module."""
    if AnsibleCollectionConfig.collection_finder is None:
        init_plugin_loader()
    try:
        documented = get_plugin_docs(name, "module", module_loader, fragment_loader, False)[0]
    except AnsibleError:
        return None
    return documented.get("options", {})


@functools.cache
def role_options(role: str) -> dict[str, dict[str, t.Any]]:
    """The options of all entry points of a role."""
    text = (CLONE / "roles" / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8")
    found: dict[str, dict[str, t.Any]] = {}
    for entry in yaml.safe_load(text)["argument_specs"].values():
        found.update(entry["options"])
    return found


@functools.cache
def variables() -> dict[str, dict[str, t.Any]]:
    """The options of all roles."""
    return {name: option for role in ROLES for name, option in role_options(role).items()}


@functools.cache
def code() -> str:
    """The text of playbooks and roles without comments."""
    paths = [*(CLONE / "playbooks").rglob("*.yml"), *(CLONE / "roles").rglob("*.yml")]
    return "\n".join(re.sub(r"(?m)^\s*#.*", "", path.read_text(encoding="utf-8")) for path in sorted(paths))


@functools.cache
def words() -> frozenset[str]:
    """Every word of the collection's code."""
    paths = [*(CLONE / "plugins").rglob("*.py"), *(CLONE / "plugins").rglob("*.json")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(paths))
    return frozenset(re.findall(r"\w+", code() + text))


def is_variable(name: str) -> bool:
    """Whether somebody reads a variable of this name."""
    return bool(name in variables() or ANSIBLE_VARIABLES.fullmatch(name) or re.search(rf"\b{name}\b", code()))


@functools.cache
def playbooks() -> frozenset[str]:
    return frozenset(f"llmops.sglang.{path.stem}" for path in (CLONE / "playbooks").glob("*.yml"))
