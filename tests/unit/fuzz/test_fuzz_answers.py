# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole answers of servers and routers, or of what stands in their place."""

from __future__ import annotations

import json
import math

import pytest
from hostile import (
    ANY_BYTES,
    ANY_TEXT,
    CANARY,
    FIXTURES,
    JSON_JUNK,
    SCALARS,
    assert_linear,
    fuzz,
    goes_out,
    json_text,
    json_values,
    made_of,
    mutated_json,
    nested,
    or_failure,
)
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils import _running_requests as running_requests
from ansible_collections.llmops.sglang.plugins.module_utils import _server_facts as server_facts
from ansible_collections.llmops.sglang.plugins.module_utils._answer import BadAnswer, read_generation, verify_steps
from ansible_collections.llmops.sglang.plugins.module_utils._failure import FAILURE_CLASSES, Failure
from ansible_collections.llmops.sglang.plugins.module_utils._http_answer import (
    Answer,
    HttpError,
    decoded,
    error_message,
    failure_class_of_status,
    http_error,
)
from ansible_collections.llmops.sglang.plugins.module_utils._metrics_text import metric_sums
from ansible_collections.llmops.sglang.plugins.module_utils._router_api import (
    RouterApi,
    Worker,
    plain_url,
    same_worker,
    without_rank,
    worker_key,
)
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask
from ansible_collections.llmops.sglang.plugins.module_utils._served_models import served_models, served_names
from ansible_collections.llmops.sglang.plugins.module_utils._server_conflicts import conflicts

RECORDED = json.loads((FIXTURES / "generation_answers.json").read_text())
GENERATIONS = [*RECORDED["answers"].values()]
EXCHANGES = [json.loads(path.read_text()) for path in sorted((FIXTURES / "records").glob("*/exchanges.json"))]
BODIES = [
    one["response"]
    for recorded in EXCHANGES
    for one in (
        recorded
        if isinstance(recorded, list)
        else [e for group in recorded.values() if isinstance(group, list) for e in group]
    )
    if isinstance(one, dict) and isinstance(one.get("response"), (dict, list))
]
KEYS = ("choices", "message", "content", "reasoning_content", "tool_calls", "finish_reason", "usage", "completion_tokens", "prompt_tokens",
        "meta_info", "text",
        "type", "error", "detail", "object", "code", "sglext", "spec_verify_ct", "data", "id", "version", "internal_states", "model_path", "loads",
        "num_running_reqs", "num_waiting_reqs", "num_reqs", "workers", "urls", "url", "is_healthy", "load", "job_status", "job_type", "status",
        "avg_spec_accept_length", "speculative_draft_window_size", "speculative_algorithm", "api_key")  # fmt: skip
VALUES = json_values(*KEYS) | mutated_json(GENERATIONS + BODIES)
BODY = (VALUES.map(json_text) | JSON_JUNK | ANY_TEXT).map(
    lambda text: text.encode("utf-8", "surrogatepass")
) | ANY_BYTES
NO_SECRET = Mask([CANARY])


def answer_of(body, status=200):
    return Answer(status, {}, body, 0.1, 0.1, NO_SECRET)


@fuzz(BODY, st.sampled_from([0, 200, 204, 301, 400, 401, 404, 408, 429, 500, 503, 999]))
def test_any_body_is_json_or_says_why_not(body, status):
    answer = answer_of(body, status)
    found = or_failure(answer.json, allowed=(HttpError,))
    if isinstance(found, HttpError):
        assert (found.kind, found.phase, found.status) == ("bad_answer", "after_headers", status)
        assert found.failure_class in FAILURE_CLASSES
        goes_out([found.msg, found.body])
    else:
        # Whoever walks it next, masks it or writes it down must be able to.
        goes_out(NO_SECRET.value(found))
        server_facts.without_secrets(found, [])
    goes_out([error_message(answer), answer.text(), http_error(answer, "GET", "/x").msg])
    assert failure_class_of_status(status) in FAILURE_CLASSES


@fuzz(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**63)
        | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
        | st.text(st.sampled_from('\\ud8dc0n"/'), max_size=20),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.text(st.sampled_from("ab\\ud8"), max_size=6), inner, max_size=4)
        ),
        max_leaves=10,
    ),
    st.booleans(),
)
def test_json_that_was_written_is_read_back(value, plain):
    assert decoded(json.dumps(value, ensure_ascii=plain)) == value


@fuzz(st.text(st.characters(), max_size=30))
def test_half_characters_never_come_through(text):
    goes_out(decoded(json.dumps({text: text})))


@fuzz(st.lists(ANY_TEXT, max_size=4), st.integers(0, 3000), st.sampled_from([1, 3, 300]))
def test_a_key_in_an_error_never_comes_through(parts, padding, times):
    """Wherever the text is cut."""
    key = CANARY * 8
    mask = Mask([key])
    text = "x" * padding + f" {key} ".join(["", *parts]) + key * times
    for body in (text, json.dumps({"error": {"message": text}}), json.dumps({"detail": [text]})):
        answer = Answer(500, {}, body.encode("utf-8", "replace"), 0.1, 0.1, mask)
        for said in (
            answer.text(),
            error_message(answer),
            http_error(answer, "GET", "/x").msg,
            http_error(answer, "GET", "/x").body,
        ):
            assert CANARY not in said


@fuzz(VALUES | SCALARS)
def test_any_answer_is_a_generation_or_says_why_not(value):
    found = or_failure(read_generation, value, allowed=(BadAnswer,))
    if isinstance(found, BadAnswer):
        assert found.failure_class in FAILURE_CLASSES and isinstance(found.code, int)
        found.msg.encode("utf-8", "surrogatepass")
        return
    assert found.generated_from in ("content", "reasoning", "tool_calls") and isinstance(found.text, str)
    for count in (found.tokens, found.prompt_tokens, found.verify_steps):
        assert count is None or isinstance(count, int)


@fuzz(json_values("a", "b"), st.sampled_from(["choices", "text", "content", "x"]))
def test_an_answer_with_no_text_anywhere_never_passes(value, key):
    """Nothing that holds no token at all counts as generated."""

    def bare(one):
        if isinstance(one, dict):
            return {k: bare(v) for k, v in one.items() if k not in ("tool_calls", "reasoning_tokens")}
        return [bare(v) for v in one] if isinstance(one, list) else None if isinstance(one, str) else one

    try:
        body = {key: bare(value)}
    except RecursionError:
        return
    assert isinstance(or_failure(read_generation, body, allowed=(BadAnswer,)), BadAnswer)


@fuzz(VALUES)
def test_counts_of_verify_steps_are_numbers(value):
    steps = verify_steps(value) if isinstance(value, dict) else None
    assert steps is None or abs(steps) < 1e18


@fuzz(VALUES)
def test_any_list_of_models_is_read(value):
    models = served_models(value)
    assert models is None or all(isinstance(one["id"], str) for one in models)
    assert served_names(value) == [one["id"] for one in models or []]


METRICS = made_of(
    "sglang:num_running_reqs", "sglang:num_queue_reqs", " ", "{", "}", '{tp_rank="0"}', '{tp_rank="1"}', '{model="a}b"}', "\n", "0", "0.0",
    "1", "-1", "NaN", "+Inf",
    "1e999", "9" * 400, "# HELP a\n", "1.2.3", "e", "+", "\r\n", "\t", "²",
)  # fmt: skip


@fuzz(METRICS | ANY_TEXT)
def test_metrics_are_finite_or_not_there(text):
    assert all(math.isfinite(total) for total in metric_sums(text).values())
    count = running_requests.of_metrics(text)
    assert count is None or (isinstance(count, int) and count >= 0 and "sglang:num_running_reqs" in text)


@fuzz(
    st.sampled_from(["NaN", "+Inf", "-Inf", "1e999", "-1", "x", "", "²", "1_0", "0x1"]),
    st.sampled_from(["", '{dp_rank="1"}']),
    st.booleans(),
)
def test_a_gauge_that_is_partly_no_number_tells_nothing(word, labels, first):
    """Else a server that is busy would look idle."""
    lines = [f"sglang:num_running_reqs{labels} {word}", 'sglang:num_running_reqs{dp_rank="0"} 0.0']
    assert running_requests.of_metrics("\n".join(lines if first else lines[::-1]) + "\n") is None


@fuzz(
    VALUES
    | st.lists(json_values(*KEYS, leaves=4), max_size=3)
    | st.fixed_dictionaries({"loads": st.lists(json_values(*KEYS, leaves=4), max_size=3)})
)
def test_loads_are_counts_or_unknown(value):
    for count in (running_requests.of_loads(value), running_requests.of_get_load(value)):
        assert count is None or (isinstance(count, int) and not isinstance(count, bool) and count >= 0)


@fuzz(
    st.lists(
        st.sampled_from(
            [{"num_reqs": 0}, {"num_reqs": -1}, {"num_reqs": None}, {}, 5, None, {"num_reqs": "0"}, {"num_reqs": True}]
        ),
        min_size=1,
        max_size=4,
    )
)
def test_a_rank_that_does_not_tell_its_load_is_not_idle(entries):
    assert running_requests.of_get_load(entries) is None or all(one == {"num_reqs": 0} for one in entries)


def facts_of(info, models, version="0.5.23"):
    return server_facts.server_facts(
        {"/server_info": info, "/v1/models": models}.get, lambda dummy: {"model_path": "/m"}, Mask([CANARY])
    )


INFOS = [body for body in BODIES if isinstance(body, dict) and "version" in body] or [
    {"version": "0.5.23", "model_path": "/m", "internal_states": [{}]}
]
INFO = (
    mutated_json(INFOS)
    | json_values(*KEYS)
    | st.fixed_dictionaries(
        {"version": SCALARS | st.just([1]) | nested(), "internal_states": json_values(*KEYS, leaves=5)}
    )
)


@fuzz(INFO.map(json_text), VALUES.map(json_text))
def test_any_server_information_makes_facts(info, models):
    """As they come over the wire: what cannot be decoded is no answer."""
    info, models = (or_failure(decoded, text, allowed=(ValueError,)) for text in (info, models))
    info, models = (None if isinstance(value, ValueError) else value for value in (info, models))
    facts = facts_of(info, models)
    goes_out(facts)
    assert isinstance(facts["reachable"], bool) and isinstance(facts["served_models"], list)
    assert facts["reachable"] or not facts["served_models"]
    for runner in (None, {"draft_window_size": info, "block_size": models}):
        found = conflicts(
            {"matches_unit": None},
            facts,
            {"trained_window": 2048, "block_size": 16},
            {"draft_runner": runner},
            2048,
            "DFLASH",
        )
        assert all(one["msg"] for one in found)


@fuzz(
    st.sampled_from(
        ["api_key", "admin_api_key", "ssl_keyfile_password", "HF_TOKEN", "hf_token", "some_secret", "token"]
    ),
    st.integers(0, 4),
)
def test_a_secret_of_the_server_is_no_fact(name, depth):
    value = {name: "Other" + CANARY}
    for dummy in range(depth):
        value = [{"args": value}] if depth % 2 else {"args": [value]}
    secrets = []
    assert CANARY not in json.dumps(server_facts.without_secrets(value, secrets)) and secrets == ["Other" + CANARY]
    assert CANARY not in json.dumps(facts_of({"version": "0.5.23", name: "Other" + CANARY}, None))


class Client:
    """Answers each request with the next body."""

    def __init__(self, bodies):
        self.base_url, self.mask, self._bodies = "http://router:1", Mask([CANARY]), list(bodies)

    def send(self, method, path, payload=None, timeout=None):
        status, body = self._bodies.pop(0) if self._bodies else (200, b"{}")
        return answer_of(body, status)


@fuzz(st.lists(st.tuples(st.sampled_from([200, 200, 202, 404, 405, 401, 500]), BODY), max_size=8))
def test_any_router_is_understood_or_refused(bodies):
    api = RouterApi(Client(bodies), 1.0)
    for call in (
        api.workers,
        lambda: api.add("http://a:1", {}, 1.0),
        lambda: api.job("id", "AddWorker"),
        lambda: api.remove("id"),
        api.workers,
    ):
        found = or_failure(call)
        if isinstance(found, Failure):
            assert found.failure_class == "router_failed"
            goes_out(found.msg)
        elif isinstance(found, list):
            assert all(
                isinstance(one, Worker) and isinstance(one.url, str) and one.healthy in (True, False, None)
                for one in found
            )
            goes_out([[one.id, one.url] for one in found])


URL = ANY_TEXT | made_of(
    "http://", "HTTP://", "a", "A", ":", "1", "80", "@", "@1", "[", "]", "::1", "/v1", "/", "?", "#", "99999999", "\r\n"
)


@fuzz(URL, URL)
def test_urls_of_workers_are_compared(first, second):
    assert same_worker(first, first) and same_worker(first, second) == same_worker(second, first)
    assert same_worker(first, second) or first != second
    hash(worker_key(first))
    assert without_rank(f"{first}@1") == first or "\n" in first
    or_failure(plain_url, first, allowed=(ValueError,))


READERS = {
    "answer": lambda text: or_failure(answer_of(text.encode()).json, allowed=(HttpError,)),
    "answer in quotes": lambda text: or_failure(answer_of(f'"{text}"'.encode()).json, allowed=(HttpError,)),
    "error": lambda text: error_message(answer_of(text.encode())),
    "error in quotes": lambda text: error_message(answer_of(json.dumps({"error": text}).encode())),
    "metrics": metric_sums,
    "url": lambda text: (worker_key(text), or_failure(plain_url, text, allowed=(ValueError,))),
}
PIECES = ["a", "{", "[", '"', "\\", "\\\\", "\\ud800", "\\ud83d\\ude00", "<", "<a>", "<a", "\n", " ", "a{\n", "a{", "a 1\n", 'a{tp_rank="',
          "a 1", "1", "9", "/", "/v1", "/v1/",
          "@1", "http://", ":", "1,", '{"a":', '"a",', "é", "1e", "a{} ", "A_"]  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
def test_time_grows_with_the_length(reader):
    for piece in PIECES:
        assert_linear(READERS[reader], "", piece)
        assert_linear(READERS[reader], "", piece, "x")
