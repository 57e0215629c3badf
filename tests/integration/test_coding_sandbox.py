# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""coding_eval and programs that want out of its sandbox, under real systemd; a model that echoes hands them in."""

from __future__ import annotations

import concurrent.futures
import secrets

import pytest
import yaml
from fault_rows import fault
from hostile_programs import ANSWERS, FOR_A_USER, PROGRAMS, SECRET, VICTIM

PORT = 32600
HONEST = "def f():\n    return 'in'"


@pytest.fixture(scope="module")
def host(hosts):
    def shell(command, user="root"):
        done = hosts.ssh("host1", command, user=user)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout.strip()

    shell(
        "echo key > /root/llmops-key; chmod 600 /root/llmops-key; loginctl enable-linger operator;"
        "install -m 600 -o operator /dev/null /home/operator/llmops-key; echo key > /home/operator/llmops-key;"
        f"systemd-run --quiet --collect --unit=echo python3 -B {hosts.repository}/tests/integration/on_host/echo.py {PORT};"
        f"until ss -ltn | grep -q :{PORT}; do sleep 0.1; done"
    )
    yield shell
    shell("systemctl stop echo; rm -f /root/llmops-key /home/operator/llmops-key")


def task(name, code, expected, timeout):
    answer = f"```python\n{code}\n```\n"
    return {
        "name": name,
        "prompt": answer,
        "entry_point": "f",
        "cases": [{"expected": expected}],
        **({"timeout": timeout} if timeout else {}),
    }


def evaluate(hosts, host, user, programs):
    """The result for *programs*, and what the user's innocent process had become when they were through."""
    victim = host("setsid sleep 600 < /dev/null > /dev/null 2>&1 & echo $!", user)
    tasks = [task("is honest", HONEST, "in", None)]
    for name, hostile in programs.items():
        expected = SECRET + secrets.token_hex(4) if hostile.expected == SECRET else hostile.expected
        tasks.append(task(name, hostile.code.replace(VICTIM, victim), expected, hostile.timeout))
    file = f"/run/hostile-{user}.yml"
    host(f"cat > {file} <<'END'\n{yaml.safe_dump({'tasks': tasks}, sort_keys=False)}\nEND")
    options = {"base_url": f"http://127.0.0.1:{PORT}", "tasks_file": file, "results_dir": f"/tmp/hostile-{user}"}
    result = hosts.run_module("host1", "llmops.sglang.coding_eval", {**options, "task_timeout": 60}, user=user)
    return result, host(f"ps -o comm= {victim}; kill {victim}", user)


def test_every_hostile_program_is_contained_and_what_did_it_is_named(hosts, host):
    """As root, with a user of its own, and under the manager of a user, at the same time."""
    wanted = {"root": {**PROGRAMS, **ANSWERS}, "operator": {name: PROGRAMS[name] for name in FOR_A_USER}}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        futures = {user: pool.submit(evaluate, hosts, host, user, programs) for user, programs in wanted.items()}
    for user, programs in wanted.items():
        result, victim = futures[user].result()
        assert not result["failed"], result
        assert victim == "sleep"
        honest, *others = result["tasks"]
        assert (honest["status"], honest["contained"]) == ("passed", [])
        assert [one["name"] for one in others] == list(programs)
        assert [one for one in others if one["status"] != "failed" or not one["reason"]] == []
        unnamed = [one for one in others if not programs[one["name"]].words & set(one["contained"])]
        assert [(user, one["name"], one["contained"], one["reason"]) for one in unnamed] == []
        for one in [one for one in others if user == "root" and one["contained"]]:
            fault("programs", f"It {one['name']}", f"The task has failed: {one['reason']}")
    assert host("ls /etc/llmops-was-here /dev/shm/llmops-was-here /tmp/llmops-* 2>/dev/null; true") == ""
    units = "list-units --all --plain --no-legend 'llmops-sglang-sandbox-*'"
    assert host(f"systemctl {units}; pgrep -f '[i]mport atexit' || true") == ""


def test_a_host_where_the_sandbox_is_not_to_be_had_runs_nothing_unless_told_to(hosts, host):
    """A user without a service manager, as everybody is in a container without systemd."""
    host("id stranger 2>/dev/null || useradd --create-home --shell /bin/sh stranger")
    options = {
        "base_url": f"http://127.0.0.1:{PORT}",
        "tasks": [task("is honest", HONEST, "in", None)],
        "results_dir": "/home/stranger/records",
    }
    refused = hosts.run_module("host1", "llmops.sglang.coding_eval", options, become_user="stranger")
    assert (refused["failed"], refused.get("failure_class"), refused["tasks"]) == (True, "sandbox_unavailable", [])
    fault("host", "There is no sandbox for programs that a model wrote")
    told = hosts.run_module(
        "host1", "llmops.sglang.coding_eval", {**options, "sandbox": "none"}, become_user="stranger"
    )
    assert not told["failed"] and told["tasks_passed"] == 1 and told["sandbox"] == "none", told
    assert any("without a sandbox" in warning for warning in told["warnings"])
