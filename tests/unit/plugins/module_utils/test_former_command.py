# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._former_command import former_words
from ansible_collections.llmops.sglang.tests.unit.unit_process import ARGV, FakeManager, unit

COMMAND = " ".join(ARGV)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (ARGV, [ARGV[0], "--port", "30001"]),
        ([*ARGV[:-1], "${PORT}", "$MORE", "--chat-template", "$$x"], [ARGV[0], "--port", "30002", "--tp", "4", "--chat-template", "$x"]),
        (["/bin/bash", "-c", f"ulimit -n 9; exec {COMMAND} --model-path $MODEL"], [ARGV[0], "--port", "30001", "--model-path", "org/m"]),
        (["/usr/bin/numactl", "--membind=0", *ARGV], [ARGV[0], "--port", "30001"]),
        (["/usr/bin/docker", "run", "x", *ARGV], ["/usr/bin/docker", "run", "x", *ARGV]),
        (["/bin/true"], ["/bin/true"]),
    ],
)  # fmt: skip
def test_what_a_server_was_started_with_is_told_without_its_wrapping(tmp_path, words, expected):
    file = tmp_path / "env"
    file.write_text("PORT=30002\nMODEL=org/m\n")
    state = unit(EnvironmentFiles=f"{file} (ignore_errors=no)")
    assert (
        former_words(FakeManager(words, MORE="--tp 4", PORT="1"), state, "[Service]\nExecStart=/bin/other\n")
        == expected
    )


def test_a_file_that_systemd_has_not_read_counts_itself():
    text = "[Service]\nExecStart=/bin/other --port 1\n"
    assert former_words(FakeManager(ARGV), unit(NeedDaemonReload="yes"), text) == ["/bin/other", "--port", "1"]
    assert former_words(FakeManager([]), unit(LoadState="not-found"), text) == ["/bin/other", "--port", "1"]
