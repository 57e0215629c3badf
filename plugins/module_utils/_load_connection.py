# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""One client connection of the load generator: HTTP/1.1 with keep-alive on a plain or a TLS socket.

The bytes are stamped and taken apart in the callback that receives them, so no task switch lies between the socket
and the clock.
"""

from __future__ import annotations

import asyncio
import json
import select
import socket
import ssl
import time
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._endpoint import address_of
from ansible_collections.llmops.sglang.plugins.module_utils._event_stream import BadResponse, ResponseReader
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask, check_api_key

_CONNECT_TIMEOUT = 30.0
# A server may close a connection that idles (uvicorn: after 5 s); one that idled longer than this is not used again.
_MAX_IDLE = 1.0
# A server that closes each connection after its answer does so at once.
_CLOSES_WITHIN = 0.05

BodySink = t.Callable[[bytes, float], None]


class ExchangeError(Exception):
    """A request that got no whole answer: ``kind`` is refused, reset, timeout, tls_error or bad_answer."""

    def __init__(self, kind: str, msg: str) -> None:
        super().__init__(msg)
        self.kind = kind
        self.msg = msg


@dataclass
class Endpoint:
    """A server: where it is, how it is spoken to, and what must not be shown of it."""

    host: str
    port: int
    tls: t.Optional[ssl.SSLContext] = None
    api_key: t.Optional[str] = None
    prefix: str = ""
    mask: Mask = field(default_factory=Mask)
    # Whether its connections outlive an answer, whatever its headers say; None until that was seen.
    keeps_connections: t.Optional[bool] = None

    def request(self, method: str, path: str, payload: t.Any = None) -> bytes:
        """The bytes of one request."""
        body = b"" if payload is None else json.dumps(payload, ensure_ascii=False).encode("utf-8", "replace")
        host = f"[{self.host}]" if ":" in self.host else self.host
        lines = [f"{method} {self.prefix}{path} HTTP/1.1", f"Host: {host}:{self.port}", "Accept-Encoding: identity"]
        if self.api_key:
            lines.append(f"Authorization: Bearer {self.api_key}")
        if method == "POST":
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        return "\r\n".join(lines).encode("utf-8") + b"\r\n\r\n" + body


def endpoint(base_url: str, api_key: t.Optional[str], params: t.Mapping[str, t.Any]) -> Endpoint:
    """The server at *base_url* with the TLS options in *params*.

    :raises Failure: if the URL, the key or a certificate file cannot be used.
    """
    address = address_of(base_url)
    check_api_key(api_key)
    return Endpoint(
        host=address.host,
        port=address.port,
        tls=_tls_context(params) if address.scheme == "https" else None,
        api_key=api_key,
        prefix=address.prefix,
        mask=Mask([api_key]),
    )


def _tls_context(params: t.Mapping[str, t.Any]) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=params.get("ca_path"))
        if params.get("client_cert"):
            context.load_cert_chain(params["client_cert"], params.get("client_key"))
    except (OSError, ssl.SSLError) as exc:
        raise Failure(
            "tls_mismatch",
            f"A certificate file of the options cannot be used: {exc}; check ca_path, client_cert and client_key.",
        ) from exc
    if not params.get("validate_certs", True):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


class Connection(asyncio.Protocol):
    """One connection; one request at a time, never repeated."""

    def __init__(self, server: Endpoint) -> None:
        self.server = server
        self.reusable = False
        self.idle_since = 0.0
        self._transport: t.Any = None
        self._reader = ResponseReader()
        self._sink: t.Optional[BodySink] = None
        self._answered: t.Optional[asyncio.Future[ResponseReader]] = None
        self._ended = asyncio.Event()

    @classmethod
    async def open(cls, server: Endpoint) -> Connection:
        """Connect.

        :raises ExchangeError: if that fails.
        """
        loop = asyncio.get_running_loop()
        name = server.host if server.tls else None
        try:
            dummy, connection = await asyncio.wait_for(
                loop.create_connection(
                    lambda: cls(server), server.host, server.port, ssl=server.tls, server_hostname=name
                ),
                _CONNECT_TIMEOUT,
            )
        except (OSError, asyncio.TimeoutError, EOFError) as exc:
            raise _connect_error(server, exc) from exc
        return connection

    def connection_made(self, transport: t.Any) -> None:
        self._transport = transport
        self.reusable = True
        sock = transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def exchange(self, request: bytes, sink: t.Optional[BodySink] = None) -> ResponseReader:
        """Send *request*; *sink* gets each piece of the body with the time at which it came.

        :returns: the reader with status and headers, its body given to the sink.
        :raises ExchangeError: if no whole answer came.
        """
        self._reader, self._sink = ResponseReader(), sink
        self._answered = asyncio.get_running_loop().create_future()
        if self._transport.is_closing():
            raise ExchangeError("reset", "the server closed the connection")
        self.reusable = False
        self._transport.write(request)
        try:
            reader = await self._answered
        except BaseException:
            self.close()
            raise
        finally:
            self._answered = None
        self.reusable = reader.keep_alive and not self._transport.is_closing()
        self.idle_since = time.monotonic()
        if not self.reusable:
            self.close()
        return reader

    async def see_whether_it_stays(self) -> None:
        """Learn whether the server keeps its connections: some say so and close each after its answer."""
        if self.reusable and self.server.keeps_connections is None:
            try:
                await asyncio.wait_for(self._ended.wait(), _CLOSES_WITHIN)
            except asyncio.TimeoutError:
                self.server.keeps_connections = True

    def can_carry(self) -> bool:
        """Whether another request may be sent here now."""
        if not self.reusable or self._transport.is_closing():
            return False
        if self.idle_since and (
            self.server.keeps_connections is False or time.monotonic() - self.idle_since > _MAX_IDLE
        ):
            return False
        # Nothing was asked, so what can be read is the end of the connection, which the event loop has not told yet.
        ready = select.poll()
        ready.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not ready.poll(0)

    def close(self) -> None:
        """Cut the connection; a server then gives up a request that it still works on."""
        self.reusable = False
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        now = time.monotonic()
        if self._answered is None or self._answered.done():
            self.close()
            return
        try:
            body = self._reader.feed(data)
            if body and self._sink:
                self._sink(body, now)
        except BadResponse as exc:
            self._answered.set_exception(ExchangeError("bad_answer", str(exc)))
            return
        if self._reader.complete:
            self._answered.set_result(self._reader)

    def connection_lost(self, exc: t.Optional[Exception]) -> None:
        if self.reusable and self.idle_since and time.monotonic() - self.idle_since < _MAX_IDLE:
            self.server.keeps_connections = False
        self.reusable = False
        self._ended.set()
        if self._answered is None or self._answered.done():
            return
        try:
            self._reader.eof()
        except BadResponse as bad:
            self._answered.set_exception(ExchangeError("reset", f"{bad}{f' ({exc})' if exc else ''}"))
        else:
            self._answered.set_result(self._reader)


def _connect_error(server: Endpoint, exc: BaseException) -> ExchangeError:
    where = f"{server.host}:{server.port}"
    if isinstance(exc, ssl.SSLCertVerificationError):
        return ExchangeError("tls_error", f"the certificate of {where} is not accepted ({exc.verify_message})")
    if isinstance(exc, ssl.SSLError):
        return ExchangeError("tls_error", f"TLS with {where} failed ({exc.reason})")
    if isinstance(exc, (asyncio.TimeoutError, TimeoutError)):
        return ExchangeError("timeout", f"no connection to {where} within {_CONNECT_TIMEOUT:g} s")
    if isinstance(exc, (ConnectionResetError, BrokenPipeError, EOFError)):
        return ExchangeError("reset", f"{where} cut the connection while it was made")
    return ExchangeError("refused", f"no connection to {where} ({exc})")


async def ask(
    server: Endpoint, method: str, path: str, payload: t.Any = None, timeout: float = 10.0
) -> tuple[int, bytes]:
    """One request on a connection of its own, under a deadline for all of it.

    :returns: status and body.
    :raises ExchangeError: if no whole answer came in time.
    """
    pieces: list[bytes] = []

    async def whole() -> int:
        connection = await Connection.open(server)
        try:
            reader = await connection.exchange(
                server.request(method, path, payload), lambda body, dummy: pieces.append(body)
            )
        finally:
            connection.close()
        return reader.status

    try:
        status = await asyncio.wait_for(whole(), timeout)
    except asyncio.TimeoutError:
        raise ExchangeError("timeout", f"no whole answer to {method} {path} within {timeout:g} s") from None
    return status, b"".join(pieces)
