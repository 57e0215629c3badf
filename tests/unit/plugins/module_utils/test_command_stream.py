# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of a command, line by line."""

from __future__ import annotations

import sys

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _command_stream
from ansible_collections.llmops.sglang.plugins.module_utils._command_stream import stream_command


def run(program, take, **environ):
    return stream_command([sys.executable, "-c", program], environ, take)


def test_lines_status_and_what_was_said():
    lines = []
    program = "import os, sys; sys.stdout.buffer.write(b'a\\n' + b'\\xff\\xe2\\x80\\xa8b\\n\\nlast'); sys.stderr.write(os.environ['SAID']); sys.exit(3)"
    assert run(program, lines.append, SAID="words") == (3, "words")
    assert lines == ["a", "\udcff\u2028b", "", "last"]


def test_a_command_that_is_not_heard_out_is_ended():
    lines = []

    def take(line):
        lines.append(line)
        return len(lines) == 3

    assert run("while True: print('x' * 1000)", take) == (0, "")
    assert len(lines) == 3


def test_a_taker_that_fails_ends_the_command():
    def take(line):
        raise ValueError(line)

    with pytest.raises(ValueError, match="^x$"):
        run("while True: print('x')", take)


def test_an_endless_line_is_cut(monkeypatch):
    monkeypatch.setattr(_command_stream, "LONGEST_OUTPUT_LINE", 10)
    lines = []
    assert run("print('0123456789' * 5); print('b' * 9); print('c' * 10); print('d')", lines.append)[0] == 0
    assert lines == ["0123456789", "b" * 9, "c" * 10, "d"]


def test_a_command_that_is_not_there():
    status, said = stream_command(["/nowhere/journalctl"], {}, lambda line: None)
    assert status == 127 and "/nowhere/journalctl" in said
