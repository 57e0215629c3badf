# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What journalctl prints of rows that any process may have written, and what it prints of its files."""

from __future__ import annotations

import json

import pytest
from hostile import (
    ANY_BYTES,
    ANY_TEXT,
    CUTS,
    JSON_JUNK,
    SCALARS,
    as_read,
    assert_linear,
    fuzz,
    json_text,
    json_values,
    made_of,
    pieces_of,
)
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils._command_stream import _hand_on
from ansible_collections.llmops.sglang.plugins.module_utils._journal_gaps import place_of
from ansible_collections.llmops.sglang.plugins.module_utils._journal_numbers import _are_counted
from ansible_collections.llmops.sglang.plugins.module_utils._journal_rows import (
    Line,
    LineAssembler,
    RowParser,
    clean_text,
    message_bytes,
    number,
    split_lines,
)
from ansible_collections.llmops.sglang.plugins.module_utils._journal_traceback import Tracebacks
from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import CommandRunner, Journal
from ansible_collections.llmops.sglang.plugins.module_utils._log_text import TRACEBACK

FIELDS = ("MESSAGE", "MESSAGE_ID", "_PID", "_STREAM_ID", "_LINE_BREAK", "__CURSOR", "__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP",
          "_SYSTEMD_UNIT", "UNIT", "INVOCATION_ID", "_BOOT_ID", "JOB_RESULT")  # fmt: skip


EXPORT = made_of(
    *FIELDS, "=", "\n", "\n\n", "\0", "\x04\0\0\0\0\0\0\0", "\xff\xff\xff\xff\xff\xff\xff\xff", "MESSAGE\n", "MESSAGE=a\n", "__CURSOR=s=a;i=1;b=b;m=1\n",
    "-- No entries --\n", "{", '{"MESSAGE":"x"}\n', '{"MESSAGE":[1,2,256]}\n', '{"__REALTIME_TIMESTAMP":Infinity,"MESSAGE":"x"}\n',
    "line-max", "pid-change",
).map(as_read)  # fmt: skip
OUTPUT = EXPORT | ANY_TEXT.map(as_read)
ROWS = st.lists(
    st.dictionaries(
        st.sampled_from(FIELDS),
        SCALARS | ANY_BYTES | st.sampled_from(["line-max", "pid-change", "1", "2"]) | st.lists(SCALARS, max_size=3),
        max_size=7,
    ),
    max_size=8,
)


def rows_of(text, longest=1000):
    found = []
    RowParser(found.append, longest).feed(line[:longest] for line in text.split("\n"))
    return found


def lines_of(rows):
    assembler = LineAssembler()
    return [line for row in rows for line in assembler.feed(row)] + assembler.flush()


def assert_clean(line):
    assert isinstance(line, Line)
    line.text.encode("utf-8")
    assert not any(ord(c) < 32 and c not in "\t" or 0x7F <= ord(c) < 0xA0 for c in line.text)
    assert isinstance(line.timestamp_us, int) and isinstance(line.monotonic_us, int)
    assert isinstance(line.cursor, str) and isinstance(line.pid, str)


@fuzz(OUTPUT, st.integers(2, 200))
def test_any_output_becomes_clean_lines(output, longest):
    for line in lines_of(rows_of(output, longest)):
        assert_clean(line)


@fuzz(EXPORT, CUTS)
def test_lines_do_not_depend_on_when_they_came(output, cuts):
    whole, found = rows_of(output), []
    parser = RowParser(found.append, 1000)
    for piece in pieces_of(output.split("\n"), cuts):
        parser.feed([line[:1000] for line in piece])
    assert found == whole


class Pipe:
    """Gives pieces of an output as they come."""

    def __init__(self, pieces):
        self._pieces = list(pieces)

    def read1(self, dummy_most):
        return self._pieces.pop(0) if self._pieces else b""


@fuzz(
    st.binary(max_size=300)
    | st.lists(st.sampled_from([b"a", b"\n", b"\n\n", b"\xc3", b"\xa9", b"\xe2\x80\xa8", b"\r"]), max_size=40).map(
        b"".join
    ),
    CUTS,
)
def test_an_output_is_cut_at_its_line_ends_alone(data, cuts):
    taken = []
    assert _hand_on(Pipe(pieces_of(data, cuts)), taken.extend) is False
    wanted = data.decode("utf-8", "surrogateescape").split("\n")
    assert taken == (wanted if wanted[-1] else wanted[:-1])


@fuzz(ROWS)
def test_rows_of_any_types_become_clean_lines(rows):
    for line in lines_of(rows):
        assert_clean(line)
    for row in rows:
        assert isinstance(number(row, "__MONOTONIC_TIMESTAMP"), int)


@fuzz(json_values(*FIELDS).map(json_text) | JSON_JUNK)
def test_rows_in_json_become_clean_lines(text):
    text = as_read(text)
    row = text if text.startswith("{") else '{"MESSAGE":' + text + "}"
    for line in lines_of(rows_of(row + "\n\n__CURSOR=a\n\n", 10**7)):
        assert_clean(line)


@fuzz(st.lists(ANY_BYTES, min_size=1, max_size=4), st.sampled_from([1, 2, 2, 40, 40, 400]))
def test_a_field_that_is_there_many_times_is_one_message(values, times):
    """A process may write a thousand of them."""
    output = (
        "".join(
            f"MESSAGE={clean_text(value.decode('utf-8', 'replace'))}\n".replace("\n", " ").strip() + "\n"
            for value in values
        )
        * times
    )
    (line, *others) = lines_of(rows_of(output + "\n", 10**6)) or [None]
    assert line is not None and all(isinstance(one, Line) for one in others)


@fuzz(st.recursive(SCALARS | ANY_BYTES, lambda inner: st.lists(inner, max_size=4), max_leaves=12))
def test_messages_of_any_type_are_bytes_or_withheld(value):
    raw = message_bytes(value)
    assert raw is None or isinstance(raw, bytes)
    if isinstance(value, (bytes, str)):
        assert raw is not None
    for text in split_lines(raw or b""):
        assert text == clean_text(text)


@fuzz(ROWS, st.sampled_from(["system", "user"]))
def test_nothing_is_told_of_a_unit_by_rows_that_the_manager_did_not_write(rows, scope):
    journal = Journal(CommandRunner(lambda argv, environ_update: (0, "", ""), scope))
    for row in rows:
        unit, invocation = journal.about(row)
        assert isinstance(unit, str) and isinstance(invocation, str)
        if row.get("_SYSTEMD_UNIT" if scope == "system" else "_SYSTEMD_USER_UNIT") == "evil.service":
            assert (unit, invocation) == ("", "")
        assert isinstance(journal.is_start(row), bool) and isinstance(journal.is_begin(row), bool)
        assert isinstance(journal.unit_of(row), str)


@fuzz(EXPORT | JSON_JUNK.map(as_read), ANY_TEXT.map(as_read))
def test_what_journalctl_prints_is_read_whatever_it_is(output, said):
    journal = Journal(CommandRunner(lambda argv, environ_update: (1, output, said)))
    rows, complaint = journal.rows([])
    assert all(isinstance(row, dict) for row in rows)
    complaint.encode("utf-8")
    assert journal.first([])[0] == (rows[0] if rows else {})
    assert isinstance(journal.previous_invocation("a.service", "b"), str)
    assert all(isinstance(one, int) for one in journal.times_before([], "c", 10, 5))
    journal.begins_after(5, "b"), journal.words_of("_UID"), journal.first_cursor([])


HEADER = made_of(
    "File ID: a\n", "File ID: b\n", "Machine ID: m\n", "Sequential number ID: aa\n", "Head sequential number: 1 (a)\n", "Tail sequential number: 9 (9)\n",
    "Entry objects: 9\n", "Entry objects: ²\n", "Head sequential number: " + "9" * 5000 + "\n", "file id: ", "٣", "-1", "\n", "x",
)  # fmt: skip


@fuzz(HEADER | ANY_TEXT)
def test_headers_by_strangers_prove_nothing(text):
    """Files without what is asked for are not whole."""
    start = place_of("s=aa;i=1;b=b;m=1")
    counted = _are_counted(text, start, start)
    assert counted is False or ("Machine ID" in text and "Sequential number ID" in text and "Entry objects" in text)


@fuzz(
    st.builds("s={};i={};b={};m={};t=1;x=2".format, *[st.text(st.sampled_from("0af9gA²-"), max_size=5)] * 4) | ANY_TEXT
)
def test_cursors_by_strangers_are_places_or_none(cursor):
    place = place_of(cursor)
    if place is not None:
        assert cursor.startswith(f"s={place.file};i=") and place.number >= 0 and place.monotonic_us >= 0


TRACED = st.lists(
    st.builds(
        Line,
        st.sampled_from([TRACEBACK, f"[2026-05-30 08:20:46] {TRACEBACK}", '  File "a"', "    x()", "ValueError: a", "", "[rank0]: x", "plain",
                         "The above exception was the direct cause of the following exception:", "[2026-05-30 08:20:46] own"]) | ANY_TEXT,
        source=st.sampled_from(["service", "service", "manager"]),
        pid=st.sampled_from(["1", "2", ""]),
    ),
    max_size=20,
)  # fmt: skip


@fuzz(TRACED, CUTS)
def test_tracebacks_do_not_depend_on_when_their_lines_came(lines, cuts):
    whole = Tracebacks().among(lines)
    tracebacks, found, begin = Tracebacks(), {}, 0
    for piece in pieces_of(lines, cuts):
        found.update({begin + place: block for place, block in tracebacks.among(piece).items()})
        begin += len(piece)
    assert {place: list(block.lines) for place, block in found.items()} == {
        place: list(block.lines) for place, block in whole.items()
    }
    assert all(lines[place].source == "service" for place in whole)


def as_rows(text):
    return lines_of(rows_of(text, 8 * 1024 * 1024))


READERS = {
    "rows": as_rows,
    "message": lambda text: lines_of([{"MESSAGE": text}]),
    "bytes": lambda text: split_lines(text.encode()),
    "json": lambda text: as_rows('{"MESSAGE":"' + text),
    "header": lambda text: _are_counted(text, place_of("s=aa;i=1;b=b;m=1"), place_of("s=aa;i=1;b=b;m=1")),
    "tracebacks": lambda text: Tracebacks().among([Line(one, pid="1") for one in text.split("\n")]),
    "cursor": place_of,
    "pieces of a line": lambda text: lines_of(
        [{"MESSAGE": text[i : i + 9], "_LINE_BREAK": "line-max"} for i in range(0, len(text), 9)]
    ),
}
REPEATED = ["a", "\n", "MESSAGE=a\n", "MESSAGE\n", "MESSAGE\n\x01\0\0\0\0\0\0\0a\n", "MESSAGE=a\n\n", "\0", "\x1b[", "\x1b]", "\x1b]a",
            "\x9b1;", "{", "[", "\\", "é",
            "\r", "\r\n", "__CURSOR=a\n", "File ID: a\n", TRACEBACK + "\n", "  a\n", "s=a;i=1;", "Entry objects: 1\n",
            "MESSAGE\n\xff\xff\xff\x00\0\0\0\0\n"]  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
def test_time_grows_with_the_length(reader):
    for piece in REPEATED:
        assert_linear(READERS[reader], "", piece)


def test_a_long_field_of_bytes_is_read_in_time():
    for piece in ("\n", "a\n", "\0"):
        assert_linear(
            lambda text: as_rows("MESSAGE\n" + len(text.encode()).to_bytes(8, "little").decode("latin-1") + text),
            "",
            piece,
        )


def test_a_process_may_write_a_field_a_thousand_times():
    assert [line.text for line in lines_of(rows_of("MESSAGE=a\n" * 3000 + "\n"))] == ["a"] * 3000


def test_an_endless_row_in_json_is_one_that_says_nothing():
    assert json.dumps(rows_of('{"a":' * 100_000, 10**7)) == '[{"MESSAGE": null}]'
