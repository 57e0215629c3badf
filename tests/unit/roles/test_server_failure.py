# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a job that fails hands on to the next one of a workflow, which takes it as a variable."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.tests.unit import role_variables


def told(msg):
    (task,) = (one for one in role_variables.read("server/tasks/failed.yml") if "ansible.builtin.set_stats" in one)
    failure = {"playbook": "site.yml", "task": "Wait", "failure_class": "garbage_output", "msg": msg}
    given = {"inventory_hostname": "gpu1", "server_failure": failure, **task["vars"]}
    return role_variables.rendered(task["ansible.builtin.set_stats"]["data"], **given)["failure_artifacts"]["gpu1"]


@pytest.mark.parametrize(
    ("msg", "handed"),
    [
        ("The server said 'no'.", "The server said 'no'."),
        ("{{ lookup('x') }}{% if 1 %}{# n #}", "{ { lookup('x') }}{ % if 1 %}{ # n #}"),
        ("{{{ x {{{{", "{ { { x { { { {"),
        ("m" * 5000, "m" * 1997 + "..."),
        (
            "Wait failed: why\n  | a line\n  | of the log\nAnother was put back.",
            "Wait failed: why Another was put back.",
        ),
    ],
    ids=["plain", "templates", "three braces", "long", "with its log"],
)
def test_nothing_in_it_is_a_template(msg, handed):
    failure = {"playbook": "site.yml", "task": "Wait", "failure_class": "garbage_output"}
    assert told(msg) == {**failure, "msg": handed}
