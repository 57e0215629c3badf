# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Where the arguments that a server runs with are not those of its command line, or those not what the inventory wants."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._speculative import one_name

# The server takes these as they are given. Others it rounds, divides or replaces by what fits the rest.
_TAKEN_AS_GIVEN = (
    "context_length",
    "dp_size",
    "max_running_requests",
    "model_path",
    "pp_size",
    "served_model_name",
    "speculative_draft_model_path",
    "tp_size",
)
_PATHS = ("model_path", "speculative_draft_model_path")


def unlike_server(command_line: t.Mapping[str, t.Any], server: t.Mapping[str, t.Any]) -> list[dict[str, t.Any]]:
    """Conflicts of the command line with what the server resolved, both by the newest names of arguments."""
    found = []
    for name in _TAKEN_AS_GIVEN:
        asked, runs = command_line.get(name), server.get(name)
        # A name on a hub becomes the path that it was downloaded to.
        if asked is None or runs is None or (name in _PATHS and not str(asked).startswith("/")):
            continue
        if not _same(asked, runs):
            msg = f"the command line asks for {name}={asked}, and the server runs with {runs}: read its log"
            found.append({"subject": "argument", "values": {"command line": asked, "server": runs}, "msg": msg})
    return found


def unlike_inventory(
    wanted: t.Mapping[str, t.Any], running: t.Mapping[str, t.Any], trained_window: t.Optional[int]
) -> list[dict[str, t.Any]]:
    """Conflicts of the speculation that is *wanted* with that of the command line, by the names of the option ``speculative``.

    What is not wanted explicitly may be anything. A window that is wanted as trained is that of the drafter.
    """
    found = []
    for name in ("algorithm", "draft_model_path", "draft_window_size"):
        value = wanted.get(name, wanted.get(f"speculative_{name}"))
        if value == "trained":
            value = trained_window
        if value in (None, "", "None"):
            continue
        runs = running.get(name)
        if not _same(value, runs) and not (name == "algorithm" and one_name(value) == one_name(runs)):
            msg = f"the inventory asks for {name}={value}, and the unit runs with {runs}: deploy it"
            found.append({"subject": "inventory", "values": {"inventory": value, "command line": runs}, "msg": msg})
    return found


def _same(one: t.Any, other: t.Any) -> bool:
    return one == other or str(one).rstrip("/") == str(other).rstrip("/")
