# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Whether what a process inherited from its unit, variables and credentials, is what the unit hands over now."""

from __future__ import annotations

import os
import pwd
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._environment_file import parse_environment_file, read_file

# The unit carries a hash of all that a process inherits from it; each change of a secrets file renews the id in it.
UNIT_FINGERPRINT = "LLMOPS_SGLANG_UNIT"
SECRETS_FINGERPRINT = "LLMOPS_SGLANG_SECRETS"
_SETTINGS = "settings of the unit changed"


def environment_differences(
    wanted: t.Mapping[str, str],
    files: t.Sequence[str],
    environ: t.Mapping[str, str],
    left_out: t.Collection[str] = (),
) -> list[str]:
    """Which variables of ``Environment=`` (*wanted*) and of environment *files* the process has otherwise.

    Values are never shown. :arg left_out: variables that something between the unit and the process sets.
    """
    from_files: dict[str, str] = {}
    named: list[str] = []
    secret: list[str] = []
    for path in files:
        variables = parse_environment_file(read_file(path) or "")
        from_files.update(variables)
        # Of a file with the id no variable is named.
        kind = secret if SECRETS_FINGERPRINT in variables else named
        kind += [key for key in variables if key not in kind]
    found = []
    for key, value in wanted.items():
        if key in from_files or key in left_out or environ.get(key) == value:
            continue
        found.append(_SETTINGS if key == UNIT_FINGERPRINT else f"the environment variable {key} differs")
    found += [
        f"the environment variable {key} of an environment file differs"
        for key in named
        if key not in left_out and environ.get(key) != from_files[key]
    ]
    # A file that was edited by hand still has its id.
    if any(
        environ.get(key) != from_files.get(key)
        for key in (SECRETS_FINGERPRINT, *secret)
        if key not in {*left_out, *named}
    ):
        found.append("the secrets changed")
    # The fingerprint changes with everything else; alone it stands for settings that show nowhere in the process.
    return [f for f in found if f != _SETTINGS] or found


def variables_of(wanted: t.Iterable[str], files: t.Iterable[str]) -> set[str]:
    """The names of the variables that a unit sets, by ``Environment=`` (*wanted*) and by environment *files*."""
    return {*wanted, *(name for path in files for name in parse_environment_file(read_file(path) or ""))}


def taken_away(before: t.Iterable[str], now: t.Collection[str], environ: t.Mapping[str, str]) -> list[str]:
    """Which variables that the unit set *before* the process has still, though nothing sets them *now*."""
    names = [name for name in before if name in environ and name not in now and name != SECRETS_FINGERPRINT]
    return [f"the environment variable {name} is no longer set by the unit" for name in names]


def user_differences(user: str, environ: t.Mapping[str, str]) -> list[str]:
    """Whether a process of the system's manager runs as another user than ``User=`` (*user*) says; USER tells."""
    try:
        wanted = pwd.getpwuid(int(user)).pw_name if user.isdigit() else user or "root"
    except KeyError:
        return []
    has = environ.get("USER", wanted)
    return [] if has == wanted else [f"it runs as user {has} and the unit says {wanted}"]


def credential_differences(pairs: t.Iterable[tuple[str, str]], directory: str, started_at: float) -> list[str]:
    """Which credentials (name and source) the process was given otherwise.

    :arg directory: where the service manager put the copies for this invocation.
    :arg started_at: when the process began, in seconds since 1970; it decides where a copy cannot be read.
    """
    found = []
    for name, source in pairs:
        if not os.path.isabs(source) or not os.path.isfile(source):
            continue
        now, then = read_bytes(source), read_bytes(os.path.join(directory, name))
        if now is None or then is None:
            changed = started_at > 0 and os.stat(source).st_ctime > started_at
        else:
            changed = now != then
        if changed:
            found.append(f"the credential {name} changed")
    return found


def read_bytes(path: str) -> t.Optional[bytes]:
    """What the file at *path* holds, or ``None`` where it is gone or cannot be read."""
    try:
        with open(path, "rb") as handle:
            return handle.read()
    except OSError:
        return None
