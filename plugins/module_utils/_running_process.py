# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Whether the process that runs is the one that its unit describes now."""

from __future__ import annotations

import os
import re
import shlex
import time
import typing as t
from dataclasses import dataclass

from ansible_collections.llmops.sglang.plugins.module_utils._endpoint import hide_keys
from ansible_collections.llmops.sglang.plugins.module_utils._environment_file import hide_secret_variables, read_file
from ansible_collections.llmops.sglang.plugins.module_utils._inherited import (
    SECRETS_FINGERPRINT,
    UNIT_FINGERPRINT,
    credential_differences,
    environment_differences,
    read_bytes,
    taken_away,
    user_differences,
    variables_of,
)
from ansible_collections.llmops.sglang.plugins.module_utils._launch_command import Launch, read_launch
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import MASKED, Mask
from ansible_collections.llmops.sglang.plugins.module_utils._server_inputs import (
    Input,
    InputMemory,
    changed_inputs,
    inputs_of,
    words_digest,
)
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState

__all__ = ["SECRETS_FINGERPRINT", "UNIT_FINGERPRINT", "Comparison", "compare", "differences", "expand_words"]


@dataclass(frozen=True)
class Comparison:
    """Why the running process is not what its unit says; ``complete`` is false where not all could be read, and ``unread`` says what."""

    differences: list[str]
    complete: bool
    unread: str = ""


def read_argv(pid: int, proc: str = "/proc") -> t.Optional[list[str]]:
    """The command line of *pid*, or ``None`` where it is gone or cannot be read."""
    data = read_bytes(f"{proc}/{pid}/cmdline")
    if not data:
        return None
    return [_text(word) for word in data.rstrip(b"\0").split(b"\0")] if data.rstrip(b"\0") else [""]


def read_environ(pid: int, proc: str = "/proc") -> t.Optional[dict[str, str]]:
    """The environment that *pid* was started with, or ``None`` where it cannot be read."""
    data = read_bytes(f"{proc}/{pid}/environ")
    if data is None:
        return None
    return dict(_text(word).partition("=")[::2] for word in data.split(b"\0") if b"=" in word)


def cgroup_of(pid: int, proc: str = "/proc") -> str:
    """The control group of *pid* in systemd's hierarchy (unified, or named on older hosts); empty where unknown."""
    data = read_bytes(f"{proc}/{pid}/cgroup")
    if data is None:
        return ""
    paths = dict(_text(line).split(":", 2)[1:] for line in data.splitlines() if line.count(b":") >= 2)
    named = paths.get("name=systemd", "")
    return named if named not in ("", "/") else paths.get("", named)


def compare(manager: Manager, state: UnitState, proc: str = "/proc", cache: str = "") -> Comparison:
    """Compare the unit's main process with the unit as its files say now, and with what it read at its start.

    A unit without a process has no difference: whether it should run is another question.
    """
    if not state.running:
        return Comparison([], True)
    found = ["systemd holds an older copy of the unit file"] if state.need_daemon_reload else []
    argv, environ = read_argv(state.main_pid, proc), read_environ(state.main_pid, proc)
    if argv is None:
        return Comparison(found, False, "the process")
    # A process that renames itself may write over its environment: then INVOCATION_ID, which systemd always sets, is gone.
    if environ is not None and "INVOCATION_ID" not in environ:
        environ = None
    words = manager.exec_start(state.name)
    launch = read_launch(expand_words(words, environ or {}), environ or {}, read_file)
    kept, started_at = InputMemory(state.name, manager.scope, cache).read(), _started_at(state)
    line = _command_line(argv, words, launch, environ, _is_as_begun(state, words, kept, started_at))
    found.extend(line.differences)
    if environ is not None:
        wanted = manager.environment(state.name)
        left_out = {*state.properties.get("UnsetEnvironment", "").split(), *_set_between(argv, launch, wanted)}
        found.extend(environment_differences(wanted, state.environment_files, environ, left_out))
        names = variables_of(wanted, state.environment_files) | left_out
        found.extend(taken_away(kept.get("variables") or (), names, environ))
        if manager.scope == "system" and not launch.kind and "USER" not in names:
            found.extend(user_differences(state.properties.get("User", ""), environ))
    directory = (environ or {}).get("CREDENTIALS_DIRECTORY") or f"/run/credentials/{state.name}"
    found.extend(credential_differences(manager.load_credentials(state), directory, started_at))
    if started_at:
        inputs = process_inputs(state, argv, environ or {}, words, proc)
        found.extend(changed_inputs(inputs, started_at, state.invocation_id, kept))
    unread = line.unread or ("" if environ is not None else "the environment of the process")
    return Comparison(found, not unread, unread)


def process_inputs(
    state: UnitState,
    argv: t.Sequence[str],
    environ: t.Mapping[str, str],
    command: t.Sequence[str] = (),
    proc: str = "/proc",
) -> dict[str, Input]:
    """What the server of a unit read at its start, beside its command line; *command* is the unit's own."""
    try:
        cwd = os.readlink(f"{proc}/{state.main_pid}/cwd")
    except OSError:
        cwd = ""
    return inputs_of(argv, environ, environ.get("HOME", ""), cwd, command)


def remember_inputs(
    manager: Manager, state: UnitState, proc: str = "/proc", cache: str = "", began: bool = False
) -> None:
    """Keep what the running process began with: a later comparison then tells a change from a touch.

    :arg began: whether it is known to have begun with the unit's command as it is now.
    """
    argv = read_argv(state.main_pid, proc) if state.running else None
    if argv:
        environ = read_environ(state.main_pid, proc) or {}
        words = manager.exec_start(state.name)
        inputs = process_inputs(state, argv, environ, words, proc)
        if inputs or read_launch(argv).found:
            memory = InputMemory(state.name, manager.scope, cache)
            names = variables_of(manager.environment(state.name), state.environment_files) & set(environ)
            memory.write(state.invocation_id, inputs, words_digest(words) if began else "", sorted(names))


def _is_as_begun(
    state: UnitState, words: t.Sequence[str], kept: t.Mapping[str, t.Any], started_at: float
) -> t.Optional[bool]:
    """Whether the unit's command is the one that this process was started by; ``None`` where nothing tells."""
    if kept.get("command") and kept.get("invocation_id") == state.invocation_id:
        return bool(kept["command"] == words_digest(words))
    files = [state.fragment_path, *state.drop_in_paths]
    if state.need_daemon_reload or not started_at or not files[0]:
        return None
    try:
        return True if all(os.stat(path).st_ctime < started_at for path in files) else None
    except OSError:
        return None


def _command_line(
    argv: list[str],
    words: list[str],
    launch: Launch,
    environ: t.Optional[t.Mapping[str, str]],
    as_begun: t.Optional[bool],
) -> Comparison:
    """Compare the command line alone; a wrapper that was replaced by the server shows only in what it started."""
    if environ is None and any("$" in word for word in words):
        return Comparison([], False, "the environment of the process")
    wanted = expand_words(words, environ or {})
    if argv == wanted or _started_by_interpreter(argv, wanted):
        return Comparison([], True)
    running = read_launch(argv)
    if not (launch.kind and running.found and not running.kind):
        return Comparison([f"the command line differs: {describe_change(argv, wanted)}"], True)
    if launch.found and launch.clear and running.words != launch.words:
        return Comparison([f"the command line differs: {describe_change(running.words, launch.words)}"], True)
    if as_begun is not None:
        return Comparison([] if as_begun else ["what the unit starts the server by changed"], True)
    return _wrapper(launch, launch.environment if environ is None else environ)


def _wrapper(launch: Launch, environ: t.Mapping[str, str]) -> Comparison:
    """Compare what a wrapper does beside starting the server, by the environment of the process alone."""
    shown = launch.wrapper[:60]
    if not (launch.found and launch.clear):
        return Comparison([], False, f"what the wrapper '{shown}' starts")
    other = [name for name, value in launch.environment.items() if environ.get(name) != value]
    if launch.kind == "env":
        return Comparison([f"the environment variable {name} differs" for name in other], True)
    return Comparison([], False, f"the wrapper '{shown}'") if other or launch.kind == "other" else Comparison([], True)


def _set_between(argv: list[str], launch: Launch, wanted: t.Mapping[str, str]) -> set[str]:
    """Variables that a wrapper sets: the process that replaced it has its values, not the unit's."""
    if not launch.kind or read_launch(argv).kind:
        return set()
    if not launch.clear or launch.sourced:
        return set(wanted)
    return {*launch.environment, *(("PATH", "VIRTUAL_ENV", "PWD") if launch.kind in ("shell", "conda") else ())}


def _started_at(state: UnitState) -> float:
    """When the main process began, in seconds since 1970; 0 where that is not known."""
    started = state.exec_main_start_monotonic_us
    return time.time() - (time.monotonic() - started / 1e6) if started else 0.0


def differences(manager: Manager, name: str) -> list[str]:
    """Why the running process of unit *name* is not what the unit says now; empty when it is, or when nothing runs."""
    return compare(manager, manager.show(name)).differences


def expand_words(words: t.Sequence[str], environ: t.Mapping[str, str]) -> list[str]:
    """Expand variables as systemd.service(5) says: ``$X`` as a word of its own splits, ``${X}`` does not, ``$$`` is ``$``."""
    expanded: list[str] = []
    for word in words:
        alone = re.fullmatch(r"\$([A-Za-z_][A-Za-z0-9_]*)", word)
        if alone:
            expanded.extend(_split(environ.get(alone.group(1), "")))
        else:
            expanded.append(
                re.sub(
                    r"\$(?:\$|\{([A-Za-z_][A-Za-z0-9_]*)\})",
                    lambda m: "$" if m.group(1) is None else environ.get(m.group(1), ""),
                    word,
                )
            )
    return expanded


def _split(value: str) -> list[str]:
    """The words of a variable's value: quotes are respected and removed."""
    try:
        return shlex.split(value)
    except ValueError:
        return value.split()


def describe_change(before: t.Sequence[str], after: t.Sequence[str]) -> str:
    """The words that only one of two command lines has, for a message; values of key options are left out."""
    old, new = _options(hide_keys(before, MASKED)), _options(hide_keys(after, MASKED))
    parts = [f"runs with {' '.join(o)}" for o in old if o not in new] + [
        f"unit says {' '.join(o)}" for o in new if o not in old
    ]
    shown = "; ".join(parts[:6]) or "the order of the words, or a key"
    text = shown if len(parts) <= 6 else f"{shown}; and {len(parts) - 6} more"
    return Mask().text(hide_secret_variables(text, MASKED))


def _options(argv: t.Sequence[str]) -> list[list[str]]:
    groups: list[list[str]] = [[]]
    for word in argv:
        if word.startswith("--"):
            groups.append([])
        groups[-1].append(word)
    return groups


def _started_by_interpreter(argv: t.Sequence[str], wanted: t.Sequence[str]) -> bool:
    """Whether *argv* is *wanted* with the interpreter of its ``#!`` line in front."""
    extra = len(argv) - len(wanted)
    return 0 < extra <= 2 and list(argv[extra:]) == list(wanted) and not argv[0].startswith("-")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
