# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A unit is changed by one play at a time, and a play that has ended keeps nobody waiting."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import subprocess
import sys
import time

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _play_claim
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._play_claim import Claimed, claimed_unit

MINE = {
    "machine": "ctl1 boot ns",
    "pid": 10,
    "started": "100",
    "user": "ops",
    "controller": "ctl1",
    "named": True,
    "asked": 5.0,
}
OTHER = {**MINE, "pid": 20, "started": "200", "user": "night", "asked": 4.0}
ELSEWHERE = {**OTHER, "machine": "ctl2 boot ns", "controller": "ctl2"}


class Host:
    """The claims of a host below a directory of the test."""

    def __init__(self, folder):
        self.folder = folder
        self.path = folder / "llmops-sglang" / "sglang.service.play"

    def claim(self, play, look_only=False, **more):
        asked = {"name": "sglang", "scope": "system", "play": play and {"others": [], **play, **more}}
        with claimed_unit(asked, look_only, str(self.folder)) as claimed:
            return claimed

    @contextlib.contextmanager
    def at_work(self):
        """A module that changes the unit."""
        with (self.path.parent / f"{self.path.name}.lock").open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield held

    def holder(self):
        return json.loads(self.path.read_text())["play"]

    def edit(self, **changed):
        self.path.write_text(json.dumps({**json.loads(self.path.read_text()), **changed}))

    def refused(self, play, **more):
        before = self.path.read_text()
        with pytest.raises(Failure) as caught:
            self.claim(play, **more)
        assert caught.value.failure_class == "condition_not_met" and self.path.read_text() == before
        return caught.value


@pytest.fixture
def host(tmp_path, monkeypatch):
    monkeypatch.setattr(_play_claim, "_CONNECTION_SECONDS", 0)
    return Host(tmp_path)


@pytest.fixture
def connection():
    """A process that may be taken for a connection, and how it is written down."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process, [process.pid, _play_claim._stat(process.pid)[1]]
    process.kill()
    process.communicate()


def test_a_play_may_come_again_and_keeps_its_time(host):
    host.claim(MINE)
    host.edit(since="01:02:03 UTC")
    host.claim(MINE, others=[[10, "100"]])
    assert host.holder() == MINE
    assert json.loads(host.path.read_text())["since"] == "01:02:03 UTC"
    assert host.path.stat().st_mode & 0o777 == 0o644 and host.path.parent.stat().st_mode & 0o777 == 0o755


def test_another_play_of_this_controller_is_refused_with_its_name(host):
    host.claim(OTHER)
    failure = host.refused(MINE, others=[[20, "200"], [30, "300"]])
    assert "(process 20 of 'night' on 'ctl1', since " in failure.msg and "another controller" not in failure.msg
    assert failure.result["claimed_by"] == OTHER


@pytest.mark.parametrize("others", [[], [[20, "201"]], [[21, "200"]]], ids=["gone", "number in use again", "another"])
def test_a_play_of_this_controller_that_has_ended_is_followed(host, others):
    host.claim(OTHER)
    host.claim(MINE, others=others)
    assert host.holder() == MINE


@pytest.mark.parametrize(
    "held, asks",
    [({"named": False}, {}), ({}, {"others": None}), ({"asked": 6.0}, {}), ({"asked": "x"}, {})],
    ids=["unnamed", "hidden", "began after the list", "no time"],
)
def test_what_the_list_does_not_tell_is_left_to_the_controller(host, held, asks):
    host.claim({**OTHER, **held})
    failure = host.refused(MINE, **asks)
    host.claim(MINE, **asks, ended=failure.result["claimed_by"])
    assert host.holder() == MINE


def test_a_play_that_began_while_this_one_waited_is_not_taken_for_ended(host, monkeypatch):
    """Two plays of one controller wait for the end of a third; the list of the first does not know the second."""
    host.claim(OTHER)
    with host.at_work() as held:

        def nap(dummy):
            fcntl.flock(held, fcntl.LOCK_UN)
            host.claim({**OTHER, "pid": 30, "started": "300", "asked": 6.0}, others=[[10, "100"]])

        monkeypatch.setattr(time, "sleep", nap)
        with pytest.raises(Failure, match="process 30 of 'night'"):
            host.claim(MINE)


def test_what_the_controller_knows_to_have_ended_is_no_other_play(host):
    host.claim({**OTHER, "named": False})
    host.refused(MINE, ended={**OTHER, "started": "1"})


def test_a_play_of_another_controller_goes_on_for_as_long_as_its_connection(host, connection):
    process, session = connection
    host.claim(ELSEWHERE)
    host.edit(session=session, renewed=0)
    assert "of another controller that is known by its connection" in host.refused(MINE).msg
    assert "'ctl2'" in host.refused(None).msg
    process.kill()
    process.wait()
    host.claim(MINE)
    assert host.holder() == MINE


@pytest.mark.parametrize("renewed", [10**400, float("nan"), float("inf"), True, None])
def test_a_time_that_is_none_keeps_nobody_waiting(host, renewed):
    host.claim(ELSEWHERE)
    host.edit(session=None, renewed=renewed)
    host.claim(MINE)
    assert host.holder() == MINE


def test_the_end_of_a_connection_is_waited_for_and_locks_nobody_out(host, connection, monkeypatch):
    process, session = connection
    host.claim(ELSEWHERE)
    host.edit(session=session)
    monkeypatch.setattr(_play_claim, "_CONNECTION_SECONDS", 60)

    def nap(dummy):
        host.claim(ELSEWHERE)
        process.kill()
        process.wait()
        host.edit(session=session)

    monkeypatch.setattr(time, "sleep", nap)
    host.claim(MINE)
    assert host.holder() == MINE


def test_a_connection_whose_number_is_in_use_again_has_ended(host, connection):
    host.claim(ELSEWHERE)
    host.edit(session=[connection[1][0], "1"])
    host.claim(MINE)
    assert host.holder() == MINE


@pytest.mark.parametrize("quiet, ended", [(0, False), (590, False), (610, True), (-60, True), ("x", True)])
def test_without_a_connection_quiet_tells_that_a_play_has_ended(host, quiet, ended):
    host.claim(ELSEWHERE)
    host.edit(session=None, renewed=quiet if isinstance(quiet, str) else _play_claim._since_boot() - quiet)
    if ended:
        host.claim(MINE)
    else:
        host.refused(MINE)


def test_a_review_takes_nothing_and_is_told(host):
    assert host.claim(MINE, look_only=True) == Claimed() and not host.path.parent.exists()
    host.claim(OTHER)
    warnings, result = host.claim(MINE, look_only=True, others=[[20, "200"]])
    told = result["claimed_warning"]
    assert "Another play changes the unit 'sglang.service' now (process 20" in told and "unless" not in told
    assert not warnings and result["claimed_by"] == host.holder(), "the action plugin asks whether that play goes on"
    assert host.claim(MINE, look_only=True, others=None, ended=OTHER) == Claimed()
    assert host.claim(OTHER, look_only=True) == Claimed() and host.holder() == OTHER


def test_a_review_does_not_say_for_certain_that_another_controllers_play_goes_on(host, connection):
    host.claim(ELSEWHERE)
    host.edit(session=connection[1])
    told = host.claim(MINE, look_only=True).result["claimed_warning"]
    assert "unless it ended a moment ago (of a play of another controller" in told


def test_who_is_no_play_takes_nothing(host):
    host.claim(None)
    assert not host.path.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"play": 1}', '{"play": {}}', "[" * 60000, "\xff"])
def test_a_claim_that_is_none_keeps_nobody_waiting(host, text):
    host.claim(OTHER)
    host.path.write_text(text, encoding="latin-1")
    host.claim(MINE, others=[[20, "200"]])
    assert host.holder() == MINE


def test_a_task_that_is_still_at_work_is_waited_for(host, monkeypatch):
    """A module of a play that was killed goes on for as long as it needs."""
    host.claim(OTHER)
    naps = []
    with host.at_work() as held:
        monkeypatch.setattr(time, "sleep", lambda seconds: (naps.append(seconds), fcntl.flock(held, fcntl.LOCK_UN)))
        host.claim(MINE)
    assert naps and host.holder() == MINE


def test_a_task_that_never_ends_is_told(host, monkeypatch):
    host.claim(OTHER)
    monkeypatch.setattr(_play_claim, "_LOCK_SECONDS", 0.2)
    with host.at_work():
        failure = host.refused(MINE)
    assert f"'fuser {host.path}.lock'" in failure.msg and "claimed_by" not in failure.result


def test_a_play_at_work_is_told_at_once(host, monkeypatch):
    host.claim(OTHER)
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("it waited"))
    with host.at_work():
        host.refused(MINE, others=[[20, "200"]])


def test_nobody_else_can_hold_what_is_waited_for(host):
    """Who may read a file may lock it."""
    host.claim(MINE)
    modes = {path.name: path.stat().st_mode & 0o777 for path in host.path.parent.iterdir()}
    assert modes == {host.path.name: 0o644, f"{host.path.name}.lock": 0o600}
    with host.path.open() as read:
        fcntl.flock(read, fcntl.LOCK_EX)
        host.claim(MINE)


@pytest.mark.parametrize("there", [False, True], ids=["no claim yet", "an old claim"])
def test_who_may_not_write_is_told_that_nothing_is_held(host, monkeypatch, there):
    if there:
        host.claim(OTHER)
    opened = os.open

    def refused(path, flags, *more):
        if flags & (os.O_RDWR | os.O_CREAT):
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, *more)

    monkeypatch.setattr(os, "open", refused)
    (warning,), result = host.claim(MINE)
    assert "is not held for this play" in warning and "become" in warning and result == {}
    assert host.claim(MINE, look_only=True) == Claimed()
    if there:
        with pytest.raises(Failure, match="Another play"):
            host.claim(MINE, others=[[20, "200"]])


def test_two_tasks_of_one_play_come_one_after_the_other(host, monkeypatch):
    monkeypatch.setattr(_play_claim, "_LOCK_SECONDS", 0.1)
    asked = {"name": "sglang", "scope": "system", "play": {**MINE, "others": []}}
    with claimed_unit(asked, False, str(host.folder)):
        assert "Another task, of this play or of one that has ended, is still" in host.refused(MINE).msg
    host.claim(MINE)


def test_who_may_not_write_there_looks(host, monkeypatch):
    host.claim(OTHER)
    open_file = os.open

    def open_to_read(path, flags, mode=0o777):
        if flags & os.O_RDWR:
            raise PermissionError(13, "Permission denied", path)
        return open_file(path, flags, mode)

    monkeypatch.setattr(os, "open", open_to_read)
    host.refused(MINE, others=[[20, "200"]])
    host.claim(MINE)
    assert host.holder() == OTHER


def test_where_the_user_has_no_runtime_directory_nothing_is_made(tmp_path):
    Host(tmp_path / "none").claim(MINE)
    assert not (tmp_path / "none").exists()


def test_a_link_in_its_place_is_not_followed(host, tmp_path):
    host.path.parent.mkdir()
    host.path.symlink_to(tmp_path / "precious")
    with pytest.raises(Failure, match="remove what is in its place") as caught:
        host.claim(MINE)
    assert caught.value.failure_class == "write_failed" and not (tmp_path / "precious").exists()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "directory"])
def test_what_is_no_file_keeps_nobody_waiting(host, make):
    host.path.parent.mkdir()
    make(host.path)
    with pytest.raises(Failure, match="remove what is in its place") as caught:
        host.claim(MINE)
    assert caught.value.failure_class == "write_failed"
    # A pipe that is opened to read waits for a writer.
    ask = f"import pathlib, test_play_claim as t; print(t.Host(pathlib.Path({str(host.folder)!r})).claim(t.MINE, True)[0])"
    path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", ask],
        capture_output=True,
        timeout=30,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    assert done.stdout == b"()\n", done.stderr


def test_a_disk_that_takes_nothing_is_told_and_costs_no_claim(host):
    host.claim(MINE)
    before, limits = host.path.read_text(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(Failure, match="File too large") as caught:
            host.claim(MINE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.failure_class == "write_failed" and host.path.read_text() == before


def test_the_connection_is_the_nearest_sshd(monkeypatch):
    tree = {50: ("python3", "5", 40), 40: ("sudo", "4", 30), 30: ("sshd-session", "3", 20), 20: ("sshd", "2", 1)}
    monkeypatch.setattr(_play_claim, "_stat", lambda pid: tree.get(pid, ("", None, 0)))
    assert _play_claim._session(50) == [30, "3"]
    tree[30] = ("dockerd", "3", 1)
    assert _play_claim._session(50) is None
