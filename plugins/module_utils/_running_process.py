# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Whether the process that runs is the one that its unit describes now."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState

# The unit carries a hash of all that a process inherits from it; each change of a secrets file renews the id in it.
UNIT_FINGERPRINT = "LLMOPS_SGLANG_UNIT"
SECRETS_FINGERPRINT = "LLMOPS_SGLANG_SECRETS"


@dataclass(frozen=True)
class Comparison:
    """Why the running process is not what its unit says; ``complete`` is false where not all could be read."""

    differences: list[str]
    complete: bool


def read_argv(pid: int, proc: str = "/proc") -> t.Optional[list[str]]:
    """The command line of *pid*, or ``None`` where it is gone or cannot be read."""
    data = _read(f"{proc}/{pid}/cmdline")
    if not data:
        return None
    return [_text(word) for word in data.rstrip(b"\0").split(b"\0")] if data.rstrip(b"\0") else [""]


def read_environ(pid: int, proc: str = "/proc") -> t.Optional[dict[str, str]]:
    """The environment that *pid* was started with, or ``None`` where it cannot be read."""
    data = _read(f"{proc}/{pid}/environ")
    if data is None:
        return None
    return dict(_text(word).partition("=")[::2] for word in data.split(b"\0") if b"=" in word)


def cgroup_of(pid: int, proc: str = "/proc") -> str:
    """The control group of *pid* in systemd's hierarchy (unified, or named on older hosts); empty where unknown."""
    data = _read(f"{proc}/{pid}/cgroup")
    if data is None:
        return ""
    paths = dict(_text(line).split(":", 2)[1:] for line in data.splitlines() if line.count(b":") >= 2)
    named = paths.get("name=systemd", "")
    return named if named not in ("", "/") else paths.get("", named)


def compare(manager: Manager, state: UnitState, proc: str = "/proc") -> Comparison:
    """Compare the unit's main process with the unit as its files say now.

    A unit without a process has no difference: whether it should run is another question.
    """
    if not state.running:
        return Comparison([], True)
    found = ["systemd holds an older copy of the unit file"] if state.need_daemon_reload else []
    argv, environ = read_argv(state.main_pid, proc), read_environ(state.main_pid, proc)
    if argv is None:
        return Comparison(found, False)
    # A process that renames itself may write over its environment: then INVOCATION_ID, which systemd always sets, is gone.
    if environ is not None and "INVOCATION_ID" not in environ:
        environ = None
    wanted = expand_words(manager.exec_start(state.name), environ or {})
    if argv != wanted and not _started_by_interpreter(argv, wanted):
        found.append(f"the command line differs: {describe_change(argv, wanted)}")
    if environ is not None:
        found.extend(_environment_differences(manager.environment(state.name), state.environment_files, environ))
    return Comparison(found, environ is not None)


def differences(manager: Manager, name: str) -> list[str]:
    """Why the running process of unit *name* is not what the unit says now; empty when it is, or when nothing runs."""
    return compare(manager, manager.show(name)).differences


def expand_words(words: t.Sequence[str], environ: t.Mapping[str, str]) -> list[str]:
    """Expand variables as systemd.service(5) says: ``$X`` as a word of its own splits, ``${X}`` does not, ``$$`` is ``$``."""
    expanded: list[str] = []
    for word in words:
        alone = re.fullmatch(r"\$([A-Za-z_][A-Za-z0-9_]*)", word)
        if alone:
            expanded.extend(environ.get(alone.group(1), "").split())
        else:
            expanded.append(
                re.sub(
                    r"\$(?:\$|\{([A-Za-z_][A-Za-z0-9_]*)\})",
                    lambda m: "$" if m.group(1) is None else environ.get(m.group(1), ""),
                    word,
                )
            )
    return expanded


def describe_change(before: t.Sequence[str], after: t.Sequence[str]) -> str:
    """The words that only one of two command lines has, for a message; values of key options are left out."""
    old, new = _options(before), _options(after)
    parts = [f"runs with {' '.join(o)}" for o in old if o not in new] + [
        f"unit says {' '.join(o)}" for o in new if o not in old
    ]
    shown = "; ".join(parts[:6]) or "the order of the words"
    return shown if len(parts) <= 6 else f"{shown}; and {len(parts) - 6} more"


def _options(argv: t.Sequence[str]) -> list[list[str]]:
    groups: list[list[str]] = [[]]
    for word in argv:
        if word.startswith("--"):
            groups.append([])
        groups[-1].append(word)
    return [[g[0], "********"] if g and re.search(r"key|password", g[0]) and len(g) > 1 else g for g in groups]


def _environment_differences(
    wanted: t.Mapping[str, str], files: t.Sequence[str], environ: t.Mapping[str, str]
) -> list[str]:
    from_files: dict[str, str] = {}
    for path in files:
        from_files.update(_read_environment_file(path))
    found = []
    for key, value in wanted.items():
        if key in from_files or environ.get(key) == value:
            continue
        found.append(
            "settings of the unit changed" if key == UNIT_FINGERPRINT else f"the environment variable {key} differs"
        )
    if environ.get(SECRETS_FINGERPRINT) != from_files.get(SECRETS_FINGERPRINT):
        found.append("the secrets changed")
    # The fingerprint changes with everything else; alone it stands for settings that show nowhere in the process.
    named = [f for f in found if f != "settings of the unit changed"]
    return named or found


def _read_environment_file(path: str) -> dict[str, str]:
    data = _read(path)
    lines = _text(data or b"").splitlines()
    return dict(
        line.strip().partition("=")[::2] for line in lines if "=" in line and not line.lstrip().startswith(("#", ";"))
    )


def _started_by_interpreter(argv: t.Sequence[str], wanted: t.Sequence[str]) -> bool:
    """Whether *argv* is *wanted* with the interpreter of its ``#!`` line in front."""
    extra = len(argv) - len(wanted)
    return 0 < extra <= 2 and list(argv[extra:]) == list(wanted) and not argv[0].startswith("-")


def _read(path: str) -> t.Optional[bytes]:
    try:
        with open(path, "rb") as handle:
            return handle.read()
    except OSError:
        return None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
