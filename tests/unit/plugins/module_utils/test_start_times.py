# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of earlier starts: bounded, private, and never in the way."""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
import stat
import threading

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _start_times
from ansible_collections.llmops.sglang.plugins.module_utils._start_times import (
    StartTimes,
    configuration_key,
    default_path,
)


@pytest.fixture
def times(tmp_path):
    return StartTimes(str(tmp_path / "deep" / "start-times.json"))


def test_the_median_of_earlier_starts(times):
    assert times.expected("a") is None
    for seconds in (10, 300, 20):
        assert times.add("a", seconds)
    assert times.expected("a") == 20 and times.expected("b") is None


def test_only_its_owner_may_read_it(times):
    times.add("a", 1)
    assert stat.S_IMODE(os.stat(times.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(times.path)).st_mode) == 0o700


def test_it_stays_small(times):
    for number in range(60):
        times.add(f"key{number}", 1)
    for number in range(30):
        times.add("key59", number + 1)
    kept = json.loads(pathlib.Path(times.path).read_text(encoding="utf-8"))
    assert len(kept) == 50 and "key0" not in kept and len(kept["key59"]) == 10 and kept["key59"][-1] == 30


@pytest.mark.parametrize(
    "damage", ["", "{", "[1]", '{"a": 3}', '{"a": ["x", null, true, -1, 1e99]}', "\x00", "[" * 99999]
)
def test_damage_is_no_obstacle(times, damage):
    times.add("a", 1)
    with open(times.path, "w", encoding="utf-8") as handle:
        handle.write(damage)
    assert times.expected("a") is None
    assert times.add("a", 7) and times.expected("a") == 7


def test_a_place_that_cannot_be_written_is_no_obstacle(tmp_path):
    (tmp_path / "file").write_text("")
    assert StartTimes(str(tmp_path / "file" / "start-times.json")).add("a", 1) is False


def test_the_key_hides_the_command_line_and_tells_configurations_apart():
    key = configuration_key("u.service", ["python", "--api-key", "secret"])
    assert "secret" not in key and key == configuration_key("u.service", ["python", "--api-key", "secret"])
    assert (
        len(
            {key, configuration_key("v.service", ["python", "--api-key", "secret"]), configuration_key("u.service", [])}
        )
        == 3
    )


def test_where_it_lies(monkeypatch, tmp_path):
    monkeypatch.setattr(_start_times.os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_path() == str(tmp_path / "llmops-sglang" / "start-times.json")
    monkeypatch.setattr(_start_times.os, "geteuid", lambda: 0)
    assert default_path().startswith("/var/lib/")


def test_a_unit_that_is_taken_away_is_forgotten(tmp_path):
    times = StartTimes(str(tmp_path / "t.json"))
    keys = [configuration_key(unit, ["python", argument]) for unit in ("a.service", "b.service") for argument in "xy"]
    for key in keys:
        times.add(key, 30.0)
    assert times.knows("a.service")
    assert times.forget("a.service")
    assert not times.knows("a.service")
    assert [times.expected(key) for key in keys] == [None, None, 30.0, 30.0]


def test_two_servers_that_are_ready_in_one_moment_lose_no_time(times):
    """Each wait runs in a process of its own, and a lock that is held for a moment is waited for."""
    times.add("a", 1)
    held = os.open(f"{times.path}.lock", os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    release = threading.Timer(0.2, os.close, [held])
    release.start()
    try:
        assert times.add("b", 7)
    finally:
        release.join()
    assert (times.expected("a"), times.expected("b")) == (1, 7)


def test_a_lock_that_nobody_gives_up_is_no_obstacle(times, monkeypatch):
    monkeypatch.setattr(_start_times, "_LOCK_SECONDS", 0.05)
    times.add("a", 1)
    held = os.open(f"{times.path}.lock", os.O_RDWR)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert not times.add("b", 7)
    finally:
        os.close(held)
