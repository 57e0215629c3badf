# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One probe against a scripted server: what is sent, and what each answer is worth."""

from __future__ import annotations

import json
import pathlib
import time

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _generation_judge
from ansible_collections.llmops.sglang.plugins.module_utils._background import Handle
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._generation_judge import ProbeOptions
from ansible_collections.llmops.sglang.plugins.module_utils._generation_probe import Prober
from ansible_collections.llmops.sglang.plugins.module_utils._generation_request import PROMPTS, payload, prompt_number
from ansible_collections.llmops.sglang.plugins.module_utils._http_client import Answer, HttpError, http_error
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask

RECORDED = json.loads((pathlib.Path(__file__).parents[2] / "fixtures" / "generation_answers.json").read_text())
MODELS = {"data": [{"id": "b", "root": "/srv/b"}]}
KEY = "sk-very-secret-key"


class Client:
    """Routes to (status, body) or an error; a list is taken one by one. Keeps what was sent."""

    scheme = "http"

    def __init__(self, **routes):
        self.routes = {"/v1/models": (200, MODELS), **{name.replace("__", "/"): said for name, said in routes.items()}}
        self.sent, self.mask = [], Mask([KEY])

    def send(self, method, path, body=None, timeout=60.0, until=None):
        self.sent.append((path, body))
        said = self.routes.get(path, (404, {"detail": "Not Found"}))
        if isinstance(said, list):
            said = said.pop(0)
        if isinstance(said, HttpError):
            raise said
        data = said[1] if isinstance(said[1], bytes) else json.dumps(said[1]).encode()
        return Answer(said[0], {}, data, 0.01, 0.01, self.mask)

    def json(self, method, path, body=None, timeout=60.0):
        answer = self.send(method, path, body, timeout)
        if not answer.ok:
            raise http_error(answer, method, path)
        return answer.json()

    def speaks_tls(self):
        return True


CHAT = "__v1__chat__completions"


def answered(content="red is a colour of roses", finish="stop", **message):
    return 200, {
        "model": "a",
        "choices": [{"message": {"content": content, **message}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 8},
    }


def probe(client, index=0, context=0, **options):
    prober = Prober(client, ProbeOptions(**options))
    return prober.judged(prober.probe(index, 10.0, context), 10.0)


def test_the_first_listed_model_is_asked():
    client = Client(**{CHAT: answered()})
    result = probe(client)
    assert result.good and result.models == ["b"] and result.outcome == "generated"
    path, body = client.sent[-1]
    assert (
        path == "/v1/chat/completions"
        and body["model"] == "b"
        and body["max_tokens"] == 64
        and body["temperature"] == 0
    )
    assert body["messages"][0]["content"] == PROMPTS[0] and body["stream"] is False


@pytest.mark.parametrize("models", [(404, {}), (503, {}), (200, {"x": 1}), (200, b"<html>"), (200, {"data": [3]})])
def test_without_a_readable_list_it_asks_for_default(models):
    client = Client(**{CHAT: answered(), "__v1__models": models})
    assert probe(client).good and client.sent[-1][1]["model"] == "default"
    wanted = probe(Client(**{CHAT: answered(), "__v1__models": models}), expected_model="b")
    assert wanted.failure_class == "wrong_model"


def test_a_validating_engine_refuses_the_model():
    refused = (404, {"error": {"message": "The model 'a' does not exist", "code": "model_not_found"}})
    result = probe(Client(**{CHAT: refused}), model="a")
    assert result.failure_class == "wrong_model" and "'a'" in result.msg and "['b']" in result.msg


def test_the_echoed_name_is_no_identity():
    client = Client(**{CHAT: answered()})
    result = probe(client, expected_model="a")
    assert result.failure_class == "wrong_model" and "'a'" in result.msg and "['b']" in result.msg
    assert [path for path, _body in client.sent] == ["/v1/models"]


@pytest.mark.parametrize("name", ["b", "/srv/b"])
def test_the_expected_model_by_id_or_root(name):
    assert probe(Client(**{CHAT: answered()}), expected_model=name).good


def test_the_expected_model_by_alias():
    models = (200, {"data": [{"id": "x", "aliases": ["a"]}]})
    assert probe(Client(**{CHAT: answered(), "__v1__models": models}), expected_model="a").good


def test_another_requested_model_is_a_warning():
    result = probe(Client(**{CHAT: answered()}), model="a")
    assert result.good and "'a'" in result.warnings[0]


def test_404_of_the_route_is_not_about_the_model():
    assert probe(Client()).failure_class == "route_not_found"


@pytest.mark.parametrize(
    ("said", "outcome", "failure_class"),
    [
        ((401, {"error": "Unauthorized"}), "http_error", "unauthorized"),
        ((400, {"object": "error", "message": "Messages cannot be empty."}), "http_error", "bad_request"),
        ((503, RECORDED["errors"]["llama.cpp loading"]), "not_ready", "server_error"),
        ((502, b"<html>Bad Gateway"), "http_error", "server_error"),
        ((200, b"<html>hello"), "bad_answer", "empty_output"),
        ((200, b'{"choices": [{"mess'), "bad_answer", "empty_output"),
        ((200, {"choices": []}), "bad_answer", "empty_output"),
        ((200, {"error": {"message": "boom", "code": 500}}), "bad_answer", "server_error"),
        ((200, {"error": {"message": "bad key", "code": 401}}), "bad_answer", "unauthorized"),
        (HttpError("timeout", "late", "before_headers"), "timeout", "generation_timeout"),
        (HttpError("reset", "cut", "before_headers"), "reset", "generation_timeout"),
        (HttpError("refused", "no", "connect"), "refused", "connection_refused"),
        (HttpError("tls_error", "cert", "connect"), "tls_error", "tls_mismatch"),
    ],
)
def test_what_answers_are_worth(said, outcome, failure_class):
    result = probe(Client(**{CHAT: said}))
    assert (result.outcome, result.failure_class) == (outcome, failure_class) and result.msg


def test_a_refused_connection_shows_at_the_model_list_already():
    result = probe(Client(__v1__models=HttpError("refused", "no", "connect")))
    assert (result.outcome, result.failure_class, result.http) == ("refused", "connection_refused", False)


def test_an_echoed_key_is_masked():
    result = probe(Client(**{CHAT: (401, {"error": f"the key {KEY} is wrong"})}))
    assert KEY not in result.msg and "is wrong" in result.msg
    in_band = probe(Client(**{CHAT: (200, {"error": f"the key {KEY} is wrong"})}))
    assert KEY not in in_band.msg


@pytest.mark.parametrize("content", [None, ""])
@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning(key, content):
    said = answered(content, "length", **{key: "abc"})
    result = probe(Client(**{CHAT: said}))
    assert result.good and result.generation.generated_from == "reasoning"
    result = probe(Client(**{CHAT: said}), require_content=True)
    assert result.failure_class == "reasoning_consumed_budget" and "max_tokens" in result.msg


def test_garbage():
    assert probe(Client(**{CHAT: answered("!" * 12)})).failure_class == "garbage_output"
    warned = probe(Client(**{CHAT: answered("!" * 12)}), degenerate_output="warn")
    assert warned.good and "repeats" in warned.warnings[0]
    ignored = probe(Client(**{CHAT: answered("!" * 12)}), degenerate_output="ignore")
    assert ignored.good and not ignored.warnings
    assert probe(Client(**{CHAT: answered(None, reasoning="!" * 12)})).failure_class == "garbage_output"


def test_short_garbage():
    for content in ("!!!", "! ! !", "\n\n\n\n"):
        result = probe(Client(**{CHAT: answered(content)}))
        assert result.failure_class == "garbage_output", content
    for content in ("ok", "Yes!", "---", "1 1 2 3 5", "ha ha ha", "\n"):
        assert probe(Client(**{CHAT: answered(content)})).good, content
    assert probe(Client(**{CHAT: answered("\n\n\n", reasoning="First, I look.")})).good


@pytest.mark.parametrize(
    ("content", "tokens", "finish", "garbage"),
    [
        ("!!", 2, "length", True),
        ("!!", 2, "stop", False),
        ("?!", 2, "length", False),
        ("aaaaaaaa", 8, "length", True),
        (" a a a a a a a a", 8, "length", True),
        ("aaaaaaaa", 8, "stop", False),
        ("aaaaaaaa", 1, "length", False),
        ("aaaa", 4, "length", False),
        ("mamama", 3, "length", False),
        ("1 1 2 3 5 8", 8, "length", False),
        ("--------", 8, "length", False),
        ("Once upon a time", 4, "length", False),
        ("!!", None, "length", False),
    ],
)
@pytest.mark.parametrize("where", ["content", "reasoning"])
def test_an_answer_of_one_token_over_and_over_that_only_its_limit_ended(where, content, tokens, finish, garbage):
    said = answered(content, finish) if where == "content" else answered(None, finish, reasoning=content)
    said[1]["usage"]["completion_tokens"] = tokens
    result = probe(Client(**{CHAT: said}))
    assert result.failure_class == ("garbage_output" if garbage else ""), result.msg


def test_expect_regex():
    assert probe(Client(**{CHAT: answered()}), expect_regex=r"\bro\w+s$").good
    assert probe(Client(**{CHAT: answered()}), expect_regex="blue").failure_class == "garbage_output"


@pytest.mark.parametrize(
    ("expression", "true"),
    [
        ("usage.completion_tokens > `5`", True),
        ("usage.completion_tokens > `50`", False),
        ("usage.completion_tokens", False),
        ("choices[0].message.content", False),
        ("nothing.here", False),
        ("length(nothing)", False),
        ("choices[0].finish_reason == 'stop'", True),
    ],
)
def test_ready_when_must_be_true_itself(expression, true):
    result = probe(Client(**{CHAT: answered()}), ready_when=expression)
    assert result.failure_class == ("" if true else "condition_not_met")
    assert true or expression in result.msg


def test_options_that_cannot_be_used_are_told_before_anything_is_sent(monkeypatch):
    with pytest.raises(Failure, match="expect_regex"):
        ProbeOptions(expect_regex="(")
    with pytest.raises(Failure, match="ready_when"):
        ProbeOptions(ready_when="a[")
    monkeypatch.setattr(_generation_judge, "jmespath", None)
    with pytest.raises(Failure, match="jmespath") as caught:
        ProbeOptions(ready_when="a")
    assert caught.value.failure_class == "missing_dependency"
    assert ProbeOptions().condition is None


def counter(value):
    return 200, f'# HELP x\nsglang:spec_verify_calls_total{{model_name="m"}} {value}\n'.encode()


def test_speculation_by_the_answer_itself():
    status, body = answered()
    body["choices"][0]["meta_info"] = {"spec_verify_ct": 3}
    client = Client(**{CHAT: (status, body)})
    assert probe(client, require_speculation=True).good and client.sent[-1][1]["return_meta_info"] is True
    body["choices"][0]["meta_info"] = {"spec_verify_ct": 0}
    assert probe(Client(**{CHAT: (status, body)}), require_speculation=True).failure_class == "no_speculation"


def test_speculation_by_the_native_route():
    native = (200, RECORDED["answers"]["sglang-0.5.15 dflash generate"])
    client = Client(**{CHAT: answered(), "__generate": native})
    assert probe(client, require_speculation=True).good and client.sent[-1][0] == "/generate"
    plain = (200, RECORDED["answers"]["sglang-0.5.23 generate"])
    assert (
        probe(Client(**{CHAT: answered(), "__generate": plain}), require_speculation=True).failure_class
        == "no_speculation"
    )


def test_speculation_by_counters():
    prober = Prober(Client(**{CHAT: answered(), "__metrics": counter(7.0)}), ProbeOptions(require_speculation=True))
    assert prober.probe(0, 10.0).good
    # From now on the counter must move with each probe.
    assert prober.probe(1, 10.0).failure_class == "no_speculation"
    assert probe(Client(**{CHAT: answered(), "__metrics": counter(0.0)}), require_speculation=True).failure_class


@pytest.mark.parametrize("route", ["__generate", "__metrics"])
def test_no_time_left_to_look_is_not_a_server_without_speculation(route):
    late = HttpError("timeout", "late", "before_headers")
    result = probe(Client(**{CHAT: answered(), route: late}), require_speculation=True)
    assert (result.outcome, result.failure_class) == ("timeout", "generation_timeout")


def test_no_time_left_for_the_list_is_not_a_server_with_another_model():
    client = Client(**{"__v1__models": HttpError("timeout", "late", "before_headers"), CHAT: answered()})
    prober = Prober(client, ProbeOptions(expected_model="b"))
    assert prober.probe(0, 0.05).outcome == "timeout"
    # A list that takes its whole time is one that cannot be read.
    assert prober.probe(0, 60.0).failure_class == "wrong_model"


def test_streams():
    stream = RECORDED["streams"]["sglang-0.5.15 generate"].encode()
    client = Client(__generate=(200, stream))
    result = probe(client, api="generate", stream=True, degenerate_output="ignore")
    assert result.good and client.sent[-1][1]["stream"] is True
    assert probe(Client(**{CHAT: (200, b"data: {}\n\n")}), stream=True).failure_class == "empty_output"
    # An error may come as plain JSON although a stream was asked.
    assert probe(Client(**{CHAT: (200, {"error": "boom"})}), stream=True).failure_class == "server_error"


def test_payloads_of_the_apis():
    generate = payload("generate", "/generate", "m", "hi", 5, {"sampling_params": {"top_p": 0.5}, "rid": "x"})
    assert (
        generate["sampling_params"] == {"max_new_tokens": 5, "temperature": 0, "top_p": 0.5} and generate["rid"] == "x"
    )
    assert "model" not in generate
    completions = payload("completions", "/v1/completions", "m", "hi", 5, {"temperature": 1}, stream=True)
    assert completions["temperature"] == 1 and completions["stream_options"] == {"include_usage": True}
    assert payload("generate", "/completion", "m", "hi", 5, None)["n_predict"] == 5


def test_prompts_differ_from_probe_to_probe():
    assert len({prompt_number(i, None) for i in range(len(PROMPTS))}) == len(PROMPTS)
    assert prompt_number(0, "Say OK") == "Say OK" and len({prompt_number(i, "Say OK") for i in range(5)}) == 5


def test_a_long_prompt_is_sized_by_what_the_tokenizer_made_of_the_last_one():
    client = Client(**{CHAT: answered()})
    prober = Prober(client, ProbeOptions(prompt="ten words " * 5))
    prober.probe(0, 10.0)
    prober.probe(1, 10.0, context=1000)
    # Ten words were twenty tokens.
    assert 480 <= len(client.sent[-1][1]["messages"][0]["content"].split()) <= 520


def test_generations_at_once():
    prober = Prober(Client(**{CHAT: answered()}), ProbeOptions())
    assert prober.start(0, 5.0, parallel=4).wait(5.0).good and len(prober.client.sent) == 8
    failing = Prober(Client(**{CHAT: [answered(), (503, {}), answered()]}), ProbeOptions())
    assert failing.start(0, 5.0, parallel=3).wait(5.0).failure_class == "server_error"


def test_a_handle_gives_its_value_once_it_is_there_and_hands_errors_on():
    handle = Handle(lambda: time.sleep(0.2) or "there")
    assert handle.wait(0.0) is None and handle.wait(2.0) == "there" and handle.wait(0) == "there"
    with pytest.raises(ZeroDivisionError):
        Handle(lambda: 1 / 0).wait(2.0)


def test_identities():
    other = (200, {"data": [{"id": "c"}]})
    client = Client(__v1__models=[(200, MODELS), other, (503, {}), (200, MODELS)])
    assert sorted(Prober(client, ProbeOptions()).identities(5.0, 4)) == [("b",), ("c",)]
