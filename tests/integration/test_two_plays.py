# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two plays that change one unit at once: the second one is refused, and what is on the host is the work of one."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import sys

import ansible_fork
import pytest
from deployed_server import NAME, DeployedServer, wait_until

# To a play, a process namespace of its own is another machine.
ELSEWHERE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
REFUSED = f"Another play changes the unit '{NAME}.service' now"
GATE = "/run/two-plays.go"


class Play(DeployedServer):
    """One of the two, with its own idea of the server."""

    def __init__(self, hosts, folder, requests):
        folder.mkdir()
        super().__init__(hosts, folder)
        self.word = f"--max-running-requests {requests}"
        self.vars["server_args"] = {**self.vars["server_args"], "max_running_requests": requests}

    @contextlib.contextmanager
    def begun(self, *wrapper, **changed):
        """The same in another process, as another user or machine starts it, whose connections are its own."""
        assert self.run("", "--list-tasks", **changed).returncode == 0
        words = [sys.executable, "-m", "ansible", "playbook", "-i", str(self.hosts.inventory)]
        words += ["-i", str(self.folder / "inventory.yml"), str(self.folder / "deploy.yml")]
        words += ["-e", f"ansible_control_path_dir={self.folder}"]
        environ = {**os.environ, **ansible_fork.SETTINGS, "PYTHONUNBUFFERED": "1"}
        with (self.folder / "said").open("wb") as sink:
            run = subprocess.Popen(
                [*wrapper, *words], env=environ, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            yield run
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(run.pid, signal.SIGKILL)
            run.wait()
            for socket in filter(pathlib.Path.is_socket, self.folder.iterdir()):
                leave = ["ssh", "-F", "none", "-o", f"ControlPath={socket}", "-O", "exit", "host"]
                subprocess.run(leave, capture_output=True, check=False)

    @contextlib.contextmanager
    def starting(self, *wrapper):
        """Within its change: systemd does not start the server before the gate is open."""
        self.shell(f"rm -f {GATE}")
        wait = f"/bin/sh -c 'until test -e {GATE}; do sleep 0.1; done'"
        with self.begun(*wrapper, server_service={"ExecStartPre": wait}) as run:
            active = f"systemctl show -P ActiveState {NAME}"
            wait_until(lambda: run.poll() is not None or self.shell(active) == "activating")
            assert run.poll() is None, self.told()
            yield run

    def told(self):
        return (self.folder / "said").read_text()

    def refused(self, *words, by=None):
        done = self.run(*words)
        assert done.returncode != 0 and done.changed == "0" and "wait until it has ended" in done.said, done.said
        assert f"{REFUSED} (process {by.pid if by else ''}" in done.said, done.said
        return done

    def has_its_server(self):
        """Whether unit, process and proof are of this play, all of them."""
        assert self.in_line() and self.generates()
        pid = self.shell(f"systemctl show -P MainPID {NAME}")
        assert self.word in self.files() and self.word in self.shell(f"tr '\\0' ' ' < /proc/{pid}/cmdline")
        known = self.history()
        (proven,) = [kept for kept in known["configurations"] if kept["id"] == known["last_good"]]
        assert proven["current"], known


@pytest.fixture
def plays(hosts, tmp_path):
    first, second = (Play(hosts, tmp_path / name, number) for name, number in (("first", 8), ("second", 4)))
    if first.files():
        first.deploy(server_state="absent")
    yield first, second
    first.shell(f"rm -f {GATE}")


def test_a_second_play_is_refused_until_the_first_has_ended(plays):
    first, second = plays
    with first.starting() as run:
        before, invocation = first.files(), first.invocation()
        second.refused(by=run)
        second.refused("rollback", by=run)
        second.refused("restart", by=run)
        review = second.run("", "--check")
        assert f"{REFUSED} (process {run.pid}" in review.said, review.said
        assert (first.files(), first.invocation()) == (before, invocation)
        first.shell(f"touch {GATE}")
        assert run.wait(120) == 0, first.told()
    first.has_its_server()
    second.deploy()
    second.has_its_server()


@pytest.mark.parametrize("wrapper", [[], ELSEWHERE], ids=["one controller", "two controllers"])
def test_a_play_that_was_killed_keeps_nobody_waiting(plays, wrapper):
    first, second = plays
    with first.starting(*wrapper) as run:
        assert ("of another controller" in second.refused().said) == bool(wrapper)
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    # What it began on the host goes on without it, and the next play waits for that.
    with second.begun() as run:
        wait_until(lambda: run.poll() is not None or "TASK [llmops.sglang.server : Keep what is there" in second.told())
        first.shell(f"touch {GATE}")
        assert run.wait(240) == 0, second.told()
    second.has_its_server()


def test_two_plays_that_begin_together_leave_the_server_of_one(plays):
    with plays[0].begun() as one, plays[1].begun() as other:
        ends = [run.wait(240) for run in (one, other)]
    assert ends.count(0) >= 1, [play.told() for play in plays]
    done = [play for play, end in zip(plays, ends) if end == 0]
    assert all(end == 0 or REFUSED in play.told() for play, end in zip(plays, ends)), [play.told() for play in plays]
    (holder,) = [play for play in done if play.word in play.files()]
    holder.has_its_server()
