# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""An HTTP answer, or the reason why there is none."""

from __future__ import annotations

import json
import re
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask

_LONGEST_NUMBER = 400
# No answer of these servers is nested as deeply; whoever walks a value needs some of Python's stack for each level.
_DEEPEST = 100
# As much of a body as is masked before it is cut: half a key is not known to be one.
_MOST_MASKED = 1024 * 1024
# Each escape from left to right, since a backslash may be escaped itself; whole pairs of half characters are one.
_ESCAPE = re.compile(
    r"\\(?:u(?P<first>[dD][89abAB][0-9a-fA-F]{2})(?P<second>\\u[dD][c-fC-F][0-9a-fA-F]{2})?|u(?P<lone>[dD][c-fC-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_HALF = re.compile(r"\\u[dD]")


class HttpError(Exception):
    """A call that gave no usable answer.

    kind: C(refused), C(reset), C(timeout), C(tls_error), C(http_error) or C(bad_answer).
    phase: C(resolve), C(connect), C(before_headers) or C(after_headers): how far the call came.
    status and body: of the answer where there was one (body masked, cut at 2000 characters).
    """

    def __init__(self, kind: str, msg: str, phase: str = "connect", status: int | None = None, body: str = "") -> None:
        super().__init__(msg)
        self.kind = kind
        self.msg = msg
        self.phase = phase
        self.status = status
        self.body = body

    @property
    def failure_class(self) -> str:
        """The word of the collection's failure vocabulary for this error on a generation route."""
        if self.kind == "http_error":
            return failure_class_of_status(self.status or 0)
        if self.phase == "resolve":
            return "connection_refused"
        return {"refused": "connection_refused", "timeout": "generation_timeout", "tls_error": "tls_mismatch"}.get(
            self.kind, "server_error"
        )


def failure_class_of_status(status: int) -> str:
    """The failure class of an HTTP status on a generation route; anything unexpected is C(server_error)."""
    if status in (401, 403):
        return "unauthorized"
    if status in (404, 405):
        return "route_not_found"
    if 400 <= status < 500 and status not in (408, 425, 429):
        return "bad_request"
    return "server_error"


@dataclass(frozen=True)
class Answer:
    """A whole HTTP answer. elapsed: seconds until the body's end; headers_after: until the headers' end."""

    status: int
    headers: dict[str, str]
    body: bytes
    elapsed: float
    headers_after: float
    mask: Mask = field(default_factory=lambda: Mask([]), repr=False)

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    def text(self, limit: int = 2000) -> str:
        """The body for people: decoded, masked, cut."""
        return self.mask.text(self.body[:_MOST_MASKED].decode("utf-8", "replace"))[:limit]

    def json(self) -> t.Any:
        """The decoded body, as sent (not masked). Raises HttpError C(bad_answer) where it is not JSON."""
        try:
            return decoded(self.body.decode("utf-8"))
        except ValueError as exc:
            raise HttpError(
                "bad_answer", _not_json(self, exc), phase="after_headers", status=self.status, body=self.text()
            ) from None


def decoded(text: str) -> t.Any:
    """The value of JSON from a server that may mean harm. Raises ValueError, also where it is nested too deeply.

    Old releases of Python need minutes for the value of a number with a million digits.
    """
    # Python makes text of half characters that cannot be encoded again, and Ansible refuses a module's whole answer.
    text = _ESCAPE.sub(_whole, text) if _HALF.search(text) else text
    try:
        value = json.loads(text, parse_int=_integer)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if text.count("[") + text.count("{") > _DEEPEST and not _is_flat(value):
        raise ValueError("it is nested too deeply")
    return value


def _whole(match: t.Match[str]) -> str:
    half = match.group("lone") or (match.group("first") and not match.group("second"))
    return r"\ufffd" if half else match.group()


def _is_flat(value: t.Any) -> bool:
    """Whether *value* is nested no deeper than it may be; level by level, which needs no stack."""
    level = [value]
    for dummy in range(_DEEPEST):
        inner = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, (dict, list))]
        level = [one for values in inner for one in values]
        if not level:
            return True
    return False


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        raise ValueError("it holds a number that is too long")
    return int(digits)


def _not_json(answer: Answer, exc: Exception) -> str:
    start = answer.body[:200].lstrip().lower()
    if not start:
        return f"The answer (status {answer.status}) has an empty body."
    if start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml")):
        return (
            f"The answer (status {answer.status}) is an HTML page, not JSON: a proxy or another service answers here."
        )
    if start[:1] in (b"{", b"["):
        return f"The answer (status {answer.status}) is truncated or broken JSON ({type(exc).__name__})."
    return f"The answer (status {answer.status}) is not JSON; it begins with '{answer.text(80)}'."


def http_error(answer: Answer, method: str, path: str) -> HttpError:
    """The error for an answer whose status is not 2xx, quoting what the server says about it."""
    said = error_message(answer)
    msg = f"{method} {path} was answered with status {answer.status}" + (f": {said}" if said else ".")
    return HttpError("http_error", msg, phase="after_headers", status=answer.status, body=answer.text())


def error_message(answer: Answer, limit: int = 300) -> str:
    """What an error body says, in any of the shapes that servers use; masked and cut."""
    try:
        body = decoded(answer.body.decode("utf-8"))
    except ValueError:
        text = re.sub(r"<[^>]*>", " ", answer.text(limit * 2))
        return " ".join(text.split())[:limit]
    for key in ("error", "message", "detail"):
        if isinstance(body, dict) and body.get(key):
            body = body[key]
            break
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        body = body["message"]
    return answer.mask.text(body if isinstance(body, str) else json.dumps(body))[:limit]
