# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Rows as journalctl prints them, turned into the lines that the program wrote."""

from __future__ import annotations

import json
import re
import typing as t

# Lines whose rest may still come, at a time: processes that ended left what they had begun.
MOST_OPEN = 64
# A line longer than this is handed on in pieces: no log line that matters is, and memory stays bounded.
LONGEST_LINE = 1024 * 1024

_ANSI = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_FIELD_NAME = re.compile(r"[A-Z0-9_]+")
_BREAKS = re.compile(r"[\r\n]+")


class Line(t.NamedTuple):
    """One line of a program, whole and clean: no colours, no control characters, valid text."""

    text: str
    timestamp_us: int = 0
    source: str = "service"
    cursor: str = ""
    # Of the host's own clock, which nobody sets; it begins anew with each boot.
    monotonic_us: int = 0
    pid: str = ""


class RowParser:
    """Puts rows together from the lines of ``journalctl -o export``, which costs half of what JSON does.

    A field is ``NAME=text``, or where its bytes are no printable text a line with the name, eight bytes with their number
    (little endian) and the bytes; an empty line ends the row. A line that is a row in JSON is taken, too.

    :arg take: takes each row; its answer is that of :meth:`feed`.
    :arg longest: as much as there is of a line that was too long. Its row is handed on without what it says.
    """

    def __init__(self, take: t.Callable[[dict[str, t.Any]], t.Optional[bool]], longest: int) -> None:
        self._take, self._longest = take, longest
        self._row: dict[str, t.Any] = {}
        self._name = ""
        self._bytes: t.Optional[bytearray] = None
        self._lost = False

    def feed(self, lines: t.Iterable[str]) -> bool:
        """Take more lines, each without its end."""
        longest = self._longest
        for line in lines:
            name, is_text, value = line.partition("=")
            if is_text and self._bytes is None and not self._lost and len(line) < longest and line[0] != "{":
                if name in self._row:
                    self._add(name, value)
                else:
                    self._row[name] = value
            elif self._feed_other(line):
                return True
        return False

    def _feed_other(self, line: str) -> t.Optional[bool]:
        if self._bytes is not None:
            return self._feed_bytes(line)
        if self._lost:
            # Where the bytes of a field cannot be counted, the next row is where one begins.
            if not line.startswith("__CURSOR="):
                return None
            self._lost = False
            return self.feed([line])
        if not line:
            row, self._row = self._row, {}
            return self._take(row) if row else None
        if line[0] == "{" and not self._row:
            return self._take(_json_row(line))
        if "=" in line:
            self._row[line.partition("=")[0]] = None
        elif _FIELD_NAME.fullmatch(line):
            self._name, self._bytes = line, bytearray()
        return None

    def _feed_bytes(self, line: str) -> t.Optional[bool]:
        raw = t.cast("bytearray", self._bytes)
        raw += line.encode("utf-8", "surrogateescape")
        size = int.from_bytes(raw[:8], "little") if len(raw) >= 8 else 0
        if size >= self._longest:
            self._row, self._bytes, self._lost = {}, None, True
            return self._take({"MESSAGE": None})
        if len(raw) < 8 + size:
            raw += b"\n"
            return None
        self._add(self._name, bytes(raw[8 : 8 + size]))
        self._bytes = None
        return None

    def _add(self, name: str, value: t.Any) -> None:
        """A field may be there a thousand times: one list, and not one in the other."""
        known = self._row.get(name)
        if name not in self._row:
            self._row[name] = value
        elif isinstance(known, list):
            known.append(value)
        else:
            self._row[name] = [known, value]


def _json_row(text: str) -> dict[str, t.Any]:
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        return {"MESSAGE": None}


def number(row: dict[str, t.Any], field: str, default: int = 0) -> int:
    """*field* of *row* as a number; *default* where it is absent or something else."""
    try:
        return int(row[field])
    except (KeyError, TypeError, ValueError, OverflowError):
        return default


def message_bytes(value: t.Any) -> t.Optional[bytes]:
    """The bytes of a MESSAGE, whichever way journalctl printed it; ``None`` where the text was withheld.

    A text is a string, text with control characters or invalid UTF-8 bytes (in JSON a list of numbers), a field that was written more
    than once a list of those, and a value that journalctl finds too long (without ``--all``) null.
    """
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        try:
            return value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return value.encode("utf-8", "replace")
    if not isinstance(value, list):
        return None
    if all(isinstance(item, int) and not isinstance(item, bool) for item in value):
        try:
            return bytes(value)
        except ValueError:
            return None
    # No field is a list of lists of lists.
    flat = [item for item in value if not (isinstance(item, list) and any(isinstance(one, list) for one in item))]
    parts = [part for part in map(message_bytes, flat) if part is not None]
    return b"\n".join(parts) if parts else None


def clean_text(text: str) -> str:
    """*text* without colours and control characters (tabs stay), and printable as UTF-8."""
    if "\x1b" in text or "\x9b" in text:
        text = _ANSI.sub("", text)
    text = _CONTROL.sub("", text)
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def split_lines(raw: bytes) -> list[str]:
    """The lines in *raw*: a progress bar's carriage returns end a line as line feeds do."""
    pieces = [clean_text(piece) for piece in _BREAKS.split(raw.decode("utf-8", "replace"))]
    return [piece for piece in pieces if piece] or [""]


class LineAssembler:
    """Puts together again what journald had to split, for each process of each stream on its own.

    journald splits at LineMax, and where another process that has the same output (a rank of a server, say) writes before
    the line is over. Feed it rows in their order; a line comes out when its last piece is in. :attr:`withheld` counts rows
    without text.
    """

    def __init__(self, source: str = "service") -> None:
        self.source = source
        self.withheld = 0
        self._open: dict[tuple[str, str], tuple[dict[str, t.Any], list[bytes], int]] = {}

    def feed(self, row: dict[str, t.Any]) -> list[Line]:
        """The lines that *row* completes."""
        if "MESSAGE" not in row:
            return []
        message = row["MESSAGE"]
        if not self._open and isinstance(message, str) and message.isprintable() and "_LINE_BREAK" not in row:
            # As nearly all rows are: one line, and nothing to clean.
            return [_line(message, row, self.source)]
        raw = message_bytes(message)
        if raw is None:
            self.withheld += 1
            return []
        # As texts, since a journal from elsewhere may hold a list.
        writer = (str(row.get("_STREAM_ID")), str(row.get("_PID")))
        first, parts, size = self._open.pop(writer, (row, [], 0))
        parts.append(raw)
        size += len(raw)
        if row.get("_LINE_BREAK") in ("line-max", "pid-change") and size < LONGEST_LINE:
            self._open[writer] = (first, parts, size)
            return [] if len(self._open) <= MOST_OPEN else self._lines(*self._open.pop(next(iter(self._open)))[:2])
        return self._lines(first, parts)

    def flush(self) -> list[Line]:
        """The lines whose last piece never came."""
        left = [line for first, parts, dummy in self._open.values() for line in self._lines(first, parts)]
        self._open.clear()
        return left

    def _lines(self, row: dict[str, t.Any], parts: list[bytes]) -> list[Line]:
        return [_line(text, row, self.source) for text in split_lines(b"".join(parts))]


def _line(text: str, row: dict[str, t.Any], source: str) -> Line:
    try:
        # What journalctl prints of each row, unlike what others wrote into one.
        stamp, monotonic = int(row["__REALTIME_TIMESTAMP"]), int(row["__MONOTONIC_TIMESTAMP"])
        return Line(text, stamp, source, str(row["__CURSOR"] or ""), monotonic, str(row["_PID"] or ""))
    except (KeyError, TypeError, ValueError, OverflowError):
        cursor, pid = row.get("__CURSOR"), row.get("_PID")
        stamp, monotonic = number(row, "__REALTIME_TIMESTAMP"), number(row, "__MONOTONIC_TIMESTAMP")
        return Line(text, stamp, source, str(cursor or ""), monotonic, str(pid or ""))
