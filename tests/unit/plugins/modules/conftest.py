# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a module in this process, from its arguments to its result."""

from __future__ import annotations

import json
import sys

import pytest
from ansible.module_utils import basic


@pytest.fixture
def run_module(tmp_path, monkeypatch, capsys):
    """A function of a module, its options and check mode; it returns the result with the warnings in it."""

    def call(module, options, check=False):
        args = {**options, "_ansible_check_mode": check, "_ansible_remote_tmp": str(tmp_path / "tmp")}
        monkeypatch.setattr(basic, "_ANSIBLE_ARGS", json.dumps({"ANSIBLE_MODULE_ARGS": args}).encode())
        monkeypatch.setattr(basic, "_ANSIBLE_PROFILE", "legacy", raising=False)
        warnings = []
        monkeypatch.setattr(basic.AnsibleModule, "warn", lambda module, text: warnings.append(text))
        with pytest.raises(SystemExit):
            module.main()
        return {**json.loads(capsys.readouterr().out), "warnings": warnings}

    return call


@pytest.fixture
def compared(tmp_path, run_module):
    """Compare records, or paths, given for each side; returns the result of benchmark_compare."""
    # A conftest is read before ansible-core's loader of collections is in place.
    from ansible_collections.llmops.sglang.plugins.modules import benchmark_compare
    from ansible_collections.llmops.sglang.tests.unit.compared_records import write

    def paths(side):
        return [one if isinstance(one, str) else write(tmp_path, one)[0] for one in side]

    def call(baseline, candidate, check=False, **options):
        args = {"baseline": paths(baseline), "candidate": paths(candidate), **options}
        return run_module(benchmark_compare, args, check)

    return call


@pytest.fixture
def run_server_unit(tmp_path, run_module):
    """Run server_unit for a server of 0.5.15 below the test's directory; returns its result."""
    # A conftest is read before ansible-core's loader of collections is in place.
    from ansible_collections.llmops.sglang.plugins.modules import server_unit

    def call(check=False, **options):
        args = {
            "name": "llm",
            "python": sys.executable,
            "sglang_version": "0.5.15",
            "dest_dir": str(tmp_path),
            "verify": False,
            "args": {"model_path": "org/model", "tp_size": 8},
        }
        return run_module(server_unit, {**args, **options}, check)

    return call


@pytest.fixture
def host():
    """A host whose unit ran before, and runs now."""
    # A conftest is read before ansible-core's loader of collections is in place.
    from ansible_collections.llmops.sglang.tests.unit.journal_host import OLD, RUNNER, Host

    made = Host()
    made.start(OLD)
    made.say("old words", RUNNER.format(16, None), invocation=OLD)
    made.start()
    made.say("hello", RUNNER.format(8, None), "bye")
    return made
