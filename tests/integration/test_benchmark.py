# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""benchmark_matrix and coding_eval on the stand-in server under real systemd."""

from __future__ import annotations

import concurrent.futures
import json
import textwrap

import pytest
from fault_rows import fault

DFLASH = "--speculative-algorithm DFLASH --speculative-draft-model-path org/draft --speculative-num-draft-tokens 8 --enable-metrics"
# Those that the stand-in can write.
FIVE = ["is_palindrome", "fib", "merge_sorted", "word_count", "gcd"]


class Server:
    """The stand-in as a unit on host1."""

    def __init__(self, hosts):
        self.hosts, self.name, self.port = hosts, "benchmarked", 32500

    def start(self, environment="", arguments=DFLASH, step_ms=25):
        text = textwrap.dedent(f"""\
            [Unit]
            StartLimitIntervalSec=0
            [Service]
            Type=exec
            Environment=PYTHONPATH={self.hosts.repository}/tests/simulator SIM_LOAD_SECONDS=0.3 SIM_WARMUP_SECONDS=0.1
            Environment=SIM_TRUTH_LOG=/run/benchmarked.truth SIM_PREFILL_MS=60 SIM_STEP_MS={step_ms} {environment}
            ExecStart=/usr/bin/python3 -B -m sglang.launch_server --model-path org/model --port {self.port} {arguments}
            KillMode=mixed
            KillSignal=SIGINT
            TimeoutStopSec=10
            """)
        file = f"/etc/systemd/system/{self.name}.service"
        self.shell(f"cat > {file} <<'END'\n{text}END\nsystemctl daemon-reload; rm -f /run/benchmarked.truth")
        self.shell(f"systemctl restart {self.name}")
        return self.wait()

    def wait(self):
        waited = self.module("wait_for_generation", name=self.name, timeout=300, progress_interval=0)
        assert waited["ok"], waited
        return self

    def shell(self, command, timeout=180):
        done = self.hosts.ssh("host1", command, timeout=timeout)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout.strip()

    def module(self, module, user=None, **options):
        return self.hosts.run_module("host1", f"llmops.sglang.{module}", options, user=user)

    def measure(self, **options):
        small = {"contexts": [60], "concurrency": [2], "max_tokens": 41, "requests": 6, "progress_interval": 0}
        with self.hosts.first("host1"):
            return self.module(
                "benchmark_matrix", **{"name": self.name, "results_dir": "/run/results", **small, **options}
            )

    def code(self, user=None, **options):
        options = {
            "results_dir": f"/tmp/coding-{user}",
            "base_url": f"http://127.0.0.1:{self.port}",
            "task_names": FIVE,
            **options,
        }
        return self.module("coding_eval", user=user, **options)


@pytest.fixture(scope="module")
def server(hosts):
    made = Server(hosts)
    yield made
    made.shell(f"systemctl stop {made.name}; rm -f /etc/systemd/system/{made.name}.service; systemctl daemon-reload")


@pytest.mark.parametrize("api", ["chat", "generate"])
def test_figures_agree_with_what_the_server_did(server, api):
    # A machine that is busy with other tests must not look like a saturated client.
    server.start("SIM_ACCEPTANCE=4", step_ms=100)
    result = server.measure(api=api, label=api, max_tokens=21)
    assert not result["failed"] and result["complete"], result
    [cell] = result["cells"]
    assert (cell["valid"], cell["reasons"]) == (True, []), cell
    truth = [json.loads(line) for line in server.shell("tail -n 6 /run/benchmarked.truth").splitlines()]
    assert [row["completion_tokens"] for row in truth] == [21] * 6
    steps = sum(row["verify_steps"] for row in truth)
    tpot = sum(
        (row["last_token_monotonic"] - row["first_token_monotonic"]) / (21 - row["chunk_sizes"][0]) for row in truth
    )
    assert cell["tpot_ms"]["mean"] == pytest.approx(tpot / 6 * 1000, rel=0.1)
    assert cell["acceptance_source"] == ("per_request" if api == "generate" else "counters")
    assert cell["acceptance_length"] == pytest.approx(6 * 20 / steps, rel=0.1)
    assert result["evidence_before"] == result["evidence_after"]
    assert result["evidence_before"]["invocation_id"] == server.shell(
        f"systemctl show --value -p InvocationID {server.name}"
    )
    assert result["evidence_before"]["listener_owned"] == "yes"
    assert json.loads(server.shell(f"cat {result['record_path']}"))["proven"] is True


def test_a_restart_within_a_cell_makes_it_invalid_and_no_other(server):
    server.start()

    def restart_when_measured():
        server.shell(
            "until grep -q . /run/benchmarked.truth && [ $(wc -l < /run/benchmarked.truth) -gt 24 ]; do sleep 0.1; done",
            timeout=300,
        )
        server.shell(f"systemctl kill -s SIGKILL {server.name}; systemctl restart {server.name}")

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        restarted = pool.submit(restart_when_measured)
        result = server.measure(requests=200, max_tokens=64, repeats=1)
        restarted.result()
    [cell] = result["cells"]
    assert result["ok"] is False and cell["valid"] is False
    assert "evidence_changed" in cell["reasons"] and cell["evidence_changes"], cell
    fault(
        "serving", "The server is restarted while it is measured", f"The cell is invalid: {', '.join(cell['reasons'])}."
    )
    again = server.wait().measure(requests=6)
    assert again["ok"] and again["resumed_cells"] == 0, again


def test_made_up_acceptance_is_never_valid(server):
    server.start("SGLANG_SIMULATE_ACC_LEN=5")
    result = server.measure()
    assert result["ok"] is False and "simulated_acceptance" in result["cells"][0]["reasons"]
    fault("serving", "The server makes its acceptance up", "Every cell is invalid: simulated_acceptance.")


def test_a_unit_that_is_not_there_is_named(server):
    result = server.measure(name="benchmarkd")
    assert result["failed"] and result["failure_class"] == "no_such_unit" and "benchmarked" in result["msg"]
    fault("serving", "A benchmark of a unit whose name has a typing error")


@pytest.mark.parametrize(
    ("code", "status"), [("right", "passed"), ("wrong", "failed"), ("none", "refused"), ("hang", "failed")]
)
def test_the_five_tasks(server, code, status):
    server.start(f"SIM_CODE={code} SIM_SPEED=20")
    # Each that hangs takes its whole time limit.
    asked = FIVE[:2] if code == "hang" else FIVE
    result = server.code(name=server.name, task_timeout=2 if code == "hang" else 60, max_tokens=1000, task_names=asked)
    assert not result["failed"], result
    statuses = {task["name"]: task["status"] for task in result["tasks"]}
    assert list(statuses) == asked and set(statuses.values()) == {status}, result["tasks"]
    assert result["ok"] is True and result["pass_rate"] == (1.0 if status == "passed" else 0.0)


def test_a_stopped_server_fails_no_task(server):
    server.start()
    server.shell(f"systemctl stop {server.name}")
    result = server.code(name=server.name, task_names=[])
    assert (result["ok"], result["tasks_failed"], result["pass_rate"]) == (False, 0, None)
    assert result["tasks_not_run"] == result["tasks_total"] >= 20
    assert not result["failed"]
    fault("serving", "The server is stopped when its programs are judged", "Every task is not run; none has failed.")


def test_programs_of_another_process_are_not_the_units(server):
    """The unit runs on another port than the one that is asked; an old process answers there."""
    server.start()
    server.shell(
        f"systemd-run --unit=old-{server.name} -E PYTHONPATH={server.hosts.repository}/tests/simulator -E SIM_LOAD_SECONDS=0.1"
        " /usr/bin/python3 -B -m sglang.launch_server --model-path org/model --port 32501;"
        "until ss -ltn | grep -q 32501; do sleep 0.1; done"
    )
    for result in (
        server.code(name=server.name, base_url="http://127.0.0.1:32501"),
        server.measure(base_url="http://127.0.0.1:32501"),
    ):
        assert result["failed"] and result["failure_class"] == "foreign_listener", result
    fault("serving", "The URL that is measured is that of another process")
    hidden = server.module(
        "benchmark_matrix",
        user="operator",
        name=server.name,
        base_url="http://127.0.0.1:32501",
        results_dir="/tmp/hidden",
        contexts=[60],
        concurrency=[1],
    )
    assert hidden["failed"] and hidden["failure_class"] == "no_permission", hidden
    fault("host", "A user who may not see whose socket it is measures")
    info = server.module("server_info", name=server.name, base_url="http://127.0.0.1:32501")
    assert [conflict["subject"] for conflict in info["conflicts"]] == ["listener"]
    assert info["evidence"]["listener_owned"] == "no"
    own = server.module("server_info", name=server.name)
    assert (own["conflicts"], own["evidence"]["listener_owned"]) == ([], "yes")
    server.shell(f"systemctl stop old-{server.name}")


def test_a_user_without_root_and_with_much_running_has_the_tasks_judged_in_a_sandbox(server):
    server.start("SIM_CODE=right SIM_SPEED=20")
    # More processes than the sandbox lets a program have.
    many = ["systemd-run", "--user", "--quiet", "--collect", "--unit=busy"]
    many += ["sh", "-c", "'for n in $(seq 60); do sleep 600 & done; wait'"]
    begun = server.hosts.ssh("host1", " ".join(many), user="operator")
    assert begun.returncode == 0, begun.stderr
    try:
        result = server.code(user="operator", max_tokens=1000)
    finally:
        server.hosts.ssh("host1", "systemctl --user stop busy", user="operator")
    assert not result["failed"] and result["tasks_passed"] == 5, result
    assert result["sandbox"] == "systemd"
