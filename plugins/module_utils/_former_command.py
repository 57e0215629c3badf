# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The server's words in the command of a unit that somebody else wrote, for a comparison by meaning."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._environment_file import read_environment_files, read_file
from ansible_collections.llmops.sglang.plugins.module_utils._launch_command import read_launch
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import expand_words
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState
from ansible_collections.llmops.sglang.plugins.module_utils._unit_syntax import exec_start_of


def former_words(manager: Manager, state: UnitState, text: t.Optional[str]) -> list[str]:
    """The command of the unit with its variables expanded, and without a shell or another wrapper before the server.

    :arg text: the file's own, which counts where systemd has no unit, or an older copy.
    """
    if text is not None and (not state.exists or state.need_daemon_reload):
        return exec_start_of(text)
    files, dummy = read_environment_files(state.environment_files, read_file)
    variables = {**manager.environment(state.name), **files}
    words = expand_words(manager.exec_start(state.name), variables)
    launch = read_launch(words, variables, read_file)
    # What runs in a container is told by its first words.
    if not launch.found or launch.kind == "container":
        return words
    return [launch.interpreter, *launch.words]
