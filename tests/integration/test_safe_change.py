# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A change that fails or is killed leaves a server that works, on a real host with the stand-in server.

Each test goes on with the server that it finds, and leaves one that serves with the first key; tests/long has the many
other ways to fail.
"""

from __future__ import annotations

import re

import pytest
from deployed_server import KEYS, NAME, UNITS, DeployedServer
from fault_rows import fault


@pytest.fixture(scope="module")
def server(hosts, tmp_path_factory):
    return DeployedServer(hosts, tmp_path_factory.mktemp("change"))


@pytest.fixture
def absent(server):
    """Nothing of it, whichever test came before on this host."""
    if server.files():
        server.deploy(server_state="absent")
        server.shell(f"rm -rf {UNITS}/{NAME}.service.d; systemctl daemon-reload")
    return server


@pytest.fixture
def deployed(server):
    """The server, with a drop-in of an administrator beside it, and at first not enabled."""
    if not server.files():
        mine = f"{UNITS}/{NAME}.service.d/10-mine.conf"
        server.shell(
            f"mkdir -p {UNITS}/{NAME}.service.d && printf '[Service]\\nNice=5\\n' > {mine} && chmod 0640 {mine}"
        )
        server.deploy(server_enabled=False)
    return server


def test_a_first_install_that_fails_is_taken_away(absent):
    server = absent
    done = server.run(server_environment=server.environment("load:crash:missing_weights"))
    assert done.returncode != 0
    # Seen while it is waited for, or already while it is started.
    assert re.search(r"(generates|its unit) failed \((model_load_failed|crash_loop|gave_up)\)", done.said), done.said
    assert "this first install was stopped and taken away" in done.said
    fault("change", "The weights of a first install are missing")
    assert server.files() == ""
    assert server.shell(f"systemctl show -P LoadState {NAME}") == "not-found"


def test_a_change_that_fails_its_proof_ends_on_what_worked_byte_for_byte(deployed):
    """The key changes with it, and the unit is enabled."""
    before = deployed.files()
    done = deployed.run(server_environment=deployed.environment("draft:lie:window"), server_api_key=KEYS[1])
    assert done.returncode != 0
    assert "failed (field_mismatch)" in done.said and "draft_window_size should be 2048" in done.said, done.said
    kept = deployed.history()
    assert f"The configuration '{kept['last_good']}', the last that worked, was put back" in done.said, done.said
    fault("change", "A changed server runs without its draft window")
    assert deployed.files() == before
    assert deployed.generates(KEYS[0]) and deployed.in_line()
    assert not [key for key in KEYS if key in done.said]
    assert kept["configurations"][0]["on_host"]


def test_a_run_that_was_killed_is_repaired_by_the_next(deployed):
    """After the write and before the restart; after the restart and before the proof."""
    for boundary, key in (("Bring the process in line with it, now or later", 1), ("Read what it runs with", 0)):
        changed = {"server_api_key": KEYS[key]}
        assert deployed.run(kill_at=boundary, **changed).returncode == -9
        deployed.deploy(**changed)
        assert deployed.generates(KEYS[key]) and deployed.in_line()
        kept = deployed.history()["configurations"]
        assert kept[0]["proven"] and kept[0]["on_host"]
        fault("change", f"The play is killed in '{boundary}'", "The next run does what is missing and proves it.")


def test_a_busy_server_is_left_alone_until_it_is_idle(deployed):
    before = deployed.invocation()
    changed = {"server_args": {**deployed.vars["server_args"], "max_running_requests": 7}}
    with deployed.busy():
        done = deployed.deploy(**changed, server_restart="if_idle")
        assert "is pending, since 'server_restart' is 'if_idle'" in done.said and "running now" in done.said, done.said
        fault(
            "change", "Requests run when a change is to restart the server", "The restart stays pending and says why."
        )
        assert deployed.invocation() == before
    deployed.deploy(**changed, server_restart="if_idle")
    assert deployed.invocation() != before


def test_rollback_goes_to_the_configuration_before(deployed):
    deployed.deploy(server_args={**deployed.vars["server_args"], "max_running_requests": 6})
    kept = deployed.history()["configurations"]
    done = deployed.run("rollback")
    assert done.returncode == 0, done.said
    now = deployed.history()
    assert now["last_good"] == kept[1]["id"] != kept[0]["id"]
    assert now["configurations"][0]["on_host"]
    assert deployed.generates(KEYS[0]) and deployed.in_line()


def test_what_was_refused_before_the_write_touches_nothing(deployed):
    """Also where an administrator changed something by hand: nothing is put back over it."""
    deployed.shell(f"echo '# by hand' >> {UNITS}/{NAME}.service")
    files, invocation = deployed.files(), deployed.invocation()
    done = deployed.run(server_speculative={**deployed.vars["server_speculative"], "draft_window_size": 1})
    assert done.returncode == 2
    assert "rule_violated" in done.said and "Nothing was written" in done.said, done.said
    fault("change", "A change that is refused meets a unit that was edited by hand")
    assert (deployed.files(), deployed.invocation()) == (files, invocation)
