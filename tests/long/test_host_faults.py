# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens to a host or to the way to it in the middle of a play: it ends with a word, or goes on, and never hangs."""

from __future__ import annotations

import pytest
import scripted_service
from debian_package import program
from deployed_server import NAME, wait_until
from fault_rows import fault, told
from two_plays import Play

service = scripted_service.service


@pytest.fixture
def play(hosts, tmp_path):
    made = Play(hosts, tmp_path / "play", 8)
    if made.files():
        made.deploy(server_state="absent")
    return made


def test_the_host_is_rebooted_while_its_server_loads(play):
    """The unit starts again with the host, as another invocation than the one that is waited for."""
    slow = {"server_environment": play.environment(SIM_LOAD_SECONDS="30")}
    with play.begun(**slow, server_wait={"timeout": 300, "progress_interval": 1}) as run:
        wait_until(lambda: run.poll() is not None or f"{NAME}: loading weights" in play.told())
        # However slow the machine: this load does not come to its end.
        play.shell("pkill -STOP sglang::schedul")
        boot = play.shell("cat /proc/sys/kernel/random/boot_id; systemctl show -P UserspaceTimestampMonotonic")
        play.hosts.run_module("host1", "ansible.builtin.reboot", {"reboot_timeout": 300, "connect_timeout": 5})
        assert play.shell("cat /proc/sys/kernel/random/boot_id; systemctl show -P UserspaceTimestampMonotonic") != boot
        end = run.wait(400)
    said = play.told()
    assert "Traceback" not in said and f"{NAME}: connection lost, trying again" in said, said
    assert end == 0, said
    shown = "'connection lost, trying again'; then what came up with the host is waited for and proved."
    fault("network", "The host is rebooted while its server loads", shown)
    play.deploy()
    play.has_its_server()


def test_the_password_of_sudo_is_wrong(play):
    program("sudo")
    play.shell("echo operator:right | chpasswd; echo 'operator ALL=(ALL) ALL' > /etc/sudoers.d/operator")
    wrong = {"ansible_user": "operator", "ansible_become": True, "ansible_become_password": "wrong"}
    try:
        done = play.run(**wrong)
    finally:
        play.shell("rm /etc/sudoers.d/operator; passwd --delete operator")
    assert done.returncode != 0 and "Traceback" not in done.said, done.said
    assert "sudo password" in done.said and play.files() == "", done.said
    fault("host", "The password of sudo is wrong")


def test_the_host_has_no_python(play):
    done = play.run(ansible_python_interpreter="/nowhere/python3")
    assert done.returncode != 0 and "/nowhere/python3" in done.said and play.files() == "", done.said
    fault("host", "There is no Python at ansible_python_interpreter")


def test_nobody_answers_at_the_host(play):
    done = play.run(ansible_port=9)
    assert done.returncode != 0 and "Traceback" not in done.said, done.said
    fault("network", "The host does not answer at its port of SSH")


def test_there_is_no_room_for_what_is_kept(play):
    """The disk of the kept configurations, of the unit, and of the records, one after the other."""
    play.deploy()
    before, invocation = play.files(), play.invocation()
    changed = {"server_args": {**play.vars["server_args"], "max_running_requests": 5}}
    for path, kept in (("/var/lib/llmops-sglang", "kept configurations"), ("/etc/systemd/system", "units")):
        play.shell(
            f"rm -rf /run/aside && cp -a {path} /run/aside && mount -t tmpfs -o size=4m none {path} && cp -a /run/aside/. {path}"
            f" && (head -c 8M /dev/zero > {path}/filler || true)"
        )
        try:
            done = play.run(**changed)
            assert done.returncode != 0 and "make room" in done.said and "Traceback" not in done.said, done.said
            fault("host", f"The disk of the {kept} is full")
        finally:
            play.shell(f"umount {path}")
    assert (play.files(), play.invocation()) == (before, invocation)
    play.shell("systemctl daemon-reload")
    play.has_its_server()


def test_a_line_of_ten_megabytes(service):
    """journald cuts it into rows; neither the line before nor the one after it is lost, and the answer stays small."""
    say = "print('first', flush=True); print('x' * 10485760, 'end=1', flush=True); print('last', flush=True)"
    service.start(f'/usr/bin/python3 -c "{say}; import time; time.sleep(9999)"')
    service.until("last")
    result = service.ask(
        expect=[{"contains": "first"}, {"pattern": "x end", "fields": {"end": 1}}], must_not_match=["yyy"]
    )
    assert result["ok"], result["msg"]
    fault("journal", "The server logs a line of 10 MB", "The lines around it are read, and its end as well.")
    result = service.ask(must_not_match=["^x{1000}"])
    assert result["failure_class"] == "forbidden_match" and len(str(result)) < 20_000
    told(result["failure_class"], result["msg"])
    fault("journal", "A line of 10 MB is one that must not be there")
