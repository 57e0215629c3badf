# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The traceback that a line belongs to is kept together as one block."""

from __future__ import annotations

import json

import pytest

HEADER = "Traceback (most recent call last):"
FRAMES = [f'  File "x.py", line {number}, in f' for number in range(20)]


def block(host, pattern):
    """The traceback that the result of a forbidden *pattern* shows."""
    return host.ask(must_not_match=[pattern])["results"][0]["traceback"]


def test_a_traceback_is_shown_with_its_exception(host):
    said = [f"Scheduler hit an exception: {HEADER}", *FRAMES, "ValueError: the cause"]
    host.say(*said, "later")
    assert block(host, "^Scheduler hit an exception") == said
    assert host.ask(expect=[{"contains": "later"}])["results"][0]["traceback"] == []


@pytest.mark.parametrize("pattern", ["^ValueError", "line 7, in f", "^Traceback"])
def test_whichever_of_its_lines_fits(host, pattern):
    host.say(HEADER, *FRAMES, "ValueError: the cause", "later")
    assert block(host, pattern) == [HEADER, *FRAMES, "ValueError: the cause"]


def test_ranks_that_die_at_the_same_time_are_told_apart(host):
    for pair in zip([HEADER, *FRAMES, "ValueError: of seven"], [HEADER, *FRAMES, "KeyError: of eight"]):
        host.say(pair[0], _PID="7")
        host.say(pair[1], _PID="8")
    assert block(host, "of seven") == [HEADER, *FRAMES, "ValueError: of seven"]
    assert block(host, "of eight") == [HEADER, *FRAMES, "KeyError: of eight"]


def test_what_another_process_says_in_between_is_no_part_of_it(host):
    host.say(HEADER, FRAMES[0], "[2026-05-30 08:20:46 TP1] another process", FRAMES[1], "ValueError: x", "later")
    assert block(host, "^Traceback") == [HEADER, *FRAMES[:2], "ValueError: x"]


def test_chained_exceptions_are_one_block(host):
    chained = "During handling of the above exception, another exception occurred:"
    said = [HEADER, FRAMES[0], "KeyError: 'x'", chained, HEADER, FRAMES[1], "ValueError: the last"]
    host.say(*said, "later")
    assert block(host, "^KeyError") == said
    host.say(HEADER, FRAMES[2], "OSError: another one")
    assert block(host, "^OSError") == [HEADER, FRAMES[2], "OSError: another one"]


def test_lines_that_torch_marks_with_their_rank(host):
    said = [f"[rank0]: {line}" for line in (HEADER, *FRAMES[:2], "RuntimeError: NCCL")]
    host.say(*said, "[rank0]: later")
    assert block(host, "NCCL") == said


def test_the_end_of_a_long_one_is_shown(host):
    host.say(HEADER, *(f"  line {number} " + "x" * 5000 for number in range(100)), "ValueError: the cause")
    result = host.ask(must_not_match=["^Traceback"])
    assert result["results"][0]["traceback"][-1] == "ValueError: the cause"
    assert len(result["results"][0]["traceback"]) >= 20 and len(json.dumps(result)) < 20_000


def test_a_traceback_without_end_swallows_no_log(host):
    host.say(HEADER, *(f"  line {number}" for number in range(1000)), "word")
    assert host.ask(expect=[{"contains": "word"}])["results"][0]["traceback"] == []


def test_processes_that_all_stop_in_the_middle(host):
    for pid in range(200):
        host.say(HEADER, _PID=str(pid))
    host.say("ValueError: x", _PID="199")
    assert block(host, "^ValueError") == [HEADER, "ValueError: x"]
