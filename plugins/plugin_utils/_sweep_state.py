# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The state of one sweep of one host, a file on the controller: what became of each point so far."""

from __future__ import annotations

import contextlib
import json
import os
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.plugin_utils._shared_file import locked, write_shared
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_points import read_state

FORMAT = 1
FILE = "state.json"
_LOCK = ".state.lock"
State = dict[str, t.Any]


def state_path(sweep_dir: str, name: str, host: str) -> str:
    """Where the state of the sweep *name* of *host* lies.

    :raises Failure: ``bad_request`` for a name that would lie elsewhere.
    """
    for what, word in (("sweep", name), ("host", host)):
        if not re.fullmatch(r"[^/\0\s.][^/\0\n]{0,149}", word):
            raise Failure(
                "bad_request",
                f"The name '{word}' of the {what} cannot be that of a directory: use letters, digits, '-' and '_'.",
            )
    return os.path.join(sweep_dir, name, host, FILE)


def load(path: str) -> t.Optional[State]:
    """The state at *path*; ``None`` where there is none yet.

    :raises Failure: ``bad_request`` for a file that is no state: what is written next would replace it.
    """
    return read_state(path) if os.path.lexists(path) else None


@contextlib.contextmanager
def changing(path: str) -> t.Iterator[State]:
    """The state at *path*, written back in one step at the end, unless that raises; nobody else changes it meanwhile."""
    with locked(os.path.dirname(path), _LOCK):
        state = read_state(path)
        before = json.dumps(state)
        yield state
        if json.dumps(state) != before:
            _write(path, state)


def begin(path: str, state: State) -> None:
    """Put *state* in the place of whatever is there."""
    with locked(os.path.dirname(path), _LOCK):
        _write(path, {"format": FORMAT, **state})


def point_named(state: State, name: str) -> dict[str, t.Any]:
    """The entry of the point *name*.

    :raises Failure: ``bad_request`` where the sweep has none.
    """
    for point in state["points"]:
        if point["name"] == name:
            return point
    raise Failure("bad_request", f"The sweep '{state['name']}' has no point '{name}': plan it first.")


def _write(path: str, state: State) -> None:
    write_shared(path, (json.dumps(state, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace"))
