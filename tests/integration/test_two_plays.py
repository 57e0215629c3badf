# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two plays that change one unit at once: the second one is refused, and what is on the host is the work of one."""

from __future__ import annotations

import two_plays
from fault_rows import fault
from two_plays import GATE, REFUSED

plays = two_plays.plays


def test_a_second_play_is_refused_and_a_review_is_warned(plays):
    first, second = plays
    with first.starting() as run:
        before, invocation = first.files(), first.invocation()
        second.refused(by=run)
        fault("several", "Another play changes the unit")
        review = second.run("", "--check")
        assert f"{REFUSED} (process {run.pid}" in review.said, review.said
        assert (first.files(), first.invocation()) == (before, invocation)
        first.shell(f"touch {GATE}")
        assert run.wait(600) == 0, first.told()
    first.has_its_server()
    # A play whose process no look at the controller's processes finds, since it has another name than those of Ansible.
    second.deploy()
    review = first.run("", "--check")
    assert review.returncode == 0 and "Another play" not in review.said, review.said
