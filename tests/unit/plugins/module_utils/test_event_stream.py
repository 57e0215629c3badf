# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Responses and events come out whole, whatever pieces their bytes arrive in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils._event_stream import (
    BadResponse,
    EventReader,
    ResponseReader,
)
from ansible_collections.llmops.sglang.plugins.module_utils._stream_answer import StreamAnswer

TEXTS = st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\n\r"), min_size=1), max_size=8)


def pieces(data, cuts):
    """DATA cut at the given places."""
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    return [data[a:b] for a, b in zip(places, places[1:])]


def chunked(parts):
    return b"".join(f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in parts if part) + b"0\r\n\r\n"


@given(TEXTS, st.lists(st.integers(0, 5000), max_size=40), st.sampled_from(["\n", "\r\n"]))
def test_events_do_not_depend_on_the_pieces(texts, cuts, end):
    stream = "".join(f": comment{end}id: 7{end}data: {text}{end}{end}" for text in texts).encode()
    reader = EventReader()
    found = [event for piece in pieces(stream, cuts) for event in reader.feed(piece)]
    assert found == [text.encode() for text in texts]


def test_several_data_lines_are_one_event():
    assert EventReader().feed(b"data: a\ndata:b\n\n") == [b"a\nb"]


def test_an_event_without_its_blank_line_is_not_whole():
    reader = EventReader()
    assert reader.feed(b"data: [DONE]\n") == []
    assert reader.feed(b"\n") == [b"[DONE]"]


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=6), st.lists(st.integers(0, 5000), max_size=40))
def test_chunked_bodies_do_not_depend_on_the_pieces(parts, cuts):
    stream = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(parts)
    reader = ResponseReader()
    body = b"".join(reader.feed(piece) for piece in pieces(stream, cuts))
    assert (body, reader.complete, reader.status, reader.keep_alive) == (b"".join(parts), True, 200, True)


@given(st.binary(max_size=200), st.lists(st.integers(0, 5000), max_size=20))
def test_bodies_of_known_length_do_not_depend_on_the_pieces(data, cuts):
    stream = f"HTTP/1.1 400 Bad Request\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode() + data
    reader = ResponseReader()
    body = b"".join(reader.feed(piece) for piece in pieces(stream, cuts))
    assert (body, reader.complete, reader.status, reader.keep_alive) == (data, True, 400, False)


def test_an_interim_response_is_passed_over():
    reader = ResponseReader()
    reader.feed(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n")
    assert (reader.status, reader.complete) == (204, True)


def test_a_body_without_a_length_ends_with_the_connection():
    reader = ResponseReader()
    assert reader.feed(b"HTTP/1.1 200 OK\r\n\r\nabc") == b"abc"
    assert not reader.complete
    reader.eof()
    assert reader.complete and not reader.keep_alive


@pytest.mark.parametrize(
    "data",
    [
        b"\x15\x03\x01\x00\x02\x02\x46",
        b"HTTP/2 200\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"a" * 70000,
    ],
)
def test_what_is_no_http_is_refused(data):
    with pytest.raises(BadResponse):
        ResponseReader().feed(data)


def test_an_answer_that_ends_early_is_refused():
    reader = ResponseReader()
    reader.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab")
    with pytest.raises(BadResponse):
        reader.eof()


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.lists(st.integers(0, 20000), max_size=30))
def test_tokens_are_counted_alike_whatever_the_pieces(sizes, cuts):
    events, done = [], 0
    for size in sizes:
        done += size
        usage = {"prompt_tokens": 5, "completion_tokens": done}
        events.append({"choices": [{"delta": {"content": "ü" * size}, "finish_reason": None}], "usage": usage})
    events.append({"choices": [{"delta": {}, "finish_reason": "length"}]})
    stream = (
        b"".join(b"data: " + json.dumps(one, ensure_ascii=False).encode() + b"\n\n" for one in events)
        + b"data: [DONE]\n\n"
    )
    reader, answer = EventReader(), StreamAnswer("chat")
    for piece in pieces(stream, cuts):
        for event in reader.feed(piece):
            answer.feed(event, 1.0)
    assert answer.failure() == ("", "")
    assert (answer.completion_tokens, answer.first_chunk_tokens) == (sum(sizes), sizes[0])
    assert [count for dummy, count in answer.token_chunks] == [sum(sizes[: n + 1]) for n in range(len(sizes))]


@pytest.mark.parametrize("size", [b"-5", b"+5", b"0x5", b"1_0", b"\xb2", b""])
def test_what_is_no_size_is_refused(size):
    with pytest.raises(BadResponse):
        ResponseReader().feed(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + size + b"\r\nhello\r\n0\r\n\r\n"
        )


@pytest.mark.parametrize(
    "head", [b"HTTP/1.1 \xb2\xb2\xb2 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: \xb2\r\n\r\n",
             b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n"],
    ids=["status", "length", "long"],
)  # fmt: skip
def test_digits_of_other_scripts_are_no_numbers(head):
    with pytest.raises(BadResponse):
        ResponseReader().feed(head)


def test_an_event_of_many_lines_that_never_ends_is_refused():
    reader = EventReader()
    with pytest.raises(BadResponse):
        for dummy in range(40):
            reader.feed(b"data: " + b"x" * 2**20 + b"\n")


def test_many_events_that_come_at_once_are_no_large_one():
    assert len(EventReader().feed((b"data: " + b"x" * 2**18 + b"\n\n") * 80)) == 80
