# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands that start a server in ways that nobody means: they are read to their end, and quickly."""

from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.module_utils._launch_command import read_launch


def test_an_env_within_an_env_is_one_however_many_there_are():
    launch = read_launch(
        [*["env"] * 2000, "A=1", "/usr/bin/env", "B=2", "python", "-m", "sglang.launch_server", "--port", "1"]
    )
    assert (launch.kind, launch.interpreter, launch.environment) == ("env", "python", {"A": "1", "B": "2"})


def test_variables_made_of_each_other_do_not_fill_the_memory():
    script = "A=aaaaaaaaaa\n" + "A=$A$A$A$A$A$A$A$A\n" * 30 + "python -m sglang.launch_server --port 1\n"
    launch = read_launch(["bash", "-c", script])
    assert launch.found and not launch.clear
