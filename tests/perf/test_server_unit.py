# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one run of server_unit costs beside ansible-core's own way to the same file, and what it sends to the host."""

from __future__ import annotations

import base64
import io
import json
import re
import statistics
import subprocess
import sys
import zipfile

import yaml
from ansible.executor.module_common import modify_module
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader, module_loader
from ansible.template import Templar

ROUNDS = 9
UNITS = "/etc/systemd/system"
# Of the collection's own files, compressed as Ansible compresses them; ansible-core's own come on top, as with any module.
PAYLOAD = 124 * 1024
CATALOGUE = 20 * 1024
IMPORT_SECONDS = 0.03


def tasks():
    """Alternating, so that whatever else the machine does meets both."""
    for number in range(ROUNDS):
        for state, port in (("changed", 31001 + number), ("unchanged", 31001 + number)):
            yield {
                "name": f"core {state}",
                "ansible.builtin.template": {"src": "perf.service.j2", "dest": f"{UNITS}/perf-core.service"},
                "vars": {"port": port},
                "register": "written",
            }
            yield {
                "name": f"core {state}",
                "ansible.builtin.systemd_service": {
                    "name": "perf-core",
                    "daemon_reload": "{{ written is changed }}",
                    "enabled": False,
                },
            }
            yield {
                "name": f"ours {state}",
                "llmops.sglang.server_unit": {
                    "name": "perf-ours",
                    "python": "/usr/bin/python3",
                    "sglang_version": "0.5.15",
                    "args": {"model_path": "org/model", "tp_size": 8, "port": port},
                    "speculative": {"algorithm": "DFLASH", "draft_model_path": "org/draft", "draft_window_size": 2048},
                },
            }


def test_time_of_a_run(hosts, figures, tmp_path):
    hosts.run_module(
        "host1", "llmops.sglang.server_unit", {**list(tasks())[2]["llmops.sglang.server_unit"], "name": "perf-core"}
    )
    text = hosts.ssh("host1", f"cat {UNITS}/perf-core.service").stdout
    assert "--port 31001" in text
    (tmp_path / "perf.service.j2").write_text(text.replace("--port 31001", "--port {{ port }}"))
    hosts.ssh("host1", f"rm {UNITS}/perf-core.service")
    playbook = tmp_path / "play.yml"
    playbook.write_text(yaml.safe_dump([{"hosts": "host1", "gather_facts": False, "tasks": list(tasks())}]))
    results = tmp_path / "results"
    done = hosts.playbook(playbook, environ={"LLMOPS_RESULT_FILE": str(results)})
    assert done.returncode == 0, done.stdout
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    for state in ("changed", "unchanged"):
        named = {side: [row for row in rows if row["task"] == f"{side} {state}"] for side in ("core", "ours")}
        assert {row["result"]["changed"] for row in named["ours"]} == {state == "changed"}
        assert all(row["result"]["changed"] == (state == "changed") for row in named["core"][::2])
        ours = statistics.median(row["seconds"] for row in named["ours"])
        core = statistics.median(
            one["seconds"] + two["seconds"] for one, two in zip(named["core"][::2], named["core"][1::2], strict=True)
        )
        beside = f"template and systemd_service {core:.2f} s: {ours / core:.2f} times"
        figures.add(f"a run, {state}, median of {ROUNDS}", f"{ours:.2f} s", beside, aim="1.3 times")
        assert ours / core <= 1.3


def collection_files(name):
    """Size and compressed size of each file of the collection in what Ansible sends for module *name*."""
    init_plugin_loader()
    path = module_loader.find_plugin_with_context(name).plugin_resolved_path
    built = modify_module(
        module_name=name,
        module_path=path,
        module_args={},
        templar=Templar(DataLoader(), variables={}),
        module_compression="ZIP_DEFLATED",
        task_vars={"ansible_python_interpreter": "/usr/bin/python3"},
    )
    (packed,) = re.findall(r"[A-Za-z0-9+/=]{10000,}", built.b_module_data.decode())
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(packed))) as archive:
        return {
            info.filename: (info.file_size, info.compress_size)
            for info in archive.infolist()
            if info.filename.startswith("ansible_collections/") and info.file_size
        }


def test_what_is_sent(figures):
    files = collection_files("llmops.sglang.server_unit")
    compressed = sum(small for dummy, small in files.values())
    catalogue = sum(
        small for name, (dummy, small) in files.items() if name.endswith(("_flag_catalogue.py", "_flags.py"))
    )
    words = (
        f"{compressed / 1024:.1f} KiB in {len(files)} files, the catalogue of flags {catalogue / 1024:.1f} KiB of it"
    )
    aim = f"{PAYLOAD // 1024} KiB, the catalogue {CATALOGUE // 1024} KiB"
    figures.add("what is sent of the collection, compressed", words, aim=aim)
    assert compressed <= PAYLOAD
    assert catalogue <= CATALOGUE


def test_import_of_the_catalogue(figures):
    """With all that reading a flag needs, beyond what a module has imported anyway; compiled anew, as from a module's archive."""
    program = (
        "import sys, time, json, re, typing; sys.path.insert(0, sys.argv[1]); begun = time.perf_counter();"
        "from ansible_collections.llmops.sglang.plugins.module_utils._flags import table_of; table_of('0.5.15');"
        "print(time.perf_counter() - begun)"
    )
    words = [sys.executable, "-B", "-X", "pycache_prefix=/nonexistent", "-c", program, ".build/collections"]
    times = [float(subprocess.run(words, capture_output=True, text=True, check=True).stdout) for dummy in range(9)]
    figures.add(
        "import of the catalogue and one table, median", f"{statistics.median(times) * 1000:.1f} ms", aim="30 ms"
    )
    assert min(times) <= IMPORT_SECONDS
