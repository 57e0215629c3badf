# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What is worth a warning about a unit that systemd accepts."""

from __future__ import annotations

import glob
import os
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._environment_file import (
    hide_secret_variables,
    is_secret_variable,
)
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import MASKED, Mask
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState
from ansible_collections.llmops.sglang.plugins.module_utils._unit_place import Place, read_text
from ansible_collections.llmops.sglang.plugins.module_utils._unit_syntax import (
    exec_start_of,
    parse_unit,
    setting,
    split_words,
)


def later_drop_ins(place: Place, scope: str, state: UnitState, on_this_host: bool) -> list[str]:
    """Drop-ins that set ExecStart= after the file of *place*."""
    directories = [place.directory]
    if on_this_host:
        directories += [f"{base}/systemd/{scope}" for base in ("/usr/lib", "/run", "/etc")]
    # systemd knows more places than these; the files know more than systemd before it reads them.
    paths = set(state.drop_in_paths)
    for directory in directories:
        paths.update(glob.glob(os.path.join(glob.escape(directory), f"{place.name}.d", "*.conf")))
    return [
        f"The drop-in '{path}' sets ExecStart= after this file and wins: remove it."
        for path in sorted(paths - {place.path})
        if (place.style == "unit" or os.path.basename(path) > os.path.basename(place.path))
        and os.access(path, os.R_OK)
        and exec_start_of(read_text(path) or "")
    ]


def cutting_stop(text: str, style: str, state: UnitState) -> list[str]:
    """A stop that cuts running requests, measured with servers that have one of them running.

    :arg text: of the file that is written; a drop-in leaves to the unit below what it does not set itself.
    """
    settings = parse_unit(text)
    below = state.properties if style == "drop_in" else {"KillMode": "control-group", "KillSignal": "SIGTERM"}
    mode, signal = (
        (setting(settings, "Service", key) or [below.get(key, "")])[-1] for key in ("KillMode", "KillSignal")
    )
    if (mode, signal) == ("", "") or (mode == "mixed" and signal.upper() in ("SIGINT", "INT", "2")):
        return []
    return [
        f"A stop of '{state.name}' by KillMode={mode} and KillSignal={signal} cuts running requests or never ends clean: set "
        "KillMode=mixed and KillSignal=SIGINT in 'service'."
    ]


def open_secrets(environment: t.Mapping[str, str]) -> list[str]:
    """Variables that look like secrets and will stand in the unit."""
    names = [name for name, value in sorted(environment.items()) if value and is_secret_variable(name, value)]
    if not names:
        return []
    return [
        f"The value of {', '.join(names)} in 'environment' looks like a secret, and every user of the host can read the unit: "
        "give it as 'environment_secrets'."
    ]


def without_secrets(texts: t.Sequence[str]) -> list[str]:
    """Unit files, whoever wrote them, without the values of secret variables that they set."""
    values = []
    for text in texts:
        for line in setting(parse_unit(text), "Service", "Environment"):
            try:
                pairs = [word.partition("=")[::2] for word in split_words(line)]
            except Failure:
                continue
            # A value as short as an ordinary word would blank out others.
            values += [value for name, value in pairs if len(value) >= 8 and is_secret_variable(name, value)]
    mask = Mask([*values, *(value.replace("%", "%%") for value in values)])
    return [hide_secret_variables(mask.text(text), MASKED) for text in texts]
