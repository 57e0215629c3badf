# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A service manager that is not there: its one unit follows the verbs, and time passes with each sleep."""

from __future__ import annotations

import types

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _service_state
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import Comparison
from ansible_collections.llmops.sglang.plugins.module_utils._service_state import ServiceChange, Timeouts
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState

RUNNING = {
    "LoadState": "loaded",
    "ActiveState": "active",
    "MainPID": "7",
    "InvocationID": "a" * 32,
    "ControlGroup": "/system.slice/sglang.service",
    "UnitFileState": "disabled",
}


STOPPED = {**RUNNING, "ActiveState": "inactive", "MainPID": "0", "Result": "success", "ControlGroup": ""}


FAILED = {**STOPPED, "ActiveState": "failed", "Result": "exit-code", "ExecMainStatus": "2"}


ABSENT = {"LoadState": "not-found", "ActiveState": "inactive"}


class Host:
    """A service manager whose unit follows the verbs; time passes with each sleep."""

    def __init__(self, properties, differences=(), started=None, stop_hangs=False):
        self.properties, self.started, self.stop_hangs = dict(properties), started, stop_hangs
        self.verbs, self.now, self.words, self.remembered = [], 0.0, [], []
        self.differences, self.complete = list(differences), True

    def show(self, name):
        return UnitState(name, dict(self.properties))

    def systemctl(self, verb, *dummy, **dummy2):
        self.verbs.append(verb)
        if verb == "stop" and not self.stop_hangs:
            self.properties.update(STOPPED)
        if verb == "stop" and self.stop_hangs:
            self.properties["ActiveState"] = "deactivating"
        if verb == "start":
            self.properties.update(self.started or {**RUNNING, "InvocationID": "b" * 32, "MainPID": "8"})
        return 0, "", ""

    def exec_start(self, name):
        return self.words

    def environment(self, name):
        return {}

    def daemon_reload(self):
        self.verbs.append("daemon-reload")
        self.properties["NeedDaemonReload"] = "no"

    def no_such_unit(self, state):
        return Failure("no_such_unit", f"There is no unit '{state.name}'.")

    def clock(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def change(monkeypatch, tmp_path):
    def make(host, wanted, check_mode=False, **options):
        def remember(dummy, state, began):
            host.remembered.append((state.invocation_id, began))

        monkeypatch.setattr(
            _service_state, "compare", lambda manager, state: Comparison(host.differences, host.complete)
        )
        monkeypatch.setattr(_service_state, "log_tail", lambda *a, **k: ["last words"])
        log = types.SimpleNamespace(all_lines=getattr(host, "lines", []))
        monkeypatch.setattr(_service_state, "read_invocation", lambda *a, **k: log)
        monkeypatch.setattr(_service_state, "remember_inputs", remember)
        it = ServiceChange(
            host,
            "sglang.service",
            Timeouts(5, 5),
            host.clock,
            host.sleep,
            reset_failed=options.get("reset_failed", True),
            check_mode=check_mode,
            cgroup_root=str(options.get("cgroup_root", tmp_path)),
            unit_to_change=options.get("unit_to_change", False),
        )
        host.change = it
        it.enable(options.get("enabled"))
        it.bring_to(wanted)
        return it.result()

    return make


def verbs(host):
    return [v for v in host.verbs if v != "reset-failed"]
