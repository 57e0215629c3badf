# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What server_unit finds and tells before it writes, in check mode and without."""

from __future__ import annotations

import pytest
from ansible.module_utils import basic

from ansible_collections.llmops.sglang.plugins.module_utils._server_unit import ServerUnit
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager

DFLASH = {"algorithm": "DFLASH", "draft_model_path": "org/draft", "draft_window_size": 2048}


@pytest.fixture
def run(run_server_unit):
    return run_server_unit


@pytest.mark.parametrize(
    ("args", "speculative", "part"),
    [
        ({}, {**DFLASH, "draft_window_size": 4, "block_size": 8}, "the window is 4 and the block size 8"),
        ({}, {**DFLASH, "block_size": 8, "num_draft_tokens": 4}, "they are 8 and 4"),
        ({}, {"algorithm": "DFLASH"}, "speculative.draft_model_path"),
        ({"pp_size": 2}, DFLASH, "pp_size == 1"),
        ({}, {**DFLASH, "algorithm": "UNO"}, "0.5.20 is the first"),
    ],
)
def test_a_rule_is_told_in_check_mode_as_well_and_leaves_the_unit_that_is_there(run, tmp_path, args, speculative, part):
    run()
    before = (tmp_path / "llm.service").read_text()
    for check in (True, False):
        refused = run(check=check, args={"model_path": "m", **args}, speculative=speculative)
        assert refused["failure_class"] == "rule_violated" and part in refused["msg"]
        assert (tmp_path / "llm.service").read_text() == before


def test_a_tree_without_a_branch_is_a_warning_in_check_mode_as_well(run):
    speculative = {**DFLASH, "algorithm": "DDTREE", "block_size": 8, "tree_budget": 7}
    for check in (True, False):
        told = run(check=check, speculative=speculative, flag_names={"tree_budget": "--speculative-ddtree-budget"})
        assert any("linear chain" in w for w in told["warnings"])


class Systemctl:
    """Answers like a host without the unit, or with *properties* of one, and keeps what it was asked."""

    def __init__(self, **properties):
        self.asked = []
        self.properties = properties or {"LoadState": "not-found", "ActiveState": "inactive"}

    def __call__(self, words, **dummy):
        self.asked.append(list(words))
        shown = "".join(f"{key}={value}\n" for key, value in self.properties.items())
        answers = {"show": shown, "--version": "systemd 252 (252.1)\n"}
        return 0, answers.get(words[1], "") if words[0] == "systemctl" else "", ""


def test_check_mode_on_a_fresh_host_asks_systemd_and_tells_it_nothing(run, monkeypatch):
    systemctl = Systemctl()
    monkeypatch.setattr(ServerUnit, "_manager", lambda self: Manager(systemctl))
    monkeypatch.setattr(basic.AnsibleModule, "run_command", lambda self, words, **more: systemctl(words, **more))
    told = run(check=True, dest_dir=None, api_key="sk-the-api-key", name="no-such-llm")
    assert told["changed"] and "ExecStart=" in told["diff"][0]["after"], told.get("msg")
    assert systemctl.asked
    assert {next(w for w in words[1:] if w != "--user") for words in systemctl.asked if words[0] == "systemctl"} <= {
        "show",
        "--version",
    }


def test_check_mode_on_a_fresh_host_forecasts_a_drop_in_over_a_unit_that_is_still_to_come(run, monkeypatch):
    systemctl = Systemctl()
    monkeypatch.setattr(ServerUnit, "_manager", lambda self: Manager(systemctl))
    monkeypatch.setattr(basic.AnsibleModule, "run_command", lambda self, words, **more: systemctl(words, **more))
    told = run(check=True, style="drop_in", verify=True)
    assert told["changed"] and "ExecStart=" in told["diff"]["after"], told.get("msg")
    assert any("no unit 'llm.service'" in w and "earlier task" in w for w in told["warnings"])
    assert not [words for words in systemctl.asked if words[0] == "systemd-analyze"]
    assert run(style="drop_in")["failure_class"] == "no_such_unit"


@pytest.mark.parametrize(
    ("options", "owner", "warned"),
    [
        ({}, {}, False),
        ({"service": {"KillMode": "control-group"}}, {}, True),
        ({"service": {"KillSignal": "SIGTERM"}}, {}, True),
        ({"service": {"KillSignal": 2}}, {}, False),
        ({"service": {"KillMode": None}}, {}, True),
        ({"style": "drop_in"}, {"KillMode": "control-group", "KillSignal": "15"}, True),
        ({"style": "drop_in"}, {"KillMode": "mixed", "KillSignal": "2"}, False),
        (
            {"style": "drop_in", "service": {"KillMode": "mixed", "KillSignal": "INT"}},
            {"KillMode": "control-group", "KillSignal": "15"},
            False,
        ),
    ],
)
def test_a_stop_that_cuts_running_requests_is_told_before_it_does(run, monkeypatch, options, owner, warned):
    loaded = {"LoadState": "loaded", "ActiveState": "inactive", "FragmentPath": "/lib/x.service"}
    monkeypatch.setattr(ServerUnit, "_manager", lambda self: Manager(Systemctl(**loaded, **owner)))
    warnings = run(check=True, **options)["warnings"]
    assert any("KillMode=mixed" in w for w in warnings) is warned, warnings
