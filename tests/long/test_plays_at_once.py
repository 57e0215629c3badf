# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two plays that want one unit: every playbook is refused, a play that was killed keeps nobody waiting, and another controller."""

from __future__ import annotations

import os
import signal

import two_plays
from deployed_server import wait_until
from two_plays import GATE, REFUSED

plays = two_plays.plays
# To a play, a process namespace of its own is another machine.
ELSEWHERE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]


def test_a_play_of_another_controller_holds_the_unit_until_its_connection_ends(plays):
    first, second = plays
    # It comes within the minute in which the connection of the play before is kept open.
    with first.starting(*ELSEWHERE) as run:
        assert "of another controller" in second.refused().said
        # Its connection ends with its namespace; what it began on the host is let go.
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        first.shell(f"touch {GATE}")
        second.deploy()
    second.has_its_server()
    with first.begun(*ELSEWHERE) as run:
        assert run.wait(240) == 0 and REFUSED not in first.told(), first.told()
    first.has_its_server()


def test_no_playbook_changes_what_another_play_has(plays):
    first, second = plays
    with first.starting() as run:
        before, invocation = first.files(), first.invocation()
        for playbook in ("site", "restart", "rollback"):
            second.refused(playbook, by=run)
        assert (first.files(), first.invocation()) == (before, invocation)
        first.shell(f"touch {GATE}")
        assert run.wait(240) == 0, first.told()
    second.deploy()
    second.has_its_server()


def test_a_play_that_was_killed_keeps_nobody_waiting(plays):
    first, second = plays
    with first.starting() as run:
        second.refused(by=run)
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
