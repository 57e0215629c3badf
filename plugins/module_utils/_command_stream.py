# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Runs a command and hands its output on line by line, so that none of it has to be held."""

from __future__ import annotations

import os
import subprocess
import tempfile
import typing as t

# Takes one line without its end; true says that no more of them are wanted.
TakeLine = t.Callable[[str], t.Optional[bool]]
# Runs the words with these additions to the environment; gives the exit status (0 where it was ended early) and what was
# said on standard error.
Stream = t.Callable[[t.Sequence[str], t.Mapping[str, str], TakeLine], "tuple[int, str]"]

# What of a line is handed on: a row of the journal with the longest line that journald makes by itself needs a quarter of it.
LONGEST_OUTPUT_LINE = 8 * 1024 * 1024


def stream_command(argv: t.Sequence[str], environ: t.Mapping[str, str], take: TakeLine) -> tuple[int, str]:
    """Run *argv* and give *take* each line while it comes, at most :data:`LONGEST_OUTPUT_LINE` bytes of it."""
    with tempfile.TemporaryFile() as said:
        try:
            # run_command() holds the output until the command ends, and a journal may be larger than the memory.
            process = subprocess.Popen(  # pylint: disable=ansible-bad-function
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=said,
                env={**os.environ, **environ},
                bufsize=1024 * 1024,
            )
        except OSError as exc:
            return 127, f"{argv[0]} cannot be run: {exc}"
        stopped = True
        try:
            stopped = _hand_on(t.cast("t.BinaryIO", process.stdout), take)
        finally:
            if stopped:
                process.kill()
            process.stdout.close()
            status = process.wait()
        said.seek(0)
        return 0 if stopped else status, said.read(64 * 1024).decode("utf-8", "replace")


def buffered(run_command: t.Callable[..., tuple[int, str, str]]) -> Stream:
    """The same by *run_command*, which holds the output as a whole: for what is short, and for tests."""

    def stream(argv: t.Sequence[str], environ: t.Mapping[str, str], take: TakeLine) -> tuple[int, str]:
        status, out, said = run_command(list(argv), environ_update=dict(environ))
        # Not splitlines(): a message may hold other characters that Python takes for line ends.
        for line in out.split("\n"):
            if take(line):
                return 0, said
        return status, said

    return stream


def _hand_on(output: t.BinaryIO, take: TakeLine) -> bool:
    """Whether *take* wanted no more before the output was over."""
    while True:
        raw = output.readline(LONGEST_OUTPUT_LINE)
        if not raw:
            return False
        rest = raw
        while len(rest) == LONGEST_OUTPUT_LINE and not rest.endswith(b"\n"):
            rest = output.readline(LONGEST_OUTPUT_LINE)
        if take(raw.rstrip(b"\n").decode("utf-8", "surrogateescape")):
            return True
