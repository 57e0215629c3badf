# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several servers on one host: what two of them cannot share is found before the later one is started."""

from __future__ import annotations

import types

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _neighbours
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState

OWN = "# Managed"


class Manager:
    """Knows one state for all units."""

    def __init__(self, **properties):
        self.properties = {"LoadState": "loaded", "ActiveState": "inactive", "MainPID": "0", **properties}

    def show(self, name):
        return UnitState(name, self.properties)


RUNS = {"ActiveState": "active", "MainPID": "7"}
ENABLED = {"UnitFileState": "enabled"}


@pytest.fixture
def host(tmp_path, monkeypatch):
    monkeypatch.setattr(_neighbours, "is_own", lambda text: text.startswith(OWN))
    monkeypatch.setattr(_neighbours, "port_taken", lambda arguments, state: [])
    monkeypatch.setattr(_neighbours, "gpu_count", lambda environment: None)

    def look(arguments, other, environment=None, theirs="", manager=None, name="b.service", own=True):
        lines = [OWN if own else "# By hand", "[Service]", f"ExecStart=/v/bin/python -m sglang.launch_server {other}"]
        lines += [f'Environment="{word}"' for word in theirs.split()]
        (tmp_path / name).write_text("\n".join([*lines, ""]))
        plan = types.SimpleNamespace(arguments=arguments, environment=environment or {})
        found = _neighbours.beside(manager or Manager(**RUNS), str(tmp_path), plan, UnitState("a.service", {}))
        return [one.msg for one in found.findings], found.warnings

    look.directory = tmp_path
    return look


@pytest.mark.parametrize(
    ("arguments", "other", "shared"),
    [
        ({"port": 30000}, "--model-path m --port 30001", []),
        ({"port": 30000}, "--model-path m --port 30000", [30000]),
        ({"port": 30000}, "--model-path m", [30000]),
        ({}, "--model-path m --port=30000 --host 0.0.0.0", [30000]),
        ({"port": 30000, "host": "10.0.0.1"}, "--model-path m --host 10.0.0.2", []),
        ({"port": 30000, "host": "10.0.0.1"}, "--model-path m --host 10.0.0.1", [30000]),
        # Where the nodes of a server over several hosts meet is a port of rank 0's host, too.
        (
            {"port": 30000, "nnodes": 2, "node_rank": 0, "dist_init_addr": "10.0.0.1:20000"},
            "--model-path m --port 30001 --nnodes 2 --node-rank 0 --dist-init-addr 10.0.0.1:20000",
            [20000],
        ),
        (
            {"port": 30000, "nnodes": 2, "node_rank": 1, "dist_init_addr": "10.0.0.1:20000"},
            "--model-path m --port 30001 --nnodes 2 --node-rank 1 --dist-init-addr 10.0.0.1:20000",
            [],
        ),
        # A file may set the port where the command line does not, and mostly holds the keys alone.
        ({"port": 30000}, "--model-path m --config /c.yml", []),
        ({"port": 30000}, "--model-path m --port 30000 --config ${CREDENTIALS_DIRECTORY}/config", [30000]),
        ({"config": "/c.yml"}, "--model-path m", []),
    ],
    ids=str,
)
def test_two_servers_need_ports_of_their_own(host, arguments, other, shared):
    findings, warnings = host(arguments, other)
    assert [int(msg.split()[2]) for msg in findings] == shared
    assert all("'b.service'" in msg for msg in findings) and not warnings


@pytest.mark.parametrize(
    ("properties", "refused", "warned"),
    [
        (RUNS, 1, 0),
        # Two units that take turns; at the next boot both would start.
        (ENABLED, 0, 1),
        ({}, 0, 0),
        ({"UnitFileState": "disabled"}, 0, 0),
        ({"LoadState": "not-found"}, 0, 0),
    ],
    ids=str,
)
def test_a_unit_that_does_not_run_takes_nothing_away_until_it_does(host, properties, refused, warned):
    findings, warnings = host({"port": 30000}, "--model-path m", manager=Manager(**properties))
    assert (len(findings), len(warnings)) == (refused, warned)


def test_units_of_others_and_its_own_are_no_neighbours(host):
    assert host({"port": 30000}, "--model-path m", own=False) == ([], [])
    (host.directory / "b.service").unlink()
    assert host({"port": 30000}, "--model-path m", name="a.service") == ([], [])
    (host.directory / "broken.service").write_text(f'{OWN}\n[Service]\nExecStart="\nEnvironment="\n')
    (host.directory / "folder.service").mkdir()
    assert host({"port": 30000}, "--model-path m", name="a.service") == ([], [])


@pytest.mark.parametrize(
    ("arguments", "mine", "theirs", "shared"),
    [
        ({"tp_size": 4}, "0,1,2,3", "4,5,6,7", ""),
        ({"tp_size": 4}, "0,1,2,3", "3,4,5,6", "3"),
        # The other one takes the first that it sees.
        ({"tp_size": 2}, "0,1,2,3", "2,3,0,1", ""),
        ({"tp_size": 2}, "GPU-aa,GPU-bb", "GPU-bb", "GPU-bb"),
        # Without a list a server takes the first of all.
        ({"tp_size": 8}, "", "4,5", "4, 5"),
        ({"tp_size": 2, "base_gpu_id": 2}, "", "0,1", ""),
        ({"tp_size": 2, "base_gpu_id": 2, "gpu_id_step": 2}, "", "4,5", "4"),
        ({"tp_size": 8, "device": "cpu"}, "", "4,5", ""),
        ({"tp_size": 16, "nnodes": 2, "node_rank": 0}, "", "7", "7"),
    ],
    ids=str,
)
def test_gpus_that_both_use_are_told(host, arguments, mine, theirs, shared):
    environment = {"CUDA_VISIBLE_DEVICES": mine} if mine else {}
    tp = "--tp-size 2" if "," in theirs else "--tp-size 1"
    other = f"--model-path m --port 1 {'--tp-size 4' if theirs.count(',') == 3 and '2,3,0' not in theirs else tp}"
    findings, warnings = host({"port": 2, **arguments}, other, environment, f"CUDA_VISIBLE_DEVICES={theirs}")
    assert not findings
    assert [w.partition(" of this host")[0].removeprefix("The GPU").removeprefix("s").strip() for w in warnings] == (
        [shared] if shared else []
    )


def test_without_gpus_nobody_shares_them(host, monkeypatch):
    assert host({"port": 2}, "--model-path m --port 1") == ([], [])
    monkeypatch.setattr(_neighbours, "gpu_count", lambda environment: 8)
    assert "GPU 0 of this host is used by 'b.service'" in host({"port": 2}, "--model-path m --port 1")[1][0]
