# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks, as an operator runs them, with the stand-in server on a real host."""

from __future__ import annotations

import json
import pathlib
import re
import shlex

import pytest
import yaml
from fault_rows import fault

RELEASE = "0.5.15.post1"
SIMULATOR = "/opt/playbooks-sim"
UNIT = "sglang-site"
# What proves the server once more before anything is measured, too.
NOTHING_MEASURED = {"benchmark_matrix": False, "benchmark_coding": False, "benchmark_require_evidence": False}
FAST = {"SIM_LOAD_SECONDS": "0.3", "SIM_WARMUP_SECONDS": "0.1", "SIM_PACE": "0.05"}
# A machine that is busy with other tests must not look like a saturated client.
SLOW_STEPS = {**FAST, "SIM_STEP_MS": "400", "SIM_PREFILL_MS": "400"}


class Site:
    """One host's inventory, and the playbooks run with it."""

    def __init__(self, hosts, folder):
        self.hosts, self.folder, self.as_deployed = hosts, folder, ""
        self.vars = {
            "server_name": "sglang-site",
            "server_python": f"{SIMULATOR}/bin/python",
            "server_args": {"model_path": "org/model", "port": 4201, "enable_metrics": True, "max_running_requests": 8},
            "server_speculative": {
                "algorithm": "DFLASH",
                "draft_model_path": f"{SIMULATOR}/draft",
                "draft_window_size": 2048,
                "block_size": 8,
            },
            "server_environment": FAST,
            "server_wait": {"timeout": 300, "require_speculation": True, "progress_interval": 1},
            "benchmark_results_dir": str(folder / "records"),
            "benchmark_label": "site",
            "benchmark_matrix": {"contexts": [60], "concurrency": [1, 2], "max_tokens": 12, "requests": 2, "warmup": 1},
            # Those that the stand-in can write.
            "benchmark_coding": {"task_names": ["is_palindrome", "fib", "merge_sorted", "word_count", "gcd"]},
        }

    def run(self, playbook, *words, **changed):
        inventory = self.folder / "inventory.yml"
        inventory.write_text(yaml.safe_dump({"sglang": {"hosts": {"host1": {}}, "vars": {**self.vars, **changed}}}))
        path = playbook if isinstance(playbook, pathlib.Path) else f"playbooks/{playbook}.yml"
        done = self.hosts.playbook(path, words=words, inventories=[inventory])
        done.recap = dict(re.findall(r"(\w+)=(\d+)", done.stdout.rpartition("PLAY RECAP")[2]))
        return done

    def shell(self, command):
        done = self.hosts.ssh("host1", command)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def invocation(self):
        return self.shell(f"systemctl show -P InvocationID {UNIT}")

    def found(self):
        """What a test may have changed: the process and the files that it comes from."""
        shown = f"systemctl show -p InvocationID,ActiveState,SubState,MainPID,NeedDaemonReload,UnitFileState {UNIT}"
        return self.shell(f"{shown}; systemctl cat {UNIT} || true")


@pytest.fixture(scope="module")
def site(hosts, tmp_path_factory):
    made = Site(hosts, tmp_path_factory.mktemp("site"))
    made.shell(
        f"python3 {hosts.repository}/tests/simulator/install.py {SIMULATOR} --version {RELEASE} --python /usr/bin/python3"
        f" && mkdir -p {SIMULATOR}/draft"
    )
    draft = {"block_size": 8, "sliding_window": 2048, "layer_types": ["sliding_attention"] * 5 + ["full_attention"]}
    made.shell(f"cat > {SIMULATOR}/draft/config.json <<'END'\n{json.dumps(draft)}\nEND")
    return made


@pytest.fixture
def deployed(site):
    """The server of the inventory, running; each test starts from there."""
    if site.found() != site.as_deployed:
        done = site.run("site", **NOTHING_MEASURED)
        assert done.returncode == 0, done.stdout + done.stderr
        site.as_deployed = site.found()
    return site


def test_a_fresh_host_is_reviewed_without_being_touched(site):
    site.shell("systemctl stop sglang-site; rm -f /etc/systemd/system/sglang-site.service; systemctl daemon-reload")
    done = site.run("site", "--check", "--diff")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--speculative-draft-window-size 2048" in done.stdout
    assert site.shell("systemctl show -P LoadState sglang-site") == "not-found"


def test_the_main_job_and_then_nothing(site):
    slow = {"server_environment": SLOW_STEPS, "benchmark_coding": False}
    first = site.run("site", **slow)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "host1 sglang-site: ready" in first.stdout
    assert first.stdout.count("Prove the draft window from the journal") == 1, "what was proved is proved again"
    before = site.invocation()
    # What one run proves depends on the machine, but both are of the same thing.
    baseline = {"benchmark_baseline": "*_site_*.json", "benchmark_compare": {"fail_on": "never"}}
    filed = {"benchmark_report": {}, "benchmark_keep": 2, "benchmark_prometheus_file": str(site.folder / "sglang.prom")}
    second = site.run("site", benchmark_label="again", **slow, **baseline, **filed)
    assert second.returncode == 0, second.stdout + second.stderr
    assert "again against site" in second.stdout and "differ in nothing that is recorded" in second.stdout
    assert second.recap["changed"] == "0"
    assert site.invocation() == before
    folder = site.folder / "records/host1"
    record = max(folder.glob("*.json"))
    assert before in record.read_text()
    assert {p.name for p in folder.glob(f"{record.stem}.*")} == {
        f"{record.stem}{end}" for end in (".json", ".md", ".jsonl.gz", ".html")
    }
    drawn = {p.name[len(record.stem) + 1 : -len(".png")] for p in folder.glob(f"{record.stem}-*.png")}
    assert {"throughput", "ttft", "speedup"} <= drawn
    assert 'host="host1",unit="sglang-site.service"' in (site.folder / "sglang.prom").read_text()
    assert not list(folder.rglob(".incoming"))


def test_a_write_that_died_before_the_restart_is_repaired_by_the_next_run(deployed):
    before = deployed.invocation()
    changed = {**deployed.vars["server_args"], "max_running_requests": 7}
    pending = deployed.run("site", server_args=changed, server_restart="never", **NOTHING_MEASURED)
    assert pending.returncode == 0, pending.stdout + pending.stderr
    assert deployed.invocation() == before
    told = deployed.run("verify", server_args=changed)
    assert told.returncode != 0
    assert "a restart is pending" in told.stdout
    fault("change", "The unit was written and the server never restarted")
    repaired = deployed.run("site", server_args=changed, **NOTHING_MEASURED)
    assert repaired.returncode == 0, repaired.stdout + repaired.stderr
    assert deployed.invocation() != before


def test_what_a_log_says_is_no_template(deployed):
    """Not in what the role shows of a failure, and not where a play shows it once more."""
    text = "danger {{ lookup('ansible.builtin.pipe', 'touch /tmp/llmops-inert') }} {% for x in y %} {{ 6 * 7 }}"
    # Said by a process of the unit, which lives until journald has looked whose it is.
    said = shlex.quote(f"echo {shlex.quote(text)}; journalctl --sync")
    deployed.shell(f"echo $$ > /sys/fs/cgroup/system.slice/sglang-site.service/cgroup.procs; systemd-cat sh -c {said}")
    play = {
        "hosts": "sglang",
        "gather_facts": False,
        "tasks": [
            {
                "block": [{"ansible.builtin.include_role": {"name": "llmops.sglang.server", "tasks_from": "prove"}}],
                "rescue": [
                    {"ansible.builtin.debug": {"msg": "once more {{ server_journal_proof.results[-1].line }}"}},
                    {"ansible.builtin.fail": {"msg": "{{ server_journal_proof.log_tail | join }}"}},
                ],
            }
        ],
    }
    file = deployed.folder / "inert.yml"
    file.write_text(yaml.safe_dump([play]))
    done = deployed.run(file, server_journal={"must_not_match": ["^danger"]})
    assert done.returncode != 0 and "forbidden_match" in done.stdout
    fault("journal", "The log of the server holds templates of Ansible's")
    assert f"once more {text}" in done.stdout and "danger 42" not in done.stdout, done.stdout
    assert not pathlib.Path("/tmp/llmops-inert").exists()


def test_a_window_that_was_not_applied_fails_before_the_benchmark(site):
    """The one that the drafter was trained with, and beside what the user asks of the journal."""
    wanted = {
        "server_environment": {**FAST, "SIM_FAULT": "draft:lie:window"},
        "server_speculative": {**site.vars["server_speculative"], "draft_window_size": "trained"},
        "server_journal": {"preset": ["clean_start"], "must_not_match": ["Segfault"]},
        # The second playbook is to find what the first one left.
        "server_rollback": False,
    }
    for playbook in ("site", "benchmark"):
        done = site.run(playbook, **wanted)
        assert done.returncode != 0
        assert "field_mismatch" in done.stdout
        assert "Measure throughput" not in done.stdout
        fault("start", f"The server ignores the draft window ({playbook}.yml)")


def test_a_trained_window_that_is_not_asked_for_is_told(site):
    without = {k: v for k, v in site.vars["server_speculative"].items() if k != "draft_window_size"}
    done = site.run("site", server_speculative=without, **NOTHING_MEASURED)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "was trained with a window of 2048 tokens" in done.stderr + done.stdout
    reviewed = site.run("verify", server_speculative=without)
    assert reviewed.returncode != 0
    assert "trained with a window of 2048 tokens and runs with None" in reviewed.stdout
    fault("start", "The drafter was trained with a window and runs without one")


def test_of_a_server_without_a_drafter_no_window_is_asked(site):
    # Both prove the server before they would measure it.
    for playbook, journal in (("site", {}), ("benchmark", {"timeout": 5, "must_not_match": ["Segfault"]})):
        done = site.run(
            playbook,
            server_speculative={},
            server_wait={"timeout": 300},
            server_journal=journal,
            benchmark_matrix=False,
            benchmark_coding=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Wait until this invocation generates" in done.stdout


def test_a_flag_of_another_release_is_refused_and_the_server_goes_on(deployed):
    before = deployed.invocation()
    wrong = {**deployed.vars["server_args"], "speculative_draft_sink_size": 4}
    done = deployed.run("site", server_args=wrong)
    assert done.returncode != 0
    assert "unknown_flag" in done.stdout
    fault("change", "A flag of another release is in the inventory")
    assert deployed.invocation() == before


def test_restart_gives_another_proved_invocation(deployed):
    before = deployed.invocation()
    done = deployed.run("restart")
    assert done.returncode == 0, done.stdout + done.stderr
    assert deployed.invocation() != before
    assert "host1 sglang-site: ready" in done.stdout


def test_the_benchmark_alone_proves_first(deployed):
    done = deployed.run("benchmark", benchmark_matrix=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.index("Prove the draft window") < done.stdout.index("Evaluate the code")
    coding = json.loads(max((deployed.folder / "records/host1/coding").glob("*.json")).read_text())
    assert [task["status"] for task in coding["tasks"]] == ["passed"] * 5
    deployed.shell("systemctl stop sglang-site")
    refused = deployed.run("benchmark")
    assert refused.returncode != 0
    assert "Measure throughput" not in refused.stdout and "Evaluate the code" not in refused.stdout
    fault("serving", "The server is stopped when a benchmark begins")


def test_what_was_proved_and_then_restarted_is_no_result(deployed):
    """Where a play says that it has proved the server, the figures still have to be of that invocation."""
    unit = {"name": "{{ server_name }}"}
    role = {"ansible.builtin.include_role": {"name": "llmops.sglang.server", "tasks_from": "prove"}}
    tasks = [
        role,
        {"llmops.sglang.server_service": {**unit, "state": "restarted"}},
        {"llmops.sglang.wait_for_generation": unit},
        {
            "ansible.builtin.include_role": {"name": "llmops.sglang.benchmark"},
            "vars": {"benchmark_prove": False, "benchmark_coding": False},
        },
    ]
    file = deployed.folder / "restarted.yml"
    file.write_text(yaml.safe_dump([{"hosts": "sglang", "gather_facts": False, "tasks": tasks}]))
    done = deployed.run(file)
    assert done.returncode != 0 and "the server was restarted after its proof" in done.stdout, done.stdout
    fault("serving", "The server is restarted between its proof and the benchmark")


def test_the_server_is_taken_away(deployed):
    done = deployed.run("site", server_state="absent")
    assert done.returncode == 0, done.stdout + done.stderr
    assert deployed.shell("systemctl show -P LoadState sglang-site") == "not-found"
    assert "sglang-site" not in deployed.shell("ls /etc/systemd/system /var/lib/llmops-sglang/history")
    again = deployed.run("site", server_state="absent")
    assert again.returncode == 0, again.stdout + again.stderr
    assert again.recap["changed"] == "0"


def test_requirements_come_from_a_directory_of_wheels(hosts, site, tmp_path):
    """A host without a network: the packages go into the interpreter that Ansible uses there."""
    site.shell("python3 -m venv --without-pip /opt/bare && test ! -e /opt/bare/bin/pip")
    site.shell("python3 -m venv /opt/bare && mkdir -p /opt/wheels-of-test")
    for name in ("requests", "jmespath"):
        make_wheel(site, name)
    done = site.run(
        "site",
        server_manage_requirements=True,
        server_requirements_source="/opt/wheels-of-test",
        ansible_python_interpreter="/opt/bare/bin/python",
        server_restart="never",
        benchmark_matrix=False,
        benchmark_coding=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert site.shell("/opt/bare/bin/python -c 'import requests, jmespath; print(requests.MADE_BY_THE_TEST)'") == "yes"


def make_wheel(site, name):
    """A wheel is a zip with metadata; what is in it does not matter here."""
    site.shell(
        f"""cd /opt/wheels-of-test && python3 - <<'END'
import zipfile
info = "{name}-99.0.dist-info"
with zipfile.ZipFile("{name}-99.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("{name}/__init__.py", "MADE_BY_THE_TEST = 'yes'")
    wheel.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: {name}\\nVersion: 99.0\\n")
    wheel.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(info + "/RECORD", "{name}/__init__.py,,\\n" + info + "/METADATA,,\\n" + info + "/WHEEL,,\\n" + info + "/RECORD,,\\n")
END"""
    )
