# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Gather from the host what the adoption of one unit needs: its command, environment, files and running server."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._adoption import Found, file_settings
from ansible_collections.llmops.sglang.plugins.module_utils._control_group import members
from ansible_collections.llmops.sglang.plugins.module_utils._environment_file import (
    parse_environment_file,
    read_environment_files,
    read_file,
)
from ansible_collections.llmops.sglang.plugins.module_utils._installed import absolute_interpreter
from ansible_collections.llmops.sglang.plugins.module_utils._launch_command import Launch, read_launch
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import (
    expand_words,
    read_argv,
    read_environ,
)
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState
from ansible_collections.llmops.sglang.plugins.module_utils._unit_syntax import exec_start_of, setting

# What systemd, a login or an activated environment sets in each process.
_SET_BY_OTHERS = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|SHLVL|_|PS1|TERM|LANG|INVOCATION_ID|JOURNAL_STREAM|SYSTEMD_EXEC_PID|MANAGERPID|"
    r"NOTIFY_SOCKET|DBUS_SESSION_BUS_ADDRESS|VIRTUAL_ENV\w*|(?:CONDA|XDG|MEMORY_PRESSURE|LLMOPS)_\w+|\w+_DIRECTORY"
)


class Server(t.NamedTuple):
    """The process of a unit that is the server itself; pid 0 and no words where none can be told."""

    pid: int
    argv: t.List[str]


def server_process(state: UnitState, proc: str = "/proc", cgroup_root: str = "/sys/fs/cgroup") -> Server:
    """The main process, or the one below a wrapper such as a shell that waits for it."""
    if not state.main_pid:
        return Server(0, [])
    main = read_argv(state.main_pid, proc) or []
    if read_launch(main).kind != "shell":
        return Server(state.main_pid, main)
    for pid in members(state.control_group, cgroup_root):
        argv = read_argv(pid, proc) or []
        launch = read_launch(argv)
        if launch.found and not launch.kind:
            return Server(pid, argv)
    return Server(state.main_pid, main)


def found_of(manager: Manager, state: UnitState, server: Server) -> Found:
    """What is there of a loaded unit; files that cannot be read are named in its remarks."""
    texts = {path: read_file(path) for path in [state.fragment_path, *state.drop_in_paths] if path}
    settings = file_settings(text for text in texts.values() if text is not None)
    files, unread = read_environment_files(_present(state.environment_files), read_file)
    environment = {**manager.environment(state.name), **files}
    remarks = [f"The file '{path}' cannot be read; what it says is not taken over." for path in unread]
    remarks += [f"The file '{path}' cannot be read." for path, text in texts.items() if text is None]
    own = [path for path in state.environment_files if f"/{state.name}.secrets/" in path]
    secret_names = [name for path in own for name in parse_environment_file(read_file(path) or "")]
    running = read_environ(server.pid) or {} if server.pid else {}
    words = manager.exec_start(state.name) or exec_start_of("\n".join(t for t in texts.values() if t))
    starts = setting(settings, "Service", "ExecStart")
    if starts and starts[-1][:1] in "@-:+!":
        remarks.append(f"The prefix '{starts[-1][:1]}' of ExecStart= is left out.")
    if len(starts) > 1:
        remarks.append("ExecStart= has several commands; the first is taken.")
    launch, running_python = _launch(expand_words(words, {**running, **environment}), server, environment, running)
    merged = {**environment, **launch.environment}
    return Found(
        name=state.name,
        scope=manager.scope,
        launch=launch,
        environment=environment,
        settings=settings,
        secret_names=secret_names,
        user=state.properties.get("User", ""),
        group=state.properties.get("Group", ""),
        working_directory=state.properties.get("WorkingDirectory", "").lstrip("-!"),
        python="" if launch.kind == "container" else _python(launch, merged, running_python),
        config_names=_config_names(settings, words),
        remarks=remarks,
    )


def _launch(
    words: list[str], server: Server, environment: t.Mapping[str, str], environ: t.Mapping[str, str]
) -> tuple[Launch, str]:
    """How the unit starts the server, and the interpreter that runs; the running words where only a shell knows them."""
    launch = read_launch(words, environment, read_file)
    running = read_launch(server.argv)
    if not running.found or running.kind == "shell":
        return launch, ""
    if not launch.found or not launch.clear or launch.sourced:
        set_by_it = {k: v for k, v in environ.items() if k not in environment and not _SET_BY_OTHERS.fullmatch(k)}
        launch = launch._replace(
            found=True,
            clear=True,
            sourced=False,
            words=running.words,
            interpreter=running.interpreter,
            environment={**launch.environment, **set_by_it},
            remarks=(*launch.remarks, "The words and variables are those of the server that runs."),
        )
    return launch, running.interpreter


def _config_names(settings: t.Sequence[tuple[str, str, str]], words: t.Sequence[str]) -> list[str]:
    """The arguments in the configuration file that server_unit hands over; the usual one where it cannot be read."""
    places = " ".join([*setting(settings, "Service", "LoadCredential"), *words])
    match = re.search(r"/\S+\.secrets/config\.yaml", places)
    text = read_file(match.group()) if match else None
    names = re.findall(r"^[\"']?([A-Za-z][\w-]*)[\"']?\s*:", text or "", flags=re.MULTILINE)
    return [name.replace("-", "_") for name in names] or ["api_key"]


def _python(launch: Launch, environment: t.Mapping[str, str], running: str) -> str:
    """The interpreter; ``env`` looks for it along the path that it was given."""
    if launch.interpreter and not launch.interpreter.startswith("/") and "/" in launch.interpreter and launch.directory:
        return os.path.join(launch.directory, launch.interpreter)
    return absolute_interpreter(launch.interpreter, environment, running)


def _present(paths: t.Iterable[str]) -> list[str]:
    """Files of ``EnvironmentFile=-`` may be missing."""
    return [path for path in paths if os.path.lexists(path)]
