# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A unit and its main process as files below a test's directory: what comparisons of the two are tried on."""

from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState


class FakeManager:
    scope = "system"

    def __init__(self, words, **environ):
        self.words = words
        self.environ = environ
        self.credentials = []

    def exec_start(self, dummy_name):
        return self.words

    def environment(self, dummy_name):
        return self.environ

    def load_credentials(self, dummy_state):
        return self.credentials


def make_process(proc, pid, argv, environ):
    folder = proc / str(pid)
    folder.mkdir(parents=True)
    folder.joinpath("cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in argv))
    folder.joinpath("environ").write_bytes(b"".join(f"{k}={v}".encode() + b"\0" for k, v in environ.items()))
    return str(proc)


def unit(**properties):
    base = {"LoadState": "loaded", "ActiveState": "active", "MainPID": "7", "InvocationID": "a" * 32}
    return UnitState("sglang.service", {**base, **properties})


ARGV = ["/venv/bin/python", "-m", "sglang.launch_server", "--port", "30001"]
ENVIRON = {"INVOCATION_ID": "a" * 32, "LLMOPS_SGLANG_UNIT": "one"}
