# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP/1.1 on asyncio: requests in, uvicorn's headers and access lines out, faults on the wire."""

from __future__ import annotations

import asyncio
import email.utils
import json
from http import HTTPStatus
from urllib.parse import parse_qs, unquote, urlsplit

from sglang import log_lines


class ClientGone(ConnectionError):
    """The client closed its connection before the answer was complete."""


class Exchange:
    """One request and the means to answer it."""

    def __init__(self, server, reader, writer, method, target, headers, body):
        self.server, self.reader, self.writer = server, reader, writer
        self.method, self.target, self.headers, self.body = method, target, headers, body
        parts = urlsplit(target)
        self.path, self.query = unquote(parts.path), parse_qs(parts.query)
        self.close = headers.get("connection", "").lower() == "close"
        self.answered = False
        self.streaming = False
        self.drip = self.drip_headers = 0.0
        # Sequences that are generated for this exchange; they are aborted when the client leaves.
        self.sequences = []
        peer = writer.get_extra_info("peername") or ("127.0.0.1", 0)
        self.client = "%s:%d" % (peer[0], peer[1])

    @property
    def client_gone(self):
        return self.reader.at_eof() or self.writer.is_closing()

    def _head(self, status, headers):
        self.answered = True
        key = (self.method, self.path, status)
        self.server.answered[key] = self.server.answered.get(key, 0) + 1
        phrase = HTTPStatus(status).phrase
        if self.server.log_access(self.path):
            log_lines.access(self.client, self.method, self.target, status, phrase)
        lines = ["HTTP/1.1 %d %s" % (status, phrase)]
        lines += ["date: " + email.utils.formatdate(usegmt=True), "server: uvicorn"]
        lines += ["%s: %s" % pair for pair in headers]
        if self.server.extra_header and status != 401:
            lines.append(self.server.extra_header)
        if self.close or self.server.closing:
            lines.append("connection: close")
            self.close = True
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    async def _send(self, data, interval=0.0):
        if interval:
            for position in range(len(data)):
                self.writer.write(data[position : position + 1])
                await self.writer.drain()
                await asyncio.sleep(interval)
                if self.client_gone:
                    raise ClientGone()
            return
        self.writer.write(data)
        await self.writer.drain()

    async def reply(self, status, body=b"", content_type=None, headers=()):
        """A whole answer."""
        if isinstance(body, str):
            body = body.encode("utf-8")
        fields = list(headers) + [("content-length", str(len(body)))]
        if content_type:
            fields.append(("content-type", content_type))
        head = self._head(status, fields)
        if self.drip or self.drip_headers:
            await self._send(head, self.drip_headers)
            await self._send(body, self.drip)
        else:
            await self._send(head + body)

    async def reply_chunked(self, status, body, content_type):
        """A whole answer without a length, as SGLang's mounted applications give it."""
        head = self._head(status, [("content-type", content_type)])[:-2] + b"transfer-encoding: chunked\r\n\r\n"
        data = body.encode("utf-8")
        await self._send(head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data))

    async def json(self, status, value, headers=()):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        await self.reply(status, text, "application/json", headers)

    async def start_stream(self):
        """Begin a server-sent event stream."""
        fields = [("content-type", "text/event-stream; charset=utf-8")]
        self.streaming = True
        head = self._head(200, fields)
        # uvicorn appends this one itself, last.
        head = head[:-2] + b"transfer-encoding: chunked\r\n\r\n"
        await self._send(head, self.drip_headers)

    async def event(self, value):
        """One `data:` event; a str goes out as it is."""
        if self.client_gone:
            raise ClientGone()
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        data = ("data: %s\n\n" % text).encode("utf-8", "surrogatepass")
        await self._send(b"%x\r\n%s\r\n" % (len(data), data), self.drip)

    async def end_stream(self):
        await self._send(b"0\r\n\r\n")

    def reset(self):
        """Drop the connection without an answer (RST, not FIN)."""
        self.close = True
        self.writer.transport.abort()


class HttpServer:
    """Accepts connections and hands each request to `handler(exchange)`."""

    def __init__(self, handler, excluded_prefixes=(), extra_header=""):
        self.handler = handler
        self.excluded = tuple(excluded_prefixes or ())
        self.extra_header = extra_header
        self.closing = False
        self.listener = None
        self.connections = {}
        self.answered = {}

    def log_access(self, path):
        return not (self.excluded and path.startswith(self.excluded))

    async def listen(self, host, port, tls=None):
        """Bind; raises OSError when the address is taken."""
        self.listener = await asyncio.start_server(
            self._connection, host, port, ssl=tls, limit=2**26, backlog=2048, reuse_address=True
        )

    def stop_listening(self):
        """Close the listener and idle connections; busy ones end with their answer."""
        self.closing = True
        if self.listener is not None:
            self.listener.close()
        for writer, busy in list(self.connections.items()):
            if not busy:
                writer.close()

    async def _connection(self, reader, writer):
        self.connections[writer] = False
        try:
            while not self.closing:
                if not await self._one(reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, ValueError, asyncio.LimitOverrunError):
            pass
        finally:
            self.connections.pop(writer, None)
            writer.close()

    async def _one(self, reader, writer):
        """Read one request and answer it; False when the connection ends."""
        try:
            # uvicorn closes a connection that stays idle for 5 s.
            line = await asyncio.wait_for(reader.readline(), 5.0)
        except asyncio.TimeoutError:
            return False
        if not line:
            return False
        words = line.decode("latin-1").split()
        if len(words) != 3 or not words[2].startswith("HTTP/"):
            writer.write(
                b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n"
                b"connection: close\r\n\r\nInvalid HTTP request received."
            )
            log_lines.uvicorn("Invalid HTTP request received.", "WARNING")
            return False
        headers = {}
        while True:
            line = (await reader.readline()).decode("latin-1").rstrip("\r\n")
            if not line:
                break
            name, _dummy, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        self.connections[writer] = True
        if headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await self._body(reader, headers)
        exchange = Exchange(self, reader, writer, words[0], words[1], headers, body)
        if words[2] == "HTTP/1.0":
            exchange.close = True
        try:
            await self.handler(exchange)
        except ClientGone:
            return False
        except ConnectionError:
            return False
        self.connections[writer] = False
        return not exchange.close

    @staticmethod
    async def _body(reader, headers):
        if headers.get("transfer-encoding", "").lower() == "chunked":
            parts = []
            while True:
                size = int((await reader.readline()).split(b";")[0], 16)
                parts.append(await reader.readexactly(size))
                await reader.readline()
                if not size:
                    return b"".join(parts)
        length = int(headers.get("content-length") or 0)
        return await reader.readexactly(length) if length else b""
