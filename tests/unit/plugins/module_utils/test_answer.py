# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Generation answers by structure: bodies that real servers sent, and every way in which a 200 is none."""

from __future__ import annotations

import copy
import json
import pathlib

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._answer import (
    BadAnswer,
    read_generation,
    read_stream,
    verify_steps,
)
from ansible_collections.llmops.sglang.plugins.module_utils._degenerate_text import repeated_tail
from ansible_collections.llmops.sglang.plugins.module_utils._engine_words import ENGINES, first
from ansible_collections.llmops.sglang.plugins.module_utils._http_answer import Answer, decoded
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask

RECORDED = json.loads((pathlib.Path(__file__).parents[2] / "fixtures" / "generation_answers.json").read_text())


def chat(message, finish="stop", **more):
    return {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": finish}], **more}


@pytest.mark.parametrize(
    ("name", "start", "tokens", "finish", "steps"),
    [
        ("sglang-0.5.23 chat", "q\n", 8, "length", None),
        ("sglang-0.5.23 completions", "VV", 4, "length", None),
        ("sglang-0.5.23 generate", "VV", 4, "length", None),
        ("sglang-0.5.15 dflash generate", "aaaa", 64, "length", 8),
        ("sglang-0.5.15 completions", "a,a", 40, "length", None),
        ("sglang-0.5.15 tools", "aaaa", 32, "length", None),
        ("llama.cpp chat", "\ufffd", 8, "length", None),
        ("llama.cpp completions", "\ufffd3", 4, "length", None),
        ("llama.cpp completion", "msistan", 4, "limit", None),
    ],
)
def test_recorded_answers(name, start, tokens, finish, steps):
    generation = read_generation(RECORDED["answers"][name])
    assert generation.generated_from == "content" and generation.text.startswith(start)
    assert (generation.tokens, generation.finish_reason, generation.verify_steps) == (tokens, finish, steps)


def test_recorded_reasoning_is_kept_beside_content():
    generation = read_generation(RECORDED["answers"]["sglang-0.5.15 reasoning"])
    assert generation.reasoning.startswith("aataaa") and generation.usage["reasoning_tokens"] == 19


@pytest.mark.parametrize(
    ("name", "tokens", "steps"),
    [
        ("sglang-0.5.23 chat", None, None),
        ("sglang-0.5.15 chat usage", 120, None),
        ("sglang-0.5.15 generate", 32, 4),
        ("sglang-0.5.15 completions", 100, None),
        ("llama.cpp chat", None, None),
        ("llama.cpp chat usage", 8, None),
    ],
)
def test_recorded_streams(name, tokens, steps):
    generation = read_stream(RECORDED["streams"][name])
    assert generation.generated_from == "content" and generation.finish_reason in ("length", "stop")
    assert (generation.tokens, generation.verify_steps) == (tokens, steps)


@pytest.mark.parametrize("content", [None, ""])
@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_alone_is_a_generation(key, content):
    generation = read_generation(chat({"content": content, key: "abc"}, "length", usage={"completion_tokens": 8}))
    assert (generation.generated_from, generation.text, generation.tokens) == ("reasoning", "abc", 8)


def test_tool_calls_alone_are_a_generation():
    call = {"type": "function", "function": {"name": "look", "arguments": "{}"}}
    generation = read_generation(chat({"content": None, "tool_calls": [call]}, "tool_calls"))
    assert generation.generated_from == "tool_calls" and "look" in generation.text


def test_content_in_parts():
    assert (
        read_generation(chat({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})).text == "ab"
    )


@pytest.mark.parametrize(
    ("body", "failure_class", "word"),
    [
        ({"error": {"message": "boom", "code": 500}}, "server_error", "boom"),
        ({"error": "boom"}, "server_error", "boom"),
        ({"object": "error", "message": "boom", "code": 400}, "server_error", "boom"),
        ({"choices": []}, "empty_output", "no choices"),
        ({"choices": None}, "empty_output", "no choices"),
        ({"choices": "x"}, "empty_output", "no choices"),
        (chat({"content": None}), "empty_output", "no token"),
        (chat({"content": ""}, usage={"completion_tokens": 0}), "empty_output", "0 tokens"),
        (chat({}), "empty_output", "no token"),
        ({"text": "", "meta_info": {"completion_tokens": 0}}, "empty_output", "no token"),
        ({"text": "", "meta_info": {"finish_reason": {"type": "abort", "message": "gone"}}}, "server_error", "gone"),
        (chat({"content": "Red is"}, "abort"), "server_error", "abort"),
        (chat({"content": "Red is"}, "error"), "server_error", "error"),
        (chat({"tool_calls": [{}]}), "empty_output", "no token"),
        ({"status": "ok"}, "empty_output", "status"),
        ([], "empty_output", "list"),
        (None, "empty_output", "NoneType"),
        ("ok", "empty_output", "str"),
        (3, "empty_output", "int"),
    ],
)
def test_a_200_that_is_no_generation(body, failure_class, word):
    with pytest.raises(BadAnswer) as caught:
        read_generation(body)
    assert caught.value.failure_class == failure_class and word in caught.value.msg


@pytest.mark.parametrize("name", sorted(RECORDED["errors"]))
def test_recorded_errors_are_no_generation(name):
    with pytest.raises(BadAnswer):
        read_generation(RECORDED["errors"][name])


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), "\u00b2", "9" * 5000, 10**400])
def test_counts_that_are_no_numbers_count_as_not_told(odd):
    usage = {"prompt_tokens": odd, "completion_tokens": odd}
    generation = read_generation(chat({"content": "x"}, usage=usage))
    assert generation.text == "x" and generation.tokens is None and generation.prompt_tokens is None


@pytest.mark.parametrize("odd", [None, 3, "x", [], {}, [None], True])
@pytest.mark.parametrize("place", ["choices", "usage", "meta_info", "sglext", "timings", "text"])
def test_odd_values_never_raise_anything_else(place, odd):
    for base in (RECORDED["answers"]["sglang-0.5.23 chat"], RECORDED["answers"]["sglang-0.5.23 generate"]):
        body = {**copy.deepcopy(base), place: odd}
        try:
            read_generation(body)
        except BadAnswer:
            pass


@pytest.mark.parametrize("odd", [None, 3, "x", [], {}, [None], True])
@pytest.mark.parametrize(
    "place", ["message", "meta_info", "finish_reason", "content", "reasoning_content", "tool_calls", "delta"]
)
def test_odd_values_in_a_choice_never_raise_anything_else(place, odd):
    body = copy.deepcopy(RECORDED["answers"]["sglang-0.5.23 chat"])
    choice = body["choices"][0]
    (choice if place in ("message", "meta_info", "finish_reason", "delta") else choice["message"])[place] = odd
    for call in (lambda: read_generation(body), lambda: read_stream(f"data: {json.dumps(body)}\n\ndata: [DONE]\n")):
        try:
            call()
        except BadAnswer:
            pass


@pytest.mark.parametrize(
    "body",
    [
        {"meta_info": {"spec_verify_ct": 5}},
        {"sglext": {"spec_tokens_details": {"spec_verify_ct": 5}}},
        {"timings": {"draft_n": 5}},
    ],
)
def test_where_verify_steps_are(body):
    assert verify_steps(body) == 5
    assert read_generation({**chat({"content": "x"}), **body}).verify_steps == 5
    chosen = chat({"content": "x"})
    chosen["choices"][0].update(body)
    assert read_generation(chosen).verify_steps == 5


@pytest.mark.parametrize(
    ("stream", "word"),
    [
        ("", "no 'data:'"),
        ("data: [DONE]\n\n", "without a token"),
        ('data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\ndata: [DONE]\n', "without a token"),
        ('data: {"choices":[{"delta":{"content":"x"}}]}\n\n', "before its end"),
        ('data: {"choices":[{"delta":{"content":"x"}', "not JSON"),
        ('data: {"error":{"message":"boom","code":500}}\n\ndata: [DONE]\n', "boom"),
        ('data: {"choices":[{"delta":{"content":"x"},"finish_reason":"abort"}]}\n\ndata: [DONE]\n', "abort"),
        (
            'data: {"text":"x","meta_info":{"finish_reason":{"type":"abort","message":"gone"}}}\n\ndata: [DONE]\n',
            "aborted the request: gone",
        ),
        ('data: {"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}\n\ndata: [DONE]\n', "without a token"),
    ],
)
def test_streams_that_are_no_generation(stream, word):
    with pytest.raises(BadAnswer, match=word):
        read_stream(stream)


def test_the_lines_of_a_stream_end_where_http_says():
    said = "a\u2028b\u0085c"
    event = json.dumps({"choices": [{"delta": {"content": said}}]}, ensure_ascii=False)
    for end in ("\n", "\r\n"):
        assert read_stream(f"data: {event}{end}{end}data: [DONE]{end}").content == said


def test_a_streamed_tool_call_is_put_together():
    parts = [
        {"index": 0, "function": {"name": "look", "arguments": '{"a"'}},
        {"index": 0, "function": {"arguments": ":1}"}},
    ]
    events = [json.dumps({"choices": [{"delta": {"tool_calls": [part]}}]}) for part in parts]
    generation = read_stream("".join(f"data: {event}\n\n" for event in events) + "data: [DONE]\n")
    assert generation.tool_calls == [{"name": "look", "arguments": '{"a":1}'}]


@pytest.mark.parametrize(
    "text",
    ["!!!!!!!!!!!!", "OK. " + "!" * 40, "abc" * 9, "start " + "abcdef" * 9, "x " + "abc " * 9, "ab" * 20, "a" * 64]
    + ["hello, " * 10 + "hel", "?" * 12 + "\n\n", "the-" * 30, "0" * 40, "-" * 500, "q\n" * 32]
    + ["!!!", "! ! !", "!\n!\n!\n", "???", " !!!!", "；；；", "\ufffd\ufffd\ufffd", "\x00\x00\x00", "\n\n\n", " " * 64],
)
def test_stuck_text_trips(text):
    assert repeated_tail(text)


@pytest.mark.parametrize(
    "text",
    ["", " ", "1 1 2 3 5", "ha ha ha", "ha ha ha ha ha ha", "hahahahahaha", "---", "-" * 60, "***************"]
    + [
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "|" + "---|" * 12,
        "=" * 80,
        "Title\n" + "=" * 40,
        "你好，世界。今天天气很好，我们去公园散步吧。",
    ]
    + [
        "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。",
        "1000000000000",
        "0.000000000000001",
        "aaaa",
        "no no no no no",
        "q\nq\nq\nq\n",
    ]
    + [
        "!!!!!!!!!!! is how it began",
        "abcabcabc",
        "La la la la la la la la",
        "Hmmmmmm",
        "* * * * * * * * * *",
        *(
            "ok",
            "Yes!",
            "No!!!",
            "!",
            "!!",
            "?!",
            "...",
            "......",
            "…………",
            "。。。。",
            "***",
            "###",
            "___",
            "~~~",
            "—————",
        ),
        *("111", "000", "7", "\n", "你你你", "哈哈哈", "👍👍👍", "III", "()", "{}", "1 1 1", "€€€", "$", "\n\n"),
        "1, 2, 3, 4, 5, 6, 7, 8, 9, 10",
    ],
)
def test_ordinary_text_does_not_trip(text):
    assert repeated_tail(text) == ""


@pytest.mark.parametrize("engine", ENGINES, ids=[engine.name for engine in ENGINES])
def test_the_words_of_each_engine(engine):
    counts = {engine.tokens: 7, engine.prompt_tokens: 20}
    own = {engine.text: "red", "stop_type": engine.cut, **counts}
    for body in (own, {engine.text: "red", "meta_info": {"finish_reason": {"type": engine.cut}, **counts}}):
        generation = read_generation(body)
        assert (generation.content, generation.tokens, generation.prompt_tokens) == ("red", 7, 20)
        assert generation.finish_reason == engine.cut
    for key in engine.reasoning:
        message = {"message": {"content": None, key: "hm"}, "finish_reason": "length"}
        assert read_generation({"choices": [message]}).reasoning == "hm"
        assert (
            read_stream(f"data: {json.dumps({'choices': [{'delta': {key: 'hm'}}]})}\n\ndata: [DONE]\n").reasoning
            == "hm"
        )


def test_the_counters_of_each_engine():
    for engine in ENGINES:
        metrics = {engine.verify_counter or "other": 5.0}
        assert first(metrics, "verify_counter") == (5.0 if engine.verify_counter else None)


def test_text_about_half_characters_stays_as_it_is():
    text = r"\ud800 is written as \\ud83d\ude00"
    assert decoded(json.dumps(text)) == text
    assert decoded(r'["\ud83d\ude00", "\ud83d", "\\\ude00"]') == ["\U0001f600", "\ufffd", "\\\ufffd"]


@pytest.mark.parametrize("depth", [101, 400, 900, 100_000])
def test_an_answer_that_is_nested_too_deeply_is_none(depth):
    """Whoever walks it would run out of Python's stack."""
    with pytest.raises(ValueError, match="nested"):
        decoded("[" * depth + "]" * depth)


def test_a_key_that_a_body_repeats_is_cut_nowhere():
    key = "sk-" + "0123456789" * 9
    assert "0123" not in Answer(500, {}, (key * 400).encode(), 0.1, 0.1, Mask([key])).text()
