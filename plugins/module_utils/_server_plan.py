# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""From the options of one server to its version, its checked command line and the warnings on the way."""

from __future__ import annotations

import os
import pwd
import re
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils import _flags, _speculative
from ansible_collections.llmops.sglang.plugins.module_utils._drafter import Drafter, read_drafter
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._flags import FlagTable
from ansible_collections.llmops.sglang.plugins.module_utils._planned_start import Start
from ansible_collections.llmops.sglang.plugins.module_utils._rules import check
from ansible_collections.llmops.sglang.plugins.module_utils._server_arguments import Entry, Words, check_extra
from ansible_collections.llmops.sglang.plugins.module_utils._server_help import HelpStore, ask_server
from ansible_collections.llmops.sglang.plugins.module_utils._server_inputs import digests, inputs_of
from ansible_collections.llmops.sglang.plugins.module_utils._sglang_install import (
    Install,
    find_sglang,
    missing_interpreter,
)
from ansible_collections.llmops.sglang.plugins.module_utils._version import version_key

RunCommand = t.Callable[..., "tuple[int, str, str]"]
Params = t.Mapping[str, t.Any]

ENTRY_POINT = ("-m", "sglang.launch_server")
KEYS = ("api_key", "admin_api_key")
_CONTAINER_TOOLS = frozenset(
    ("apptainer", "ctr", "docker", "enroot", "nerdctl", "podman", "singularity", "systemd-nspawn")
)


@dataclass(frozen=True)
class CommandPlan:
    """A checked command line: ``words`` are all of it but the configuration file of the keys.

    ``speculative`` is what it says of speculation, under the names of the option of that name. ``config`` is the user's
    own configuration file where that has to be merged with the one of the keys, since the server takes one alone.
    ``inputs_sha256`` are the hashes of what the server would read beside it now.
    ``home`` is the home directory of the server's user, and empty for the module's own.
    """

    version: str
    table: FlagTable
    words: list[str]
    environment: dict[str, str]
    arguments: dict[str, t.Any]
    speculative: dict[str, t.Any]
    drafter: t.Optional[Drafter]
    config: str = ""
    home: str = ""
    inputs_sha256: t.Mapping[str, str] = field(default_factory=dict)


def plan_command(
    params: Params, run_command: RunCommand, warnings: list[str], store: t.Optional[HelpStore] = None
) -> CommandPlan:
    """Plan the command line of one server; *warnings* takes the warnings as they come up.

    :raises Failure: ``unknown_flag``, ``rule_violated`` or ``unit_invalid``; nothing has been written then.
    """
    local = on_this_host(params)
    environment = environment_of(params["environment"] or {})
    flag_names = checked_flag_names(params["flag_names"] or {})
    args, speculative, extra = dict(params["args"] or {}), params["speculative"] or {}, params["extra_args"] or []
    config = str(args.pop("config", None) or "") if any(params[key] is not None for key in KEYS) else ""
    install = _install(params, run_command, environment, local, warnings)
    version = install.version
    table = _table(params, run_command, environment, install, store, warnings)
    refuse_keys(args, extra, table)
    algorithm = _speculative.algorithm_of(speculative, args)
    _speculative.check_algorithm(algorithm, table, flag_names)
    home = _home(params, environment)
    drafter = _drafter(params, environment, home)
    words = Words(table)
    speculation = _speculative.entries(speculative, table, flag_names, algorithm, drafter)
    for entry in speculation:
        words.add(entry)
    for name, value in args.items():
        words.add(Entry(f"args.{name}", name, value, flag_names.get(name, "")))
    warnings += words.warnings + check_extra(extra, table, set(flag_names.values()))
    again = set(_flags.arguments_of(words.words(), table=table)) & set(_flags.arguments_of(extra, table=table))
    warnings += [f"'extra_args' sets {name} again and wins: set it in one place." for name in sorted(again)]
    server_words = [*words.words(), *extra]
    arguments = _flags.arguments_of(server_words, table=table)
    if config:
        arguments["config"] = config
    _check_needed(params, arguments, table)
    if "config" in arguments:
        warnings.append(
            f"What the configuration file '{arguments['config']}' sets is not checked: only 'args', 'speculative' and 'extra_args' are."
        )
    budget = speculative.get("tree_budget")
    start = Start(arguments, table.version, drafter, environment, budget if isinstance(budget, int) else None)
    warnings += check(start, local)
    command = [params["python"], *ENTRY_POINT, *server_words]
    resolved = _speculative.resolved(arguments, speculation)
    inputs = digests(inputs_of(command, environment, home, params["working_directory"] or "")) if local else {}
    return CommandPlan(version, table, command, environment, arguments, resolved, drafter, config, home, inputs)


def environment_of(environment: t.Mapping[str, t.Any]) -> dict[str, str]:
    """The environment as text; a variable that is null is left out, true and false are lower case."""
    texts = {}
    for name, value in environment.items():
        if isinstance(value, (dict, list)):
            raise Failure(
                "unit_invalid", f"The environment variable '{name}' is a {type(value).__name__}: give it as text."
            )
        if value is not None:
            texts[str(name)] = str(value).lower() if isinstance(value, bool) else str(value)
    return texts


def checked_flag_names(flag_names: t.Mapping[str, t.Any]) -> dict[str, str]:
    """The option ``flag_names``, each value a long flag."""
    for name, flag in flag_names.items():
        if not isinstance(flag, str) or not re.fullmatch(r"--[A-Za-z0-9][A-Za-z0-9_-]*", flag):
            raise Failure(
                "unknown_flag",
                f"The entry '{name}' of 'flag_names' is '{flag}', which is no flag: write it as '--its-flag'.",
            )
    return dict(flag_names)


def refuse_keys(args: t.Mapping[str, t.Any], extra: t.Sequence[str], table: FlagTable) -> None:
    """Refuse a secret on the command line, where every user of the host could read it."""
    own_file = "write 'ssl-keyfile-password' into a YAML file that only the unit's user can read, and name that in 'args.config'"
    for name in (*KEYS, "ssl_keyfile_password"):
        flag = "--" + name.replace("_", "-")
        # argparse takes every unique beginning: --api is --api-key in most releases.
        given = [word.partition("=")[0] for word in extra]
        short = [w for w in given if len(w) > 4 and flag.startswith(w) and (w == flag or table.get_exact(w) is None)]
        where = f"args.{name}" if args.get(name) is not None else f"extra_args: {short[0]}" if short else ""
        if where:
            raise Failure(
                "rule_violated",
                f"The secret in '{where}' would stand on the command line, readable for all: "
                f"{f'use the option {name!r}' if name in KEYS else own_file} instead.",
            )


def _install(
    params: Params, run_command: RunCommand, environment: dict[str, str], local: bool, warnings: list[str]
) -> Install:
    python, version = params["python"], params["sglang_version"]
    if not os.path.isabs(python):
        raise Failure(
            "unit_invalid", f"The interpreter '{python}' is no absolute path: systemd needs one, correct 'python'."
        )
    if container_tool([python]):
        raise Failure(
            "unit_invalid",
            f"The interpreter '{python}' runs containers, and neither the version nor the flags, drafter, paths and GPUs of a server in "
            "an image can be checked from here: give an interpreter of this host, or write that unit by hand; 'server_service', "
            "'server_info', 'wait_for_generation' and 'journal_assert' work on any unit.",
        )
    if not os.path.exists(python):
        if local or version == "auto":
            raise missing_interpreter(python)
        warnings.append(missing_interpreter(python).msg)
    install = find_sglang(run_command, python, environment) if version == "auto" else Install(version, "")
    try:
        version_key(install.version)
    except ValueError as exc:
        raise Failure(
            "unit_invalid",
            f"The version '{install.version}' of SGLang is not a version: write it as in '0.5.15.post1', or 'auto'.",
        ) from exc
    return install


def _table(
    params: Params,
    run_command: RunCommand,
    environment: dict[str, str],
    install: Install,
    store: t.Optional[HelpStore],
    warnings: list[str],
) -> FlagTable:
    """The flags of this server: by the catalogue, or by its own help text."""
    version = install.version
    table = _flags.table_of(version)
    unknown = table.origin == "nearest"
    if unknown:
        warnings.append(
            f"SGLang {version} is not in this collection's catalogue ({_flags.VERSIONS[0]} to {_flags.VERSIONS[-1]})."
        )
    if params["introspect"] == "always" or (params["introspect"] == "auto" and unknown):
        asked, why = ask_server(run_command, params["python"], environment, version, install.stamp, store)
        if asked is not None:
            return asked
        if params["introspect"] == "always":
            raise Failure(
                "unit_invalid",
                f"The server of '{params['python']}' did not tell its flags ({why}): correct it or set 'introspect: auto'.",
            )
        warnings.append(
            f"The server of '{params['python']}' did not tell its flags ({why}); those of SGLang {table.base} are assumed."
        )
    elif unknown:
        warnings.append(
            f"The flags of SGLang {table.base} are assumed, since 'introspect' is '{params['introspect']}'."
        )
    return table


def container_tool(words: t.Sequence[str]) -> str:
    """The program at the beginning of a command, or of a shell's script there, that runs containers; empty for none."""
    parts = [part for word in words[:6] for part in word.split()]
    return next((part for part in parts if os.path.basename(part) in _CONTAINER_TOOLS), "")


def on_this_host(params: Params) -> bool:
    """Whether the server's paths are those of this host: not below a directory, and without a root of its own."""
    return not params["dest_dir"] and not {"RootDirectory", "RootImage"} & set(params["service"] or {})


def _home(params: Params, environment: t.Mapping[str, str]) -> str:
    try:
        return environment.get("HOME") or (pwd.getpwnam(params["user"]).pw_dir if params["user"] else "")
    except KeyError:
        return ""


def _drafter(params: Params, environment: dict[str, str], home: str) -> t.Optional[Drafter]:
    speculative, args = params["speculative"] or {}, params["args"] or {}
    path = _speculative.draft_path_of(speculative, args)
    if not path:
        return None
    revision = speculative.get("draft_model_revision") or args.get("speculative_draft_model_revision") or ""
    return read_drafter(path, environment, home, str(revision))


def _check_needed(params: Params, arguments: t.Mapping[str, t.Any], table: FlagTable) -> None:
    extra = _flags.arguments_of(params["extra_args"] or [], table=table)
    if "config" in extra and any(params[key] is not None for key in KEYS):
        raise Failure(
            "rule_violated",
            "The server takes one configuration file, and the keys of 'api_key' and 'admin_api_key' need it: "
            "give yours as 'args.config', with which they are merged.",
        )
    if "model_path" not in arguments and "config" not in arguments:
        raise Failure("rule_violated", "The server needs a model: set 'args.model_path'.")
    for key in KEYS:
        if params[key] is not None and table.get_exact("--" + key.replace("_", "-")) is None:
            raise Failure(
                "unknown_flag",
                f"SGLang {table.version} has no {key}: 0.5.8 is the first that has it; leave the option out.",
            )
