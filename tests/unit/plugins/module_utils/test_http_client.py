# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTTP client against a raw socket server that says exactly the bytes it is told to."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import struct
import subprocess
import threading
import time

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _http_client
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._http_client import HttpClient, HttpError

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
KEY = "sk-very-secret-key"


def whole(body: bytes, head: bytes = OK) -> bytes:
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


class Stub:
    """Accepts connections, keeps what each asked, and lets *say(connection)* answer."""

    def __init__(self, say, family=socket.AF_INET, context=None):
        self.say, self.context, self.asked = say, context, []
        self.socket = socket.create_server(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0), family=family)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _peer = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._one, args=(connection,), daemon=True).start()

    def _one(self, connection):
        with contextlib.suppress(OSError, ssl.SSLError):
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
            request = self._request(connection)
            self.asked.append(request)
            self.say(connection)
        connection.close()

    @staticmethod
    def _request(connection):
        """A whole request, so that closing later sends no reset; or the start of something that is not HTTP."""
        request = connection.recv(65536)
        while not request.startswith(b"\x16"):
            head, _end, body = request.partition(b"\r\n\r\n")
            length = [int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
            if _end and len(body) >= sum(length):
                break
            part = connection.recv(65536)
            if not part:
                break
            request += part
        return request

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture
def stub():
    made = []

    def make(say, **kwargs):
        if isinstance(say, bytes):
            said = say
            made.append(Stub(lambda connection: connection.sendall(said), **kwargs))
        else:
            made.append(Stub(say, **kwargs))
        return made[-1]

    yield make
    for one in made:
        one.socket.close()


@pytest.fixture
def certificate(tmp_path):
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    command += ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
    subprocess.run(command, check=True, capture_output=True)
    return tmp_path / "cert.pem", tmp_path / "key.pem"


def failing(client, timeout=2.0, method="POST", path="/v1/chat/completions", payload=None):
    with pytest.raises(HttpError) as caught:
        client.json(method, path, payload if payload is not None else {"a": 1}, timeout=timeout)
    return caught.value


def test_json_is_sent_and_decoded(stub):
    server = stub(whole(b'{"x": [1, "\xc3\xa9"]}'))
    assert HttpClient(server.url).json("POST", "v1/x", {"q": "ü"}) == {"x": [1, "é"]}
    head, body = server.asked[0].split(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/x HTTP/1.1") and json.loads(body) == {"q": "ü"}


def test_answer_keeps_status_headers_and_times(stub):
    answer = HttpClient(stub(b"HTTP/1.1 503 X\r\nX-Y: z\r\nContent-Length: 0\r\n\r\n").url).send("GET", "/health")
    assert (answer.status, answer.ok, answer.headers["x-y"], answer.body) == (503, False, "z", b"")
    assert 0 < answer.headers_after <= answer.elapsed < 2


def test_base_url_may_end_in_v1(stub):
    server = stub(whole(b"{}"))
    HttpClient(server.url + "/v1/").json("GET", "/v1/models")
    assert server.asked[0].startswith(b"GET /v1/models ")


@pytest.mark.parametrize("url", ["", "localhost:30000", "ftp://x", "http://", "http://[::1", "http://x:port"])
def test_a_url_that_is_none_is_told(url):
    with pytest.raises(Failure) as caught:
        HttpClient(url)
    assert caught.value.failure_class == "bad_request"


def test_missing_requests_names_package_and_interpreter(monkeypatch):
    monkeypatch.setattr(_http_client, "HAS_REQUESTS", False)
    with pytest.raises(Failure) as caught:
        HttpClient("http://127.0.0.1:1")
    assert caught.value.failure_class == "missing_dependency"
    assert "'requests'" in caught.value.msg and "python" in caught.value.msg


def drip(head: bytes, drop: bytes):
    def say(connection):
        connection.sendall(head)
        for _dummy in range(100):
            connection.sendall(drop)
            time.sleep(0.1)

    return say


@pytest.mark.parametrize(
    ("say", "phase"),
    [
        (drip(b"", b""), "before_headers"),
        (drip(b"HTTP/1.1 200 OK\r\n", b"X-Drip: 1\r\n"), "before_headers"),
        (drip(b"HTTP/1.1 200 OK\r\nX-Long: ", b"1"), "before_headers"),
        (drip(OK + b"\r\n", b""), "after_headers"),
        (drip(OK + b"Content-Length: 1000\r\n\r\n", b" "), "after_headers"),
        (drip(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"), "after_headers"),
    ],
)
def test_the_deadline_is_total_whatever_is_dripped(stub, say, phase):
    started = time.monotonic()
    error = failing(HttpClient(stub(say).url), timeout=0.5)
    assert 0.45 < time.monotonic() - started < 1.0
    assert (error.kind, error.phase, error.failure_class) == ("timeout", phase, "generation_timeout")


def test_an_abandoned_call_closes_its_connection(stub):
    cut = threading.Event()

    def say(connection):
        connection.settimeout(5)
        if connection.recv(1) == b"":
            cut.set()

    failing(HttpClient(stub(say).url), timeout=0.3, method="GET")
    assert cut.wait(2)


def test_a_dripped_tls_handshake_meets_the_deadline(stub):
    server = stub(drip(b"", b"\x16"))
    started = time.monotonic()
    error = failing(HttpClient(server.url.replace("http:", "https:"), validate_certs=False), timeout=0.5)
    assert error.kind in ("timeout", "tls_error") and time.monotonic() - started < 1.0


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def reset_in_body(connection):
    connection.sendall(OK + b'Content-Length: 100\r\n\r\n{"a"')
    time.sleep(0.1)
    reset(connection)


@pytest.mark.parametrize(
    ("say", "kind", "phase"),
    [
        (reset, "reset", "before_headers"),
        (b"", "reset", "before_headers"),
        (reset_in_body, "reset", "after_headers"),
        (OK + b'Content-Length: 100\r\n\r\n{"a"', "bad_answer", "after_headers"),
        (OK + b'Transfer-Encoding: chunked\r\n\r\n4\r\n{"a"\r\n', "bad_answer", "after_headers"),
        (whole(b'{"a": [1'), "bad_answer", "after_headers"),
        (whole(b""), "bad_answer", "after_headers"),
        (whole(b"<!DOCTYPE html><p>hi"), "bad_answer", "after_headers"),
        (whole(b"\xff\xfe"), "bad_answer", "after_headers"),
        (whole(b"[" * 100000), "bad_answer", "after_headers"),
        (b"220 mail.example ESMTP\r\n", "bad_answer", "before_headers"),
        (b"\x15\x03\x03\x00\x02\x02\x46", "tls_error", "before_headers"),
        (
            whole(b"<html>Bad Gateway", b"HTTP/1.1 502 Bad\r\nContent-Type: text/html\r\n"),
            "http_error",
            "after_headers",
        ),
        (whole(b"", b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\n"), "http_error", "after_headers"),
    ],
)
def test_failures_are_told_apart(stub, say, kind, phase):
    error = failing(HttpClient(stub(say).url))
    assert (error.kind, error.phase) == (kind, phase), error.msg


def test_refused():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    error = failing(HttpClient(f"http://127.0.0.1:{port}"))
    assert (error.kind, error.phase, error.failure_class) == ("refused", "connect", "connection_refused")


def test_html_says_that_it_is_html(stub):
    assert "HTML" in failing(HttpClient(stub(whole(b"<html>x")).url)).msg


@pytest.mark.parametrize(
    ("status", "failure_class"),
    [(401, "unauthorized"), (403, "unauthorized"), (404, "route_not_found"), (400, "bad_request"), (422, "bad_request")]
    + [(429, "server_error"), (500, "server_error"), (503, "server_error"), (302, "server_error")],
)
def test_the_class_of_a_status(stub, status, failure_class):
    error = failing(HttpClient(stub(whole(b"{}", b"HTTP/1.1 %d X\r\n" % status)).url))
    assert (error.kind, error.status, error.failure_class) == ("http_error", status, failure_class)


@pytest.mark.parametrize(
    "body",
    [
        b'{"object":"error","message":"no such thing","type":"BadRequest","code":400}',
        b'{"error":{"message":"no such thing"}}',
        b'{"error":"no such thing"}',
        b'{"detail":"no such thing"}',
        b"<html><b>no such</b> thing</html>",
        b"no such thing",
    ],
)
def test_what_the_server_says_is_quoted(stub, body):
    assert "no such thing" in failing(HttpClient(stub(whole(body, b"HTTP/1.1 400 Bad\r\n")).url)).msg


def test_a_body_without_end_is_bounded(stub):
    def say(connection):
        connection.sendall(OK + b"\r\n")
        while True:
            connection.sendall(b" " * 65536)

    with pytest.raises(HttpError) as caught:
        HttpClient(stub(say).url).send("GET", "/", max_body=1_000_000, timeout=10)
    assert caught.value.kind == "bad_answer" and "larger than 1000000" in caught.value.msg


def test_a_stream_ends_at_its_end_mark(stub):
    def say(connection):
        connection.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n")
        for part in (b"data: {}\n\n", b"data: [DO", b"NE]\n\n"):
            connection.sendall(b"%x\r\n%s\r\n" % (len(part), part))
            time.sleep(0.05)
        time.sleep(5)

    answer = HttpClient(stub(say).url).send("POST", "/", {}, timeout=3, until=b"data: [DONE]")
    assert answer.body.startswith(b"data: {}\n\ndata: [DONE]") and answer.elapsed < 2


def test_the_key_is_sent_and_never_shown(stub):
    echo = json.dumps({"error": f"key {KEY} is wrong"}).encode()
    server = stub(whole(echo, b"HTTP/1.1 401 No\r\nX-Echo: " + KEY.encode() + b"\r\n"))
    error = failing(HttpClient(server.url, api_key=KEY, headers={"X-Api-Key": "other-secret"}))
    assert f"Authorization: Bearer {KEY}".encode() in server.asked[0] and b"X-Api-Key: other-secret" in server.asked[0]
    assert KEY not in error.msg + error.body + repr(error) and "is wrong" in error.msg


def test_a_header_of_the_user_replaces_the_key(stub):
    server = stub(whole(b"{}"))
    HttpClient(server.url, api_key=KEY, headers={"authorization": "Basic eHg="}).json("GET", "/")
    assert KEY.encode() not in server.asked[0] and b"Basic eHg=" in server.asked[0]


def test_a_key_with_a_control_character_is_told_without_it():
    with pytest.raises(Failure) as caught:
        HttpClient("http://127.0.0.1:1", api_key=KEY + "\r\nX: y")
    assert KEY not in caught.value.msg


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "http://", "::bad::", "socks5h://127.0.0.1:9"])
@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"])
def test_the_environments_proxy_is_not_used_unless_asked(stub, monkeypatch, name, proxy):
    monkeypatch.setenv(name, proxy)
    assert HttpClient(stub(whole(b"{}")).url).json("GET", "/") == {}


@pytest.mark.parametrize("proxy", ["http://user:pass-word@127.0.0.1:9", "http://", "::bad::"])
def test_a_failure_through_a_proxy_says_so(stub, monkeypatch, proxy):
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", proxy)
    error = failing(HttpClient(stub(whole(b"{}")).url, use_proxy=True))
    assert "through the proxy" in error.msg and "pass-word" not in error.msg


def test_netrc_does_not_replace_the_key(stub, monkeypatch, tmp_path):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    server = stub(whole(b"{}"))
    HttpClient(server.url, api_key=KEY).json("GET", "/")
    assert KEY.encode() in server.asked[0]


def test_ipv6(stub):
    server = stub(whole(b"{}"), family=socket.AF_INET6)
    assert HttpClient(f"http://[::1]:{server.port}").json("GET", "/") == {}


def tls_context(certificate, client_ca=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    if client_ca:
        context.load_verify_locations(client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def test_tls_with_its_own_ca_and_client_certificate(stub, certificate, monkeypatch):
    cert, key = map(str, certificate)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nonexistent")
    plain = stub(whole(b"{}"), context=tls_context(certificate))
    mutual = stub(whole(b"{}"), context=tls_context(certificate, cert))
    url, mutual_url = (f"https://127.0.0.1:{server.port}" for server in (plain, mutual))
    assert HttpClient(url, ca_path=cert).json("GET", "/") == {}
    assert HttpClient(url, validate_certs=False).json("GET", "/") == {}
    assert HttpClient(mutual_url, ca_path=cert, client_cert=cert, client_key=key).json("GET", "/") == {}
    unaccepted = failing(HttpClient(url))
    assert unaccepted.kind == "tls_error" and "not accepted" in unaccepted.msg
    unknown = failing(HttpClient(mutual_url, ca_path=cert))
    assert unknown.kind == "tls_error" and "asks for a client certificate" in unknown.msg
    assert failing(HttpClient(url, ca_path="/nonexistent/ca.pem")).kind == "tls_error"


def test_a_refused_certificate_is_told_when_the_connection_is_cut_before_its_alert_is_read(
    stub, certificate, monkeypatch
):
    cert = str(certificate[0])

    def late(call):
        raise HttpError("reset", call.said("the connection was cut"), phase="before_headers")

    monkeypatch.setattr(_http_client.Call, "run", late)
    mutual = stub(whole(b"{}"), context=tls_context(certificate, cert))
    error = failing(HttpClient(f"https://127.0.0.1:{mutual.port}", ca_path=cert))
    assert (error.kind, error.failure_class) == ("tls_error", "tls_mismatch")
    cut = stub(b"", context=tls_context(certificate))
    assert failing(HttpClient(f"https://127.0.0.1:{cut.port}", ca_path=cert)).kind == "reset"
    assert failing(HttpClient(f"http://127.0.0.1:{mutual.port}")).kind == "reset"


def test_tls_to_a_plain_port_and_plain_to_a_tls_port(stub, certificate):
    plain = stub(whole(b"Bad", b"HTTP/1.1 400 Bad\r\n"))
    error = failing(HttpClient(f"https://127.0.0.1:{plain.port}"))
    assert (error.kind, error.failure_class) == ("tls_error", "tls_mismatch") and "plain text" in error.msg
    secure = stub(whole(b"{}"), context=tls_context(certificate))
    client = HttpClient(f"http://127.0.0.1:{secure.port}")
    assert failing(client).kind in ("reset", "tls_error")
    assert client.speaks_tls() and not HttpClient(plain.url).speaks_tls(0.5)
