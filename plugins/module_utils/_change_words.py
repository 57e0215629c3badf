# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What a change of a unit means, in words for whoever reviews it."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._inherited import UNIT_FINGERPRINT
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask
from ansible_collections.llmops.sglang.plugins.module_utils._unit_syntax import parse_unit, split_words

# What follows, by what has to be done with the process.
_FOLLOWS = {
    "restart": "What runs was started otherwise: a restart is needed.",
    "start": "Nothing runs: it holds from the next start.",
    "stop": "What runs is no longer described.",
}


def change_words(
    changes: t.Mapping[str, t.Any], settings: t.Sequence[str], needs: str, mask: t.Optional[Mask] = None
) -> str:
    """A text of several lines; empty where there is nothing to say.

    :arg changes: ``flag_changes``: ``added``, ``removed`` and ``changed``.
    :arg settings: the names of other settings that change.
    :arg needs: ``restart``, ``start``, ``stop``, or nothing.
    """
    found = {name: f"{_shown(value)} is new" for name, value in (changes.get("added") or {}).items()}
    found.update({name: f"{_shown(value)} goes" for name, value in (changes.get("removed") or {}).items()})
    for name, value in (changes.get("changed") or {}).items():
        found[name] = f"{_shown(value['before'])} becomes {_shown(value['after'])}"
    lines = [f"{name}: {found[name]}" for name in sorted(found)]
    if settings:
        lines += [] if found else ["no argument changes"]
        lines.append(f"other settings change: {', '.join(settings)}")
    lines += [_FOLLOWS[needs]] if needs else []
    text = "\n  ".join(["In words:", *lines])
    return (mask.text(text) if mask else text) + "\n" if lines else ""


def changed_settings(before: str, after: str) -> list[str]:
    """The names of the settings, and of the variables in the environment, that differ between two units beside the command.

    Of a unit that is new or goes there is nothing to compare.
    """
    if not before or not after:
        return []
    old, new = _settings(before), _settings(after)
    return sorted(name for name in {*old, *new} if old.get(name) != new.get(name))


def _settings(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for dummy, key, value in parse_unit(text):
        if key == "Environment":
            for name, one in _variables(value):
                found.setdefault(name, []).append(one)
        elif key != "ExecStart":
            found.setdefault(key, []).append(value)
    return found


def _variables(value: str) -> t.Iterator[tuple[str, str]]:
    try:
        words = split_words(value)
    except Failure:
        yield "Environment", value
        return
    for word in words:
        name, dummy, one = word.partition("=")
        if name != UNIT_FINGERPRINT:
            yield f"{name} (environment)", one


def _shown(value: t.Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
