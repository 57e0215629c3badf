# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Compares a field of a log line with what a playbook expects of it."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._log_fields import typed

COMPARISONS = frozenset(("min", "max", "regex", "one_of"))
_NONE_WORDS = frozenset(("none", "null", "~"))


def look_up(fields: t.Mapping[str, t.Any], key: str, default: t.Any = None) -> t.Any:
    """The value of *key*; dashes, blanks and underscores are one where the exact name is not there."""
    if key in fields:
        return fields[key]
    plain = _plain_key(key)
    for name, value in fields.items():
        if _plain_key(name) == plain:
            return value
    return default


def differs(expected: t.Any, actual: t.Any) -> str:
    """Why *actual* is not what is *expected*; empty where it is.

    A mapping of ``min``, ``max``, ``regex``, ``one_of`` compares; anything else must be equal. A text that reads like
    another type (``"2048"``, ``"None"``, as templates make them) equals that type's value; numbers and booleans never
    equal each other.
    """
    if isinstance(expected, dict) and expected and COMPARISONS.issuperset(expected):
        return next((why for why in (_compare(verb, bound, actual) for verb, bound in expected.items()) if why), "")
    return "" if equal(expected, actual) else "not equal"


def equal(expected: t.Any, actual: t.Any) -> bool:
    """Whether a YAML value and a logged value are the same; ``null`` is ``None``."""
    if expected is None:
        return actual is None
    if isinstance(expected, bool) or isinstance(actual, bool):
        if isinstance(expected, bool) and isinstance(actual, bool):
            return expected is actual
        return _same_text(expected, actual)
    if isinstance(expected, (int, float)) and isinstance(actual, (int, float)):
        return expected == actual
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(equal(e, a) for e, a in zip(expected, actual))
    if isinstance(expected, dict) and isinstance(actual, dict):
        return expected.keys() == actual.keys() and all(equal(e, actual[k]) for k, e in expected.items())
    if isinstance(expected, str):
        return expected == actual or _same_text(expected, actual)
    return False


def _same_text(expected: t.Any, actual: t.Any) -> bool:
    """Whether one of the two is the other one's text."""
    if isinstance(expected, str) and actual is None:
        return expected.lower() in _NONE_WORDS
    if isinstance(expected, str) and isinstance(actual, bool):
        return expected.lower() == str(actual).lower()
    if isinstance(expected, bool) and isinstance(actual, str):
        return actual.lower() == str(expected).lower()
    if isinstance(expected, str) and not isinstance(actual, (str, bool)):
        value = typed(expected)
        return not isinstance(value, (str, bool)) and value is not None and equal(value, actual)
    return False


def _compare(verb: str, bound: t.Any, actual: t.Any) -> str:
    if verb == "one_of":
        options = bound if isinstance(bound, list) else [bound]
        return "" if any(equal(option, actual) for option in options) else "not one of them"
    if verb == "regex":
        return "" if re.search(str(bound), actual if isinstance(actual, str) else str(actual)) else "does not fit"
    limit, value = _number(bound), _number(actual)
    if limit is None or value is None:
        return "not a number"
    return "" if (value >= limit if verb == "min" else value <= limit) else "out of bounds"


def _number(value: t.Any) -> t.Optional[float]:
    value = typed(value) if isinstance(value, str) else value
    return None if isinstance(value, bool) or not isinstance(value, (int, float)) else value


def _plain_key(key: str) -> str:
    return key.strip("-").replace("-", "_").replace(" ", "_")
