# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every playbook with --check --diff on hosts in every state: none fails, none writes, and each says in words what it would do."""

from __future__ import annotations

import pytest
from deployed_server import NAME, UNITS
from reviewed_server import PLAYBOOKS, ReviewedServer

NEEDS_RESTART = "What runs was started otherwise: a restart is needed."
# Those that hold the host against its inventory.
LOOKS = ("site", "verify", "restart")
FEWER = {"model_path": "org/model", "port": 4311, "max_running_requests": 6}


@pytest.fixture(scope="module")
def server(hosts, tmp_path_factory):
    return ReviewedServer(hosts, tmp_path_factory.mktemp("reviews"))


@pytest.fixture
def fresh(server):
    """Nothing of it, and nothing that the collection keeps."""
    if server.files():
        server.deploy(server_state="absent")
    server.shell(
        f"rm -rf {UNITS}/{NAME}.service.d /var/lib/llmops-sglang /var/cache/llmops-sglang; systemctl daemon-reload"
    )
    return server


@pytest.fixture
def converged(server):
    server.shell(f"rm -rf {UNITS}/{NAME}.service.d; systemctl daemon-reload")
    server.deploy()
    return server


def has(said, *texts):
    for text in texts:
        assert text in said.said, (text, said.said)


def test_a_fresh_host(fresh):
    said = fresh.reviews()
    assert set(said) == set(PLAYBOOKS)
    has(
        said["site"],
        "  max_running_requests: 8 is new",
        "Nothing runs: it holds from the next start.",
        "a start follows",
    )
    has(said["verify"], "the unit is not-found", "In check mode that is told and fails nothing")
    has(said["benchmark"], "nothing of it is proved in check mode")
    has(said["restart"], "a start follows", "would be started")
    has(said["rollback"], "Without check mode this fails", "would go back to: nothing")
    has(said["diagnose"], "There is no unit", "would be in")
    has(said["sweep"], "fewer", "a start follows")


def test_a_converged_host(converged):
    said = converged.reviews()
    for playbook in ("site", "verify", "benchmark"):
        assert said[playbook].changed == "0", said[playbook].said
    has(said["verify"], f"The server '{NAME}' is what the inventory says.")
    has(said["restart"], "would be restarted: asked for", "a restart follows", "no requests are running now")
    has(said["sweep"], "a restart follows")


def test_a_host_that_the_inventory_has_left_behind(converged):
    """And a rollback that has something to go back to."""
    converged.deploy(server_args={**FEWER, "max_running_requests": 7})
    said = converged.reviews(server_args=FEWER)
    words = "  max_running_requests: 7 becomes 6\n"
    has(said["site"], words, NEEDS_RESTART, "would be restarted: an earlier task", "a restart follows")
    has(said["verify"], words, "max_running_requests=7 should be 6", "fails nothing")
    has(said["restart"], "a restart follows")
    has(
        said["rollback"],
        "  max_running_requests: 7 becomes 8\n",
        NEEDS_RESTART,
        "would be restarted",
        "a restart follows",
    )
    assert "sweep" in said and said["site"].changed == "2"
    never = converged.review("site", server_args=FEWER, server_restart="never")
    has(never, words, "would be pending, since 'server_restart' is 'never'")
    assert never.changed == "1"
    with converged.busy():
        waits = converged.review("site", server_args=FEWER, server_restart="if_idle")
    has(waits, "would be pending, since 'server_restart' is 'if_idle'", "running now")


def test_a_host_that_somebody_edited(converged):
    """A unit that systemd has read again, one that it has not, and a file that is not as it was written."""
    drop_in = f"{UNITS}/{NAME}.service.d/10-mine.conf"
    converged.shell(f"mkdir -p {UNITS}/{NAME}.service.d && printf '[Service]\\nEnvironment=MINE=1\\n' > {drop_in}")
    unread = converged.reviews(LOOKS)
    has(unread["site"], "would be restarted: ", "a restart follows")
    converged.shell("systemctl daemon-reload")
    read = converged.reviews()
    has(read["site"], "would be restarted: ", "MINE", "a restart follows")
    has(read["verify"], "a restart is pending", "fails nothing")
    converged.shell(
        f"sed -i 's/--port 4311/--port 4399/; s/^Restart=.*/Restart=no/' {UNITS}/{NAME}.service; systemctl daemon-reload"
    )
    edited = converged.reviews(LOOKS)
    has(edited["site"], "  port: 4399 becomes 4311\n", "other settings change: Restart", "a restart follows")


def test_a_server_that_is_down(converged):
    converged.shell(f"systemctl stop {NAME}")
    said = converged.reviews()
    has(said["site"], "would be started: it was inactive", "a start follows")
    has(said["verify"], "nothing runs: the unit is inactive", "fails nothing")
    has(said["restart"], "would be started: it was inactive")
    has(said["benchmark"], "nothing of it is proved in check mode")
    has(said["sweep"], "a start follows")


def test_a_unit_that_is_masked_is_refused_in_words(converged):
    unit = f"{UNITS}/{NAME}.service"
    converged.shell(f"mv {unit} /root/kept.service && systemctl mask {NAME}")
    try:
        for playbook in ("site", "restart", "verify", "benchmark"):
            done = converged.review(playbook)
            assert done.returncode == 2 and f"unmask it with 'systemctl unmask {NAME}" in done.said, done.said
        has(converged.reviews(("rollback", "diagnose"))["diagnose"], "masked")
    finally:
        converged.shell(f"systemctl unmask {NAME}; mv /root/kept.service {unit}; systemctl daemon-reload")


def test_what_the_rules_refuse_fails_in_words(converged):
    broken = {**converged.vars["server_speculative"], "draft_window_size": 1}
    for playbook in ("site", "verify", "benchmark", "restart"):
        done = converged.review(playbook, server_speculative=broken)
        assert done.returncode == 2 and "rule_violated" in done.said and "block" in done.said, done.said
    done = converged.review("sweep", server_speculative=broken)
    assert done.returncode == 2 and "All 1 points of the sweep are rejected" in done.said, done.said


def test_an_interpreter_without_requests(converged):
    """Where the role is not to install them, the proof would fail after the restart."""
    converged.shell("test -e /opt/bare/bin/python || python3 -m venv --without-pip /opt/bare")
    bare = {"ansible_python_interpreter": "/opt/bare/bin/python"}
    for playbook in ("site", "restart"):
        done = converged.review(playbook, **bare)
        assert done.returncode == 2 and "missing_dependency" in done.said and "'requests'" in done.said, done.said
    others = [playbook for playbook in PLAYBOOKS if playbook not in ("site", "restart")]
    has(converged.reviews(others, **bare)["sweep"], "could not be read", "no package 'requests'")
    bare["server_manage_requirements"] = True
    has(converged.reviews(("site",), **bare, server_args=FEWER)["site"], NEEDS_RESTART, "could not be read")


def test_units_of_a_user(hosts, server, tmp_path):
    server.shell("loginctl enable-linger operator; until test -S /run/user/$(id -u operator)/bus; do :; done")
    mine = ReviewedServer(hosts, tmp_path, server_scope="user", ansible_user="operator")
    mine.vars["server_args"] = {**mine.vars["server_args"], "port": 4312}
    has(mine.reviews(LOOKS)["site"], "a start follows")
    mine.deploy()
    assert mine.review("site").changed == "0"
    has(mine.reviews(server_args={**FEWER, "port": 4312})["site"], "8 becomes 6", NEEDS_RESTART)
    mine.deploy(server_state="absent")


@pytest.mark.parametrize("state", ["fresh", "converged"])
def test_a_server_that_is_to_go(request, state):
    server = request.getfixturevalue(state)
    done = server.review("site", server_state="absent")
    assert done.returncode == 0 and done.changed == {"fresh": "0", "converged": "3"}[state], done.said


def test_a_part_of_a_play_by_its_tag(converged):
    server = converged.review("site", "--tags", "server", server_args=FEWER)
    has(server, "8 becomes 6", "a restart follows")
    assert "Measure the matrix" not in server.said
    benchmark = converged.review("site", "--tags", "benchmark")
    assert (
        benchmark.returncode == 0 and "Measure the matrix" in benchmark.said and "server : Bring" not in benchmark.said
    )
    assert converged.review("site", "--skip-tags", "benchmark").returncode == 0
