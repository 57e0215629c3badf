# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Gather the facts of one server, each from its own source."""

from __future__ import annotations

import sys
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils import (
    _endpoint,
    _evidence,
    _server_facts,
    _speculative,
)
from ansible_collections.llmops.sglang.plugins.module_utils._adoption import adopt
from ansible_collections.llmops.sglang.plugins.module_utils._adoption_source import Server, found_of, server_process
from ansible_collections.llmops.sglang.plugins.module_utils._drafter import Drafter, read_drafter
from ansible_collections.llmops.sglang.plugins.module_utils._flags import arguments_of, table_of
from ansible_collections.llmops.sglang.plugins.module_utils._http_client import (
    HAS_REQUESTS,
    HttpClient,
    HttpError,
)
from ansible_collections.llmops.sglang.plugins.module_utils._installed import installed_sglang
from ansible_collections.llmops.sglang.plugins.module_utils._journal import read_invocation
from ansible_collections.llmops.sglang.plugins.module_utils._journal_proof import journal_proof
from ansible_collections.llmops.sglang.plugins.module_utils._launch_command import read_launch
from ansible_collections.llmops.sglang.plugins.module_utils._log_facts import is_draft_runner
from ansible_collections.llmops.sglang.plugins.module_utils._ownership import Ownership, owner_at
from ansible_collections.llmops.sglang.plugins.module_utils._restart_cost import (
    RunningRequests,
    ask_running,
    next_command_line,
    restart_cost,
)
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import (
    Comparison,
    compare,
    read_argv,
    read_environ,
)
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask, read_api_key
from ansible_collections.llmops.sglang.plugins.module_utils._server_conflicts import (
    conflicts,
    foreign_listener,
    unlike_inventory,
    unlike_server,
)
from ansible_collections.llmops.sglang.plugins.module_utils._start_times import StartTimes, default_path
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState


def report(
    manager: Manager,
    name: str,
    params: t.Mapping[str, t.Any],
    warn: t.Callable[[str], None],
    secrets: t.Optional[list[str]] = None,
) -> dict[str, t.Any]:
    """The result of ``server_info``.

    :arg params: the module's connection options and its ``timeout`` in seconds for each question.
    :arg warn: takes a sentence on what could not be looked at.
    :arg secrets: what must not be shown; the keys that the server itself gives out are added.
    """
    state = manager.show(name)
    process = server_process(state)
    argv = process.argv
    secrets = [] if secrets is None else secrets
    base_url = params.get("base_url") or _endpoint.from_argv(argv)
    address = _endpoint.address_of(base_url)
    asked = bool(argv or params.get("base_url"))
    client = _client(params, base_url, warn) if asked else None
    ask = _asker(client, params["timeout"], secrets) if client else _nobody
    ask("/server_info")
    mask = _mask(params, argv, secrets)
    comparison = compare(manager, state) if state.exists else Comparison([], False)
    main = (read_argv(state.main_pid) or []) if state.main_pid else []
    unit = _server_facts.unit_facts(state, comparison, main, mask)
    server = _server_facts.server_facts(ask, lambda version: _arguments(argv, version), mask)
    arguments = _arguments(argv, server["version"])
    drafter = _server_facts.drafter_facts(_drafter(arguments, state))
    log = read_invocation(manager, name, state.invocation_id, keep=is_draft_runner)
    journal = _server_facts.journal_facts(log, mask)
    asked_for = (arguments.get("speculative_draft_window_size"), arguments.get("speculative_algorithm"))
    evidence = _evidence.collect(
        manager, name, lambda path: (200, ask(path)) if ask(path) is not None else None, state=state
    )
    direct = asked and not (client and client.through_proxy)
    owner = owner_at(address.host, address.port, state) if direct else None
    evidence["listener_owned"] = owner.owned if owner else "unknown"
    foreign = owner is not None and owner.foreign
    # What another process answers says nothing of this unit.
    own = {**server, "arguments_from": ""} if foreign else server
    requests = _requests(client, params["timeout"], owner, base_url) if state.running else RunningRequests(0)
    cost = _cost(manager, state, process, unit["matches_unit"], requests)
    speculation = _speculative.resolved(arguments, [])
    found = conflicts(unit, own, drafter, journal, *asked_for) if argv else []
    found += _unlike(params, argv, arguments, own, speculation, drafter)
    if foreign:
        found.append(foreign_listener(owner.who(), base_url))
    return {
        "unit": unit,
        "server": server,
        "listener": mask.value(_server_facts.listener_facts(owner, base_url)),
        "drafter": drafter,
        "journal": journal,
        "conflicts": mask.value(found),
        "evidence": mask.value(evidence),
        "adoption": mask.value(_adoption(manager, state, process, server["version"])),
        "restart_cost": mask.value(cost),
        "journal_proof": journal_proof(speculation, arguments, server["version"]),
    }


def _unlike(
    params: t.Mapping[str, t.Any],
    argv: list[str],
    arguments: t.Mapping[str, t.Any],
    server: t.Mapping[str, t.Any],
    speculation: t.Mapping[str, t.Any],
    drafter: t.Optional[t.Mapping[str, t.Any]],
) -> list[dict[str, t.Any]]:
    """Where what runs is not what its command line, or the inventory, asks for."""
    found = unlike_server(arguments, server["arguments"]) if server["arguments_from"] == "server" else []
    if argv:
        found += unlike_inventory(params.get("speculative") or {}, speculation, (drafter or {}).get("trained_window"))
    return found


def _requests(
    client: t.Optional[HttpClient], timeout: float, owner: t.Optional[Ownership], base_url: str
) -> RunningRequests:
    """The requests in hand; those of another process do not count as this unit's."""
    if owner is not None and owner.foreign:
        return RunningRequests(None, f"{base_url} is answered by {owner.who()} and not by the unit")
    if client is None:
        return RunningRequests(None, f"'{sys.executable}' has no package 'requests' to ask the server with")
    return ask_running(client, timeout)


def _cost(
    manager: Manager, state: UnitState, process: Server, matches_unit: t.Optional[bool], requests: RunningRequests
) -> dict[str, t.Any]:
    """What a restart would cost now; of a unit that is not there the next command line is not known."""
    argv = next_command_line(manager, state.name, process.argv, matches_unit is True) if state.exists else []
    return restart_cost(state.name, argv, StartTimes(default_path()), state.running, requests)


def _arguments(argv: t.Sequence[str], version: t.Optional[str]) -> dict[str, t.Any]:
    """The arguments of a command line, without what stands before the server's own words."""
    launch = read_launch(argv)
    return arguments_of(launch.words if launch.found else argv, version) if argv else {}


def _mask(params: t.Mapping[str, t.Any], argv: t.Sequence[str], secrets: t.Sequence[str]) -> Mask:
    """Knows the key that was given, those on the command line, and those that the server gave out."""
    hidden = _endpoint.hide_keys(argv, "")
    on_line = [w.partition("=")[2] if h else w for w, h in zip(argv, hidden) if w != h]
    return Mask([read_api_key(params.get("api_key"), params.get("api_key_file")), *on_line, *secrets])


def _adoption(
    manager: Manager, state: UnitState, process: Server, version: t.Optional[str]
) -> t.Optional[dict[str, t.Any]]:
    """The unit as options of server_unit; ``None`` where there is no unit to read."""
    if state.load_state != "loaded":
        return None
    found = found_of(manager, state, process)
    installed = installed_sglang(found.python, found.environment.get("PYTHONPATH", ""), _server_facts.home_of(state))
    known = version or (installed.version if installed else None)
    try:
        table = table_of(known)
    except ValueError:
        table = table_of(None)
    return adopt(found, table)


def _client(params: t.Mapping[str, t.Any], base_url: str, warn: t.Callable[[str], None]) -> t.Optional[HttpClient]:
    """What asks the server; without requests the rest is told all the same."""
    if HAS_REQUESTS:
        return HttpClient.from_params(params, base_url)
    warn(
        f"The server was not asked, since '{sys.executable}' has no package 'requests': install it for its own answers."
    )
    return None


def _asker(client: HttpClient, timeout: float, secrets: list[str]) -> _server_facts.Ask:
    """Ask each path once: a server whose scheduler hangs would cost the whole timeout each time.

    No secret gets past it: what the server gives out of them goes into *secrets*.
    """
    answers: dict[str, t.Any] = {}

    def ask(path: str) -> t.Any:
        if path not in answers:
            try:
                answer = client.json("GET", path, timeout=timeout)
                answers[path] = _server_facts.without_secrets(answer, secrets)
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
