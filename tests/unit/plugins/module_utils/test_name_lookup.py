# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names are looked up within a time, and whoever hangs over one does not hold up the end of the process."""

from __future__ import annotations

import os
import pathlib
import socket
import subprocess
import sys
import threading

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _name_lookup
from ansible_collections.llmops.sglang.plugins.module_utils._name_lookup import connect, look_up

HANGS = """
import socket, time
from ansible_collections.llmops.sglang.plugins.module_utils._name_lookup import look_up
def hangs(*args, flags=0, **more):
    if flags:
        raise socket.gaierror(socket.EAI_NONAME, "no number")
    time.sleep(600)
socket.getaddrinfo = hangs
try:
    look_up("slow.example", 80, 0.1)
except OSError as exc:
    print(exc.strerror)
"""


@pytest.fixture
def resolver(monkeypatch):
    """Names that are asked for, and an event that lets the answers go."""
    asked, free = [], threading.Event()

    def answer(host, port, *_args, flags=0, **_more):
        if flags:
            raise socket.gaierror(socket.EAI_NONAME, "no number")
        asked.append(host)
        free.wait(60)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in ("127.0.0.2", "127.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    monkeypatch.setattr(_name_lookup, "_under_way", {})
    yield asked, free
    free.set()


def test_a_look_up_that_hangs_is_asked_again_and_not_begun_once_more(resolver):
    asked, free = resolver
    for _dummy in range(3):
        with pytest.raises(socket.gaierror, match="no answer within"):
            look_up("slow.example", 80, 0.02)
    free.set()
    assert len(look_up("slow.example", 80, 60)) == 2 and asked == ["slow.example"]
    look_up("slow.example", 80, 60)
    assert len(asked) == 2


def test_a_process_ends_although_a_look_up_hangs():
    environ = {**os.environ, "PYTHONPATH": str(pathlib.Path(_name_lookup.__file__).parents[5])}
    done = subprocess.run(
        [sys.executable, "-c", HANGS], env=environ, capture_output=True, text=True, timeout=300, check=True
    )
    assert "no answer within 0.1 s" in done.stdout, done.stderr


def test_the_first_address_that_takes_the_connection_gets_it(monkeypatch):
    named = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in ("127.0.0.2", "127.0.0.1")]
    monkeypatch.setattr(_name_lookup, "look_up", lambda *_args: named)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with connect("name.example", port, 60) as connection:
            assert connection.getpeername() == ("127.0.0.1", port)


def test_what_cannot_be_reached_says_why():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        connect("127.0.0.1", port, 60)
