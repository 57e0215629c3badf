# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Look a host name up within a time: the system's resolver has none that a caller could set."""

from __future__ import annotations

import socket
import time
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._background import Handle

# A look-up that hangs is asked again, and not begun once more.
_under_way: dict[tuple[str, t.Optional[int]], Handle] = {}


def look_up(host: str, port: int | None, seconds: float) -> list[t.Any]:
    """What ``getaddrinfo`` says of *host*, within *seconds*.

    Raises OSError (``gaierror``) where the name has no address, or none in time, and UnicodeError for what is no name.
    """
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except OSError:
        pass
    key = (host, port)
    handle = _under_way.get(key) or Handle(lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    _under_way[key] = handle
    try:
        found = handle.wait(seconds)
    finally:
        if handle.done:
            _under_way.pop(key, None)
    if found is None:
        raise socket.gaierror(socket.EAI_AGAIN, f"the resolver gave no answer within {seconds:.3g} s")
    return found


def connect(host: str, port: int, seconds: float) -> socket.socket:
    """A connection to the first address of *host* that takes one; all of it within *seconds*. Raises OSError."""
    deadline = time.monotonic() + seconds
    failed: OSError = socket.gaierror(socket.EAI_NONAME, "the host name has no address")
    for info in look_up(host, port, seconds):
        try:
            return socket.create_connection((info[4][0], port), max(deadline - time.monotonic(), 0.001))
        except OSError as exc:
            failed = exc
    raise failed
