# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Runs a command and hands its output on as it comes, so that none of it has to be held."""

from __future__ import annotations

import threading
import typing as t

# Takes the next lines, each without its end; true says that no more of them are wanted.
TakeLines = t.Callable[[t.Sequence[str]], t.Optional[bool]]
# Runs the words with these additions to the environment; gives the exit status (0 where it was ended early) and what was
# said on standard error.
Stream = t.Callable[[t.Sequence[str], t.Mapping[str, str], TakeLines], "tuple[int, str]"]

# What a pipe holds: to read it line by line would take longer than to understand most of them.
_CHUNK = 64 * 1024
# What of a line is handed on: a row of the journal with the longest line that journald makes by itself needs a quarter of it.
LONGEST_OUTPUT_LINE = 8 * 1024 * 1024


def streamed(run_command: t.Callable[..., tuple[int, str, str]]) -> Stream:
    """Read the output while *run_command*, a module's own, waits for the command; at most
    :data:`LONGEST_OUTPUT_LINE` bytes of each line.
    """

    def stream(argv: t.Sequence[str], environ: t.Mapping[str, str], take: TakeLines) -> tuple[int, str]:
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
            reading.stopped = bool(take(out.split("\n")))
        return 0 if reading.stopped else status, reading.said + said

    return stream


class _Reading:
    """Takes a process's lines, and what it says on standard error, before anybody else reads them."""

    def __init__(self, take: TakeLines) -> None:
        self._take = take
        self.began = self.stopped = False
        self.said = ""

    def read(self, process: t.Any) -> None:
        self.began = self.stopped = True
        # Aside, or a command that complains at length would wait for a reader.
        aside = threading.Thread(target=self._listen, args=(process.stderr,), daemon=True)
        aside.start()
        try:
            self.stopped = _hand_on(process.stdout, self._take)
        finally:
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

    def stream(argv: t.Sequence[str], environ: t.Mapping[str, str], take: TakeLines) -> tuple[int, str]:
        status, out, said = run_command(list(argv), environ_update=dict(environ))
        # Not splitlines(): a message may hold other characters that Python takes for line ends.
        return (0 if take(out.split("\n")) else status), said

    return stream


def _hand_on(output: t.Any, take: TakeLines) -> bool:
    """Whether *take* wanted no more before the output was over."""
    begun = bytearray()
    while True:
        chunk = output.read1(_CHUNK)
        whole, end, rest = chunk.rpartition(b"\n")
        if end:
            first, between, others = (begun + whole).partition(b"\n")
            begun.clear()
            lines = first[:LONGEST_OUTPUT_LINE] + between + others
            if take(lines.decode("utf-8", "surrogateescape").split("\n")):
                return True
        if len(begun) < LONGEST_OUTPUT_LINE:
            begun += rest
        if not chunk:
            last = begun[:LONGEST_OUTPUT_LINE].decode("utf-8", "surrogateescape")
            return bool(last) and bool(take([last]))
