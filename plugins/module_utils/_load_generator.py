# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Put streamed requests on a server: N at a time, or on a schedule, and note what came when.

Nothing is sent twice: a retry would hide the very failures that make a figure worthless.
"""

from __future__ import annotations

import asyncio
import random
import time
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._event_stream import EventReader
from ansible_collections.llmops.sglang.plugins.module_utils._generation_request import PATHS
from ansible_collections.llmops.sglang.plugins.module_utils._load_connection import Connection, Endpoint, ExchangeError
from ansible_collections.llmops.sglang.plugins.module_utils._request_sample import RequestSample
from ansible_collections.llmops.sglang.plugins.module_utils._stream_answer import StreamAnswer

_LAG_INTERVAL = 0.01


@dataclass
class Load:
    """What a load produced: its samples, and how well the client itself kept up."""

    samples: list[RequestSample] = field(default_factory=list)
    # When a timer of the event loop was due, and when it fired.
    timers: list[tuple[float, float]] = field(default_factory=list)
    wall: float = 0.0
    cpu: float = 0.0
    timed_out: bool = False
    in_flight: int = 0
    max_in_flight: int = 0
    # False where another client timed the requests, each from its own sending, and nothing tells how late it was itself.
    watched: bool = True
    # Seconds from the first sending to the last token, where not the samples tell that.
    span: t.Optional[float] = None

    @property
    def loop_lags(self) -> list[float]:
        """How late each timer fired, in seconds."""
        return [fired - due for due, fired in self.timers]

    @property
    def cpu_share(self) -> float:
        """Share of one core that this process used."""
        return self.cpu / self.wall if self.wall > 0 else 0.0


class LoadGenerator:
    """Sends *bodies* to the route of *api* on *server*.

    :arg timeout: seconds for the whole load; what is not answered then is an error of kind ``timeout``.
    :arg beside: coroutine functions that run beside the load and are cancelled at its end; each gets the :class:`Load`.
    """

    def __init__(
        self,
        server: Endpoint,
        api: str,
        timeout: float,
        beside: t.Sequence[t.Callable[[Load], t.Coroutine[t.Any, t.Any, None]]] = (),
    ) -> None:
        self.server = server
        self.api = api
        self.timeout = timeout
        self.beside = beside
        self.load = Load()
        self._idle: list[Connection] = []

    def closed_loop(self, bodies: t.Sequence[t.Any], streams: int) -> Load:
        """Keep *streams* requests running until all *bodies* are answered; latency counts from the sending."""
        return self._run(lambda: self._closed(bodies, streams))

    def open_loop(self, bodies: t.Sequence[t.Any], offsets: t.Sequence[float]) -> Load:
        """Send each body at its offset in seconds; latency counts from that scheduled time, however late it was sent."""
        return self._run(lambda: self._open(bodies, offsets))

    def _run(self, work: t.Callable[[], t.Coroutine[t.Any, t.Any, None]]) -> Load:
        asyncio.run(self._supervised(work))
        return self.load

    async def _supervised(self, work: t.Callable[[], t.Coroutine[t.Any, t.Any, None]]) -> None:
        side = [asyncio.ensure_future(one(self.load)) for one in (self._watch_loop, *self.beside)]
        started, cpu = time.monotonic(), time.process_time()
        try:
            await asyncio.wait_for(work(), self.timeout)
        except asyncio.TimeoutError:
            self.load.timed_out = True
        finally:
            self.load.wall, self.load.cpu = time.monotonic() - started, time.process_time() - cpu
            await end_all(side)
            for connection in self._idle:
                connection.close()

    async def _closed(self, bodies: t.Sequence[t.Any], streams: int) -> None:
        streams = min(streams, len(bodies))
        # Connections are made first: a handshake in the first round is no part of the server's latency.
        opened = await asyncio.gather(
            *(Connection.open(self.server) for dummy in range(streams)), return_exceptions=True
        )
        self._idle = [one for one in opened if isinstance(one, Connection)]
        todo = iter(enumerate(bodies))

        async def stream() -> None:
            for index, body in todo:
                await self._one(index, body, None)

        await _all_or_none([stream() for dummy in range(streams)])

    async def _open(self, bodies: t.Sequence[t.Any], offsets: t.Sequence[float]) -> None:
        origin = time.monotonic()

        async def arrive(index: int, body: t.Any, due: float) -> None:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            await self._one(index, body, due)

        await _all_or_none([arrive(i, body, origin + offset) for i, (body, offset) in enumerate(zip(bodies, offsets))])

    async def _one(self, index: int, body: t.Any, due: t.Optional[float]) -> None:
        """One request from its sending to its end; every outcome becomes a sample."""
        request = self.server.request("POST", PATHS[self.api], body)
        answer, events, refused = StreamAnswer(self.api), EventReader(), bytearray()
        now = time.monotonic()
        sample = RequestSample(index=index, clock_start=now if due is None else due, sent_at=now)
        self.load.samples.append(sample)
        self.load.in_flight += 1
        self.load.max_in_flight = max(self.load.max_in_flight, self.load.in_flight)

        def take(data: bytes, at: float) -> None:
            if len(refused) < 2000:
                refused.extend(data[:2000])
            for event in events.feed(data):
                answer.feed(event, at)

        connection = None
        try:
            connection = await self._connection()
            if due is None:
                # Nor is a handshake later on, where a server ends its connections.
                sample.clock_start = sample.sent_at = time.monotonic()
            reader = await connection.exchange(request, take)
            sample.status = reader.status
            sample.error, sample.message = _judge(reader.status, reader.headers, bytes(refused), answer)
        except ExchangeError as exc:
            sample.error, sample.message = exc.kind, exc.msg
        except asyncio.CancelledError:
            sample.error, sample.message = "timeout", "not answered within the time of the cell"
            raise
        finally:
            self.load.in_flight -= 1
            sample.ended_at = time.monotonic()
            sample.message = self.server.mask.text(sample.message)[:300]
            _copy(answer, sample)
        if connection is not None and connection.reusable:
            await self._give_back(connection)

    async def _give_back(self, connection: Connection) -> None:
        try:
            await connection.see_whether_it_stays()
        except asyncio.CancelledError:
            connection.close()
            raise
        self._idle.append(connection)

    async def _connection(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.can_carry():
                return connection
            connection.close()
        return await Connection.open(self.server)

    async def _watch_loop(self, load: Load) -> None:
        """How late a timer fires is how late a chunk may have been stamped."""
        while True:
            due = time.monotonic() + _LAG_INTERVAL
            await asyncio.sleep(_LAG_INTERVAL)
            load.timers.append((due, max(due, time.monotonic())))


def arrivals(count: int, rate: float, pattern: str, seed: int) -> list[float]:
    """Offsets in seconds of *count* arrivals at *rate* a second, ``constant`` or ``poisson`` (of a seeded generator)."""
    if pattern == "constant":
        return [index / rate for index in range(count)]
    generator = random.Random(seed)
    at, offsets = 0.0, []
    for dummy in range(count):
        offsets.append(at)
        at += generator.expovariate(rate)
    return offsets


async def _all_or_none(coroutines: t.Sequence[t.Coroutine[t.Any, t.Any, None]]) -> None:
    """Wait for all; when this is cancelled, wait until each has noted its own end."""
    tasks = [asyncio.ensure_future(one) for one in coroutines]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        await end_all(tasks)
        raise


async def end_all(tasks: t.Sequence[asyncio.Future[t.Any]]) -> None:
    """Cancel until each is over: before Python 3.12 wait_for swallows a cancellation that meets its result."""
    pending = {task for task in tasks if not task.done()}
    while pending:
        for task in pending:
            task.cancel()
        dummy, pending = await asyncio.wait(pending, timeout=0.1)
    await asyncio.gather(*tasks, return_exceptions=True)


def _judge(status: int, headers: t.Mapping[str, str], body: bytes, answer: StreamAnswer) -> tuple[str, str]:
    if status != 200:
        return f"http_{status}", f"HTTP {status}: {body[:200].decode('utf-8', 'replace')}"
    if "text/event-stream" not in headers.get("content-type", ""):
        return "bad_answer", f"the answer is no event stream: {body[:200].decode('utf-8', 'replace')}"
    return answer.failure()


def _copy(answer: StreamAnswer, sample: RequestSample) -> None:
    for name in (
        "first_token_at", "first_content_at", "last_token_at", "token_chunks", "prompt_tokens", "completion_tokens",
        "cached_tokens", "finish_reason", "speculation",
    ):  # fmt: skip
        setattr(sample, name, getattr(answer, name))
