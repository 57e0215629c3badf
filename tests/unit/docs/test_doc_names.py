# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the documents name within their sentences is there: playbooks, modules, targets, files, options, keys, words."""

from __future__ import annotations

import io
import re

import pytest
import yaml
from docutils import core, nodes
from docutils.parsers.rst import roles

from ansible_collections.llmops.sglang.plugins.module_utils import _flags
from ansible_collections.llmops.sglang.tests.tools.doc_examples import CLONE, PAGES, literals
from ansible_collections.llmops.sglang.tests.tools.fault_page import causing
from ansible_collections.llmops.sglang.tests.unit.docs.documented_collection import ROLES, playbooks, variables, words

# Of Ansible and of the router; and what is put together from parts.
NOT_OF_THE_CODE = {"group_vars", "host_vars", "round_robin", "internal_poll_interval", "llmops_sglang_sweep_points"}
OF_EACH_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CLONE)))


def names_of_files():
    folders = ("docs/docsite", "inventory", "plugins", "tests")
    return {path.name.partition(".")[0] for folder in folders for path in (CLONE / folder).rglob("*")}


def test_every_guide_has_one_place_in_the_order_of_the_site():
    sections = yaml.safe_load((CLONE / "docs" / "docsite" / "extra-docs.yml").read_text(encoding="utf-8"))["sections"]
    listed = [name for section in sections for name in section["toctree"]]
    assert sorted(listed) == sorted(page.stem for page in PAGES if page.suffix == ".rst")


def complaints_of(text):
    """What docutils alone finds wrong, so that not only the site's own build tells a broken table."""
    for name in ("ref", "ansplugin", "ansopt"):
        roles.register_generic_role(name, nodes.inline)
    complaints = io.StringIO()
    settings = {"report_level": 2, "halt_level": 5, "warning_stream": complaints, "syntax_highlight": "none"}
    core.publish_doctree(text, settings_overrides=settings)
    return complaints.getvalue()


@pytest.mark.parametrize("page", [page for page in PAGES if page.suffix == ".rst"], ids=lambda page: page.stem)
def test_every_guide_is_sound_restructuredtext(page):
    assert complaints_of(page.read_text(encoding="utf-8")) == ""


@pytest.mark.parametrize(
    "text", ["A title\n====\n", "``a`", ":nothing:`a`", ".. list-table::\n\n   * - a\n   * - a\n     - b\n"]
)
def test_what_is_not_sound_is_found(text):
    assert "WARNING" in complaints_of(text) or "ERROR" in complaints_of(text)


@OF_EACH_PAGE
def test_what_stands_within_a_sentence_exists_too(page):
    """Names of the collection, targets of make and programs of Ansible in literals."""
    known = {*(name.removeprefix("llmops.sglang.") for name in playbooks()), *ROLES, "NAME"}
    for kind in ("modules", "filter"):
        known |= {path.stem for path in (CLONE / "plugins" / kind).glob("*.py")}
    targets = re.findall(r"(?m)^([\w-]+):", (CLONE / "Makefile").read_text())
    wrong = []
    for dummy, literal in literals(page):
        wrong += [found for found in re.findall(r"llmops\.sglang\.(\w+)", literal) if found not in known]
        target = re.fullmatch(r"(?:FULL=1 |sudo )?make ([\w-]+)", literal)
        wrong += [literal] if target and target[1] not in targets else []
        if re.match(r"(tests|plugins|playbooks|roles|inventory|extensions|meta|docs|changelogs)/[\w./-]+$", literal):
            wrong += [] if (CLONE / literal).exists() else [literal]
    assert wrong == []


@OF_EACH_PAGE
def test_every_name_with_underscores_is_one_of_the_code(page):
    """Options, variables, keys of results and records, failure classes, invalid reasons: none is left from earlier."""
    tests = {test.partition("::")[2] for test in causing()}
    known = words() | NOT_OF_THE_CODE | names_of_files() | tests | {flag.dest for flag in _flags.table_of().flags}
    names = {
        name
        for dummy, literal in literals(page)
        for name in re.findall(r"(?<![\w/.-])[a-z]+(?:_[a-z0-9]+)+\b", literal)
    }
    assert sorted(name for name in names if name not in known) == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.suffix == ".md"], ids=lambda page: str(page.relative_to(CLONE))
)
def test_every_link_within_the_repository_leads_to_a_file(page):
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_readme_lists_every_playbook_and_module():
    text = (CLONE / "README.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"(?m)^\| `(llmops\.sglang\.\w+)` \|", text))
    modules = {f"llmops.sglang.{path.stem}" for path in (CLONE / "plugins" / "modules").glob("*.py")}
    assert listed == modules | playbooks()


def test_every_variable_that_only_playbooks_read_is_documented():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    read = "".join(path.read_text(encoding="utf-8") for path in (CLONE / "playbooks").glob("*.yml"))
    names = set(re.findall(r"\b([a-z]+_[a-z_]+) \| default\(", read)) - set(variables())
    own = {name for name in names if not re.match(r"(ansible|inventory|playbook|server|benchmark|sweep)_", name)}
    assert len(own) > 3
    assert sorted(name for name in own if name not in text) == []
