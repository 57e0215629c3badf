# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The test hosts themselves: how they come up, and that nothing is left of them however they end."""

from __future__ import annotations

import glob
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from host_set import HOSTS, HostSet

# A person with sudo runs these tests too.
AS_ROOT = [] if os.geteuid() == 0 else ["sudo", "-n", "--"]
BASE = pathlib.Path("/run/llmops-hosts")


@pytest.fixture
def make_set(tmp_path):
    """A maker of sets that are removed after the test."""
    made = []

    def make(suffix, names=("host1",), owner_pid=None):
        made.append(HostSet(f"t{os.getpid()}{suffix}", names, tmp_path, owner_pid=owner_pid or os.getpid()))
        return made[-1]

    yield make
    for host_set in made:
        if (BASE / host_set.name).exists():
            host_set.destroy()


@pytest.fixture
def owner():
    """A process that may own a set and be killed."""
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def remains(name):
    """All that is there of the set NAME on this machine."""
    found = [str(BASE / name)] if (BASE / name).exists() else []
    # Unlike a path's own glob() it does not mind groups that go while it looks.
    found += glob.glob(f"/sys/fs/cgroup/**/llmops-hosts-{name}*", recursive=True)
    inside = f"{BASE}/{name}/"
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            mounts = (process / "mountinfo").read_text()
        except OSError:
            continue  # it ended while we looked
        if inside in command or inside in mounts:
            found.append(f"process {process.name}: {command or 'mounts'}")
    return found


def interface(name):
    """The set's interface on this machine as (name, index): names are used again by other sets."""
    words = (BASE / name / "interface").read_text().split()
    return words[0], words[1]


def is_there(wanted):
    try:
        return pathlib.Path(f"/sys/class/net/{wanted[0]}/ifindex").read_text().strip() == wanted[1]
    except OSError:
        return False


def wait_until(fact, seconds=120):
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline, f"not true after {seconds} s: {fact}"
        time.sleep(0.02)


def wait_until_gone(name, seconds=120):
    deadline = time.monotonic() + seconds
    while left := remains(name):
        assert time.monotonic() < deadline, f"there after {seconds} s: {left}"
        time.sleep(0.02)


def keeper_pid(name):
    return int((BASE / name / "keeper.pid").read_text())


def assert_created(done):
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_module_runs_on_a_host_and_its_result_comes_back(hosts):
    result = hosts.run_module("host1", "ansible.builtin.command", {"argv": ["hostname"]})
    assert (result["failed"], result["stdout"]) == (False, "host1")


def test_the_operator_has_a_user_manager_over_ssh(hosts):
    assert hosts.ssh("host2", "systemctl --user is-system-running", user="operator").stdout == "running\n"
    ran = hosts.ssh("host2", "systemd-run --user --wait --pipe --quiet id -un", user="operator")
    assert (ran.returncode, ran.stdout) == (0, "operator\n")
    for login in ({"user": "operator"}, {"become_user": "operator"}):
        result = hosts.run_module("host2", "ansible.builtin.command", {"argv": ["id", "-un"]}, **login)
        assert result["stdout"] == "operator"


def test_hosts_are_told_apart_and_keep_a_journal(hosts):
    ids = {host: hosts.ssh(host, "cat /etc/machine-id").stdout for host in hosts.names}
    assert len({*ids.values(), pathlib.Path("/etc/machine-id").read_text()}) == 3
    assert hosts.ssh("host1", "getent hosts host1").stdout.split()[0] == hosts.address("host1")
    assert hosts.ssh("host1", "ping -c1 -W2 host2 || getent hosts host2").returncode == 0
    assert hosts.ssh("host1", "test -e /srv/llmops/tests/hosts/create.yml && ! touch /srv/llmops/x").returncode == 0
    marked = hosts.ssh("host1", "systemd-cat -t mark echo here; journalctl --sync; journalctl -t mark -o cat")
    assert marked.stdout == "here\n"


def test_four_hosts_are_up_and_gone_after_destroy(make_set):
    four = make_set("four", [f"host{number}" for number in range(1, 5)])
    # A caller who hides what he makes from others finds his way below a directory of root's all the same.
    umask = os.umask(0o077)
    assert_created(four.create())
    os.umask(umask)
    assert [stat.S_IMODE(place.stat().st_mode) & 0o055 for place in (BASE, BASE / four.name)] == [0o055, 0o055]
    for host in four.names:
        assert four.ssh(host, "systemctl is-system-running").stdout == "running\n"
    link = interface(four.name)
    assert is_there(link)
    assert "changed=0" in four.create().stdout
    assert "changed=1" in four.destroy().stdout
    assert remains(four.name) == [] and not is_there(link) and not four.inventory.exists()
    assert "changed=0" in four.destroy().stdout


def test_two_sets_are_made_at_the_same_time_and_do_not_meet(make_set):
    one, two = make_set("one"), make_set("two")
    with ThreadPoolExecutor(2) as pool:
        for done in pool.map(HostSet.create, (one, two)):
            assert_created(done)
    assert one.address("host1") != two.address("host1")
    assert one.ssh("host1", f"timeout 2 bash -c '</dev/tcp/{two.address('host1')}/22'").returncode != 0
    assert one.destroy().returncode == 0
    assert two.ssh("host1", "systemctl is-system-running").stdout == "running\n"


def test_a_killed_owner_leaves_nothing(make_set, owner):
    owned = make_set("owned", owner_pid=owner.pid)
    assert_created(owned.create())
    pinged = owned.run_module("host1", "ansible.builtin.ping")  # leaves an ssh master
    assert pinged.get("ping") == "pong", pinged
    link = interface(owned.name)
    owner.kill()
    owner.wait()
    wait_until_gone(owned.name)
    assert not is_there(link) and not owned.inventory.exists()


def test_a_killed_keeper_leaves_no_process_and_the_next_creation_sweeps_the_rest(make_set):
    killed, next_one = make_set("killed"), make_set("next")
    assert_created(killed.create())
    link = interface(killed.name)
    subprocess.run([*AS_ROOT, "kill", "-KILL", str(keeper_pid(killed.name))], check=True)
    wait_until(lambda: not is_there(link))
    assert not [line for line in remains(killed.name) if line.startswith("process")]
    assert_created(next_one.create())
    assert remains(killed.name) == [] and not killed.inventory.exists()


@pytest.mark.parametrize(
    ("bind", "said"),
    [
        ({"source": "/no/such/source", "target": "/srv/x"}, "'/no/such/source' does not exist"),
        # Only nspawn finds out, when keys, mounts and network are there: /etc/hostname is a file.
        ({"source": "/etc", "target": "/etc/hostname/x"}, "ended while it booted"),
    ],
)
def test_a_creation_that_fails_says_why_and_leaves_nothing(make_set, bind, said):
    failing = make_set("fail", ["host1", "host2"])
    done = failing.create(binds=[bind])
    assert done.returncode != 0 and said in done.stdout + done.stderr
    assert remains(failing.name) == [] and not failing.inventory.exists()


def test_other_settings_under_the_same_name_are_refused(make_set):
    host_set = make_set("same")
    assert_created(host_set.create())
    host_set.names.append("host2")
    done = host_set.create()
    assert done.returncode != 0 and "destroy it first" in done.stdout + done.stderr
    assert host_set.ssh("host1", "systemctl is-system-running").stdout == "running\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_creation_leaves_nothing(make_set, number):
    host_set = make_set("cut", ["host1", "host2"])
    words = ["playbook", str(HOSTS / "create.yml"), "-e", f"hosts_set={host_set.name}", "-e", "hosts_count=2"]
    playbook = subprocess.Popen(
        [sys.executable, "-m", "ansible", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_until((BASE / host_set.name / "keeper.pid").exists)
    playbook.send_signal(number)
    playbook.wait()
    wait_until_gone(host_set.name)


def is_gone(host_set, host):
    try:
        return host_set.ssh(host, "true", timeout=10).returncode == 255
    except subprocess.TimeoutExpired:
        return False


def test_a_host_that_powers_off_leaves_the_others_alone(make_set):
    host_set = make_set("off", ["host1", "host2"])
    assert_created(host_set.create())
    host_set.ssh("host1", "systemctl poweroff")
    wait_until(lambda: is_gone(host_set, "host1"))
    assert host_set.ssh("host2", "systemctl is-system-running").stdout == "running\n"


def test_a_host_reboots(make_set):
    host_set = make_set("boot")
    assert_created(host_set.create())
    result = host_set.run_module("host1", "ansible.builtin.reboot", {"reboot_timeout": 300, "connect_timeout": 5})
    assert result["failed"] is False, result
    assert host_set.ssh("host1", "systemctl is-system-running --wait").stdout == "running\n"
    boots = host_set.ssh("host1", "journalctl --list-boots --no-pager | tail -n +2")
    assert len(boots.stdout.splitlines()) == 2, boots.stdout


def test_a_set_is_made_where_systemd_is_process_one(hosts):
    """Inside a host: cgroup v2 alone, a scope with delegated controllers, a set within a set."""
    program = f"/usr/bin/python3 -B {hosts.repository}/tests/hosts/hosts.py"
    settings = json.dumps({"name": "inner", "hosts": ["host1"], "inventory": "/root/inner.yml"})
    made = hosts.ssh(
        "host1", f"echo '{settings}' | {program} create && systemctl is-active 'llmops-hosts-inner-*.scope'"
    )
    assert made.returncode == 0 and '"changed": true' in made.stdout, made.stdout + made.stderr
    removed = hosts.ssh("host1", f"""echo '{{"name": "inner"}}' | {program} destroy""")
    assert '"changed": true' in removed.stdout
    left = hosts.ssh(
        "host1",
        "ls -d /run/llmops-hosts /root/inner.yml /sys/class/net/hosts-* /sys/fs/cgroup/system.slice/llmops-*; "
        "pgrep --exact systemd-nspawn; systemctl --failed --no-legend 'llmops-*'",
    )
    assert left.stdout == ""


@pytest.fixture
def open_folder():
    """The program where everybody can read it, wherever the clone lies."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(HOSTS, folder, dirs_exist_ok=True)
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


def test_whether_a_host_can_boot_is_told_in_one_sentence(open_folder):
    here = subprocess.run([sys.executable, str(HOSTS / "can_boot.py")], capture_output=True, text=True, check=False)
    assert (here.returncode, here.stdout) == (0, "")
    words = [
        *AS_ROOT,
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "/usr/bin/python3",
        "-B",
        str(open_folder / "can_boot.py"),
    ]
    nobody = subprocess.run(words, capture_output=True, text=True, check=False)
    assert nobody.returncode == 1 and "needs root" in nobody.stdout, nobody.stderr
