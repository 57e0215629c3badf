# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Load clients of others that measure a cell: each is run as a command, and its output read into this collection's samples.

Such a client times its requests itself. What it does not tell stays unknown, and what it is known to get wrong is written
into the record as caveats.
"""

from __future__ import annotations

import asyncio
import os
import re
import resource
import shutil
import tempfile
import time
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._load_connection import Endpoint
from ansible_collections.llmops.sglang.plugins.module_utils._load_generator import Load, end_all
from ansible_collections.llmops.sglang.plugins.module_utils._request_sample import RequestSample
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask

RunCommand = t.Callable[..., "tuple[int, str, str]"]
# What the record says where no other client makes the load.
BUILTIN: dict[str, t.Any] = {"name": "builtin", "version": None, "client": None, "caveats": []}
Beside = t.Sequence[t.Callable[[Load], t.Coroutine[t.Any, t.Any, None]]]
# A client loads Python packages, a tokenizer and the prompts before its first request, and writes its result after the last.
_STARTING = 300.0


class Job(t.NamedTuple):
    """What is asked of a client: the prompts of one cell, and how they are sent.

    ``streams`` is ``None`` in an open loop, which then has a ``rate`` and an ``arrival``.
    """

    api: str
    model: t.Optional[str]
    prompts: t.Sequence[str]
    max_tokens: int
    temperature: float
    ignore_eos: bool
    streams: t.Optional[int]
    rate: t.Optional[float]
    arrival: str
    seed: int
    timeout: float


class Engine(t.Protocol):
    """A load client: what it is, and how a cell is measured with it."""

    name: str
    version: t.Optional[str]
    client: str
    caveats: t.Sequence[str]
    # Hides the server's key in what a client repeats of an answer.
    mask: Mask

    def check(self, api: str, load_model: str, arrival: str) -> None:
        """Refuse what the client cannot do.

        :raises Failure: ``bad_request``.
        """

    def command(self, job: Job, directory: str) -> tuple[list[str], dict[str, str]]:
        """The words and the variables of the command for *job*; its files lie in *directory*."""

    def read(self, job: Job, directory: str) -> t.Optional[tuple[list[RequestSample], float]]:
        """Samples, and seconds from the first sending to the end, by what the client left; ``None`` where that is no result.

        Each sample's times count from its own sending.
        """


class EngineRunner:
    """Measures cells with *engine* by *run_command*, a module's own."""

    def __init__(self, engine: Engine, run_command: RunCommand) -> None:
        self.engine = engine
        self._run_command = run_command

    @property
    def described(self) -> dict[str, t.Any]:
        """What the record says of the client."""
        engine = self.engine
        return {
            "name": engine.name,
            "version": engine.version,
            "client": engine.client,
            "caveats": list(engine.caveats),
        }

    def measure(self, job: Job, beside: Beside = ()) -> Load:
        """Put the load of *job* on the server.

        :arg beside: coroutine functions that run meanwhile; each gets the :class:`Load`.
        :raises Failure: ``missing_dependency`` if the client ended without a result.
        """
        # Only this user may look into it: prompts and answers are no secrets, what a server tells of itself may be.
        directory = tempfile.mkdtemp(prefix="llmops-sglang-engine-")
        try:
            return self._measure(job, directory, beside)
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def _measure(self, job: Job, directory: str, beside: Beside) -> Load:
        words, environ = self.engine.command(job, directory)
        words = ["timeout", "-k", "10", str(round(job.timeout + _STARTING)), *words]
        load = Load(watched=False, max_in_flight=job.streams or len(job.prompts))
        cpu, started = _children_cpu(), time.monotonic()
        rc, out, err = _beside(lambda: self._run_command(words, environ_update=environ, check_rc=False), load, beside)
        load.wall, load.cpu = time.monotonic() - started, _children_cpu() - cpu
        found = self.engine.read(job, directory)
        if found is not None:
            load.samples, load.span = found
            load.timed_out = load.span > job.timeout
            # A client may pass a prompt over, or end before it has sent them all.
            for index in range(len(load.samples), len(job.prompts)):
                load.samples.append(_failed(index, "not_sent", "the client did not send this request"))
        elif rc in (124, 137):
            load.timed_out = True
            late = "the client did not end within the time of the cell"
            load.samples = [_failed(index, "timeout", late) for index in range(len(job.prompts))]
        else:
            said = self.engine.mask.text(" ".join((err or out).split()))[-300:] or f"exit status {rc}"
            raise Failure(
                "missing_dependency",
                f"The load client of the engine '{self.engine.name}' ({self.engine.client}) ended with no result: {said}; "
                "mend its environment, or use the engine 'builtin', which needs nothing installed.",
            )
        for sample in load.samples:
            sample.message = self.engine.mask.text(sample.message)[:300]
        return load


def _failed(index: int, kind: str, message: str) -> RequestSample:
    return RequestSample(index, 0.0, 0.0, error=kind, message=message)


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _beside(command: t.Callable[[], tuple[int, str, str]], load: Load, beside: Beside) -> tuple[int, str, str]:
    """Run *command* in a thread while the coroutines run in this one."""

    async def both() -> tuple[int, str, str]:
        tasks = [asyncio.ensure_future(one(load)) for one in beside]
        try:
            return await asyncio.get_running_loop().run_in_executor(None, command)
        finally:
            await end_all(tasks)

    return asyncio.run(both())


def plain_url(server: Endpoint, engine: str) -> str:
    """The URL of *server* for a client that is given no certificates.

    :raises Failure: ``bad_request`` if it speaks TLS.
    """
    if server.tls is not None:
        raise Failure(
            "bad_request",
            f"The engine '{engine}' takes none of this module's TLS options: name an http base_url, or use the engine 'builtin'.",
        )
    host = f"[{server.host}]" if ":" in server.host else server.host
    return f"http://{host}:{server.port}{server.prefix}"


def write_private(directory: str, name: str, text: str) -> str:
    """A new file in *directory* for this user alone; its path."""
    path = os.path.join(directory, name)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as handle:
        handle.write(text)
    return path


def timed_sample(
    index: int, ttft: float, gaps: t.Sequence[tuple[float, t.Optional[int]]], tokens: int, first: t.Optional[int] = None
) -> RequestSample:
    """A sample by the durations that a client tells.

    :arg gaps: seconds from chunk to chunk, each with the tokens that the later one holds (``None`` where not told).
    :arg first: tokens of the first chunk.
    """
    sample = RequestSample(index, 0.0, 0.0, completion_tokens=tokens)
    at, running = ttft, first
    sample.first_token_at = ttft
    sample.token_chunks.append((at, running))
    for gap, size in gaps:
        at += gap
        running = None if running is None or size is None else running + size
        sample.token_chunks.append((at, running))
    sample.last_token_at = sample.ended_at = at
    return sample


_KINDS = (
    ("in_band_error", r"streaming response returned an error"),
    ("no_token", r"no generated tokens|no token|empty response"),
    ("refused", r"refused|cannot connect|connect call failed|connecterror|connection attempts failed"),
    ("timeout", r"timed? ?-?out"),
    ("reset", r"reset|disconnected|stream read failed|incomplete|payload|closed"),
    (
        "http_error",
        r"internal server error|server error|client error|service unavailable|bad request|unauthorized|not found|\b[45]\d\d\b",
    ),
)


def kind_of(error: str) -> str:
    """The kind of a failed request by the words of another client."""
    lowered = error.lower()
    return next((kind for kind, pattern in _KINDS if re.search(pattern, lowered)), "other")
