# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole waits against servers that break the protocol or never end: each ends by its deadline, with its word."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import threading
import time

import fault_rows
import pytest
from fault_rows import fault

from ansible_collections.llmops.sglang.plugins.module_utils import _listener, _name_lookup, _wait_host
from ansible_collections.llmops.sglang.plugins.module_utils._argspec import CONNECTION_SPEC, UNIT_SPEC
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._generation_judge import ProbeOptions
from ansible_collections.llmops.sglang.plugins.module_utils._generation_probe import Prober
from ansible_collections.llmops.sglang.plugins.module_utils._generation_wait import GenerationWait
from ansible_collections.llmops.sglang.plugins.module_utils._http_client import HttpClient
from ansible_collections.llmops.sglang.plugins.modules.wait_for_generation import PROBE_SPEC, WAIT_SPEC

SPEC = {**UNIT_SPEC, **CONNECTION_SPEC, **PROBE_SPEC, **WAIT_SPEC}
OK = b"HTTP/1.1 200 OK\r\n"
# Far beyond each deadline here, and far from the end of a server that has none.
AT_MOST = 40.0


def whole(body, head=OK):
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def generated(**message):
    return whole(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode())


def endless(head, piece, pause=0.0):
    def say(connection):
        connection.sendall(head)
        while True:
            connection.sendall(piece)
            time.sleep(pause)

    return say


MODELS = whole(b'{"data": [{"id": "m"}]}')


class Hostile:
    """Lists its model as any other server does, unless *models* says otherwise; *say* answers every other request.

    Both are bytes, or a function of the connection.
    """

    def __init__(self, say, models=MODELS):
        self.say, self.models, self.requests = say, models, 0
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._one, args=(self.socket.accept()[0],), daemon=True).start()

    def _one(self, connection):
        with contextlib.suppress(OSError), connection:
            head, _end, body = connection.recv(65536).partition(b"\r\n\r\n")
            length = next(
                (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
            )
            while len(body) < length:
                body += connection.recv(65536)
            self.requests += head.startswith(b"POST")
            say = self.models if head.startswith(b"GET /v1/models") else self.say
            if head.startswith(b"GET /health"):
                say = whole(b"")
            if callable(say):
                say(connection)
            else:
                connection.sendall(say)


@pytest.fixture
def hostile():
    made = []

    def make(*args, **kwargs):
        made.append(Hostile(*args, **kwargs))
        return made[-1]

    yield make
    for one in made:
        one.socket.close()


def wait_for(url, **params):
    """The result of a wait, its failure, and the seconds that it took."""
    defaults = {name: option.get("default") for name, option in SPEC.items()}
    began = time.monotonic()
    try:
        result = GenerationWait(
            {**defaults, "base_url": url, "timeout": 1.5, "request_timeout": 0.6, **params}, None
        ).run()
        failure = None
    except Failure as exc:
        result, failure = exc.result, exc
    assert time.monotonic() - began < AT_MOST
    assert len(json.dumps(result)) < 20_000
    if failure:
        fault_rows.told(failure.failure_class, failure.msg)
    return result, failure


def probed(url, timeout=20.0, **options):
    """The result of one probe, judged, with its server's word for a failure."""
    prober = Prober(HttpClient(url), ProbeOptions(**options))
    began = time.monotonic()
    result = prober.judged(prober.probe(0, timeout), timeout)
    assert time.monotonic() - began < AT_MOST
    fault_rows.told(result.failure_class, result.msg)
    return result


SHORT = 0.4


def start_of(said):
    """The name of a case: the whole would be megabytes."""
    return repr(said[:48]) if isinstance(said, bytes) else None


FLOOD = b"HTTP/1.1 100 Continue\r\n\r\n" * 100
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
BOMB = gzip.compress(b" " * 60_000_000, mtime=0)
GZIP = OK + b"Content-Encoding: gzip\r\n"


@pytest.mark.parametrize(
    ("what", "say", "failure_class", "words"),
    [
        ("a body of blanks without end", endless(OK + b"\r\n", b" " * 65536), "empty_output", "larger than"),
        (
            "chunks of blanks without end",
            endless(CHUNKED, b"10000\r\n" + b" " * 65536 + b"\r\n"),
            "empty_output",
            "larger than",
        ),
        (
            "a body of 100 MB",
            endless(OK + b"Content-Length: 100000000\r\n\r\n", b"[" * 65536),
            "empty_output",
            "larger than",
        ),
        ("a header that never ends, drop by drop", endless(OK, b"X", 0.05), "generation_timeout", "no whole answer"),
        ("headers without end, one by one", endless(OK, b"X-A: b\r\n", 0.05), "generation_timeout", "no whole answer"),
        ("a body that drips", endless(OK + b"\r\n", b" ", 0.05), "generation_timeout", "no whole answer"),
        ("chunks that drip", endless(CHUNKED, b"1\r\n \r\n", 0.05), "generation_timeout", "no whole answer"),
        ("the size of a chunk without end", endless(CHUNKED, b"0", 0.05), "generation_timeout", "no whole answer"),
        ("'100 Continue' without end", endless(b"", FLOOD), "generation_timeout", "no whole answer"),
        ("a chunk whose size is no number", CHUNKED + b"xyz\r\ngarbage\r\n", "server_error", ""),
        ("a chunk of negative size", CHUNKED + b"-5\r\ngarbage\r\n", "server_error", ""),
        ("a chunk's size of 100,000 digits", CHUNKED + b"f" * 100_000, "server_error", ""),
        ("a header of 200,000 characters", OK + b"X: " + b"x" * 200_000 + b"\r\n\r\n", "server_error", ""),
        ("5,000 headers", OK + b"X: y\r\n" * 5000 + b"\r\n", "server_error", ""),
        ("HTTP/0.9", b"<html>an answer of HTTP/0.9</html>", "server_error", "does not speak HTTP"),
        ("a version and a status that are none", b"HTTP/9.9 999 Odd\r\n\r\n", "server_error", ""),
        ("a status that is no number", b"HTTP/1.1 abc Odd\r\n\r\n", "server_error", ""),
        ("half of its JSON", OK + b'Content-Length: 9\r\n\r\n{"choices": [{}]}', "empty_output", "truncated or broken"),
        ("less than the length that it tells", OK + b"Content-Length: 900\r\n\r\n{}", "", ""),
        ("a negative length", OK + b"Content-Length: -1\r\n\r\n{}", "empty_output", ""),
        ("a length that is no number", OK + b"Content-Length: many\r\n\r\n{}", "empty_output", ""),
        ("two lengths", OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "", ""),
        (
            "a redirection to itself",
            whole(b"", b"HTTP/1.1 302 Found\r\nLocation: /v1/chat/completions\r\n"),
            "server_error",
            "status 302",
        ),
        ("60 MB in a few kB of gzip", whole(BOMB, GZIP), "empty_output", "larger than"),
        (
            "gzip within gzip",
            whole(gzip.compress(BOMB, mtime=0), OK + b"Content-Encoding: gzip, gzip\r\n"),
            "empty_output",
            "encoded as",
        ),
        ("gzip that is none", whole(b"no gzip", GZIP), "empty_output", "is said to be gzip"),
        ("five million brackets", whole(b"[" * 5_000_000), "empty_output", "truncated or broken"),
        (
            "a number of five million digits",
            whole(b'{"choices": [], "usage": ' + b"9" * 5_000_000 + b"}"),
            "empty_output",
            "truncated or broken",
        ),
        ("an error nested 800 deep", whole(b'{"error": ' + b'{"a":' * 800 + b"1" + b"}" * 801), "", ""),
    ],
    ids=start_of,
)
def test_a_server_that_breaks_the_protocol_is_told_by_the_deadline(hostile, what, say, failure_class, words):
    result = probed(hostile(say).url, SHORT if failure_class == "generation_timeout" else 20.0)
    assert not result.good and failure_class in ("", result.failure_class), result.msg
    assert words in result.msg and len(result.msg) <= 500
    fault("network", f"The server answers with {what}")


def test_what_a_proxy_compressed_unasked_is_read_all_the_same(hostile):
    body = json.dumps({"choices": [{"message": {"content": "red"}, "finish_reason": "stop"}]}).encode()
    assert probed(hostile(whole(gzip.compress(body), GZIP)).url).generation.content == "red"


@pytest.mark.parametrize(
    "event", [b"data: " + b"[" * 100_000, b"data: " + b"9" * 1_000_000, b"data: \xff\xfe", b"data: 3", b"event: x"]
)
def test_a_stream_of_anything_ends_with_a_word(hostile, event):
    server = hostile(OK + b"\r\n" + event + b"\n\ndata: [DONE]\n\n")
    assert probed(server.url, stream=True).failure_class == "empty_output"


def test_a_stream_without_end_is_cut_at_the_deadline_of_its_request(hostile):
    piece = b'data: {"choices": [{"delta": {"content": "a"}}]}\n\n'
    server = hostile(endless(OK + b"\r\n", piece, 0.02))
    assert probed(server.url, SHORT, stream=True).failure_class == "generation_timeout"
    fault("serving", "A stream never ends")


def test_a_model_list_that_never_ends_does_not_keep_a_probe(hostile):
    server = hostile(generated(content="red"), endless(OK, b"X", 0.05))
    assert probed(server.url, SHORT).failure_class == "generation_timeout" and server.requests == 0


def test_half_characters_do_not_get_into_the_result(hostile):
    """Ansible refuses a module's whole answer for one."""
    body = r'{"choices": [{"message": {"content": "a \ud800 b \udc80 c \uD83D\uDE00 \ud83d\ud83d\ude00\ude00"}}]}'
    server = hostile(whole(body.encode()), whole(rb'{"data": [{"id": "m\ud800"}]}'))
    result = probed(server.url)
    assert result.generation.content == "a \ufffd b \ufffd c \U0001f600 \ufffd\U0001f600\ufffd" and result.models == [
        "m\ufffd"
    ]
    refused = probed(hostile(whole(rb'{"message": "no \ud800"}', b"HTTP/1.1 500 X\r\n")).url)
    assert refused.msg.endswith("no \ufffd")


@pytest.mark.parametrize(
    ("what", "say"),
    [
        ("a slow drip", endless(CHUNKED, b"1\r\n \r\n", 0.05)),
        ("a body without end", endless(OK + b"\r\n", b" " * 65536)),
        ("a connection that is closed at once", b""),
    ],
    ids=start_of,
)
def test_a_whole_wait_ends_by_its_deadline(hostile, what, say):
    server = hostile(say)
    result, failure = wait_for(server.url)
    fault("network", f"For the whole wait there is {what}")
    assert failure and 1 <= result["attempts"] < 15 and server.requests <= result["attempts"]


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(?s)(.*,){25}x"])
def test_a_pattern_that_never_ends_is_told_and_not_waited_for(hostile, pattern):
    server = hostile(generated(content="a, " * 2000 + "a" * 4000 + "!", role="assistant"))
    options = {"expect_regex": pattern, "degenerate_output": "ignore", "timeout": 600, "request_timeout": 30}
    result, failure = wait_for(server.url, **options)
    assert failure.failure_class == "pattern_too_slow" and result["attempts"] == 1
    assert f"'{pattern}'" in failure.msg and "make it simpler" in failure.msg
    fault("controller", f"A pattern takes for ever: {pattern}")


def test_a_pattern_is_judged_within_generations_at_once_too(hostile):
    server = hostile(generated(content="a" * 40 + "!"))
    prober = Prober(HttpClient(server.url), ProbeOptions(expect_regex="^(a+)+$", degenerate_output="ignore"))
    assert prober.judged(prober.start(0, 20.0, parallel=4).wait(30.0), 20.0).failure_class == "pattern_too_slow"


def test_a_condition_that_never_ends_is_not_met(hostile):
    body = {"choices": [{"message": {"content": "red"}, "finish_reason": "stop"}], "more": [list(range(100))] * 3000}
    condition = "sort_by(more[].{a: @, b: to_string(@)}, &b)[?a > `1`] | [0].b == 'x'"
    for _depth in range(7):
        condition = f"({condition}) || ({condition})"
    result = probed(hostile(whole(json.dumps(body).encode())).url, ready_when=condition)
    assert result.failure_class == "condition_not_met" and "took more than 1 s" in result.msg
    fault("controller", "A condition takes for ever")


def test_a_condition_over_what_is_nested_deeply(hostile):
    deep = b'{"choices": [{"message": {"content": "red"}}], "x": ' + b"[" * 900 + b"]" * 900 + b"}"
    assert probed(hostile(whole(deep)).url, ready_when="x").failure_class in ("condition_not_met", "empty_output")


def test_odd_figures_and_names_make_no_large_result(hostile):
    usage = {f"k{i}": {f"k{j}": ["x" * 300] * 30 for j in range(30)} for i in range(30)}
    usage.update(prompt_tokens=float("nan"), completion_tokens=10**300, total_tokens=7)
    choice = {"message": {"content": "red"}, "finish_reason": "s" * 50_000}
    models = whole(json.dumps({"data": [{"id": f"{i}" * 3000} for i in range(500)]}).encode())
    server = hostile(whole(json.dumps({"choices": [choice], "usage": usage}).encode()), models)
    result, failure = wait_for(server.url, timeout=20, request_timeout=20, model="x")
    assert failure is None and result["usage"]["total_tokens"] == 7 and len(result["models"]) == 20
    json.loads(json.dumps(result), parse_constant=pytest.fail)


def test_a_resolver_that_hangs_holds_up_nothing(monkeypatch):
    asked, free = [], threading.Event()

    def hangs(host, *_args, flags=0, **_more):
        if flags:
            raise socket.gaierror(socket.EAI_NONAME, "no number")
        asked.append(host)
        free.wait(60)
        raise socket.gaierror(socket.EAI_AGAIN, "too late")

    monkeypatch.setattr(socket, "getaddrinfo", hangs)
    monkeypatch.setattr(_name_lookup, "_under_way", {})
    monkeypatch.setattr(_listener, "_NAME_TIMEOUT", 0.1)
    monkeypatch.setattr(_wait_host, "_CONNECT_TIMEOUT", 0.1)
    _result, failure = wait_for("http://slow.example:1", timeout=2, request_timeout=0.5)
    free.set()
    assert failure.failure_class == "connection_refused" and "resolv" in failure.msg
    assert "slow.example:1" in failure.msg and len(asked) <= 2
    fault("network", "The resolver of names hangs")


def test_an_address_that_takes_no_connection_does_not_listen(monkeypatch):
    """A full backlog drops the first packet of every further connection, as a firewall does."""
    monkeypatch.setattr(_wait_host, "local_addresses", lambda _host: [])
    with socket.create_server(("127.0.0.1", 0), backlog=0) as silent:
        held = []
        while len(held) < 8:
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(silent.getsockname())
            held.append(one)
        _result, failure = wait_for(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=2, request_timeout=0.5)
        for one in held:
            one.close()
    assert failure.failure_class == "connection_refused" and "No connection" in failure.msg
    fault("network", "A firewall drops every connection")


@pytest.mark.parametrize("option", ["path", "health_path"])
@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "HTTPS://elsewhere.example/x", "ftp://x"])
def test_a_whole_url_as_a_path_is_refused_before_anything_is_sent(hostile, option, url):
    server = hostile(generated(content="red"))
    _result, failure = wait_for(server.url, api_key="sk-very-secret-key", **{option: url})
    assert failure.failure_class == "bad_request" and "base_url" in failure.msg and server.requests == 0
    fault("network", f"The {option} is a whole URL, which would take the key elsewhere")


@pytest.mark.parametrize("path", ["//127.0.0.1:9/v1", "@127.0.0.1:9/x", "\\\\127.0.0.1:9", ":9/x", "../../x"])
def test_no_path_leads_to_another_server(hostile, path):
    server = hostile(generated(content="red"))
    assert probed(server.url, path=path).good and server.requests == 1
