# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""JSON over HTTP with one deadline for the whole call and failures that are told apart.

client = HttpClient.from_params(module.params, base_url)      # or HttpClient(base_url, api_key=...)
models = client.json("GET", "/v1/models", timeout=5)          # decoded; HttpError unless 2xx and JSON
answer = client.send("POST", "/generate", {...}, timeout=60)  # Answer, whatever its status
"""

from __future__ import annotations

import contextlib
import re
import ssl
import sys
import time
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._background import Handle
from ansible_collections.llmops.sglang.plugins.module_utils._endpoint import address_of
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure, missing_dependency
from ansible_collections.llmops.sglang.plugins.module_utils._http_answer import (
    Answer,
    HttpError,
    error_message,
    failure_class_of_status,
    http_error,
)
from ansible_collections.llmops.sglang.plugins.module_utils._http_call import (
    HAS_REQUESTS,
    Call,
    Target,
    proxies_of,
    tls_cause,
)
from ansible_collections.llmops.sglang.plugins.module_utils._name_lookup import connect
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask, check_api_key, read_api_key

__all__ = ["Answer", "HttpClient", "HttpError", "error_message", "failure_class_of_status", "http_error", "secrets_in"]

MAX_BODY = 8 * 1024 * 1024
SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie|password", re.IGNORECASE)


class HttpClient:
    """One server's base URL with the key, the TLS settings and the proxy rule that go with it."""

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        headers: t.Mapping[str, t.Any] | None = None,
        validate_certs: bool = True,
        ca_path: str | None = None,
        client_cert: str | None = None,
        client_key: str | None = None,
        use_proxy: bool = False,
    ) -> None:
        if not HAS_REQUESTS:
            raise missing_dependency("requests", sys.executable, "to talk to the server")
        self.scheme, self.host, self.port, dummy = address_of(base_url)
        check_api_key(api_key)
        self.base_url = re.sub(r"/v1$", "", base_url.rstrip("/"))
        sent = {str(k): str(v).encode("utf-8") for k, v in (headers or {}).items()}
        if api_key and not any(name.lower() == "authorization" for name in sent):
            sent["Authorization"] = b"Bearer " + api_key.encode("utf-8")
        verify: bool | str = (ca_path or True) if validate_certs else False
        cert = (client_cert, client_key) if client_cert and client_key else client_cert
        self.mask = Mask(secrets_in(api_key, headers))
        self._target = Target(sent, verify, cert, use_proxy, self.mask)
        # Whether any connection came about.
        self.reached = False

    @classmethod
    def from_params(cls, params: t.Mapping[str, t.Any], base_url: str | None = None) -> HttpClient:
        """From a module's connection options; base_url where the option of that name is not set."""
        return cls(
            params.get("base_url") or base_url or "",
            api_key=read_api_key(params.get("api_key"), params.get("api_key_file")),
            headers=params.get("headers"),
            validate_certs=params.get("validate_certs", True),
            ca_path=params.get("ca_path"),
            client_cert=params.get("client_cert"),
            client_key=params.get("client_key"),
            use_proxy=bool(params.get("use_proxy")),
        )

    @property
    def through_proxy(self) -> bool:
        """Whether requests to the server go through a proxy of the environment."""
        return self._target.use_proxy and bool(proxies_of(self.base_url))

    def url(self, path: str) -> str:
        """The whole URL of *path*. The key is for this server alone, so no path leads to another one."""
        if re.match(r"[a-z][a-z0-9+.-]*://", path, re.IGNORECASE):
            raise Failure(
                "bad_request",
                f"The path '{path}' is a whole URL: give the server as base_url, and here only the path that follows it.",
            )
        return self.base_url + "/" + path.lstrip("/")

    def json(self, method: str, path: str, payload: t.Any = None, *, timeout: float = 60.0) -> t.Any:
        """The decoded JSON of a 2xx answer; HttpError otherwise."""
        answer = self.send(method, path, payload, timeout=timeout)
        if not answer.ok:
            raise http_error(answer, method, path)
        return answer.json()

    def send(
        self,
        method: str,
        path: str,
        payload: t.Any = None,
        *,
        timeout: float = 60.0,
        max_body: int = MAX_BODY,
        until: bytes | None = None,
    ) -> Answer:
        """One request, never followed elsewhere. The answer whatever its status.

        timeout: seconds for all of it, from the name look-up to the body's last byte.
        until: stop reading once the body holds these bytes (the end mark of a server-sent stream).
        Raises HttpError where no whole answer came.
        """
        call = Call(self._target, method, self.url(path), payload, timeout, max_body, until)
        try:
            answer = call.run()
        except HttpError as exc:
            self.reached = self.reached or bool(call.sockets)
            left = timeout - (time.monotonic() - call.started)
            refusal = self._tls_refusal(min(1.0, left)) if exc.kind == "reset" and left > 0 else ""
            if not refusal:
                raise
            raise HttpError("tls_error", call.said(refusal), phase=exc.phase) from exc
        self.reached = True
        return answer

    def speaks_tls(self, timeout: float = 2.0) -> bool:
        """Whether the port finishes a TLS handshake (certificates unchecked): plain text went to a TLS port."""

        def shakes_hands() -> bool:
            try:
                with self._tls_connection(timeout):
                    return True
            except (OSError, ValueError):
                return False

        # A handshake that is dripped keeps within the time of each read.
        return Handle(shakes_hands).wait(timeout) is True

    def _tls_refusal(self, timeout: float) -> str:
        """Why the server ends a TLS connection on which nothing was asked yet; empty where it does not.

        TLS 1.3 refuses a client's certificate after the handshake: a request that is under way then may meet the
        closed connection before the alert is read.
        """
        if self.scheme != "https" or self.through_proxy:
            return ""

        def cause() -> str:
            try:
                with self._tls_connection(timeout) as connection:
                    connection.recv(1)
            except ssl.SSLError as exc:
                return "" if isinstance(exc, (ssl.SSLEOFError, ssl.SSLZeroReturnError)) else tls_cause(exc)
            except (OSError, ValueError):
                pass
            return ""

        return Handle(cause).wait(timeout) or ""

    @contextlib.contextmanager
    def _tls_connection(self, timeout: float) -> t.Iterator[ssl.SSLSocket]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        cert = self._target.cert
        if cert:
            context.load_cert_chain(*([cert] if isinstance(cert, str) else cert))
        plain = connect(self.host, self.port, timeout)
        with plain, context.wrap_socket(plain, server_hostname=self.host) as secure:
            yield secure


def secrets_in(api_key: str | None, headers: t.Mapping[str, t.Any] | None) -> list[str]:
    """The strings that must not be shown: the key, and the words of headers whose names sound secret."""
    found = [api_key] if api_key else []
    for name, value in (headers or {}).items():
        if SECRET_HEADER.search(str(name)):
            found.extend(word for word in [str(value), *str(value).split()[1:]] if len(word) > 3)
    return found
