# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Playbooks that look at a server and change nothing, on a real host with the stand-in server."""

from __future__ import annotations

import json
import re
import stat
import tarfile

import pytest
from deployed_server import SIMULATOR, DeployedServer

from ansible_collections.llmops.sglang.plugins.module_utils._start_times import configuration_key

NAME = "sglang-verify"
DROP_IN = f"/etc/systemd/system/{NAME}.service.d/10-mine.conf"
# All that modules of the collection write to; the rest of a host's files may be another's.
PLACES = f"/etc/systemd /var/lib/llmops-sglang /var/cache/llmops-sglang {SIMULATOR}"
CANARIES = {"key": "cAnary-api-key-01", "token": "cAnary-hub-token-02", "plain": "cAnary-unnamed-03"}


@pytest.fixture(scope="module")
def deployed(hosts, tmp_path_factory):
    made = DeployedServer(
        hosts,
        tmp_path_factory.mktemp("verify"),
        server_name=NAME,
        server_args={"model_path": "org/model", "port": 4351, "max_running_requests": 8},
        server_api_key=CANARIES["key"],
        server_environment_secrets={"HF_TOKEN": CANARIES["token"]},
        # A busy machine must not look like a server that does not generate.
        verify_timeout=600,
    )
    made.vars["server_environment"]["MODE"] = CANARIES["plain"]
    made.deploy()
    return made


def traceless(server, playbook, *words, **changed):
    """Run a playbook, which may leave nothing on the host."""
    server.shell("touch /run/verify-mark; sync")
    done = server.run(playbook, *words, **changed)
    written = server.shell(
        f"find {PLACES} -newer /run/verify-mark -type f ! -path '*/__pycache__/*' 2>/dev/null || true"
    )
    assert written == ""
    return done


def drifted(done):
    """The subjects of what differs, of the one failing task."""
    assert done.returncode == 2, done.said
    return re.findall(r'"subject": "(\w+)"', done.stdout.partition('"drift": [')[2].partition("]")[0])


def shell_reload(server, text):
    server.shell(f"mkdir -p $(dirname {DROP_IN}); printf '{text}' > {DROP_IN}; systemctl daemon-reload")


@pytest.fixture
def edited(deployed):
    """What an administrator changed by hand and has not restarted for."""
    shell_reload(deployed, "[Service]\\nEnvironment=MINE=1\\n")
    yield deployed
    deployed.shell(f"rm -rf $(dirname {DROP_IN}); systemctl daemon-reload; systemctl start {NAME}")


def test_a_server_that_is_what_it_should_be_passes_and_nothing_is_written(deployed):
    done = traceless(deployed, "verify", verify_min_acceptance_length=1.2)
    assert done.returncode == 0, done.said
    assert f"The server '{NAME}' is what the inventory says." in done.said
    assert (
        done.changed == "0"
        and "not judged: nothing" in done.said
        and re.search(r"acceptance length: [1-9][.\d]* \((lifetime|probe)\)", done.said)
    )
    # Without an interpreter in the inventory the server itself is held against it.
    unknown = {k: v for k, v in deployed.vars.items() if k != "server_python"}
    deployed.vars, kept = unknown, deployed.vars
    try:
        window = {**kept["server_speculative"], "draft_window_size": 1024}
        done = traceless(deployed, "verify", server_speculative=window)
    finally:
        deployed.vars = kept
    assert drifted(done) == ["server"] and "draft_window_size=1024" in done.said


def test_everything_that_differs_is_told_at_once(edited):
    arguments = {**edited.vars["server_args"], "max_running_requests": 4}
    done = traceless(edited, "verify", server_args=arguments, verify_min_acceptance_length=99)
    assert drifted(done) == ["unit", "process", "acceptance"]
    assert (
        "its arguments differ: max_running_requests=8 should be 4" in done.said and "a restart is pending" in done.said
    )


def test_a_stopped_server_and_a_missing_unit_differ_in_words(edited):
    edited.shell(f"systemctl stop {NAME}")
    stopped = traceless(edited, "verify")
    assert drifted(stopped) == ["process"] and "nothing runs: the unit is inactive" in stopped.said
    missing = traceless(edited, "verify", server_name="sglang-verifi")
    assert drifted(missing) == ["unit"]
    assert NAME in missing.said.partition("There is no unit 'sglang-verifi")[2]


def test_what_a_restart_costs_is_told_and_a_diagnosis_holds_no_secret(deployed):
    invocation = deployed.shell(f"systemctl show -P InvocationID {NAME}")
    argv = deployed.shell(f"tr '\\0' '\\n' < /proc/$(systemctl show -P MainPID {NAME})/cmdline").split("\n")
    known = json.dumps({configuration_key(f"{NAME}.service", argv): [300, 310, 20]})
    deployed.shell(f"cat > /var/lib/llmops-sglang/start-times.json <<'END'\n{known}\nEND")
    done = traceless(deployed, "restart", "--check")
    assert f"{NAME}: a restart follows, usually 300 s; no requests are running now" in done.said, done.said
    assert deployed.shell(f"systemctl show -P InvocationID {NAME}") == invocation
    done = deployed.run("diagnose", diagnose_dir=str(deployed.folder / "here"))
    assert done.returncode == 0, done.said
    (path,) = deployed.folder.joinpath("here").rglob("*.tar.gz")
    assert path.parent.name == "host1" and path.name == f"{NAME}.service-{invocation}.tar.gz"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with tarfile.open(path) as archive:
        parts = {one.name.rpartition("/")[2]: archive.extractfile(one).read().decode() for one in archive.getmembers()}
    found = [(name, secret) for name, text in parts.items() for secret in CANARIES.values() if secret in text]
    assert found == [] and not [secret for secret in CANARIES.values() if secret in done.said]
    assert "fired up and ready to roll" in parts["journal.txt"] and f"{SIMULATOR}/draft" in parts["processes.txt"]
    assert '"reachable": true' in parts["server.json"] and "the server answers" in parts["summary.txt"]


def test_a_user_who_may_read_little_gets_a_diagnosis_without_secrets_too(deployed):
    """Neither the journal nor the process can be read, and the user has no manager with such a unit."""
    for scope, said in (("system", "is active (running)"), ("user", "There is no unit")):
        asked = {"name": NAME, "scope": scope}
        result = deployed.hosts.run_module("host1", "llmops.sglang.server_diagnosis", asked, user="operator")
        assert not result["failed"] and said in result["summary"], result
        assert "/.local/state/llmops-sglang/diagnoses/" in result["path"]
        text = deployed.shell(f"tar -xzOf {result['path']}")
        assert not [secret for secret in CANARIES.values() if secret in text]
        assert "MainPID=" in text and "MemTotal" in text
