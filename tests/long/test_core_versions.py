# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The main job under every ansible-core that the collection promises to work with."""

from __future__ import annotations

import subprocess
import sys

import pytest
import yaml
from other_versions import CLONE, CONTROLLERS, controller, controller_python

SIMULATOR = "/opt/core-versions-sim"


@pytest.fixture(params=sorted(CONTROLLERS))
def core(request):
    """The folder with the programs of one core."""
    python = controller_python(request.param)
    if not python:
        pytest.fail(f"A Python of {CONTROLLERS[request.param]} is needed for this test and is not on this machine")
    return controller(request.param, python)


def test_the_main_job_twice(hosts, core, tmp_path):
    install = f"python3 {hosts.repository}/tests/simulator/install.py {SIMULATOR} --version 0.5.15.post1 --python /usr/bin/python3"
    done = hosts.ssh("host1", f"test -e {SIMULATOR} || {install}")
    assert done.returncode == 0, done.stderr
    variables = {
        "server_name": "sglang-core",
        "server_python": f"{SIMULATOR}/bin/python",
        "server_args": {"model_path": "org/model", "port": 4301, "max_running_requests": 8},
        "server_speculative": {"algorithm": "DFLASH", "draft_model_path": "org/draft", "draft_window_size": 2048},
        "server_environment": {"SIM_LOAD_SECONDS": "1", "SIM_PACE": "0.2", "SIM_STEP_MS": "150"},
        "server_wait": {"timeout": 60, "require_speculation": True},
        "benchmark_results_dir": str(tmp_path / "records"),
        "benchmark_matrix": {"contexts": [60], "concurrency": [1], "max_tokens": 16, "requests": 2},
    }
    inventory = tmp_path / "inventory.yml"
    inventory.write_text(yaml.safe_dump({"sglang": {"hosts": {"host1": {}}, "vars": variables}}))
    words = [str(core / "ansible-playbook"), "-i", str(hosts.inventory), "-i", str(inventory), "playbooks/site.yml"]
    for run in (1, 2):
        done = subprocess.run(words, cwd=CLONE, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "host1 sglang-core: ready" in done.stdout
        if run == 2:
            assert "changed=0" in done.stdout
    assert "[WARNING]: Deprecat" not in done.stdout + done.stderr
    sys.stdout.write(done.stdout[-300:])


MODULE = """
import os
from ansible.module_utils.basic import AnsibleModule
module = AnsibleModule(argument_spec={"how": {"choices": ["raise", "exit", "refuse", "begun"]}})
if module.params["how"] == "raise":
    raise RuntimeError("boom")
if module.params["how"] == "exit":
    os._exit(3)
try:
    raise ValueError("cause")
except ValueError:
    module.fail_json(msg="refused", failure_class="rule_violated", changed=module.params["how"] == "begun")
"""
EXPECTED = {"raise": True, "exit": True, "refuse": False, "begun": True, "no such choice": False}


def test_a_module_that_crashed_is_told_from_one_that_refused(core, tmp_path):
    """It may have written; what it refused before the write must not be put back over what is there."""
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "stub_unit.py").write_text(MODULE)
    look = {
        "ansible.builtin.debug": {"msg": "{{ item.item }} is {{ server_written_before_failure }}"},
        "vars": {"server_unit_written": "{{ item }}"},
        "loop": "{{ stubbed.results }}",
        "loop_control": {"label": "{{ item.item }}"},
    }
    run = {"stub_unit": {"how": "{{ item }}"}, "loop": list(EXPECTED), "register": "stubbed", "ignore_errors": True}
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": [run, look]}
    play["vars_files"] = [str(CLONE / "roles" / "server" / "vars" / "main.yml")]
    play["vars"] = {"ansible_python_interpreter": "/usr/bin/python3"}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    words = [str(core / "ansible-playbook"), "-i", "localhost,", str(tmp_path / "play.yml")]
    done = subprocess.run(words, cwd=CLONE, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    for how, written in EXPECTED.items():
        assert f"{how} is {written}" in done.stdout, done.stdout
