# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytes that come over a socket from whatever listens there: responses, and streams of events."""

from __future__ import annotations

import gzip
import json

import pytest
from hostile import (
    ANY_BYTES,
    ANY_TEXT,
    CUTS,
    FIXTURES,
    JSON_JUNK,
    SCALARS,
    assert_linear,
    fuzz,
    goes_out,
    json_text,
    json_values,
    mutated,
    mutated_json,
    or_failure,
    pieces_of,
)
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils._answer import BadAnswer, read_stream
from ansible_collections.llmops.sglang.plugins.module_utils._event_stream import (
    BadResponse,
    EventReader,
    ResponseReader,
)
from ansible_collections.llmops.sglang.plugins.module_utils._stream_answer import StreamAnswer

STREAMS = [gzip.decompress(path.read_bytes()) for path in sorted((FIXTURES / "streams").glob("*.raw.gz"))]
EVENTS = [
    json.loads(line[5:])
    for stream in STREAMS
    for line in stream.split(b"\n")
    if line.startswith(b"data: {") and line.strip().endswith(b"}")
]
KEYS = ("choices", "delta", "content", "reasoning_content", "tool_calls", "finish_reason", "usage", "completion_tokens", "prompt_tokens", "meta_info",
        "text", "type", "error", "message", "object", "code", "sglext", "spec_tokens_details", "spec_verify_ct", "cached_tokens_details", "index",
        "function", "name", "arguments", "stop_type", "timings", "draft_n")  # fmt: skip
HEAD = st.lists(
    st.sampled_from([b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 204 No\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 \xb2\xb2\xb2 x\r\n",
                     b"\r\n", b"\r\n\r\n", b"\n",
                     b"Transfer-Encoding: chunked\r\n", b"Content-Length: 5\r\n", b"Content-Length: \xb2\r\n", b"Content-Length: -5\r\n",
                     b"Content-Length: +5\r\n",
                     b"Content-Length: " + b"9" * 5000 + b"\r\n", b"Connection: close\r\n", b"5\r\nhello\r\n", b"-5\r\n", b"0x5\r\n",
                     b"1_0\r\n", b" 5 ;x=y\r\n", b"+5\r\n", b"0\r\n",
                     b"\xb2\r\n", b"f" * 5000 + b"\r\n", b"HTTP/1.1 " + b"9" * 5000 + b" OK\r\n", b"HTTP/1.1\r\n"])
    | ANY_BYTES,
    max_size=10,
).map(b"".join)  # fmt: skip


def response_of(pieces, ended):
    """All that a client learns of a response, or why it is none."""
    reader, body = ResponseReader(), b""
    try:
        for piece in pieces:
            body += reader.feed(piece)
        if ended:
            reader.eof()
    except BadResponse:
        return "refused"
    assert isinstance(reader.keep_alive, bool) and (reader.complete or not reader.keep_alive)
    return reader.status, reader.headers, body, reader.complete


@fuzz(HEAD, CUTS, st.booleans())
def test_a_response_does_not_depend_on_its_pieces(data, cuts, ended):
    whole = response_of([data], ended)
    assert response_of(pieces_of(data, cuts), ended) == whole
    if (
        isinstance(whole, tuple)
        and whole[0] == 200
        and "content-length" in whole[1]
        and "transfer-encoding" not in whole[1]
    ):
        # Only digits are a length.
        assert whole[1]["content-length"].isascii() and len(whole[2]) <= int(whole[1]["content-length"])


@fuzz(st.sampled_from([b"-5", b"+5", b"0x5", b"1_0", b"", b"5 5", b"\xb2", b"5.0", b"g", b"\x0b5"]), CUTS)
def test_what_is_no_size_of_a_chunk_is_refused(size, cuts):
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + size + b"\r\nhello world\r\n0\r\n\r\n"
    assert response_of(pieces_of(data, cuts), False) == "refused"


def events_of(pieces):
    reader = EventReader()
    try:
        return [event for piece in pieces for event in reader.feed(piece)]
    except BadResponse:
        return "refused"


@fuzz(
    st.lists(st.sampled_from([b"data: x", b"data:", b"data", b": c", b"\n", b"\r\n", b"\n\n", b"\r", b"id: 1", b"\xef\xbb\xbf",
                              b"\xe2\x80\xa8", b"\xc3"]) | ANY_BYTES, max_size=15).map(b"".join)
    | mutated(STREAMS).map(lambda stream: stream[-3000:]),
    CUTS,
)  # fmt: skip
def test_events_do_not_depend_on_their_pieces(data, cuts):
    assert events_of(pieces_of(data, cuts)) == events_of([data])


def test_an_event_that_never_ends_is_refused_however_its_lines_end():
    for line in (b"data: " + b"x" * 2**20, b"data: " + b"x" * 2**20 + b"\n"):
        with pytest.raises(BadResponse):
            reader = EventReader()
            for dummy in range(40):
                reader.feed(line)


def test_many_events_in_one_piece_are_no_large_one():
    assert len(events_of([b"data: " + b"x" * 2**18 + b"\n\n"] * 80)) == 80
    assert len(events_of([(b"data: " + b"x" * 2**18 + b"\n\n") * 80])) == 80


def assert_sound(answer):
    """Nothing in it that a measurement could not count with, or Ansible could not send."""
    for count in (answer.prompt_tokens, answer.completion_tokens, answer.cached_tokens, *answer.speculation.values()):
        assert count is None or (isinstance(count, int) and count >= 0 and float(count) < 1e19)
    kind, cause = answer.failure()
    assert bool(kind) == bool(cause)
    goes_out([cause.encode("utf-8", "replace").decode(), answer.finish_reason is None])
    goes_out(cause)
    assert kind or (answer.ended and answer.token_chunks and answer.completion_tokens is not None)
    assert (answer.first_token_at is None) == (not answer.token_chunks)


ANY_EVENT = (
    mutated_json(EVENTS).map(json_text) | json_values(*KEYS).map(json_text) | JSON_JUNK | ANY_TEXT | st.just("[DONE]")
)


@fuzz(
    st.lists(ANY_EVENT | st.sampled_from(EVENTS).map(json.dumps), max_size=8),
    st.sampled_from(["chat", "completions", "generate"]),
)
def test_any_events_are_an_answer_or_say_why_not(events, api):
    answer = StreamAnswer(api)
    for moment, event in enumerate(events):
        answer.feed(event.encode("utf-8", "surrogatepass"), float(moment))
    assert_sound(answer)


@fuzz(st.lists(json_values(*KEYS), max_size=4), st.sampled_from(["chat", "completions", "generate"]))
def test_an_answer_without_text_and_count_has_no_token(values, api):
    """What is neither text nor a number of tokens never makes a measurement."""
    answer = StreamAnswer(api)
    texts = [value for value in values if not isinstance(value, (str, list))]
    for value in texts:
        answer.feed(json_text({"choices": [{"delta": {"content": value}, "text": value}], "text": value}).encode(), 1.0)
    assert answer.first_token_at is None and answer.failure()[0]


@fuzz(st.lists(ANY_EVENT, max_size=6), st.sampled_from(["\n\n", "\r\n\r\n", "\n", "\u2028"]))
def test_a_whole_stream_is_a_generation_or_says_why_not(events, end):
    text = "".join(f"data: {event}{end}" for event in events)
    found = or_failure(read_stream, text, allowed=(BadAnswer,))
    if isinstance(found, BadAnswer):
        assert found.failure_class in ("server_error", "empty_output")
        goes_out(found.msg)
    else:
        assert found.generated_from and (found.finish_reason or "[DONE]" in text)


@fuzz(mutated([stream[:4000] for stream in STREAMS]), SCALARS)
def test_real_streams_that_were_damaged_are_told(stream, dummy):
    for api in ("chat", "generate"):
        answer = StreamAnswer(api)
        for event in events_of([stream]) if isinstance(events_of([stream]), list) else []:
            answer.feed(event, 1.0)
        assert_sound(answer)


def fed(reader, text, size):
    data = text.encode()
    for begin in range(0, len(data), size):
        reader.feed(data[begin : begin + size])


def answered(text):
    answer = StreamAnswer("chat")
    for event in text.split("\n"):
        answer.feed(event.encode(), 1.0)
    answer.failure()


READERS = {
    "response": lambda text: or_failure(fed, ResponseReader(), "HTTP/1.1 200 OK\r\n\r\n" + text, 4096, allowed=(BadResponse,)),
    "chunks": lambda text: or_failure(fed, ResponseReader(), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + text, 4096, allowed=(BadResponse,)),
    "head": lambda text: or_failure(fed, ResponseReader(), "HTTP/1.1 200 OK\r\n" + text, 4096, allowed=(BadResponse,)),
    "events": lambda text: or_failure(fed, EventReader(), text, 64, allowed=(BadResponse,)),
    "one event": lambda text: or_failure(fed, EventReader(), "data: " + text, 64, allowed=(BadResponse,)),
    "answer": answered,
    "stream": lambda text: or_failure(read_stream, text, allowed=(BadAnswer,)),
}  # fmt: skip
PIECES = ["a", "\n", "\r\n", "data: a\n", "data: a\n\n", "data: {}\n\n", "1\r\na\r\n", "A: b\r\n", "HTTP/1.1 100 C\r\n\r\n", '{"a":1}\n',
          "[", '"', "\\", "é", "9",
          'data: {"choices":[{"delta":{"content":"a"}}]}\n\n', '{"choices":[{"delta":{"content":"a"}}]}\n', "\ufeff"]  # fmt: skip


@pytest.mark.parametrize("reader", ["events", "one event"])
def test_a_line_that_does_not_end_is_not_copied_for_each_piece(reader):
    """For a thousand characters nobody would see it."""
    assert_linear(READERS[reader], "", "a", largest=2**20, thorough=True)


@pytest.mark.parametrize("reader", READERS)
def test_time_grows_with_the_length(reader):
    for piece in PIECES:
        assert_linear(READERS[reader], "", piece)
