# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Where inventory, unit, command line, server, drafter and journal disagree about one server, each as a conflict.

A conflict is a mapping of ``subject``, ``values`` by their source, and ``msg``.
"""

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


def conflicts(
    unit: t.Mapping[str, t.Any],
    server: t.Mapping[str, t.Any],
    drafter: t.Optional[t.Mapping[str, t.Any]],
    journal: t.Mapping[str, t.Any],
    argument_window: t.Optional[int],
    argument_algorithm: t.Optional[str] = None,
) -> list[dict[str, t.Any]]:
    """Where the facts that :mod:`_server_facts` makes disagree.

    :arg argument_window: the draft window on the running command line; *argument_algorithm*: the algorithm there.
    """
    found = _of_algorithm(server, argument_algorithm)
    runner = journal.get("draft_runner")
    windows = {"command line": argument_window}
    if server.get("arguments_from") == "server":
        windows["server"] = server["speculation"]["draft_window_size"]
    if runner is not None and "draft_window_size" in runner:
        windows["journal"] = runner["draft_window_size"]
    if any(window != argument_window for window in windows.values()):
        shown = ", ".join(f"{source}: {window}" for source, window in windows.items())
        found.append(_conflict("draft_window", windows, f"the draft window differs between its sources ({shown})"))
    running = windows.get("journal", windows.get("server", argument_window))
    found += _of_training(drafter or {}, running, (runner or {}).get("block_size"))
    if unit.get("matches_unit") is False:
        msg = f"a restart is pending: {'; '.join(unit['differences'])}"
        found.append(_conflict("unit", {"differences": unit["differences"]}, msg))
    return found


def _of_algorithm(server: t.Mapping[str, t.Any], asked: t.Optional[str]) -> list[dict[str, t.Any]]:
    if not asked or server.get("arguments_from") != "server":
        return []
    runs = server["speculation"].get("algorithm")
    if one_name(asked) == one_name(runs):
        return []
    msg = f"the command line asks for {asked}, and the server runs {runs}: read its log"
    return [_conflict("algorithm", {"command line": asked, "server": runs}, msg)]


def _of_training(drafter: t.Mapping[str, t.Any], window: t.Any, block: t.Any) -> list[dict[str, t.Any]]:
    """Where a drafter runs otherwise than it was trained; what it was trained for may be unknown."""
    found = []
    trained = drafter.get("trained_window")
    if trained is not None and trained != window:
        msg = f"the drafter was trained with a window of {trained} tokens and runs with {window}: set draft_window_size"
        found.append(_conflict("trained_window", {"drafter": trained, "running": window}, msg))
    trained = drafter.get("block_size")
    if trained is not None and isinstance(block, int) and block > trained:
        msg = f"the drafter was trained for blocks of {trained} tokens and runs with {block}"
        found.append(_conflict("block_size", {"drafter": trained, "journal": block}, msg))
    return found


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
            found.append(_conflict("argument", {"command line": asked, "server": runs}, msg))
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
            found.append(_conflict("inventory", {"inventory": value, "command line": runs}, msg))
    return found


def foreign_listener(who: str, base_url: str) -> dict[str, t.Any]:
    """The conflict that another process than the unit's answers."""
    msg = f"{base_url} is answered by {who} and not by the unit: what the server tells is of another process"
    return _conflict("listener", {"url": base_url, "answered_by": who}, msg)


def _conflict(subject: str, values: dict[str, t.Any], msg: str) -> dict[str, t.Any]:
    return {"subject": subject, "values": values, "msg": msg}


def _same(one: t.Any, other: t.Any) -> bool:
    return one == other or str(one).rstrip("/") == str(other).rstrip("/")
