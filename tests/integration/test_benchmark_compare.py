# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""benchmark_compare and the benchmark role's comparison, run by ansible on this machine for a host that nobody can reach."""

from __future__ import annotations

import pathlib
import sys

import pytest
import yaml
from host_set import run_ansible

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "unit"))

from compared_records import record, write

MODULE = "llmops.sglang.benchmark_compare"
SAME, SLOW, FAST = (100.0, 100.5, 99.5), (80.0, 80.5, 79.5), (120.0, 121.0, 119.0)
# Nothing of the host itself is asked: this address is one of those that lead nowhere.
HOST = {"ansible_host": "192.0.2.1", "ansible_become": True, "ansible_become_password": "wrong"}


@pytest.mark.parametrize("words", [[], ["--check"]], ids=["run", "check"])
def test_records_are_compared_on_the_controller_and_a_regression_fails_the_play(tmp_path, words):
    folder = tmp_path / "records" / "gpu1"
    folder.mkdir(parents=True)
    write(folder, *(record([speed], label="old") for speed in SAME))
    fast, slow = write(folder, record(FAST, label="fast"), record(SLOW, label="slow"))
    compared = {"baseline": f"{folder}/old_*.json", "candidate": fast}
    measured = {"ok": True, "cells": [], "record_path": f"/somewhere/{pathlib.Path(slow).name}"}
    role = {
        "benchmark_results_dir": str(tmp_path / "records"),
        "benchmark_baseline": "old_*.json",
        "benchmark_measured": measured,
        "benchmark_coding": False,
        "benchmark_require_evidence": False,
    }
    problems = "0" if words else "1"
    tasks = [
        {MODULE: compared, "delegate_to": "localhost", "become": False, "register": "better"},
        {
            "ansible.builtin.include_role": {
                "name": "llmops.sglang.benchmark",
                "tasks_from": "compare.yml",
                "public": True,
            }
        },
        {
            "ansible.builtin.assert": {
                "that": [
                    "better.verdict == 'improved'",
                    "better is not changed",
                    "benchmark_compared.verdict == 'regressed'",
                    "benchmark_compared.runs == {'baseline': 3, 'candidate': 3}",
                    f"benchmark_problems | length == {problems}",
                ]
            }
        },
        {MODULE: {**compared, "candidate": slow}, "delegate_to": "localhost", "become": False},
        {"ansible.builtin.debug": {"msg": "went on"}},
    ]
    play = {"hosts": "gpu1", "gather_facts": False, "vars": role, "tasks": tasks}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    (tmp_path / "inventory.yml").write_text(yaml.safe_dump({"all": {"hosts": {"gpu1": HOST}}}))
    done = run_ansible("playbook", [str(tmp_path / "play.yml"), "-i", str(tmp_path / "inventory.yml"), *words], {})
    said = done.stdout + done.stderr
    assert done.returncode == 2 and "went on" not in said, said
    assert "All assertions passed" in said, said
    assert "**regressed**: slow against old, by output_tokens_per_second" in said
    assert "The candidate is a regression (all cells: worse by more than 10 %, which is never let pass" in said
