# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of the house: nothing too long, no layer that knows the one above it, nothing written twice."""

from __future__ import annotations

import ast
import collections
import functools
import pathlib

import pytest

CLONE = pathlib.Path(__file__).resolve().parents[3]
PLUGINS = "ansible_collections.llmops.sglang.plugins."
LONGEST_FILE, LONGEST_FUNCTION = 400, 60
# A body of fewer statements is shorter than an import of it.
SMALLEST_COPY = 3
# What may be longer all the same, as "path" or "path: function", with the reason.
LONG: dict[str, str] = {}
# Which folders of the plugins one may import from, its own aside.
BELOW = {
    "module_utils": set(),
    "doc_fragments": set(),
    "plugin_utils": {"module_utils"},
    "modules": {"module_utils"},
    "filter": {"module_utils", "plugin_utils"},
    # An action runs the module of its name, or documents itself in it.
    "action": {"module_utils", "plugin_utils", "modules"},
}
GOES_TO_THE_HOST = ("module_utils", "modules")


@functools.cache
def sources():
    paths = [path for folder in ("plugins", "tests") for path in sorted((CLONE / folder).rglob("*.py"))]
    return {
        str(path.relative_to(CLONE)): path.read_text(encoding="utf-8") for path in paths if "output" not in path.parts
    }


@functools.cache
def tree(path):
    return ast.parse(sources()[path])


def functions(path):
    return [node for node in ast.walk(tree(path)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def body(function):
    """Its statements without the documentation string."""
    first = function.body[0]
    documented = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return function.body[documented:]


def lines(function):
    first = function.body[0]
    documentation = 0 if body(function) == function.body else first.end_lineno - first.lineno + 1
    return function.end_lineno - function.lineno + 1 - documentation


def too_long():
    for path, text in sources().items():
        if text.count("\n") > LONGEST_FILE:
            yield path
        yield from (f"{path}: {function.name}" for function in functions(path) if lines(function) > LONGEST_FUNCTION)


def test_no_file_and_no_function_is_too_long_without_a_reason():
    assert len(sources()) > 300
    # Neither is a reason left over.
    assert sorted(too_long()) == sorted(LONG) and all(LONG.values())


def imported(path):
    """The plugins' files that *path* imports, as "folder.file"; and the modules of others."""
    own, others = set(), set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            others |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module.startswith(PLUGINS):
            inside = node.module.removeprefix(PLUGINS)
            own |= {inside} if "." in inside else {f"{inside}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            others.add(node.module)
    return own, others


@functools.cache
def graph():
    """Of each file of the plugins which others of them it imports."""
    own = [path for path in sources() if path.startswith("plugins/")]
    return {path.removeprefix("plugins/").removesuffix(".py").replace("/", "."): imported(path)[0] for path in own}


@pytest.mark.parametrize("folder", sorted(BELOW))
def test_no_layer_knows_one_above_it(folder):
    allowed = {folder, *BELOW[folder]}
    own = {file: found for file, found in graph().items() if file.startswith(f"{folder}.")}
    assert own
    assert {file: found for file, found in own.items() if {one.partition(".")[0] for one in found} - allowed} == {}


@pytest.mark.parametrize("folder", GOES_TO_THE_HOST)
def test_what_goes_to_the_host_knows_nothing_of_the_controller(folder):
    for path in sources():
        if path.startswith(f"plugins/{folder}/"):
            of_ansible = {name for name in imported(path)[1] if name.partition(".")[0] == "ansible"}
            assert {name for name in of_ansible if not name.startswith("ansible.module_utils")} == set(), path


def test_nothing_is_imported_in_a_circle():
    way, done = [], set()

    def visit(file):
        assert file not in way, [*way[way.index(file) :], file]
        if file not in done:
            way.append(file)
            for one in sorted(graph().get(file, ())):
                visit(one)
            done.add(way.pop())

    for file in graph():
        visit(file)
    assert len(done) >= len(graph())


def test_every_private_file_is_used():
    # Documentation names its fragments in its own way, and a module's loader tells those that are not there.
    private = {file for file in graph() if "._" in file and not file.startswith("doc_fragments.")}
    assert private - set().union(*graph().values()) == set()


def test_nothing_is_written_twice():
    """No function of the plugins has the body of another one."""
    found = collections.defaultdict(list)
    for path in sources():
        for function in functions(path) if path.startswith("plugins/") else ():
            statements = sum(isinstance(node, ast.stmt) for one in body(function) for node in ast.walk(one))
            if statements >= SMALLEST_COPY:
                found["\n".join(ast.dump(one) for one in body(function))].append(f"{path}: {function.name}")
    assert [where for where in found.values() if len(where) > 1] == []


def test_what_is_against_the_order_would_be_found():
    long = ast.parse("def f():\n    '''d\n    d'''\n" + "    x = 1\n" * LONGEST_FUNCTION).body[0]
    assert lines(long) == LONGEST_FUNCTION + 1
    assert len(body(long)) == LONGEST_FUNCTION
