# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Where a server listens: by its command line, or by a base URL."""

from __future__ import annotations

import re
import typing as t
from urllib.parse import urlsplit

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._launch_command import read_launch

# The same defaults in every SGLang from 0.5.6 to 0.5.23.
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 30000
_WILDCARDS = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "*": "127.0.0.1", "::": "::1", "[::]": "::1"}


# argparse takes every unique beginning of a flag. These are the shortest that are unique in any release from 0.5.6 to 0.5.23;
# where one is ambiguous, that server does not start.
_SHORTEST = {
    "--host": "--ho",
    "--log-level": "--log-level",
    "--model-path": "--model",
    "--nnodes": "--nn",
    "--node-rank": "--no",
    "--port": "--po",
    "--revision": "--rev",
    "--speculative-draft-model-path": "--speculative-draft-model",
    "--speculative-draft-model-revision": "--speculative-draft-model-r",
    "--ssl-certfile": "--ssl-ce",
}
# The flags of keys, by what their beginnings must hold to be no other flag's.
_KEYS = (("--api-key", "--ap"), ("--admin-api-key", "--ad"), ("--ssl-keyfile-password", "--ssl-keyfile-"))


def argument(argv: t.Sequence[str], *flags: str) -> t.Optional[str]:
    """The value of the last of *flags* on the command line, as ``--flag value`` or ``--flag=value``; ``None`` without one.

    A flag of which the shortest unique beginning is known is found under each of its abbreviations.
    """
    value = None
    for index, word in enumerate(argv):
        name, sep, rest = word.partition("=")
        if any(name == flag or _abbreviates(name, flag, _SHORTEST.get(flag, flag)) for flag in flags):
            value = rest if sep else (argv[index + 1] if index + 1 < len(argv) else None)
    return value


def _abbreviates(name: str, flag: str, shortest: str) -> bool:
    return flag.startswith(name) and name.startswith(shortest)


def hide_keys(argv: t.Sequence[str], hidden: str) -> list[str]:
    """*argv* with *hidden* in the place of every key."""
    kept: list[str] = []
    hide = False
    for word in argv:
        name, sep, dummy = word.partition("=")
        secret = any(_abbreviates(name, flag, shortest) for flag, shortest in _KEYS)
        kept.append(hidden if hide else f"{name}={hidden}" if secret and sep else word)
        hide = secret and not sep and not hide
    return kept


def from_argv(argv: t.Sequence[str]) -> str:
    """The base URL that a client on the same host uses: a wildcard address becomes loopback.

    :arg argv: the server's command line, or that of a wrapper around it.
    """
    launch = read_launch(argv)
    words = launch.words if launch.found else argv
    host = argument(words, "--host") or DEFAULT_HOST
    port = argument(words, "--port") or str(DEFAULT_PORT)
    # A node of rank 1 or more serves nothing but its health, and without TLS.
    tls = argument(words, "--ssl-certfile") and not node_of_argv(words)[0]
    scheme = "https" if tls else "http"
    host = _WILDCARDS.get(host, host)
    return f"{scheme}://{f'[{host}]' if ':' in host and not host.startswith('[') else host}:{port}"


def node_of_argv(argv: t.Sequence[str]) -> tuple[int, int]:
    """Rank of the node and number of nodes by a server's command line; (0, 1) for a server on one host."""

    def number(flag: str, default: int) -> int:
        value = argument(argv, flag) or ""
        return int(value) if value.isdigit() else default

    return number("--node-rank", 0), number("--nnodes", 1)


class Address(t.NamedTuple):
    """The parts of a base URL; ``prefix`` is its path without a slash at the end, and mostly empty."""

    scheme: str
    host: str
    port: int
    prefix: str


def address_of(base_url: str) -> Address:
    """The parts of *base_url*. OpenAI's clients want it with ``/v1``; here the paths carry that.

    :raises Failure: ``bad_request`` if it is no http or https URL with a host.
    """
    try:
        parts = urlsplit(base_url)
        if parts.username or parts.password or parts.query:
            raise Failure(
                "bad_request",
                "The base_url has a user, a password or a query, which are not sent and would be shown: take them out, and give a key as "
                "'api_key' or 'api_key_file'.",
            )
        if parts.scheme in ("http", "https") and parts.hostname:
            port = parts.port or (443 if parts.scheme == "https" else 80)
            return Address(parts.scheme, parts.hostname, port, re.sub(r"/v1$", "", parts.path.rstrip("/")))
    except ValueError:
        pass
    raise Failure(
        "bad_request",
        f"The base_url '{base_url}' is not an http or https URL with a host; write it as http://host:port.",
    )
