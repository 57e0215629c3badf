# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server that its wrapper was replaced by, compared with a unit that starts the wrapper."""

from __future__ import annotations

import time

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._running_process import Comparison, compare, remember_inputs
from ansible_collections.llmops.sglang.tests.unit.unit_process import ENVIRON, FakeManager, make_process, unit

SERVER = ["/opt/venv/bin/python", "-m", "sglang.launch_server", "--port", "1"]


@pytest.mark.parametrize(
    ("command", "differences", "complete"),
    [
        (["/usr/bin/env", "A=1", *SERVER], [], True),
        (["/bin/bash", "-c", "export A=1; exec " + " ".join(SERVER)], [], True),
        (["/bin/bash", "-c", "A=1 exec " + " ".join(SERVER)[:-1] + "2"], ["the command line differs: runs with --port 1; unit says --port 2"], True),
        (["/bin/bash", "-c", " ".join(SERVER)[:-1] + "$(cat /port)"], [], False),
        (["/usr/bin/numactl", "--membind=0", *SERVER], [], False),
        (["/bin/sleep", "5"], ["the command line differs: runs with /opt/venv/bin/python"], True),
    ],
)  # fmt: skip
def test_a_wrapper_that_became_the_server_is_no_difference(tmp_path, command, differences, complete):
    """Otherwise each run would restart a server behind 'exec', and no restart would end that."""
    proc = make_process(tmp_path, 7, SERVER, {**ENVIRON, "A": "1", "PATH": "/x"})
    manager = FakeManager(command, **({"A": "0", "PATH": "/y"} if "-c" in command else {}))
    found = compare(manager, unit(), proc)
    assert [d[: len(differences[0])] if differences else d for d in found.differences] == differences
    assert found.complete is complete
    assert bool(found.unread) is not complete


WRAPPED = {
    "env": ["/usr/bin/env", "A=1", *SERVER],
    "shell": ["/bin/bash", "-c", "export A=1; exec " + " ".join(SERVER)],
    "other": ["/usr/bin/numactl", "--membind=0", *SERVER],
    "unclear": ["/bin/bash", "-c", "exec " + " ".join(SERVER)[:-1] + "$(cat /port)"],
}


class Wrapped:
    """A server that its wrapper was replaced by; it began at a known time."""

    def __init__(self, tmp_path, kind, environ=None):
        self.cache, self.file = str(tmp_path / "cache"), tmp_path / "sglang.service"
        self.manager = FakeManager(WRAPPED[kind])
        self.proc = make_process(tmp_path / "proc", 7, SERVER, {**ENVIRON, "A": "1", **(environ or {})})
        self.began = time.monotonic()

    def state(self, **properties):
        return unit(ExecMainStartTimestampMonotonic=str(int(self.began * 1e6)), **properties)

    def remember(self):
        remember_inputs(self.manager, self.state(), self.proc, self.cache, True)

    def found(self, **properties):
        return compare(self.manager, self.state(**properties), self.proc, self.cache)

    def has_a_file(self, age):
        """The unit's file, written *age* seconds before the process began."""
        self.file.write_text("")
        self.began = time.monotonic() + age
        return {"FragmentPath": str(self.file)}


@pytest.mark.parametrize("kind", WRAPPED)
def test_a_wrapper_is_known_by_what_the_process_was_started_with(tmp_path, kind):
    """Of a wrapper's own settings nothing shows in the process that replaced it."""
    wrapped = Wrapped(tmp_path, kind)
    wrapped.remember()
    assert wrapped.found() == Comparison([], True)
    other = {"env": "A=2", "shell": "export A=2; exec " + " ".join(SERVER), "other": "--membind=1"}
    place = len(wrapped.manager.words) - 1 if "-c" in wrapped.manager.words else 1
    before, wrapped.manager.words = wrapped.manager.words, list(wrapped.manager.words)
    wrapped.manager.words[place] = other.get(kind, "exec " + " ".join(SERVER)[:-1] + "$(cat /other)")
    found = wrapped.found()
    assert found.complete and found.differences == ["what the unit starts the server by changed"]
    wrapped.manager.words = before
    assert wrapped.found() == Comparison([], True)


@pytest.mark.parametrize("kind", WRAPPED)
def test_a_wrapper_in_files_older_than_the_process_is_the_one_that_started_it(tmp_path, kind):
    wrapped = Wrapped(tmp_path, kind)
    older, late = wrapped.has_a_file(60), tmp_path / "late.conf"
    assert wrapped.found(**older) == Comparison([], True)
    assert not wrapped.found(**older, NeedDaemonReload="yes").complete or kind in ("env", "shell")
    wrapped.began = time.monotonic() - 60
    late.write_text("")
    younger = wrapped.found(FragmentPath="/nonexistent", DropInPaths=str(late))
    assert younger.differences == []
    assert younger.complete is (kind in ("env", "shell"))


@pytest.mark.parametrize(("kind", "differences"), [("env", ["the environment variable A differs"]), ("shell", [])])
def test_a_variable_that_a_wrapper_sets_is_compared_as_far_as_it_is_certain(tmp_path, kind, differences):
    """In a shell a value may come from one that the process no longer has."""
    found = Wrapped(tmp_path, kind, {"A": "2"}).found()
    assert (found.differences, found.complete) == (differences, kind == "env")


def test_a_wrapper_of_an_older_invocation_tells_nothing(tmp_path):
    wrapped = Wrapped(tmp_path, "other")
    wrapped.remember()
    assert not wrapped.found(InvocationID="b" * 32).complete


def test_what_was_not_compared_whole_is_not_kept_as_what_the_process_began_with(tmp_path):
    wrapped = Wrapped(tmp_path, "other")
    remember_inputs(wrapped.manager, wrapped.state(), wrapped.proc, wrapped.cache)
    assert not wrapped.found().complete
    wrapped.remember()
    remember_inputs(wrapped.manager, wrapped.state(), wrapped.proc, wrapped.cache)
    assert wrapped.found() == Comparison([], True)


def test_without_the_environment_of_the_process_a_wrapper_s_variables_are_not_compared(tmp_path):
    wrapped = Wrapped(tmp_path, "env")
    (tmp_path / "proc/7/environ").write_bytes(b"")
    assert wrapped.found() == Comparison([], False, "the environment of the process")
