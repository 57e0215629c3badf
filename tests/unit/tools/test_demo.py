# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo's way through its plays, where the machine is too busy for figures and where something else is wrong."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import time
import types

import pytest

DEMO = pathlib.Path(__file__).parents[2] / "demo" / "run.py"
BUSY, BAD = ["client_saturated"], ["client_saturated", "errors"]


@pytest.fixture(scope="module")
def demo():
    spec = importlib.util.spec_from_file_location("demo_run", DEMO)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(file: pathlib.Path, value: dict) -> None:
    """With the clock's own time: that of the file system is some milliseconds behind it."""
    file.write_text(json.dumps(value))
    os.utime(file, ns=(time.time_ns(), time.time_ns()))


@pytest.fixture
def run(demo, tmp_path, monkeypatch):
    """Runs the quick demo; each benchmark is (exit status, reasons of its cell or None, coding tasks that did not run)."""

    def run(*benchmarks):
        played, pending = [], list(benchmarks)

        def play(*words, quiet=False, **variables):
            played.append(pathlib.Path(words[-1]).stem)
            if played[-1] not in ("site", "benchmark"):
                return 0
            status, reasons, not_run = pending.pop(0)
            host = pathlib.Path(variables["benchmark_results_dir"], "demo")
            (host / "coding").mkdir(parents=True, exist_ok=True)
            if reasons is not None:
                write(host / f"{len(played)}.json", {"cells": [{"reasons": reasons}]})
                write(host / "coding" / f"{len(played)}.json", {"tasks_not_run": not_run})
            return status

        monkeypatch.setattr(demo, "OUTPUT", tmp_path)
        monkeypatch.setattr(demo, "ansible_playbook", play)
        monkeypatch.setattr(demo, "show_record", lambda records, begun: played.append("record"))
        place = types.SimpleNamespace(make=lambda: None, inventory=tmp_path / "hosts.yml", variables={})
        demo.demonstrate(place, tmp_path / "kimi.yml", True, str(demo.REPOSITORY / "playbooks" / "{}.yml"), {})
        return played

    return run


def test_a_good_benchmark_is_shown_and_followed_by_the_lies(run):
    assert run((0, [], 0)) == ["stand_in", "site", "record", "lies"]


def test_a_busy_machine_measures_once_more(run):
    assert run((2, BUSY, 0), (0, [], 0)) == ["stand_in", "site", "benchmark", "record", "lies"]


def test_a_machine_that_stays_busy_says_so_and_goes_on(run, capsys):
    assert run((2, BUSY, 0), (2, BUSY, 0)) == ["stand_in", "site", "benchmark", "record", "lies"]
    assert "stayed too busy" in capsys.readouterr().out


@pytest.mark.parametrize(
    "benchmarks",
    [
        [(2, None, 0)],
        [(2, BAD, 0)],
        [(2, [], 0)],
        [(2, BUSY, 1)],
        [(2, BUSY, 0), (2, BAD, 0)],
        # Nothing was measured the second time: what the first one left excuses nothing.
        [(2, BUSY, 0), (2, None, 0)],
    ],
)
def test_whatever_else_is_wrong_ends_the_demo(run, demo, benchmarks):
    with pytest.raises(demo.DemoError):
        run(*benchmarks)
