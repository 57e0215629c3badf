# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of journalctl's JSON, as it prints them on systemd 252."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils._journal_rows import (
    MOST_OPEN,
    LineAssembler,
    RowParser,
    clean_text,
    message_bytes,
    split_lines,
)
from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import CommandRunner, Journal
from ansible_collections.llmops.sglang.tests.unit.journal_host import printed


def texts(*rows):
    assembler = LineAssembler()
    return [line.text for row in rows for line in assembler.feed(row)] + [line.text for line in assembler.flush()]


@pytest.mark.parametrize(
    ("message", "lines"),
    [
        ("plain", ["plain"]),
        ("tab\there é ✓", ["tab\there é ✓"]),
        ("", [""]),
        (list(b"\x1b[1;33mcolour\x1b[0m x"), ["colour x"]),
        (
            list(b"Loading 40%\rLoading 100%\r[t] Initialized X draft runner. a=1"),
            ["Loading 40%", "Loading 100%", "[t] Initialized X draft runner. a=1"],
        ),
        (list(b"bad \xff\xfe bytes"), ["bad \ufffd\ufffd bytes"]),
        (["one", list(b"t\x1b[0mwo")], ["one", "two"]),
        ("lone \ud800 surrogate \udcff", ["lone ? surrogate ?"]),
        ("bell\x07 nul\x00 c1\x85 title\x1b]0;x\x07end", ["bell nul c1 titleend"]),
        ("crlf\r\n", ["crlf"]),
    ],
)
def test_messages(message, lines):
    assert texts({"MESSAGE": message}) == lines


@pytest.mark.parametrize("message", [None, 5, [300], [None], {"a": 1}])
def test_a_message_that_is_withheld(message):
    assembler = LineAssembler()
    assert assembler.feed({"MESSAGE": message}) == []
    assert assembler.withheld == 1


def test_a_row_without_a_message_is_nothing():
    assembler = LineAssembler()
    assert assembler.feed({"PRIORITY": "6"}) == [] and assembler.withheld == 0


def test_split_rows_are_joined_per_stream():
    rows = [
        {"MESSAGE": "aa", "_STREAM_ID": "1", "_LINE_BREAK": "line-max", "__CURSOR": "c1", "__REALTIME_TIMESTAMP": "5"},
        {"MESSAGE": "xx", "_STREAM_ID": "2", "_LINE_BREAK": "line-max"},
        {"MESSAGE": "bb", "_STREAM_ID": "1"},
        {"MESSAGE": "yy", "_STREAM_ID": "2"},
        {"MESSAGE": "nul", "_STREAM_ID": "1", "_LINE_BREAK": "nul"},
        {"MESSAGE": "z", "_STREAM_ID": "1"},
        {"MESSAGE": "cut", "_STREAM_ID": "1", "_LINE_BREAK": "line-max"},
    ]
    assert texts(*rows) == ["aabb", "xxyy", "nul", "z", "cut"]
    assembler = LineAssembler()
    line = [line for row in rows[:3] for line in assembler.feed(row)][0]
    assert (line.cursor, line.timestamp_us) == ("c1", 5)


def test_processes_that_share_an_output_are_told_apart():
    """As journald 252 splits what two processes write to the standard output that they share."""
    parent, child = {"_STREAM_ID": "1", "_PID": "7"}, {"_STREAM_ID": "1", "_PID": "8"}
    rows = [
        {"MESSAGE": "pp", "_LINE_BREAK": "line-max", **parent},
        {"MESSAGE": "child line", **child},
        {"MESSAGE": " parent's end", **parent},
        {"MESSAGE": "begun ", "_LINE_BREAK": "pid-change", **parent},
        {"MESSAGE": "another", **child},
        {"MESSAGE": "and ended", **parent},
    ]
    assert texts(*rows) == ["child line", "pp parent's end", "another", "begun and ended"]
    assembler = LineAssembler()
    assert [line.pid for row in rows for line in assembler.feed(row)] == ["8", "7", "8", "7"]


def test_what_ended_processes_began_is_not_kept_for_ever():
    rows = [{"MESSAGE": f"begun {pid}", "_PID": str(pid), "_LINE_BREAK": "pid-change"} for pid in range(MOST_OPEN + 5)]
    assembler = LineAssembler()
    out = [line.text for row in rows for line in assembler.feed(row)]
    assert out == [f"begun {pid}" for pid in range(5)] and len(assembler.flush()) == MOST_OPEN


def test_a_character_that_was_split_in_two():
    raw = "é".encode()
    rows = [{"MESSAGE": list(b"a" + raw[:1]), "_LINE_BREAK": "line-max"}, {"MESSAGE": list(raw[1:] + b"b")}]
    assert texts(*rows) == ["aéb"]


@given(st.binary(max_size=400), st.lists(st.integers(1, 60), min_size=1, max_size=12))
def test_joining_undoes_splitting(raw, sizes):
    pieces, rest = [], raw
    for size in sizes:
        pieces.append(rest[:size])
        rest = rest[size:]
    pieces.append(rest)
    rows = [{"MESSAGE": list(piece), "_STREAM_ID": "s", "_LINE_BREAK": "line-max"} for piece in pieces]
    del rows[-1]["_LINE_BREAK"]
    assert texts(*rows) == split_lines(raw)


@given(st.text() | st.binary().map(lambda raw: raw.decode("utf-8", "surrogateescape")))
def test_clean_text_is_utf8_without_control_characters(text):
    clean = clean_text(text)
    clean.encode("utf-8")
    assert not any(ord(c) < 32 and c not in "\t\n" or 0x7F <= ord(c) < 0xA0 for c in clean)


def test_rows_survive_what_is_no_row():
    good = json.dumps({"MESSAGE": "line\u2028sep\u0085x"}, ensure_ascii=False)
    out = "-- No entries --\n" + good + "\n{broken\n[1]\n\n"
    journal = Journal(CommandRunner(lambda argv, environ_update: (0, out, "")))
    assert [row["MESSAGE"] for row in journal.rows([])[0]] == ["line\u2028sep\u0085x", None]


def test_bytes_that_ansible_could_not_decode():
    assert message_bytes("a\udcff") == b"a\xff"


def parsed(output, longest=1000):
    found = []
    parser = RowParser(found.append, longest)
    # As the stream cuts them.
    for line in output.split("\n"):
        parser.feed([line[:longest]])
    return found


NAMES = st.from_regex(r"[A-Z_][A-Z0-9_]{0,12}", fullmatch=True)
BYTES = (
    st.text(alphabet="aé =\u2028", min_size=1).map(str.encode)
    | st.binary()
    | st.just(b"\n\n__CURSOR=x\n")
    | st.just(b"A\n=")
)


@given(st.lists(st.dictionaries(NAMES, BYTES, min_size=1, max_size=5), max_size=4))
def test_rows_of_any_bytes_are_read_back(rows):
    output = "".join(printed(row) for row in rows)
    assert parsed(output) == rows


def test_text_and_bytes_and_fields_that_are_there_twice():
    row = {"__CURSOR": "c1", "MESSAGE": "a=b é", "_PID": "7"}
    twice = "MESSAGE=one\nMESSAGE\n\x04\0\0\0\0\0\0\0t\nwo\n\n"
    assert parsed(printed(row) + twice) == [row, {"MESSAGE": ["one", b"t\nwo"]}]
    assert texts(parsed(twice)[0]) == ["one", "t", "wo"]


@pytest.mark.parametrize("value", ["x" * 5000, b"\0" * 5000, b"\n\n" * 3000, b"\n\nMESSAGE=forged\n\n" + b"\0" * 5000])
def test_a_row_that_is_too_long_is_withheld_and_the_next_ones_are_read(value):
    after = {"__CURSOR": "c2", "MESSAGE": "after"}
    found = parsed(printed({"__CURSOR": "c1", "MESSAGE": value, "_PID": "7"}) + printed(after))
    assert [row for row in found if row.get("MESSAGE") is not None] == [after]
    assert len(found) == 2 and found[0]["MESSAGE"] is None


@given(st.text(alphabet='A={\n\0\x08x"}'), st.integers(2, 50))
def test_no_output_upsets_it(output, longest):
    assert all(isinstance(row, dict) for row in parsed(output, longest))


@pytest.mark.parametrize(
    "row", ['{"a":' * 100_000, '{"MESSAGE":' + "[" * 500 + "]" * 500 + "}"], ids=["row", "message"]
)
def test_json_that_is_nested_without_end_is_withheld(row):
    assert texts(*parsed(row, 10**7)) == []


def test_a_message_that_is_there_a_thousand_times_is_read():
    assert texts(*parsed("MESSAGE=a\n" * 1024 + "\n")) == ["a"] * 1024


def test_a_time_that_is_no_number_is_none():
    row = {
        "MESSAGE": "x",
        "__REALTIME_TIMESTAMP": float("inf"),
        "__MONOTONIC_TIMESTAMP": "1",
        "__CURSOR": None,
        "_PID": ["1"],
    }
    assert [(line.timestamp_us, line.cursor) for line in LineAssembler().feed(row)] == [(0, "")]
    assert texts({**row, "_LINE_BREAK": "line-max"}, {**row, "MESSAGE": "y"}) == ["xy"]
