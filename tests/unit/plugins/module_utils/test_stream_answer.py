# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a stream says: tokens by the server's count, channels, ends, errors; on what real servers sent."""

from __future__ import annotations

import gzip
import json
import pathlib

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._event_stream import EventReader, ResponseReader
from ansible_collections.llmops.sglang.plugins.module_utils._stream_answer import StreamAnswer

RECORDED = pathlib.Path(__file__).parents[2] / "fixtures" / "streams"


def feed(answer, *events, at=1.0):
    for event in events:
        answer.feed(event if isinstance(event, bytes) else json.dumps(event).encode(), at)
        at += 1.0
    return answer


def delta(finish=None, usage=None, **fields):
    event = {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}
    return {**event, "usage": usage} if usage else event


def usage(completion, prompt=7):
    return {"prompt_tokens": prompt, "completion_tokens": completion}


def recorded(name, api):
    """What the reader makes of a recorded response."""
    response, events, answer = ResponseReader(), EventReader(), StreamAnswer(api)
    for event in events.feed(response.feed(gzip.decompress((RECORDED / f"{name}.raw.gz").read_bytes()))):
        answer.feed(event, 1.0)
    assert response.complete
    return answer


def test_a_real_chat_with_running_counts():
    answer = recorded("chat_running_usage", "chat")
    assert answer.failure() == ("", "")
    assert (answer.prompt_tokens, answer.completion_tokens, answer.finish_reason) == (14, 120, "length")
    counts = [count for dummy, count in answer.token_chunks]
    assert counts[:4] == [1, 3, 5, 8] and counts[-1] == 120
    assert answer.speculation == {}


def test_a_real_generate_stream_counts_drafts():
    answer = recorded("generate_greedy", "generate")
    assert answer.failure() == ("", "")
    assert (answer.prompt_tokens, answer.completion_tokens, answer.cached_tokens) == (8, 32, 7)
    assert [count for dummy, count in answer.token_chunks] == [1, 9, 17, 25, 32]
    assert answer.speculation == {"verify_steps": 4, "correct_drafts": 28, "proposed_drafts": 28}


def test_a_real_completion_counts_at_its_end():
    answer = recorded("completions_final_usage", "completions")
    assert answer.failure() == ("", "")
    assert (answer.prompt_tokens, answer.completion_tokens, answer.first_chunk_tokens) == (8, 100, None)


def test_the_role_chunk_is_no_token():
    answer = feed(StreamAnswer("chat"), delta(role="assistant", content=""), delta(content="a", usage=usage(4)))
    assert (answer.first_token_at, answer.first_chunk_tokens) == (2.0, 4)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_a_thought_is_a_first_token_but_no_content(field):
    answer = feed(StreamAnswer("chat"), delta(**{field: "hm"}), delta(content="a"))
    assert (answer.first_token_at, answer.first_content_at) == (1.0, 2.0)


def test_a_tool_call_is_a_token():
    assert feed(StreamAnswer("chat"), delta(tool_calls=[{"function": {"name": "f"}}])).first_token_at == 1.0


def test_a_token_whose_text_is_held_back_still_counts():
    answer = feed(StreamAnswer("chat"), delta(content="", usage=usage(1)), delta(content="ü", usage=usage(2)))
    assert (answer.first_token_at, answer.first_chunk_tokens) == (1.0, 1)


def test_the_finish_chunk_with_the_same_count_is_no_token():
    answer = feed(StreamAnswer("chat"), delta(content="a", usage=usage(4)), delta(finish="length", usage=usage(4)))
    assert (answer.last_token_at, len(answer.token_chunks)) == (1.0, 1)


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        ([b"[DONE]"], "no_token"),
        ([delta(content="a"), delta(finish="stop"), b"[DONE]"], "no_usage"),
        ([delta(content="a", usage=usage(1)), b"[DONE]"], "no_finish_reason"),
        ([delta(content="a", usage=usage(1)), delta(finish="stop")], "no_end_of_stream"),
        ([delta(content="a", usage=usage(1)), {"error": {"message": "boom"}}, b"[DONE]"], "in_band_error"),
        ([delta(content="a", usage=usage(1)), {"object": "error", "message": "boom"}, b"[DONE]"], "in_band_error"),
        ([b"<html>"], "in_band_error"),
        ([b"[1]"], "in_band_error"),
    ],
)
def test_what_is_missing_is_named(events, kind):
    assert feed(StreamAnswer("chat"), *events).failure()[0] == kind


def test_an_aborted_generation_is_an_error():
    reason = {"type": "abort", "message": "gone"}
    meta = {"prompt_tokens": 2, "completion_tokens": 1, "finish_reason": reason}
    answer = feed(StreamAnswer("generate"), {"text": "a", "meta_info": meta}, b"[DONE]")
    assert answer.failure() == ("in_band_error", "the server aborted the request: gone")


def test_details_of_drafts_are_found_where_newer_servers_put_them():
    details = {"spec_verify_ct": 5, "spec_num_correct_drafts": 12, "spec_num_proposed_drafts": 35}
    for event in (
        {"choices": [], "sglext": {"spec_tokens_details": details}},
        {"choices": [{"delta": {}, "meta_info": details}]},
    ):
        answer = feed(StreamAnswer("chat"), event)
        assert answer.speculation == {"verify_steps": 5, "correct_drafts": 12, "proposed_drafts": 35}


def test_the_old_counter_of_unclear_meaning_is_not_used():
    meta = {"spec_verify_ct": 5, "spec_accept_token_num": 12}
    assert feed(StreamAnswer("generate"), {"text": "a", "meta_info": meta}).speculation == {"verify_steps": 5}


def test_an_event_that_is_nested_without_end_is_an_error():
    answer = StreamAnswer("chat")
    answer.feed(b"[" * 100_000, 1.0)
    assert answer.failure()[0] == "in_band_error"


@pytest.mark.parametrize("value", [True, 5, {"a": 1}, 0.5])
def test_what_is_no_text_is_no_token(value):
    answer = StreamAnswer("chat")
    answer.feed(json.dumps({"choices": [{"delta": {"content": value}}]}).encode(), 1.0)
    assert answer.first_token_at is None


def test_a_count_that_nobody_can_count_with_is_none():
    answer = StreamAnswer("chat")
    answer.feed(json.dumps({"usage": {"completion_tokens": 10**400, "prompt_tokens": 1}}).encode(), 1.0)
    assert (answer.completion_tokens, answer.prompt_tokens) == (None, 1)


def test_half_a_character_of_an_error_can_be_told():
    answer = StreamAnswer("chat")
    answer.feed(b'{"error": {"message": "\\ud800"}}', 1.0)
    answer.failure()[1].encode("utf-8")
