# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The test hosts themselves: how they come up, and that nothing is left of them however they end."""

from __future__ import annotations


def test_a_module_runs_on_a_host_and_its_result_comes_back(hosts):
    result = hosts.run_module("host1", "ansible.builtin.command", {"argv": ["hostname"]})
    assert (result["failed"], result["stdout"]) == (False, "host1")


def test_the_operator_has_a_user_manager_over_ssh(hosts):
    assert hosts.ssh("host2", "systemctl --user is-system-running", user="operator").stdout == "running\n"
    result = hosts.run_module("host2", "ansible.builtin.command", {"argv": ["id", "-un"]}, user="operator")
    assert result["stdout"] == "operator"
    result = hosts.run_module("host2", "ansible.builtin.command", {"argv": ["id", "-un"]}, become_user="operator")
    assert result["stdout"] == "operator"
