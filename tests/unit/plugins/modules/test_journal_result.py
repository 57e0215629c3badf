# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result stays under 20 kB, whatever the log and the task hold, and it says what it leaves out."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils import _expectation
from ansible_collections.llmops.sglang.tests.unit.journal_host import UNIT, Host, one

HEADER = "Traceback (most recent call last):"
# Each costs twelve bytes in JSON.
WIDE = "\U0001f600"


def worst(letter, length, lines):
    """A host with all that a result shows: long lines, tracebacks, fields, strays."""
    host = Host()
    host.start()
    fields = ", ".join(f"key_{number}_{'x' * 40}='{letter * 50}'" for number in range(80))
    host.say(*[f"a=1, {fields}, long='{letter * length}'"] * lines)
    host.say(HEADER, *[f"  {letter * length}"] * 50, f"ValueError: {letter * length}")
    for dummy in range(9):
        host.row(letter * length, _SYSTEMD_UNIT=UNIT, _PID="12")
    return host


def questions(letter, count):
    """Expectations that hold and that do not, with long names, values and fields of their own."""
    long = {f"key_{number}_{'x' * 40}": letter * 3000 for number in range(60)}
    missing = {f"{letter * 40}{number}": {"one_of": [letter * 500] * 9} for number in range(60)}
    kinds = [
        one("a=", title=letter * 300),
        one("a=", fields=long),
        one("a=", fields=missing),
        one("a=", fields={"a": 2}),
        one("^ValueError", fields=missing),
        {"contains": letter * 9000},
    ]
    return [kinds[number % len(kinds)] for number in range(count)]


@settings(max_examples=8, deadline=None)
@given(st.integers(1, 40), st.integers(0, 3000), st.sampled_from(["x", "é", WIDE, "k=1, ", '\\"']), st.integers(1, 4))
def test_the_result_stays_small(count, length, letter, lines):
    result = worst(letter, length, lines).ask(
        expect=questions(letter, count), must_not_match=["^Traceback", letter * 2000]
    )
    assert len(json.dumps(result)) < 20_000
    assert len(result["log_tail"]) <= 10 and all(len(line) <= 400 for line in result["log_tail"])
    assert len(result["results"]) + result["results_left_out"] == count + 2


@pytest.mark.parametrize("count", [1, 3, 120])
def test_the_worst_results_stay_small(count):
    host = worst(WIDE, 3000, 3)
    result = host.ask(expect=questions(WIDE, 6)[1:2] * count)
    assert len(json.dumps(result)) < 20_000 and result["results"], "at least one is shown"
    assert result["results_left_out"] == count - len(result["results"])


def test_nothing_is_left_out_of_a_usual_result(host):
    result = host.ask(expect=[one(), {"contains": "hello"}], must_not_match=["x y"], preset=["clean_start"])
    assert result["results_left_out"] == 0 and len(result["results"]) > 20


def test_what_failed_is_shown_where_not_all_can_be():
    host = worst("x", 9000, 2)
    expect = [one("a=", title=f"holds {number}") for number in range(200)] + [
        {"contains": "nowhere", "title": "not there"}
    ]
    result = host.ask(expect=expect)
    assert [entry["title"] for entry in result["results"] if not entry["ok"]] == ["not there"]
    assert len(json.dumps(result)) < 20_000


def test_many_expectations_of_one_line_read_its_fields_once():
    host = Host()
    host.start()
    host.say("a=1, " + "b=2, " * 20_000 + "end=3")
    _expectation._all_fields_of.cache_clear()
    result = host.ask(expect=[one("a=", title=f"t{number}", fields={"end": 4}) for number in range(60)])
    assert result["failure_class"] == "field_mismatch" and _expectation._all_fields_of.cache_info().misses == 1
