# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page about the structure names only files that are there, and of each only what it has."""

from __future__ import annotations

import ast
import functools
import re

import pytest
from docutils import core, nodes
from docutils.parsers.rst import roles

from ansible_collections.llmops.sglang.tests.tools.doc_examples import CLONE

PAGE = CLONE / "docs" / "docsite" / "rst" / "structure.rst"


@functools.cache
def tables():
    """Of each table of the page the rows, of each row the cells, of each cell the literals."""
    roles.register_generic_role("ref", nodes.inline)
    document = core.publish_doctree(PAGE.read_text(encoding="utf-8"), settings_overrides={"report_level": 5})
    return [
        [
            [[literal.astext() for literal in cell.findall(nodes.literal)] for cell in row.findall(nodes.entry)]
            for body in table.findall(nodes.tbody)
            for row in body.findall(nodes.row)
        ]
        for table in document.findall(nodes.table)
    ]


def claims(literals):
    """(file, name in it) for each name that stands behind a file."""
    place = ""
    for literal in literals:
        if "/" in literal:
            place = literal
        else:
            yield place, literal


@functools.cache
def names_in(path):
    """What a file defines: for Python its functions, classes, methods and constants; else its words."""
    text = (CLONE / path).read_text(encoding="utf-8")
    if not path.endswith(".py"):
        return frozenset(re.findall(r"\w+", text))
    found = set()
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{one.name}" for one in node.body if isinstance(one, ast.FunctionDef)}
        if isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return frozenset(found)


def wrong(literals):
    """The files that are not there, and the names that their file does not have."""
    missing = [one for one in literals if "/" in one and not (CLONE / one).exists()]
    return missing + [
        f"{path}: {name}"
        for path, name in claims(literals)
        if not path or path in missing or name not in names_in(path)
    ]


def test_there_are_the_two_tables():
    rooms, way = tables()
    assert len(rooms) > 15 and len(way) > 15


@pytest.mark.parametrize("row", tables()[1], ids=lambda row: row[1][0])
def test_each_step_of_the_way_is_where_the_page_says(row):
    assert list(claims(row[1])) and wrong(row[1]) == []


def test_each_room_is_there():
    assert [one for row in tables()[0] for one in row[1] if not (CLONE / one).exists()] == []


@pytest.mark.parametrize(
    "literals",
    [
        ["plugins/module_utils/_nothing.py"],
        ["plugins/module_utils/_rules.py", "chck"],
        ["plugins/module_utils/_server_unit.py", "ServerUnit.nothing"],
        ["roles/server/vars/main.yml", "server_nothing"],
        ["check"],
    ],
    ids=str,
)
def test_what_is_not_there_is_found(literals):
    assert wrong(literals) != []


def test_the_way_goes_through_every_layer_in_order():
    layers = ("inventory", "roles", "plugins/action", "plugins/modules", "plugins/module_utils")
    firsts = [
        next(number for number, row in enumerate(tables()[1]) if any(one.startswith(f"{layer}/") for one in row[1]))
        for layer in layers
    ]
    assert firsts == sorted(firsts)


def test_each_file_of_the_drawing_is_a_folder():
    drawn = re.findall(r"(?m)^ +[|\\ ]*((?:plugins|playbooks|roles)[\w/]*)", PAGE.read_text(encoding="utf-8"))
    assert len(drawn) > 6 and all((CLONE / one).is_dir() for one in drawn)
