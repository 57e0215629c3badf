# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The secrets of one unit, gathered from wherever they lie on its host so that they can be taken out of what leaves it."""

from __future__ import annotations

import glob
import json
import os
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._endpoint import argument, hide_keys
from ansible_collections.llmops.sglang.plugins.module_utils._environment_file import (
    parse_environment_file,
    read_environment_files,
    read_file,
)
from ansible_collections.llmops.sglang.plugins.module_utils._redaction import secret_values, secret_words
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import read_environ
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState

_NAMED = re.compile(
    r"""\s*["']?(?:[\w-]+[_-])?(?:api[_-]?key|key|password|passwd|secret|token|credentials?)["']?\s*:\s*(?P<value>.+)""",
    re.IGNORECASE,
)


def known_secrets(
    manager: Manager, state: UnitState, pids: t.Iterable[int], command_lines: t.Sequence[t.Sequence[str]]
) -> list[str]:
    """All secrets that can be read; what cannot be read by this user cannot get into what it writes either.

    :arg pids: processes whose environment counts.
    :arg command_lines: of the unit and of its processes.
    """
    found: list[str] = []
    for pid in pids:
        found += secret_values(read_environ(pid) or {})
    if state.exists:
        found += secret_values(manager.environment(state.name))
        found += secret_values(read_environment_files(_present(state.environment_files), read_file)[0])
    for text in (read_file(path) or "" for path in (state.fragment_path, *state.drop_in_paths) if path):
        found += [value.strip() for value in re.findall(r"^\s*SetCredential=[^:\n]*:(.*)$", text, re.MULTILINE)]
    for path in _secret_files(manager, state, command_lines):
        text = read_file(path)
        if text is not None:
            found += in_file(text)
    for argv in command_lines:
        found += secret_words(argv)
        found += [w.partition("=")[2] if h else w for w, h in zip(argv, hide_keys(argv, "")) if w != h]
    return found


def in_file(text: str) -> list[str]:
    """The secrets in a file that holds them: values of a configuration or of variables, else each of its lines."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    entries = [line for line in lines if re.match(r"[\w\"'-]+\s*[:=]", line)]
    if len(entries) != len(lines):
        return lines
    found = secret_values(parse_environment_file(text))
    for match in filter(None, map(_NAMED.match, entries)):
        found.append(_plain(match.group("value").strip()))
    return found


def _plain(value: str) -> str:
    """A YAML scalar without its quotes; server_unit writes JSON strings."""
    if value[:1] == '"':
        try:
            return str(json.loads(value))
        except ValueError:
            pass
    return value.strip("'\"")


def _secret_files(manager: Manager, state: UnitState, command_lines: t.Sequence[t.Sequence[str]]) -> t.Iterator[str]:
    if state.fragment_path:
        yield from glob.glob(
            os.path.join(glob.escape(os.path.dirname(state.fragment_path)), f"{state.name}.secrets", "*")
        )
    for path in state.drop_in_paths:
        beside = os.path.dirname(os.path.dirname(path))
        yield from glob.glob(os.path.join(glob.escape(beside), f"{glob.escape(state.name)}.secrets", "*"))
    if state.exists:
        yield from (source for dummy, source in manager.load_credentials(state) if source.startswith("/"))
    for argv in command_lines:
        for flag in ("--config", "--api-key-file"):
            path = argument(argv, flag)
            if path and path.startswith("/"):
                yield path


def _present(paths: t.Iterable[str]) -> list[str]:
    return [path for path in paths if os.path.exists(path)]
