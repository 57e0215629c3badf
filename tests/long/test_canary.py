# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys that go through every playbook at its most talkative are nowhere but in the files that are made for them."""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
import json
import os
import pathlib
import tarfile
import tempfile
import time

import pytest
from deployed_server import NAME, UNITS, DeployedServer

from ansible_collections.llmops.sglang.tests.long.keyed_router import KeyedRouter

# What is left of each key however it is quoted or escaped.
CORES = ("Q1canaryone", "W2canarytwo", "R3canaryadm", "T4canaryenv", "Y5canaryrtr", "U6canarywrk")
KEYS = {
    "first": f"sk-{CORES[0]}-/+'x",
    "second": f"sk-{CORES[1]}-/+'x",
    "admin": f"adm-{CORES[2]}",
    "env": CORES[3],
    "router": f"rt-{CORES[4]}-/+'x",
    "worker": f"wk-{CORES[5]}-/+'x",
}
SECRETS = f"{UNITS}/{NAME}.service.secrets"
HISTORY = "/var/lib/llmops-sglang/history"
LOUD = ("-vvvv", "--diff")


def traces(data: bytes) -> list[str]:
    """The keys that *data* holds, as text or as base64 at any offset."""
    found = []
    for core in CORES:
        # Without the digits at both ends, which depend on what stands beside it.
        encoded = [base64.b64encode(b"x" * pad + core.encode())[first:-4] for pad, first in enumerate((0, 2, 3))]
        if core.encode() in data or any(one in data for one in encoded):
            found.append(core)
    return found


def inside(data: bytes) -> bytes:
    """*data* with what is packed in it."""
    if data[:2] != b"\x1f\x8b":
        return data
    plain = gzip.decompress(data)
    try:
        with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
            members = [archive.extractfile(member) for member in archive if member.isfile()]
            return plain + b"\n".join(inside(member.read()) for member in members if member)
    except tarfile.TarError:
        return plain


class Canary(DeployedServer):
    """A server with keys of every kind, taken from the environment as a vault would give them."""

    def __init__(self, hosts, folder, router):
        self.router = router
        super().__init__(
            hosts,
            folder,
            server_router={
                "router_url": router.url,
                "worker_url": router.worker.url,
                "delegate_to": "localhost",
                "api_key": "{{ lookup('ansible.builtin.env', 'CANARY_ROUTER') }}",
                "worker_api_key": "{{ lookup('ansible.builtin.env', 'CANARY_WORKER') }}",
                "drain_timeout": 60,
                "healthy_timeout": 60,
            },
            server_admin_api_key="{{ lookup('ansible.builtin.env', 'CANARY_ADMIN') }}",
            server_environment_secrets={"HF_TOKEN": "{{ lookup('ansible.builtin.env', 'CANARY_ENV') }}"},
            server_wait={"timeout": 120, "progress_interval": 1},
            benchmark_results_dir=str(folder / "records"),
            benchmark_matrix={"contexts": [60], "concurrency": [1], "max_tokens": 16, "requests": 2},
            benchmark_coding={"max_tokens": 32},
            diagnose_dir=str(folder / "diagnoses"),
            sweep_dir=str(folder / "sweeps"),
            sweep_name="canary",
            sweep_points=[{"name": "fewer", "args": {"max_running_requests": 4}}],
        )
        self.use("first")
        self.said = {}
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.shell("touch /canary-marker")

    def use(self, key):
        self.vars["server_api_key"] = f"{{{{ lookup('ansible.builtin.env', 'CANARY_{key.upper()}') }}}}"

    def play(self, name, playbook, *words, **changed):
        """Run it at its most talkative, keep what it said, and return that."""
        done = self.run(playbook, *LOUD, *words, **changed)
        self.said[name] = done.said
        return done


@pytest.fixture(scope="module")
def canary(hosts, tmp_path_factory):
    keyed = KeyedRouter(KEYS["router"], KEYS["worker"])
    with pytest.MonkeyPatch.context() as patch, contextlib.closing(keyed) as router:
        for name, key in KEYS.items():
            patch.setenv(f"CANARY_{name.upper()}", key)
        made = Canary(hosts, tmp_path_factory.mktemp("canary"), router)
        patch.setenv("TMPDIR", str(made.temporary))
        began = time.time()
        assert made.play("deploy", "site").returncode == 0, made.said["deploy"][-3000:]
        for playbook in ("site", "restart", "verify", "benchmark", "rollback", "sweep", "diagnose"):
            reviewed = made.play(f"review {playbook}", playbook, "--check")
            assert reviewed.returncode == 0 or playbook == "rollback", made.said[f"review {playbook}"][-3000:]
        made.use("second")
        assert made.play("another key", "site").returncode == 0
        broken = {"server_environment": made.environment("draft:lie:window"), "failure_tasks": ""}
        made.use("first")
        failed = made.play("a failure", "site", **broken)
        assert failed.returncode == 2 and "was put back" in failed.said, failed.said[-3000:]
        assert made.play("a refused key", "verify").returncode == 2
        made.use("second")
        for playbook in ("verify", "restart", "benchmark", "sweep", "diagnose", "rollback"):
            assert made.play(playbook, playbook).returncode == 0, made.said[playbook][-3000:]
        made.began = began
        yield made
    made.deploy(server_state="absent", server_api_key="", server_admin_api_key="", server_environment_secrets={})


def test_the_keys_were_at_work(canary):
    """Otherwise nothing of them could be anywhere."""
    kept = canary.shell(f"cat {SECRETS}/*")
    assert CORES[0] in kept and CORES[2] in kept and CORES[3] in kept
    assert canary.shell(f"stat -c %a {SECRETS} {SECRETS}/*").split() == ["700", "600", "600"]
    assert canary.generates(KEYS["first"].replace("'", "'\\''"))
    # Whoever asks without the key of each is refused, and restart.yml came to its end.
    assert canary.router.registered_keys == {KEYS["worker"]}
    assert canary.router.paths and canary.router.worker.paths


def test_no_play_said_one(canary):
    assert {name: found for name, said in canary.said.items() if (found := traces(said.encode()))} == {}


def test_no_file_on_the_controller_has_one(canary):
    places = [
        canary.folder,
        pathlib.Path.home() / ".ansible",
        pathlib.Path(tempfile.gettempdir()),
        pathlib.Path("/tmp"),
    ]
    looked, found = 0, []
    for path in {path for place in places for path in place.rglob("*")}:
        try:
            if not path.is_file() or path.is_symlink() or path.stat().st_mtime < canary.began:
                continue
            looked += 1
            if traces(inside(path.read_bytes())):
                found.append(str(path))
        except OSError:
            # Of another test, and gone.
            continue
    assert found == [] and looked > 10
    records = list(canary.folder.rglob("records/host1/*.json"))
    assert (
        len(records) >= 2
        and list(canary.folder.rglob("diagnoses/**/*.tar.gz"))
        and list(canary.folder.rglob("sweeps/**/*.json"))
    )


def test_no_other_file_on_the_host_has_one(canary):
    pattern = "|".join(CORES)
    listed = canary.shell(
        "for place in / /run /tmp /dev/shm /var /home; do"
        f" find $place -xdev -newer /canary-marker -type f -not -path '/var/log/journal/*' -exec grep -lE '{pattern}' {{}} +; done;"
        " true"
    ).splitlines()
    own = [path for path in listed if path.startswith((SECRETS + "/", HISTORY + "/")) or "/run/credentials/" in path]
    assert sorted(set(listed) - set(own)) == []
    modes = canary.shell(f"stat -c %a {' '.join(sorted(set(own)))}").split()
    assert set(modes) <= {"600", "400"}
    archives = canary.shell("find /var/lib/llmops-sglang/diagnoses -name '*.tar.gz' | wc -l")
    packed = canary.shell(
        "cd /var/lib/llmops-sglang/diagnoses && for one in *.tar.gz; do"
        f" tar -xOzf $one | grep -cE '{pattern}'; done; true"
    ).split()
    assert int(archives) == len(packed) > 0 and set(packed) == {"0"}


def test_no_command_line_on_the_host_has_one(canary):
    pattern = "|".join(CORES)
    found = canary.shell(f"grep -lE '{pattern}' /proc/[0-9]*/cmdline 2>/dev/null | grep -v self || true").splitlines()
    shown = [canary.shell(f"tr '\\0' ' ' < {path} 2>/dev/null || true") for path in found]
    # The shell that looks has the pattern on its own.
    assert [words for words in shown if words and "grep" not in words] == []


def test_only_the_server_itself_wrote_one_into_the_journal(canary):
    rows = canary.shell(f"journalctl -o json --no-pager --all | grep -E '{'|'.join(CORES)}' || true").splitlines()
    writers = {json.loads(row).get("_SYSTEMD_UNIT", json.loads(row).get("_COMM", "")) for row in rows}
    assert writers <= {f"{NAME}.service"}, writers


def test_the_search_finds_what_is_hidden_in_the_usual_ways():
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        info = tarfile.TarInfo("inner")
        info.size = len(KEYS["env"])
        archive.addfile(info, io.BytesIO(KEYS["env"].encode()))
    assert traces(inside(packed.getvalue())) == [CORES[3]]
    for pad in range(4):
        assert traces(base64.b64encode(os.urandom(pad) + KEYS["first"].encode())) == [CORES[0]]
    assert traces(json.dumps({"key": KEYS["second"]}).encode()) == [CORES[1]]
    assert traces(b"canary") == []
