# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Whether what a process inherited from its unit, variables and credentials, is what the unit hands over now."""

from __future__ import annotations

import os
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
    for path in files:
        variables = parse_environment_file(read_file(path) or "")
        from_files.update(variables)
        # The id stands for all of a file that it is in.
        if SECRETS_FINGERPRINT not in variables:
            named += [key for key in variables if key not in named]
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
    if environ.get(SECRETS_FINGERPRINT) != from_files.get(SECRETS_FINGERPRINT):
        found.append("the secrets changed")
    # The fingerprint changes with everything else; alone it stands for settings that show nowhere in the process.
    return [f for f in found if f != _SETTINGS] or found


def credential_differences(pairs: t.Iterable[tuple[str, str]], directory: str, started_at: float) -> list[str]:
    """Which credentials (name and source) the process was given otherwise.

    :arg directory: where the service manager put the copies for this invocation.
    :arg started_at: when the process began, in seconds since 1970; it decides where a copy cannot be read.
    """
    found = []
    for name, source in pairs:
        if not os.path.isabs(source) or not os.path.isfile(source):
            continue
        now, then = _bytes(source), _bytes(os.path.join(directory, name))
        if now is None or then is None:
            changed = started_at > 0 and os.stat(source).st_ctime > started_at
        else:
            changed = now != then
        if changed:
            found.append(f"the credential {name} changed")
    return found


def _bytes(path: str) -> t.Optional[bytes]:
    try:
        with open(path, "rb") as handle:
            return handle.read()
    except OSError:
        return None
