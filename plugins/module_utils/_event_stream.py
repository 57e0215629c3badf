# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Take an HTTP/1.1 response and a stream of server-sent events apart, whatever pieces the bytes arrive in."""

from __future__ import annotations

import re
import typing as t

# A head or an event larger than this is no answer of a language model server.
_LARGEST_HEAD = 65536
_LARGEST_EVENT = 16 * 1024 * 1024
# int() takes signs, underscores and digits of other scripts, too.
_STATUS = re.compile("[0-9]{3}")
_LENGTH = re.compile("[0-9]{1,18}")
_CHUNK_SIZE = re.compile(b"[0-9A-Fa-f]{1,15}")


class BadResponse(ValueError):
    """The bytes are not an HTTP response, or a response that ended before it was whole."""


class ResponseReader:
    """One response: feed it bytes as they come, get the body's bytes that they hold.

    ``status`` and ``headers`` (lower-case names) are set once the head is whole, ``complete`` once the body is.
    """

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.complete = False
        self._buffer = bytearray()
        # Bytes still missing of the body or of the current chunk; None while the head is not whole or the end is EOF.
        self._missing: t.Optional[int] = None
        self._state = "head"
        self._version = ""

    @property
    def keep_alive(self) -> bool:
        """Whether the connection may carry another request."""
        words = {word.strip().lower() for word in self.headers.get("connection", "").split(",")}
        wanted = "keep-alive" in words if self._version == "HTTP/1.0" else "close" not in words
        return self.complete and self._state == "done" and wanted

    def feed(self, data: bytes) -> bytes:
        """The body bytes that became known with *data*.

        :raises BadResponse: if this is no HTTP/1.1 response.
        """
        self._buffer += data
        body = bytearray()
        while not self.complete and self._step(body):
            pass
        return bytes(body)

    def eof(self) -> None:
        """Tell that the server closed the connection.

        :raises BadResponse: if the response was not whole.
        """
        if self._state == "until_eof":
            self.complete = True
        elif not self.complete:
            raise BadResponse("the connection ended before the answer did")

    def _step(self, body: bytearray) -> bool:
        """Consume what can be consumed; false when more bytes are needed."""
        if self._state == "head":
            return self._read_head()
        if self._state == "until_eof":
            body += self._take(len(self._buffer))
            return False
        if self._state == "chunk_size":
            return self._read_chunk_size()
        if self._state == "trailer":
            return self._read_trailer()
        piece = self._take(min(len(self._buffer), self._missing or 0))
        body += piece
        self._missing = (self._missing or 0) - len(piece)
        if self._missing:
            return False
        if self._state == "length":
            self._finish()
            return True
        if len(self._buffer) < 2:
            return False
        if self._take(2) != b"\r\n":
            raise BadResponse("a chunk of the answer does not end where it says")
        self._state = "chunk_size"
        return True

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > _LARGEST_HEAD:
                raise BadResponse("the head of the answer is too large")
            if self._buffer and not b"HTTP/".startswith(bytes(self._buffer[:5])):
                raise BadResponse("what answers there does not speak HTTP")
            return False
        lines = self._take(end + 4).decode("latin-1").split("\r\n")
        words = lines[0].split(" ", 2)
        if not words[0].startswith("HTTP/1.") or len(words) < 2 or not _STATUS.fullmatch(words[1]):
            raise BadResponse("what answers there does not speak HTTP/1.1")
        self._version, self.status = words[0], int(words[1])
        if 100 <= self.status < 200:
            return True
        self.headers = {}
        for line in lines[1:]:
            key, sep, value = line.partition(":")
            if sep:
                name, value = key.strip().lower(), value.strip()
                # A length given twice stays no number; a list may stand on several lines.
                self.headers[name] = f"{self.headers[name]}, {value}" if name in self.headers else value
        self._choose_framing()
        return True

    def _choose_framing(self) -> None:
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            self._state = "chunk_size"
        elif self.status in (204, 304):
            self._finish()
        elif "content-length" in self.headers:
            if not _LENGTH.fullmatch(self.headers["content-length"]):
                raise BadResponse("the length of the answer is not a number")
            self._missing, self._state = int(self.headers["content-length"]), "length"
        else:
            self._state = "until_eof"

    def _read_chunk_size(self) -> bool:
        line = self._take_line()
        if line is None:
            return False
        digits = line.split(b";", 1)[0].strip()
        if not _CHUNK_SIZE.fullmatch(digits):
            raise BadResponse("a chunk of the answer has no size")
        size = int(digits, 16)
        self._missing, self._state = (size, "chunk") if size else (None, "trailer")
        return True

    def _read_trailer(self) -> bool:
        line = self._take_line()
        if line is None:
            return False
        if not line:
            self._finish()
        return True

    def _finish(self) -> None:
        self.complete, self._state = True, "done"

    def _take_line(self) -> t.Optional[bytes]:
        end = self._buffer.find(b"\r\n")
        if end < 0:
            if len(self._buffer) > _LARGEST_HEAD:
                raise BadResponse("a line of the answer is too long")
            return None
        return self._take(end + 2)[:-2]

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken


class EventReader:
    """A stream of server-sent events: feed it body bytes, get the data of each event that is whole.

    Lines end with LF or CRLF; comments and fields other than ``data`` are passed over; several data lines are joined.
    """

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        # Of the event that is not whole yet, without the line that is not.
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The data of the events that *data* completes.

        :raises BadResponse: if an event grows beyond all reason.
        """
        events: list[bytes] = []
        *whole, rest = data.split(b"\n")
        if whole:
            whole[0] = bytes(self._line) + whole[0]
            self._line.clear()
        self._line += rest
        for line in whole:
            self._check_size(len(line))
            self._size += len(line)
            line = line[:-1] if line.endswith(b"\r") else line
            if not line:
                self._size = 0
                if self._data:
                    events.append(b"\n".join(self._data))
                    self._data = []
            elif line.startswith(b"data:"):
                value = line[5:]
                self._data.append(value[1:] if value.startswith(b" ") else value)
        self._check_size(len(self._line))
        return events

    def _check_size(self, more: int) -> None:
        if self._size + more > _LARGEST_EVENT:
            raise BadResponse("an event of the stream is too large")
