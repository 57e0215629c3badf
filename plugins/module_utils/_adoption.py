# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Read a unit that anybody wrote back into the options of server_unit, without its secrets."""

from __future__ import annotations

import os
import re
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._adopted_arguments import (
    SECRET_ARGUMENTS,
    Adopted,
    adopt_arguments,
)
from ansible_collections.llmops.sglang.plugins.module_utils._environment_file import (
    hide_secret_variables,
    is_secret_variable,
)
from ansible_collections.llmops.sglang.plugins.module_utils._flags import FlagTable
from ansible_collections.llmops.sglang.plugins.module_utils._launch_command import Launch
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import MASKED, Mask
from ansible_collections.llmops.sglang.plugins.module_utils._unit_file import UnitPlan, render
from ansible_collections.llmops.sglang.plugins.module_utils._unit_syntax import parse_unit, setting

Settings = t.Sequence["tuple[str, str, str]"]

# Variables that this collection or the service manager sets by itself.
_OWN_VARIABLES = ("LLMOPS_SGLANG_UNIT", "LLMOPS_SGLANG_SECRETS")
# Settings that other options speak for, or that server_unit decides.
_ELSEWHERE = frozenset(
    ("ExecStart", "Environment", "EnvironmentFile", "User", "Group", "WorkingDirectory", "PassEnvironment")
)
# Settings of which only the last line counts. Of any other all lines are kept, which is right for both kinds.
_SINGLE = re.compile(
    r"Description|Type|Restart(?:Sec)?|RemainAfterExit|Timeout\w+|Kill\w+|Limit\w+|StartLimit\w+|Nice|OOM\w+|Standard(?:Output|Error)|Memory\w+|TasksMax"
)


@dataclass(frozen=True)
class Found:
    """What was found of a unit: its launch, the environment in force, its files' settings in order, and its owner options.

    ``config_names``: the arguments in the configuration file of a unit that server_unit wrote.
    """

    name: str
    scope: str
    launch: Launch
    environment: t.Mapping[str, str]
    settings: Settings = ()
    secret_names: t.Sequence[str] = ()
    user: str = ""
    group: str = ""
    working_directory: str = ""
    python: str = ""
    config_names: t.Sequence[str] = ("api_key",)
    remarks: t.Sequence[str] = field(default_factory=list)


def adopt(found: Found, table: FlagTable) -> dict[str, t.Any]:
    """The documented ``adoption``: options, role variables, names of secrets, the wrapper, and what was left out.

    ``complete`` is true where a unit of server_unit with these options and secrets starts the same server.
    """
    launch = found.launch
    arguments = adopt_arguments(launch.words, table) if launch.found else Adopted()
    environment, secret_variables = _environment(found)
    remarks = [*found.remarks, *launch.remarks]
    if not launch.found:
        remarks.append("The command line does not start an SGLang server in a way that can be read.")
    elif not launch.clear:
        remarks.append("Only the shell itself knows these words: start the server once and read them then.")
    elif launch.sourced:
        remarks.append("Only the shell itself knows all variables: start the server once and read them then.")
    if launch.found and not found.python:
        remarks.append(f"The interpreter '{launch.interpreter}' was not found by an absolute path: set 'python'.")
    service, credentials = _service(found)
    keys = _own_configuration(arguments, found)
    options: dict[str, t.Any] = {
        "name": found.name[: -len(".service")],
        "scope": found.scope,
        "python": found.python or None,
        "args": arguments.args,
        "speculative": arguments.speculative,
        "flag_names": arguments.flag_names,
        "environment": environment,
        "service": service,
        "unit": _section(found, "Unit"),
        "install": _section(found, "Install"),
        "user": (found.user or None) if found.scope == "system" else None,
        "group": (found.group or None) if found.scope == "system" else None,
        "working_directory": os.path.join(found.working_directory, launch.directory or "").rstrip("/") or None,
    }
    options = {key: value for key, value in options.items() if value not in (None, {}, [])}
    hidden = Mask(_secret_values(found))
    shown = _hidden(hidden.value(options))
    if shown != options:
        options = shown
        arguments.lost.append("A secret inside of another value was replaced by asterisks.")
    return {
        "options": options,
        "role_variables": {f"server_{key}": value for key, value in options.items()},
        "secrets": list(dict.fromkeys([*keys, *arguments.secrets, *secret_variables, *credentials])),
        "wrapper": {"kind": launch.kind, "command": hidden.text(launch.wrapper)} if launch.kind else None,
        "complete": launch.found
        and launch.clear
        and not launch.sourced
        and bool(found.python)
        and not (arguments.lost or launch.kind in ("container", "other")),
        "remarks": [_hidden(hidden.text(r)) for r in (*remarks, *arguments.lost, *_template_remarks(options))],
    }


def file_settings(texts: t.Iterable[str]) -> list[tuple[str, str, str]]:
    """The settings of a unit file and its drop-ins, in the order in which systemd reads them."""
    return [entry for text in texts for entry in parse_unit(text)]


def _environment(found: Found) -> tuple[dict[str, str], list[str]]:
    """The variables to copy, and the names of those that are secrets."""
    plain, secret = {}, []
    for name, value in {**found.environment, **found.launch.environment}.items():
        if name in _OWN_VARIABLES or (name, value) == ("PYTHONUNBUFFERED", "1"):
            continue
        if name in found.secret_names or is_secret_variable(name, value):
            secret.append(name)
        else:
            plain[name] = value
    return dict(sorted(plain.items())), sorted(secret)


def _secret_values(found: Found) -> list[str]:
    merged = {**found.environment, **found.launch.environment}
    values = [v for n, v in merged.items() if n in found.secret_names or is_secret_variable(n, v)]
    # As long as an ordinary word, a value would blank out text that has nothing to do with it.
    return [v for v in values if len(v) >= 8]


def _own_configuration(arguments: Adopted, found: Found) -> list[str]:
    """Names of the keys in a configuration file that server_unit itself hands over; the option for it is dropped."""
    path = str(arguments.args.get("config", ""))
    own = (f"/{found.name}.secrets/config.yaml", f"/{found.name}/config.yaml", "${CREDENTIALS_DIRECTORY}/config.yaml")
    if path.endswith(own) and any(n == "LLMOPS_SGLANG_UNIT" for n in found.environment):
        del arguments.args["config"]
        others = [name for name in found.config_names if name not in SECRET_ARGUMENTS]
        if others:
            arguments.lost.append(
                f"Its configuration file sets {', '.join(others)} as well: give that file as 'args.config'."
            )
        return [name for name in found.config_names if name in SECRET_ARGUMENTS]
    if path.startswith("${CREDENTIALS_DIRECTORY}") or "/credentials/" in path:
        del arguments.args["config"]
        arguments.lost.append("The configuration file is a credential: write its settings into 'args' and 'api_key'.")
    return []


def _service(found: Found) -> tuple[dict[str, t.Any], list[str]]:
    """Further settings of ``[Service]``, and the names of credentials that stand in the unit itself."""
    service = _section(found, "Service")
    credentials = []
    for key in ("SetCredential", "SetCredentialEncrypted"):
        value = service.pop(key, None)
        if value:
            credentials += [str(one).partition(":")[0] for one in (value if isinstance(value, list) else [value])]
    if service.get("Type") in ("simple", "exec"):
        del service["Type"]
    own = f"/{found.name}.secrets/"
    loaded = service.get("LoadCredential")
    if loaded and own in str(loaded):
        del service["LoadCredential"]
    return service, credentials


def _section(found: Found, section: str) -> dict[str, t.Any]:
    """The settings of one section that differ from what server_unit writes by itself."""
    plan = UnitPlan(found.name, ["/python"], scope=found.scope)
    defaults = parse_unit(render(plan))
    merged: dict[str, t.Any] = {}
    for key in dict.fromkeys(k for s, k, dummy in found.settings if s == section and k not in _ELSEWHERE):
        values = setting(found.settings, section, key)
        if not values or values == setting(defaults, section, key):
            continue
        merged[key] = values[-1] if len(values) == 1 or _SINGLE.fullmatch(key) else values
    return merged


def _hidden(value: t.Any) -> t.Any:
    """*value* without the secrets that a command inside of it sets."""
    if isinstance(value, dict):
        return {key: _hidden(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_hidden(one) for one in value]
    return hide_secret_variables(value, MASKED) if isinstance(value, str) else value


def _template_remarks(options: t.Mapping[str, t.Any]) -> list[str]:
    if "{{" in str(options) or "{%" in str(options):
        return ["A value holds '{{' or '{%': mark it '!unsafe' where you paste it, or Ansible takes it for a template."]
    return []
