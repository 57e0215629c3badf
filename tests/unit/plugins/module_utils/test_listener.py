# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who listens: over a made-up /proc, and over real sockets of this process."""

from __future__ import annotations

import os
import socket

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _listener
from ansible_collections.llmops.sglang.plugins.module_utils._control_group import members
from ansible_collections.llmops.sglang.plugins.module_utils._engine_processes import dead, workers
from ansible_collections.llmops.sglang.plugins.module_utils._listener import (
    ListeningSocket,
    answering,
    descends_from,
    holders,
    listeners,
    listening_sockets,
    local_addresses,
    process_stat,
    unit_of_cgroup,
)
from ansible_collections.llmops.sglang.plugins.module_utils._ownership import Ownership, ownership
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState

X, Y = "a" * 32, "b" * 32
GROUP = "/system.slice/sglang.service"
HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
UNIT = UnitState("sglang.service", {"InvocationID": Y, "MainPID": "100", "ControlGroup": GROUP})


class Proc:
    """A /proc with the given rows and processes, and a cgroup tree beside it."""

    def __init__(self, path):
        self.root, self.groups = str(path / "proc"), str(path / "cgroup")
        os.makedirs(f"{self.root}/net")
        self.table("tcp", [])
        self.table("tcp6", [])

    def table(self, name, rows):
        with open(f"{self.root}/net/{name}", "w", encoding="ascii") as handle:
            handle.write(HEADER)
            for number, (local, state, inode) in enumerate(rows):
                remote = "0" * len(local.split(":")[0]) + ":0000"
                handle.write(
                    f"{number:4}: {local} {remote} {state} 0:0 00:0 0  1000        0 {inode} 1 ff 100 0 0 10 0\n"
                )

    def process(
        self, pid, inodes=(), parent=1, comm="python3", state="S", cgroup=GROUP, argv="python -m x", environ=""
    ):
        folder = f"{self.root}/{pid}"
        os.makedirs(f"{folder}/fd")
        for number, inode in enumerate(inodes):
            os.symlink(f"socket:[{inode}]", f"{folder}/fd/{number}")
        for name, text in {
            "stat": f"{pid} ({comm}) {state} {parent} 1 1 0",
            "cgroup": f"0::{cgroup}\n",
            "cmdline": argv.replace(" ", "\0") + "\0",
            "environ": environ + "\0",
        }.items():
            with open(f"{folder}/{name}", "w", encoding="utf-8") as handle:
                handle.write(text)
        os.makedirs(f"{self.groups}{cgroup}", exist_ok=True)
        with open(f"{self.groups}{cgroup}/cgroup.procs", "a", encoding="ascii") as handle:
            handle.write(f"{pid}\n")


@pytest.fixture
def proc(tmp_path):
    return Proc(tmp_path)


def own(proc, port=30000, previous=""):
    sockets = answering(listening_sockets(port, proc.root), ["127.0.0.1"])
    return ownership(sockets, UNIT, previous, proc.root, proc.groups)


def test_the_table_is_read_for_both_families_and_only_for_listeners(proc):
    proc.table("tcp", [("0100007F:7530", "0A", 11), ("0100007F:7530", "01", 12), ("00000000:7531", "0A", 13)])
    proc.table("tcp6", [("00000000000000000000000001000000:7530", "0A", 14)])
    assert listening_sockets(30000, proc.root) == [
        ListeningSocket(11, "127.0.0.1", 1000),
        ListeningSocket(14, "::1", 1000),
    ]
    assert listening_sockets(30000, proc.root + "/nowhere") is None


@pytest.mark.parametrize(
    ("bound", "address", "answers"),
    [
        (["127.0.0.1"], "127.0.0.1", ["127.0.0.1"]),
        (["10.0.0.5"], "127.0.0.1", []),
        (["0.0.0.0", "127.0.0.1"], "127.0.0.1", ["127.0.0.1"]),
        (["0.0.0.0"], "127.0.0.1", ["0.0.0.0"]),
        (["::"], "127.0.0.1", ["::"]),
        (["::", "0.0.0.0"], "127.0.0.1", ["0.0.0.0"]),
        (["::ffff:127.0.0.1"], "127.0.0.1", ["::ffff:127.0.0.1"]),
        (["::", "0.0.0.0"], "::1", ["::"]),
        (["::1"], "127.0.0.1", []),
        (["127.0.0.1", "127.0.0.1"], "127.0.0.1", ["127.0.0.1", "127.0.0.1"]),
    ],
)
def test_which_socket_a_connection_reaches(bound, address, answers):
    sockets = [ListeningSocket(n, one, 0) for n, one in enumerate(bound)]
    assert [s.address for s in answering(sockets, [address])] == answers


def test_children_that_inherited_the_socket_are_one_listener(proc):
    proc.table("tcp", [("0100007F:7530", "0A", 11)])
    proc.process(100, [11])
    proc.process(101, [11], parent=100)
    proc.process(102, [11], parent=101)
    assert [(one.pid, one.unit) for one in listeners(30000, proc.root)] == [(100, "sglang.service")]
    found = own(proc)
    assert (found.owned, found.pid, found.several) == ("yes", 100, False)


def test_a_child_alone_may_hold_the_socket(proc):
    proc.table("tcp", [("0100007F:7530", "0A", 11)])
    proc.process(100)
    proc.process(102, [11], parent=100)
    assert own(proc).owned == "yes"


def test_a_process_of_another_unit(proc):
    proc.table("tcp", [("0100007F:7530", "0A", 11)])
    proc.process(100)
    proc.process(77, [11], cgroup="/system.slice/other.service", argv="python old.py")
    found = own(proc)
    assert (found.owned, found.pid, found.unit, found.relic) == ("no", 77, "other.service", False)
    assert "process 77 of other.service (python old.py)" in found.who()


def test_a_command_line_that_is_cut_ends_with_a_mark():
    long = Ownership("no", 77, "", "python old.py " + "--flag value " * 40, others="")
    assert long.who().endswith("…)") and len(long.who()) <= 140
    shown = long.as_result()["cmdline"]
    assert shown.endswith("…") and len(shown) <= 400
    assert Ownership("no", 77, "", "x" * 120).who().endswith("xx)")


@pytest.mark.parametrize(
    ("invocation", "cgroup", "owned", "relic"),
    [
        (Y, GROUP, "yes", False),
        (Y, GROUP + "/sub", "yes", False),
        (X, GROUP, "no", True),
        (X, "/user.slice/session-1.scope", "no", True),
        ("c" * 32, "/user.slice/session-1.scope", "no", False),
        ("", GROUP, "unknown", False),
        (Y, GROUP + "-other", "no", False),
    ],
)
def test_a_process_that_does_not_descend_from_the_main_one(proc, invocation, cgroup, owned, relic):
    proc.table("tcp", [("0100007F:7530", "0A", 11)])
    proc.process(100)
    proc.process(
        90, [11], cgroup=cgroup, argv="python old.py", environ=f"INVOCATION_ID={invocation}" if invocation else "A=b"
    )
    found = own(proc, previous=X)
    assert (found.owned, found.relic) == (owned, relic)


def test_the_same_command_line_outside_the_unit_is_foreign(proc):
    proc.table("tcp", [("0100007F:7530", "0A", 11)])
    proc.process(100)
    proc.process(90, [11], cgroup="/user.slice/session-1.scope")
    assert own(proc).owned == "no" and not own(proc).relic


def test_twins_by_so_reuseport(proc):
    proc.table("tcp", [("0100007F:7530", "0A", 11), ("0100007F:7530", "0A", 12)])
    proc.process(100, [11])
    proc.process(77, [12], cgroup="/system.slice/other.service")
    found = own(proc)
    assert found.several and found.owned == "no" and "77" in found.others and "100" in found.others


def test_twins_within_the_unit_are_its_workers(proc):
    proc.table("tcp", [("0100007F:7530", "0A", 11), ("0100007F:7530", "0A", 12)])
    proc.process(100, [11])
    proc.process(101, [12], parent=100)
    found = own(proc)
    assert not found.several and found.owned == "yes"


def test_a_holder_that_cannot_be_seen(proc):
    proc.table("tcp", [("0100007F:7530", "0A", 11)])
    # All processes of the unit can be read and none holds it: it is somebody else's.
    proc.process(100)
    assert own(proc).owned == "no" and own(proc).pid == 0
    # The unit's process cannot be seen at all.
    assert ownership(listening_sockets(30000, proc.root), UNIT, "", proc.root, proc.groups + "/none").owned == "unknown"


def test_without_a_unit_the_owner_is_named_and_not_judged(proc):
    proc.table("tcp", [("0100007F:7530", "0A", 11)])
    proc.process(77, [11], cgroup="/user.slice/session-1.scope")
    found = ownership(listening_sockets(30000, proc.root), None, "", proc.root, proc.groups)
    assert (found.owned, found.pid, found.unit) == ("unknown", 77, "session-1.scope")
    assert set(found.as_result()) == {"pid", "unit", "cmdline", "owned"}


def test_names_with_brackets_and_spaces(proc):
    proc.process(5, comm="a) S (b c", parent=4, state="Z")
    stat = process_stat(5, proc.root)
    assert (stat.comm, stat.state, stat.parent) == ("a) S (b c", "Z", 4)
    assert process_stat(6, proc.root) is None


def test_a_circle_of_parents_ends(proc):
    proc.process(5, parent=6)
    proc.process(6, parent=5)
    assert not descends_from(5, 100, proc.root)


@pytest.mark.parametrize(
    ("cgroup", "unit"),
    [
        ("/system.slice/a.service", "a.service"),
        ("/user.slice/user-1.slice/user@1.service/app.slice/b.service/x", "b.service"),
        ("/user.slice/session-1.scope", "session-1.scope"),
        ("/", ""),
    ],
)
def test_the_unit_of_a_control_group(cgroup, unit):
    assert unit_of_cgroup(cgroup) == unit


def test_workers_that_died_are_told_and_helpers_are_not(proc):
    proc.process(100)
    proc.process(101, comm="sglang::schedul", parent=100)
    proc.process(102, comm="sglang::detoken", parent=100, cgroup=GROUP + "/sub")
    proc.process(103, comm="ninja", parent=100)
    proc.process(104, comm="sglang::schedul", parent=100, state="Z")
    pids = members(GROUP, proc.groups)
    assert pids == [100, 101, 102, 103, 104]
    seen = workers(pids, proc.root)
    assert seen == {101: "sglang::schedul", 102: "sglang::detoken"}
    assert dead(seen, proc.root) == {}
    assert dead({**seen, 104: "sglang::schedul", 999: "sglang::x"}, proc.root) == {
        104: "sglang::schedul",
        999: "sglang::x",
    }
    assert members("", proc.groups) == [] and members("/nowhere", proc.groups) == []


def test_a_helper_that_a_worker_is_about_to_execute_is_none(proc):
    proc.process(100)
    proc.process(101, comm="sglang::schedul", parent=100)
    proc.process(102, comm="sglang::schedul", parent=100)
    proc.process(408, comm="sglang::schedul", parent=102)
    proc.process(409, comm="VLLM::EngineCor", parent=100)
    proc.process(410, comm="VLLM::Worker_TP", parent=409)
    assert list(workers(members(GROUP, proc.groups), proc.root)) == [101, 102, 409, 410]


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_real_sockets_of_this_process(family, address):
    with socket.create_server((address, 0), family=family) as server:
        port = server.getsockname()[1]
        found = listeners(port)
        assert [one.pid for one in found] == [os.getpid()] and "python" in found[0].cmdline
        assert answering(listening_sockets(port), [address])
    assert listeners(port) == []


def test_real_twins():
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as one:
        port = one.getsockname()[1]
        with socket.create_server(("127.0.0.1", port), reuse_port=True):
            assert len(listening_sockets(port)) == 2 and {x.pid for x in listeners(port)} == {os.getpid()}


def test_which_addresses_are_local():
    assert local_addresses("127.0.0.1") == ["127.0.0.1"] and local_addresses("::1") == ["::1"]
    assert "127.0.0.1" in local_addresses("localhost")
    assert local_addresses("192.0.2.1") == [] and local_addresses("no-such-host.invalid") == []


def test_the_secrets_of_a_command_line_are_not_shown():
    one = Ownership("no", 7, "x.service", "podman run -e HF_TOKEN=hf_abcdefgh image")
    for said in (one.as_result()["cmdline"], one.who()):
        assert "hf_abcdefgh" not in said and "podman run -e HF_TOKEN=" in said


def test_a_name_that_leads_to_another_machine_too_is_none_of_ours(monkeypatch):
    infos = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in ("192.0.2.1", "127.0.0.1")]
    reached = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_more: infos)
    monkeypatch.setattr(_listener, "_leads_elsewhere", lambda family, address: reached.append(address[0]) or True)
    assert local_addresses("both.example") == [] and reached == ["192.0.2.1"]
    # An address that no client of this machine can reach, as where IPv6 is off, leads nowhere.
    monkeypatch.setattr(_listener, "_leads_elsewhere", lambda family, address: False)
    assert local_addresses("both.example") == ["127.0.0.1"]


def test_unreadable_processes_are_told(proc, monkeypatch):
    proc.process(100)

    def denied(path):
        raise PermissionError(path)

    monkeypatch.setattr(os, "listdir", denied)
    assert holders([11], proc.root, [100]) == ({11: []}, False)
