# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Holds a JSON value against the part of JSON Schema (draft 2020-12) that the schemas of this collection use.

An operator needs no package for it. A keyword that is not known here is an error and never passed over.
"""

from __future__ import annotations

import typing as t

Schema = dict[str, t.Any]

_NOTES = frozenset(("$schema", "$id", "$defs", "title", "description"))
_RULES = frozenset(
    ("$ref", "type", "enum", "const", "minimum", "minLength", "minItems", "required", "properties", "additionalProperties", "items")
)  # fmt: skip
_MOST_SHOWN = 80


class UnknownKeyword(ValueError):
    """The schema uses a keyword that this check does not know."""


def problems(value: t.Any, schema: Schema) -> t.Iterator[str]:
    """What is wrong with *value*, a sentence each; nothing where it holds."""
    yield from _problems(value, schema, schema, "")


def _problems(value: t.Any, schema: t.Any, root: Schema, path: str) -> t.Iterator[str]:
    if isinstance(schema, bool):
        if not schema:
            yield f"{path or 'the whole'} is not known"
        return
    unknown = set(schema) - _NOTES - _RULES
    if unknown:
        raise UnknownKeyword(f"the schema uses {', '.join(sorted(unknown))}")
    if "$ref" in schema:
        yield from _problems(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, path)
    wanted = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type", [])
    if wanted and not any(_is(value, name) for name in wanted):
        yield f"{path or 'the whole'} is {_shown(value)} and must be {' or '.join(wanted)}"
        return
    yield from _single(value, schema, path)
    if isinstance(value, dict):
        yield from _members(value, schema, root, path)
    if isinstance(value, list) and "items" in schema:
        for index, one in enumerate(value):
            yield from _problems(one, schema["items"], root, f"{path}[{index}]")


def _is(value: t.Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if isinstance(value, (int, float)):
        return name == "number" or (name == "integer" and value == value // 1)
    return name == {dict: "object", list: "array", str: "string", type(None): "null"}.get(type(value))


def _single(value: t.Any, schema: Schema, path: str) -> t.Iterator[str]:
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{path} is {_shown(value)} and must be {_shown(schema['const'])}"
    if "enum" in schema and not any(_same(value, one) for one in schema["enum"]):
        yield f"{path} is {_shown(value)} and must be one of {', '.join(map(_shown, schema['enum']))}"
    if "minimum" in schema and _is(value, "number") and not value >= schema["minimum"]:
        yield f"{path} is {_shown(value)} and must be at least {schema['minimum']}"
    for keyword, kind in (("minLength", str), ("minItems", list)):
        if keyword in schema and isinstance(value, kind) and len(value) < schema[keyword]:
            yield f"{path} has {len(value)} of at least {schema[keyword]} parts"


def _same(one: t.Any, other: t.Any) -> bool:
    # To Python true equals 1; to JSON it does not.
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _members(value: dict[str, t.Any], schema: Schema, root: Schema, path: str) -> t.Iterator[str]:
    for key in schema.get("required", []):
        if key not in value:
            yield f"{path or 'the whole'} has no '{key}'"
    known = schema.get("properties", {})
    for key, one in value.items():
        rule = known[key] if key in known else schema.get("additionalProperties", True)
        yield from _problems(one, rule, root, f"{path}.{key}" if path else str(key))


def _shown(value: t.Any) -> str:
    try:
        text = repr(value)
    except RecursionError:
        text = "nested too deeply"
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "..."
