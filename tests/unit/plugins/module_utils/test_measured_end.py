# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a server that was measured is no more."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._measured_end import measured_end
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager
from ansible_collections.llmops.sglang.tests.unit.journal_host import NOW, OLD, UNIT, Host

CRASH = (
    "[2026-05-30 08:20:46 TP0] Scheduler hit an exception: Traceback (most recent call last):",
    '  File "/x/site-packages/sglang/srt/managers/scheduler.py", line 9, in run_scheduler_process',
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 MiB with sk-secret-key.",
)
AFTER_RESTART = {"NRestarts": "1"}


def end(*said, measured=OLD, restarts_before=0, **properties):
    host = Host(**{"NRestarts": "0", "Result": "success", **properties})
    host.start(measured)
    host.say(*said, invocation=measured)
    evidence = {"invocation_id": measured, "n_restarts": restarts_before}
    return measured_end(Manager(host.run_command), UNIT, evidence, Mask(["sk-secret-key"]))


def test_while_it_still_runs_there_is_no_end():
    assert end("hello", measured=NOW) is None


def test_the_cause_is_that_of_its_own_log_without_secrets():
    found = end(*CRASH, **AFTER_RESTART)
    assert found["failure_class"] == "out_of_memory"
    assert any("OutOfMemoryError" in line for line in found["log_tail"])
    assert "sk-secret-key" not in str(found)


@pytest.mark.parametrize(
    "properties",
    [
        AFTER_RESTART,
        {"ActiveState": "failed", "MainPID": "0", "Result": "exit-code"},
    ],
)
def test_one_that_died_without_a_word_has_died_all_the_same(properties):
    assert end("hello", **properties)["failure_class"] == "server_crashed"


def test_one_that_somebody_restarted_did_not_die():
    found = end("hello")
    assert found["failure_class"] == "condition_not_met"
    assert "stopped or restarted" in found["msg"]
    assert found["log_tail"][-1] == "hello"


def test_restarts_of_before_the_measurement_are_none_of_it():
    assert end("hello", restarts_before=1, **AFTER_RESTART)["failure_class"] == "condition_not_met"
