# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Where the server of a command line listens."""

from __future__ import annotations

import typing as t

# The same defaults in every SGLang from 0.5.6 to 0.5.23.
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 30000
_WILDCARDS = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "*": "127.0.0.1", "::": "::1", "[::]": "::1"}


def argument(argv: t.Sequence[str], *flags: str) -> t.Optional[str]:
    """The value of the last of *flags* on the command line, as ``--flag value`` or ``--flag=value``; ``None`` without one."""
    value = None
    for index, word in enumerate(argv):
        name, sep, rest = word.partition("=")
        if name in flags:
            value = rest if sep else (argv[index + 1] if index + 1 < len(argv) else None)
    return value


def from_argv(argv: t.Sequence[str]) -> str:
    """The base URL that a client on the same host uses: a wildcard address becomes loopback."""
    host = argument(argv, "--host") or DEFAULT_HOST
    port = argument(argv, "--port") or str(DEFAULT_PORT)
    scheme = "https" if argument(argv, "--ssl-certfile", "--ssl-cert-file") else "http"
    host = _WILDCARDS.get(host, host)
    return f"{scheme}://{f'[{host}]' if ':' in host and not host.startswith('[') else host}:{port}"
