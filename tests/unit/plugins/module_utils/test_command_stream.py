# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The output of a command, line by line."""

from __future__ import annotations

import json
import sys
import tracemalloc

import pytest
from ansible.module_utils import basic
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils import _command_stream
from ansible_collections.llmops.sglang.plugins.module_utils._command_stream import buffered, stream_of, streamed


@pytest.fixture
def stream(monkeypatch):
    monkeypatch.setattr(basic, "_ANSIBLE_ARGS", json.dumps({"ANSIBLE_MODULE_ARGS": {}}).encode())
    monkeypatch.setattr(basic, "_ANSIBLE_PROFILE", "legacy", raising=False)
    return streamed(basic.AnsibleModule({}).run_command)


@pytest.fixture
def run(stream):
    return lambda program, take, **environ: stream([sys.executable, "-c", program], environ, take)


def test_lines_status_and_what_was_said(run):
    lines = []
    program = "import os, sys; sys.stdout.buffer.write(b'a\\n' + b'\\xff\\xe2\\x80\\xa8b\\n\\nlast'); sys.stderr.write(os.environ['SAID']); sys.exit(3)"
    assert run(program, lines.extend, SAID="words") == (3, "words")
    assert lines == ["a", "\udcff\u2028b", "", "last"]


def test_a_command_that_is_not_heard_out_is_ended(run):
    seen = []

    def take(lines):
        seen.extend(lines)
        return len(seen) >= 3

    assert run("while True: print('x' * 1000)", take) == (0, "")
    assert set(seen) == {"x" * 1000}


def test_a_taker_that_fails_ends_the_command(run):
    def take(lines):
        raise ValueError(lines[0])

    with pytest.raises(ValueError, match="^x$"):
        run("while True: print('x')", take)


def test_a_command_that_complains_at_length_is_read_to_its_end(run):
    lines = []
    status, said = run("import sys; sys.stderr.write('x' * 1000000); print('a')", lines.extend)
    assert (status, lines, len(said)) == (0, ["a"], 65536)


def test_an_endless_line_is_cut(run, monkeypatch):
    monkeypatch.setattr(_command_stream, "LONGEST_OUTPUT_LINE", 10)
    lines = []
    assert run("print('0123456789' * 5); print('b' * 9); print('c' * 10); print('d')", lines.extend)[0] == 0
    assert lines == ["0123456789", "b" * 9, "c" * 10, "d"]


def test_a_command_that_is_not_there(stream):
    status, said = stream(["/nowhere/journalctl"], {}, lambda line: None)
    assert status == 127 and "/nowhere/journalctl" in said


def test_what_a_modules_own_command_prints_is_never_held(stream):
    """Whoever reads the journal with it: 32 MiB pass while less than a quarter of that is in use."""
    module = basic.AnsibleModule({})
    number = 0

    def take(lines):
        nonlocal number
        number += len(lines)

    program = "import sys\nfor n in range(32768): sys.stdout.write('x' * 1023 + '\\n')"
    tracemalloc.start()
    try:
        assert stream_of(module.run_command)([sys.executable, "-c", program], {}, take) == (0, "")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert number == 32768 and peak < 8 * 1024 * 1024


def test_another_command_in_a_modules_place(monkeypatch):
    def run_command(argv, **more):
        return 3, "a\nb\nc", "said"

    for stream in (streamed(run_command), stream_of(run_command), buffered(run_command)):
        lines = []
        assert stream(["x"], {}, lines.extend) == (3, "said") and lines == ["a", "b", "c"]
        assert stream(["x"], {}, lambda lines: "b" in lines) == (0, "said")


class Pieces:
    """A pipe that gives what it has."""

    def __init__(self, pieces):
        self.pieces = [piece for piece in pieces if piece]

    def read1(self, dummy_size):
        return self.pieces.pop(0) if self.pieces else b""


@given(st.lists(st.text(alphabet="ab\n", max_size=7).map(str.encode), max_size=9))
def test_lines_are_the_same_however_the_pipe_cuts_them(pieces):
    lines = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_command_stream, "LONGEST_OUTPUT_LINE", 5)
        assert _command_stream._hand_on(Pieces(pieces), lines.extend) is False
    expected = b"".join(pieces).decode().split("\n")
    if not expected[-1]:
        expected.pop()
    # A line that came in pieces is cut; one that came at once was never held.
    assert len(lines) == len(expected) and all(line in (whole, whole[:5]) for line, whole in zip(lines, expected))
