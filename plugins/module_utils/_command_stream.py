# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Runs a command and hands its output on line by line, so that none of it has to be held."""

from __future__ import annotations

import io
import threading
import typing as t

# Takes one line without its end; true says that no more of them are wanted.
TakeLine = t.Callable[[str], t.Optional[bool]]
# Runs the words with these additions to the environment; gives the exit status (0 where it was ended early) and what was
# said on standard error.
Stream = t.Callable[[t.Sequence[str], t.Mapping[str, str], TakeLine], "tuple[int, str]"]

# What of a line is handed on: a row of the journal with the longest line that journald makes by itself needs a quarter of it.
LONGEST_OUTPUT_LINE = 8 * 1024 * 1024


def streamed(run_command: t.Callable[..., tuple[int, str, str]]) -> Stream:
    """Read the output while *run_command*, a module's own, waits for the command; at most
    :data:`LONGEST_OUTPUT_LINE` bytes of each line.
    """

    def stream(argv: t.Sequence[str], environ: t.Mapping[str, str], take: TakeLine) -> tuple[int, str]:
        reading = _Reading(take)
        try:
            status, out, said = run_command(
                list(argv),
                environ_update=dict(environ),
                expand_user_and_vars=False,
                before_communicate_callback=reading.read,
                handle_exceptions=False,
            )
        except OSError as exc:
            if reading.began:
                raise
            return 127, f"{argv[0]} cannot be run: {exc}"
        if not reading.began:
            # Another one in its place, as tests have it, knows no such callback.
            reading.stopped = any(take(line) for line in out.split("\n"))
        return 0 if reading.stopped else status, reading.said + said

    return stream


class _Reading:
    """Takes a process's lines, and what it says on standard error, before anybody else reads them."""

    def __init__(self, take: TakeLine) -> None:
        self._take = take
        self.began = self.stopped = False
        self.said = ""

    def read(self, process: t.Any) -> None:
        self.began = self.stopped = True
        # Aside, or a command that complains at length would wait for a reader.
        aside = threading.Thread(target=self._listen, args=(process.stderr,), daemon=True)
        aside.start()
        output = io.BufferedReader(process.stdout.raw, 1024 * 1024)
        try:
            self.stopped = _hand_on(output, self._take)
        finally:
            # The pipe is the caller's, who closes it.
            output.detach()
            if self.stopped:
                process.kill()
            aside.join()

    def _listen(self, pipe: t.BinaryIO) -> None:
        self.said = pipe.read(64 * 1024).decode("utf-8", "replace")
        while pipe.read(64 * 1024):
            pass


def stream_of(run_command: t.Callable[..., tuple[int, str, str]]) -> Stream:
    """How to read a long output with *run_command*: held only where it is no module's own, as in tests."""
    module = getattr(run_command, "__self__", None)
    return streamed(run_command) if hasattr(module, "exit_json") else buffered(run_command)


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
