# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tasks that are run when a play fails; no test host is needed for that."""

from __future__ import annotations

import json

import pytest
import yaml
from fault_rows import fault
from host_set import run_ansible

HOOK = """
- name: Tell the pager
  ansible.builtin.copy:
    content: "{{ server_failure | to_json }}"
    dest: "{{ told }}/{{ server_failure.host }}.json"
    mode: "0600"
  delegate_to: localhost

- name: Fail at it
  ansible.builtin.fail:
    msg: the pager is broken
"""


@pytest.fixture
def play(tmp_path):
    def run(**variables):
        inventory = tmp_path / "hosts.yml"
        local = {"ansible_connection": "local", "ansible_python_interpreter": "{{ ansible_playbook_python }}"}
        # Nobody listens on that port.
        lost = {"ansible_host": "127.0.0.1", "ansible_port": 1}
        hosts = {"sglang": {"hosts": {"here": local, "lost": lost}}, "all": {"hosts": {"localhost": local}}}
        inventory.write_text(yaml.safe_dump(hosts))
        told = tmp_path / "told"
        told.mkdir(exist_ok=True)
        # A name that server_unit refuses.
        common = {"server_name": "no/unit", "server_python": "/nowhere/python", "told": str(told)}
        done = run_ansible("playbook", ["-i", str(inventory), "playbooks/site.yml"], {**common, **variables})
        return done, {path.stem: json.loads(path.read_text()) for path in told.iterdir()}

    return run


def test_what_failed_is_told_and_stays_the_failure_though_the_telling_fails(play, tmp_path):
    tmp_path.joinpath("hook.yml").write_text(HOOK)
    done, told = play(failure_tasks="hook.yml")
    assert done.returncode == 2, done.stdout
    assert set(told) == {"here", "lost"}
    here, lost = told["here"], told["lost"]
    assert here["playbook"] == "site.yml" and here["task"] and here["failure_class"] == "unit_invalid"
    assert "'no/unit'" in here["msg"] and here["log_tail"] == []
    assert "'lost' cannot be reached" in lost["msg"] and lost["failure_class"] == ""
    last = done.stdout.rpartition("TASK [")[2]
    assert last.startswith("llmops.sglang.server : Fail with what failed first]")
    assert here["msg"] in last and "pager" not in last
    assert done.stdout.count("the pager is broken") >= 2
    fault("controller", "The tasks that are to tell a failure fail themselves")


@pytest.mark.parametrize(
    ("said", "text"), [("is missing", None), ("is no YAML", "- name: ["), ("holds no tasks", "no: tasks")]
)
def test_a_hook_that_could_not_run_is_found_before_anything_is_done(play, tmp_path, said, text):
    if text:
        tmp_path.joinpath("hook.yml").write_text(text)
    done, told = play(failure_tasks="hook.yml")
    assert done.returncode == 2 and not told
    assert "Deploy the server or take it away" not in done.stdout
    last = done.stdout.rpartition("TASK [")[2]
    assert last.startswith("llmops.sglang.server : Fail with what failed first]") and "hook.yml" in done.stdout
    fault("controller", f"The file of the tasks that are to tell a failure {said}")
