# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""One HTTP request under a deadline that covers all of it.

A read timeout alone is no deadline: a server that drips one byte a second never exceeds it. So the request runs in a
daemon thread; at the deadline its socket is shut down and the thread abandoned.
"""

from __future__ import annotations

import os
import re
import socket
import ssl
import threading
import time
import typing as t
import warnings
import zlib
from dataclasses import dataclass

from ansible_collections.llmops.sglang.plugins.module_utils._http_answer import Answer, HttpError
from ansible_collections.llmops.sglang.plugins.module_utils._name_lookup import look_up
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask

try:
    import requests
    from requests.adapters import HTTPAdapter
    from requests.utils import get_environ_proxies
    from urllib3 import HTTPConnectionPool, HTTPSConnectionPool

    HAS_REQUESTS = True
except ImportError:
    HTTPAdapter = object  # type: ignore[assignment,misc]
    HAS_REQUESTS = False


@dataclass
class Target:
    """What a request needs to know of its server: TLS settings, headers, proxy rule, and what to mask."""

    headers: dict[str, bytes]
    verify: bool | str
    cert: t.Any
    use_proxy: bool
    mask: Mask


class Call:
    """One request in a daemon thread; run() returns at the deadline whatever the server does."""

    def __init__(
        self,
        target: Target,
        method: str,
        url: str,
        payload: t.Any,
        timeout: float,
        max_body: int,
        until: bytes | None,
    ) -> None:
        self.target = target
        self.method, self.url, self.payload = method, url, payload
        self.timeout, self.max_body, self.until = max(timeout, 0.001), max_body, until
        self.phase = "connect"
        self.started = time.monotonic()
        self.headers_after = 0.0
        self.sockets: list[socket.socket] = []
        self.answer: Answer | None = None
        self.error: BaseException | None = None
        self.proxies: dict[str, str] = {}

    def run(self) -> Answer:
        thread = threading.Thread(target=self._work, daemon=True, name="llmops-http")
        thread.start()
        thread.join(self.timeout)
        # Taken before the cut, which the thread may see as an ordinary end.
        answer, error, phase = self.answer, self.error, self.phase
        self._cut()
        if answer is not None:
            return answer
        if error is None:
            raise HttpError("timeout", self.said(f"no whole answer within {self.timeout:.3g} s", phase), phase=phase)
        raise self._classified(error)

    def _cut(self) -> None:
        for sock in self.sockets:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            sock.close()

    def _work(self) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.answer = self._exchange()
        except Exception as exc:  # every error of the thread belongs to the caller
            self.error = exc

    def _exchange(self) -> Answer:
        target = self.target
        with requests.Session() as session:
            # trust_env would also take .netrc, which replaces the key, and REQUESTS_CA_BUNDLE.
            session.trust_env = False
            session.headers.update({"Accept-Encoding": "identity", "Connection": "close"})
            adapter = _Adapter(self)
            session.mount("http://", adapter)
            session.mount("https://", adapter)
            if target.use_proxy:
                self.proxies = proxies_of(self.url)
            with session.request(
                self.method,
                self.url,
                json=self.payload,
                headers=target.headers,
                proxies=self.proxies,
                verify=target.verify,
                cert=target.cert,
                timeout=self.timeout,
                allow_redirects=False,
                stream=True,
            ) as response:
                self.phase = "after_headers"
                self.headers_after = time.monotonic() - self.started
                body = self._body(response)
                headers = {str(k).lower(): str(v) for k, v in response.headers.items()}
                elapsed = time.monotonic() - self.started
                return Answer(response.status_code, headers, body, elapsed, self.headers_after, target.mask)

    def _body(self, response: t.Any) -> bytes:
        body = bytearray()
        # Not decoded: a few bytes may stand for more than the memory holds.
        for chunk in response.raw.stream(65536 if self.until is None else 1024, decode_content=False):
            body += chunk
            if len(body) > self.max_body:
                raise self._bad_body(response, f"the body is larger than {self.max_body} bytes")
            if self.until is not None and self.until in body[-len(chunk) - len(self.until) :]:
                break
        coding = str(response.headers.get("Content-Encoding") or "identity").strip().lower()
        return bytes(body) if coding == "identity" else self._unpacked(response, bytes(body), coding)

    def _unpacked(self, response: t.Any, body: bytes, coding: str) -> bytes:
        """*body* of a server that compresses it although it was asked not to; bounded as any other."""
        if coding not in ("gzip", "x-gzip", "deflate"):
            raise self._bad_body(response, f"the body is encoded as '{coding[:40]}', which was not asked for")
        try:
            whole = zlib.decompressobj(32 + zlib.MAX_WBITS).decompress(body, self.max_body + 1)
        except zlib.error:
            raise self._bad_body(response, f"the body is said to be {coding} and is not") from None
        if len(whole) > self.max_body:
            raise self._bad_body(response, f"the body is larger than {self.max_body} bytes")
        return whole

    def _bad_body(self, response: t.Any, cause: str) -> HttpError:
        return HttpError("bad_answer", self.said(cause), phase=self.phase, status=response.status_code)

    def said(self, cause: str, phase: str = "") -> str:
        """*cause* in a sentence that names the request, its proxy and how far it came; secrets masked."""
        proxy = self.proxies.get(self.url.split(":", 1)[0]) or self.proxies.get("all")
        through = f" through the proxy '{_without_password(proxy)}'" if proxy else ""
        where = {
            "resolve": "while resolving the host name",
            "connect": "while connecting",
            "before_headers": "before the headers",
            "after_headers": "after the headers",
        }[phase or self.phase]
        url = _without_password(self.url)
        return self.target.mask.text(f"{self.method} {url}{through}: {cause} ({where}).")

    def _classified(self, exc: BaseException | None) -> HttpError:
        if isinstance(exc, HttpError):
            return exc
        causes = list(_causes(exc))
        kind, cause = _kind_of(causes)
        return HttpError(kind, self.said(cause or f"{type(exc).__name__}: {str(exc)[:200]}"), phase=self.phase)


def proxies_of(url: str) -> dict[str, str]:
    """The proxies that the environment has for *url*; empty where it is exempt."""
    return dict(get_environ_proxies(url))


def _without_password(url: str) -> str:
    return re.sub(r"//[^/@]*@", "//***@", url)


def _causes(exc: t.Any, depth: int = 0) -> t.Iterator[BaseException]:
    """The exception and all that it wraps, by cause, context, reason and arguments."""
    if not isinstance(exc, BaseException) or depth > 8:
        return
    yield exc
    inner = [exc.__cause__, exc.__context__, getattr(exc, "reason", None), *exc.args]
    for item in inner:
        if item is not exc:
            yield from _causes(item, depth + 1)


def _kind_of(causes: list[BaseException]) -> tuple[str, str]:
    """Kind and cause in words; what the kernel or the TLS library said counts before the wrappers' names."""
    for exc in causes:
        if isinstance(exc, (ssl.SSLEOFError, ssl.SSLZeroReturnError)):
            return "reset", "the connection ended within the TLS handshake"
        if isinstance(exc, ssl.SSLError):
            return "tls_error", tls_cause(exc)
        if isinstance(exc, ConnectionRefusedError):
            return "refused", "connection refused, nothing listens there"
        if isinstance(exc, socket.gaierror):
            return "refused", f"the host name cannot be resolved ({exc.strerror})"
        if isinstance(exc, (ConnectionResetError, BrokenPipeError, ConnectionAbortedError)):
            return "reset", f"the connection was cut ({type(exc).__name__})"
    names = {type(exc).__name__ for exc in causes}
    if names & {"ConnectTimeout", "ConnectTimeoutError", "ReadTimeout", "ReadTimeoutError", "timeout", "TimeoutError"}:
        return "timeout", "no answer in time"
    if "IncompleteRead" in names or "InvalidChunkLength" in names:
        return "bad_answer", "the body ended before it was whole"
    text = " ".join(str(exc)[:300] for exc in causes)
    if "BadStatusLine" in names and ("\\x15\\x03" in text or "\x15\x03" in text):
        return "tls_error", "the port speaks TLS and the URL says http"
    if "BadStatusLine" in names or "LineTooLong" in names or "UnknownProtocol" in names:
        return "bad_answer", "what answers there does not speak HTTP"
    for exc in causes:
        if isinstance(exc, OSError) and exc.errno is not None:
            return "refused", os.strerror(exc.errno).lower()
    if names & {"InvalidProxyURL", "ProxySchemeUnknown"}:
        return "refused", "the proxy's URL is malformed"
    if isinstance(causes[0] if causes else None, OSError) and "invalid path" in text:
        return "tls_error", text[:200]
    return "bad_answer", ""


def tls_cause(exc: ssl.SSLError) -> str:
    """What a TLS error means, in words."""
    reason = str(getattr(exc, "reason", "") or exc).replace("_", " ").lower()
    if isinstance(exc, ssl.SSLCertVerificationError):
        return f"the certificate is not accepted ({exc.verify_message})"
    if "wrong version number" in reason or "http request" in reason or "record layer" in reason:
        return "the port speaks plain text and the URL says https"
    if "certificate required" in reason:
        return "the server asks for a client certificate (options client_cert and client_key)"
    return f"TLS failed ({reason[:120]})"


class _Adapter(HTTPAdapter):
    """Tells its call how far the connection is, and leaves it a handle by which it can be cut."""

    def __init__(self, call: Call) -> None:
        self.pools = _pools(call)
        super().__init__(max_retries=0)

    def init_poolmanager(self, *args: t.Any, **kwargs: t.Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = self.pools

    def proxy_manager_for(self, *args: t.Any, **kwargs: t.Any) -> t.Any:
        manager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = self.pools
        return manager


def _pools(call: Call) -> dict[str, type]:
    def watched(base: t.Any) -> type:
        class Watched(base):  # type: ignore[misc,valid-type]
            def _new_conn(self) -> socket.socket:
                call.phase = "resolve"
                look_up(self.host, self.port, call.timeout)
                call.phase = "connect"
                sock = super()._new_conn()
                # A duplicate, because TLS takes the first descriptor over; shutting it down ends both.
                call.sockets.append(socket.socket(fileno=os.dup(sock.fileno())))
                return sock

            def connect(self) -> None:
                super().connect()
                call.phase = "before_headers"

        return Watched

    class Plain(HTTPConnectionPool):
        ConnectionCls = watched(HTTPConnectionPool.ConnectionCls)

    class Secure(HTTPSConnectionPool):
        ConnectionCls = watched(HTTPSConnectionPool.ConnectionCls)

    return {"http": Plain, "https": Secure}
