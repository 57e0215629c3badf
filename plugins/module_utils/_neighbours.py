# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The other servers of a host, by the unit files that this collection wrote there, and what two of them cannot share."""

from __future__ import annotations

import glob
import os
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._flags import arguments_of
from ansible_collections.llmops.sglang.plugins.module_utils._launch_command import read_launch
from ansible_collections.llmops.sglang.plugins.module_utils._node_rules import node_of
from ansible_collections.llmops.sglang.plugins.module_utils._preflight import (
    Finding,
    gpu_count,
    gpus_needed,
    port_taken,
)
from ansible_collections.llmops.sglang.plugins.module_utils._server_plan import CommandPlan
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState
from ansible_collections.llmops.sglang.plugins.module_utils._unit_file import is_own
from ansible_collections.llmops.sglang.plugins.module_utils._unit_place import read_text
from ansible_collections.llmops.sglang.plugins.module_utils._unit_syntax import (
    exec_start_of,
    parse_unit,
    setting,
    split_words,
)

Arguments = t.Mapping[str, t.Any]
Environment = t.Mapping[str, str]

_WILDCARDS = ("0.0.0.0", "::", "[::]", "*", "")
_VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
# The server's own defaults, in each of its releases.
_HOST, _PORT = "127.0.0.1", 30000


@dataclass
class Beside:
    """What a server meets of its host: reasons against its start, and warnings."""

    findings: list[Finding] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class Neighbour(t.NamedTuple):
    """Another server's unit by its file."""

    name: str
    arguments: Arguments
    environment: Environment


def beside(manager: t.Optional[Manager], directory: str, plan: CommandPlan, state: UnitState) -> Beside:
    """What stands against a start of *plan* as the unit that has *state*; its unit files are in *directory*.

    A unit that neither runs nor starts at boot takes nothing away from anybody. One that only starts at boot may take turns
    with this one, so that is a warning.
    """
    found = Beside(warnings=port_taken(plan.arguments, state))
    for other in neighbours(directory, state.name) if manager else []:
        ports = shared_ports(plan.arguments, other.arguments)
        devices = shared_devices(plan, other)
        their_state = manager.show(other.name) if manager and (ports or devices) else None
        if their_state is None or not _counts(their_state):
            continue
        for port in ports:
            said = (
                f"The port {port} is that of '{other.name}' on this host, too, so that the later of them would fail after it has "
                "loaded its weights: give each server ports of its own, or take the other unit away."
            )
            if their_state.running:
                found.findings.append(Finding("rule_violated", said))
            else:
                found.warnings.append(said)
        if devices:
            found.warnings.append(
                f"The GPU{'s' if len(devices) > 1 else ''} {', '.join(devices)} of this host {'are' if len(devices) > 1 else 'is'} "
                f"used by '{other.name}', too: split them by CUDA_VISIBLE_DEVICES in 'environment', or see that the memory of both "
                "suffices."
            )
    return found


def neighbours(directory: str, name: str) -> list[Neighbour]:
    """The units beside *name* of which the file in *directory* was written by this collection."""
    found = []
    for path in sorted(glob.glob(os.path.join(glob.escape(directory), "*.service"))):
        other = os.path.basename(path)
        try:
            text = read_text(path) if other != name and os.path.isfile(path) else None
        except Failure:
            continue
        argv = exec_start_of(text) if text and is_own(text) else []
        launch = read_launch(argv)
        if text and launch.found:
            found.append(Neighbour(other, arguments_of(launch.words, None), _environment(text)))
    return found


def _environment(text: str) -> dict[str, str]:
    variables = {}
    for value in setting(parse_unit(text), "Service", "Environment"):
        try:
            words = split_words(value)
        except Failure:
            continue
        variables.update((name, text) for name, dummy, text in (word.partition("=") for word in words))
    return variables


def _counts(state: UnitState) -> bool:
    return state.exists and (state.running or state.unit_file_state.startswith("enabled"))


def _ports(arguments: Arguments) -> dict[int, str]:
    """The ports that a server binds by its arguments, with the address of each.

    A configuration file counts for less than the command line, and mostly holds nothing but the server's keys.
    """
    port, host = arguments.get("port", None if "config" in arguments else _PORT), str(arguments.get("host") or _HOST)
    ports = {port: host} if isinstance(port, int) else {}
    rank, nodes = node_of(arguments)
    meeting = str(arguments.get("dist_init_addr") or "").rpartition(":")[2]
    if rank == 0 and nodes > 1 and meeting.isdigit():
        ports[int(meeting)] = ""
    return ports


def shared_ports(one: Arguments, other: Arguments) -> list[int]:
    """The ports that both would bind."""
    first, second = _ports(one), _ports(other)
    return sorted(
        port
        for port in first.keys() & second.keys()
        if first[port] == second[port] or {first[port], second[port]} & set(_WILDCARDS)
    )


def devices_of(arguments: Arguments, environment: Environment) -> t.Optional[list[str]]:
    """The GPUs that a server uses, by number or name; ``None`` where it uses none or that cannot be told."""
    if str(arguments.get("device") or "cuda").partition(":")[0] != "cuda":
        return None
    first, last = arguments.get("base_gpu_id") or 0, gpus_needed(arguments)
    step = arguments.get("gpu_id_step") or 1
    if not (isinstance(first, int) and isinstance(step, int) and step > 0):
        return None
    visible = next((environment[name] for name in _VISIBLE if environment.get(name)), None)
    if visible is None:
        return [str(number) for number in range(first, last, step)]
    return [name.strip() for name in visible.split(",")][first:last:step]


def shared_devices(plan: CommandPlan, other: Neighbour) -> list[str]:
    """The GPUs that both use, where there are any or one of them names its own."""
    told = any(env.get(name) for name in _VISIBLE for env in (plan.environment, other.environment))
    if not told and gpu_count({}) is None:
        return []
    mine, theirs = devices_of(plan.arguments, plan.environment), devices_of(other.arguments, other.environment)
    return [device for device in mine or [] if device in (theirs or [])]
