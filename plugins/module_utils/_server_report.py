# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Gather the facts of one server, each from its own source."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils import _endpoint, _evidence, _server_facts
from ansible_collections.llmops.sglang.plugins.module_utils._drafter import Drafter, read_drafter
from ansible_collections.llmops.sglang.plugins.module_utils._flags import arguments_of
from ansible_collections.llmops.sglang.plugins.module_utils._http_client import HttpClient, HttpError
from ansible_collections.llmops.sglang.plugins.module_utils._journal import read_invocation
from ansible_collections.llmops.sglang.plugins.module_utils._ownership import owner_at
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import (
    Comparison,
    compare,
    read_argv,
    read_environ,
)
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState


def report(manager: Manager, name: str, params: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The result of ``server_info``.

    :arg params: the module's connection options and its ``timeout`` in seconds for each question.
    """
    state = manager.show(name)
    argv = (read_argv(state.main_pid) or []) if state.main_pid else []
    base_url = params.get("base_url") or _endpoint.from_argv(argv)
    client = HttpClient.from_params(params, base_url)
    ask = _asker(client, params["timeout"]) if argv or params.get("base_url") else _nobody
    comparison = compare(manager, state) if state.exists else Comparison([], False)
    mask = client.mask
    unit = _server_facts.unit_facts(state, comparison, argv, mask)
    server = _server_facts.server_facts(ask, lambda version: arguments_of(argv, version) if argv else {}, mask)
    arguments = arguments_of(argv, server["version"]) if argv else {}
    drafter = _server_facts.drafter_facts(_drafter(arguments, state))
    journal = _server_facts.journal_facts(read_invocation(manager, name, state.invocation_id), mask)
    window = arguments.get("speculative_draft_window_size")
    evidence = _evidence.collect(
        manager, name, lambda path: (200, ask(path)) if ask(path) is not None else None, state=state
    )
    asked = bool(argv or params.get("base_url")) and not client.through_proxy
    owner = owner_at(client.host, client.port, state) if asked else None
    evidence["listener_owned"] = owner.owned if owner else "unknown"
    found = _server_facts.conflicts(unit, server, drafter, journal, window) if argv else []
    if owner and owner.foreign:
        found.append(_server_facts.foreign_listener(owner.who(), base_url))
    return {
        "unit": unit,
        "server": server,
        "drafter": drafter,
        "journal": journal,
        "conflicts": mask.value(found),
        "evidence": mask.value(evidence),
    }


def _asker(client: HttpClient, timeout: float) -> _server_facts.Ask:
    """Ask each path once: a server whose scheduler hangs would cost the whole timeout each time."""
    answers: dict[str, t.Any] = {}

    def ask(path: str) -> t.Any:
        if path not in answers:
            try:
                answers[path] = client.json("GET", path, timeout=timeout)
            except HttpError:
                answers[path] = None
        return answers[path]

    return ask


def _nobody(dummy_path: str) -> None:
    return None


def _drafter(arguments: t.Mapping[str, t.Any], state: UnitState) -> t.Optional[Drafter]:
    path = arguments.get("speculative_draft_model_path")
    if not path:
        return None
    environ = read_environ(state.main_pid) or {}
    revision = arguments.get("speculative_draft_model_revision") or ""
    return read_drafter(str(path), environ, _server_facts.home_of(state), str(revision))
