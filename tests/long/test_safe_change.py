# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""All ways in which a change of a server can fail or be killed, each ending on a server that works."""

from __future__ import annotations

import pytest
from deployed_server import KEYS, NAME, SIMULATOR, DeployedServer
from fault_rows import fault


@pytest.fixture(scope="module")
def server(hosts, tmp_path_factory):
    return DeployedServer(hosts, tmp_path_factory.mktemp("change"))


@pytest.fixture
def deployed(server):
    """The server of the inventory, with its first key."""
    server.deploy()
    return server


@pytest.fixture
def absent(server):
    server.deploy(server_state="absent")
    return server


def kill_everywhere(run):
    """Run with a kill at the first task, the second, and so on, until one ends before it is killed; yields after each."""
    number = 1
    while True:
        done = run(number)
        if done.returncode != -9:
            assert number > 5, done.said
            return
        yield number
        number += 1


def check(server, key):
    assert server.generates(key) and server.in_line()
    newest = server.history()["configurations"][0]
    assert newest["proven"] and newest["on_host"]


def test_a_change_that_is_killed_at_any_task_is_made_by_the_next_run(deployed):
    def change(number):
        return {"server_api_key": KEYS[number % 2]}

    for number in kill_everywhere(lambda number: deployed.run(kill_at=number, **change(number))):
        deployed.deploy(**change(number))
        check(deployed, KEYS[number % 2])


def test_a_first_install_that_is_killed_at_any_task_is_made_by_the_next_run(absent):
    for dummy in kill_everywhere(lambda number: absent.run(kill_at=number)):
        absent.deploy()
        check(absent, KEYS[0])
        absent.deploy(server_state="absent")


def test_going_back_that_is_killed_at_any_task_is_done_by_the_next_run(deployed):
    """Both by the same change, which fails once more, and by the one before, which works."""
    before = deployed.files()
    wrong = {"server_environment": deployed.environment("draft:lie:window"), "server_api_key": KEYS[1]}
    for number in kill_everywhere(lambda number: deployed.run(kill_at=number, **wrong)):
        if number % 2:
            done = deployed.run(**wrong)
            assert done.returncode == 2 and "was put back" in done.said, done.said
        else:
            deployed.deploy()
        assert deployed.files() == before or not number % 2
        check(deployed, KEYS[0])
        # A deployment renews the id of the secrets where a killed run had changed them.
        before = deployed.files()


def test_a_rollback_that_is_killed_at_any_task_is_done_by_the_next_one(deployed):
    """It goes where the first one was on its way to, and not back to where that came from."""
    deployed.deploy(server_api_key=KEYS[1])
    wanted = 0
    for dummy in kill_everywhere(lambda number: deployed.run("rollback", kill_at=number)):
        done = deployed.run("rollback")
        assert done.returncode == 0, done.said
        check(deployed, KEYS[wanted])
        wanted = 1 - wanted


@pytest.mark.parametrize(
    ("cause", "fault_mode", "said"),
    [
        (
            "A changed server runs out of memory while it loads",
            "load:crash:oom",
            "was put back, and it generates again",
        ),
        ("A changed server generates garbage", "serving:lie:garbage", "garbage_output"),
        (
            "A changed server logs that it is ready and never listens",
            "ready:lie:no_bind",
            "was put back, and it generates again",
        ),
        ("A changed server answers every generation with status 500", "serving:status:500", "server_error"),
        ("A changed server logs that its window is None", "draft:lie:window_none", "field_mismatch"),
    ],
)
def test_a_change_that_fails_ends_on_what_worked(deployed, cause, fault_mode, said):
    before = deployed.files()
    wait = {**deployed.vars["server_wait"], "timeout": 30}
    done = deployed.run(server_environment=deployed.environment(fault_mode), server_wait=wait, server_api_key=KEYS[1])
    assert done.returncode == 2
    assert said in done.said and "was put back, and it generates again" in done.said, done.said
    assert "The diagnosis is in /var/lib/llmops-sglang/diagnoses/" in done.said
    fault("change", cause)
    assert deployed.files() == before
    check(deployed, KEYS[0])


def test_the_failed_one_can_be_left_for_study_and_rolled_back_later(deployed):
    before = deployed.files()
    wrong = {"server_environment": deployed.environment("draft:lie:window")}
    done = deployed.run(**wrong, server_rollback=False)
    assert done.returncode == 2 and "left for study" in done.said, done.said
    assert deployed.files() != before
    check_mode = deployed.run("", "--check", **wrong)
    assert check_mode.returncode == 2 and "In check mode nothing was changed" in check_mode.said, check_mode.said
    assert deployed.files() != before
    assert deployed.run("rollback").returncode == 0
    assert deployed.files() == before
    check(deployed, KEYS[0])


def test_a_first_install_that_failed_can_be_left(absent):
    wrong = {"server_environment": absent.environment("draft:lie:window")}
    done = absent.run(**wrong, server_keep_failed_install=True)
    assert done.returncode == 2 and "this first install is left for study" in done.said, done.said
    assert f"{NAME}.service" in absent.files()
    # It is still a first install: there is nothing that ever worked.
    done = absent.run(**wrong)
    assert done.returncode == 2 and "stopped and taken away" in done.said, done.said
    assert absent.files() == ""


def test_the_same_configuration_that_fails_has_nothing_to_go_back_to(deployed):
    files = deployed.files()
    deployed.shell(f"systemctl stop {NAME}")
    with_squatter = "systemd-run --quiet --unit=squatter python3 -m http.server 4311 --bind 127.0.0.1"
    deployed.shell(f"{with_squatter}; until ss -tln | grep -q :4311; do :; done")
    try:
        done = deployed.run()
    finally:
        deployed.shell("systemctl stop squatter")
    assert done.returncode == 2
    assert "port_in_use" in done.said and "so there is nothing to put back" in done.said, done.said
    fault("change", "What worked last fails again, since its port was taken")
    assert deployed.files() == files


def test_where_what_worked_does_not_work_any_more_both_stories_are_told(deployed):
    other = f"{SIMULATOR}-b"
    deployed.shell(f"cp -a {SIMULATOR} {other} && mv {SIMULATOR} {SIMULATOR}-away")
    speculative = {**deployed.vars["server_speculative"], "draft_model_path": f"{other}/draft"}
    try:
        done = deployed.run(
            server_python=f"{other}/bin/python",
            server_speculative=speculative,
            server_environment=deployed.environment("draft:lie:window", PYTHONPATH=""),
        )
    finally:
        deployed.shell(f"mv {SIMULATOR}-away {SIMULATOR}")
    assert done.returncode == 2
    assert "was to be put back, and that failed as well in 'Bring the process in line with it'" in done.said, done.said
    fault("change", "A change fails, and what worked before does not work any more")
    assert deployed.run("rollback").returncode == 0
    check(deployed, KEYS[0])


def test_a_host_that_goes_away_meanwhile_is_told_as_such(deployed):
    before = deployed.files()
    done = deployed.run(
        server_environment=deployed.environment("draft:lie:window"),
        ansible_port="{{ 9 if server_change_failed is defined else 22 }}",
    )
    assert done.returncode == 2
    assert "field_mismatch" in done.said and "cannot be reached any more, so nothing was put back" in done.said, (
        done.said
    )
    fault("change", "A change fails, and the host goes away")
    assert deployed.files() != before
    deployed.deploy()
    check(deployed, KEYS[0])


def test_a_vendor_s_unit_runs_again_without_the_drop_in_that_failed(absent):
    """What was there before the collection's first write is kept, though nothing of it lies in the administrator's directory."""
    vendor = f"/usr/lib/systemd/system/{NAME}.service"
    command = f"{SIMULATOR}/bin/python -m sglang.launch_server --model-path org/model --port 4311 --api-key {KEYS[0]}"
    settings = "\\n".join(["[Service]", "Environment=SIM_LOAD_SECONDS=0.2 SIM_PACE=0.05", f"ExecStart={command}", ""])
    absent.shell(f"printf '{settings}' > {vendor} && systemctl daemon-reload && systemctl start {NAME}")
    try:
        done = absent.run(server_environment=absent.environment("draft:lie:window"), server_style="drop_in")
        assert done.returncode == 2 and "was put back, and it generates again" in done.said, done.said
        assert absent.files() == ""
        assert absent.generates(KEYS[0]) and absent.in_line()
        absent.deploy(server_style="drop_in")
        assert "zz-llmops-sglang.conf" in absent.files()
        absent.deploy(server_style="drop_in", server_state="absent")
        assert absent.files() == ""
    finally:
        absent.shell(f"systemctl stop {NAME}; rm {vendor}; systemctl daemon-reload")


def test_a_unit_of_a_user_and_an_instance_of_a_template_go_back_as_well(hosts, server, tmp_path):
    """Another user's unit of the same name and other instances of the template stay as they are."""
    server.shell("loginctl enable-linger operator; until test -S /run/user/$(id -u operator)/bus; do :; done")
    mine = DeployedServer(
        hosts, tmp_path, server_scope="user", server_name=f"{NAME}@b.service", ansible_user="operator"
    )
    mine.vars["server_args"] = {**mine.vars["server_args"], "port": 4312}
    template = "[Service]\\nExecStart=/bin/false\\n"
    home = mine.shell("echo ~operator")
    units = f"{home}/.config/systemd/user"
    mine.shell(f"su operator -c 'mkdir -p {units}' && printf '{template}' > {units}/{NAME}@.service")
    mine.deploy()
    look = f"cd {units} && find . -printf '%p %M %u %g %l\\n' | sort && cat {NAME}@b.service {NAME}@b.service.secrets/* {NAME}@.service"
    before = mine.shell(look)
    done = mine.run(server_environment=mine.environment("draft:lie:window"), server_api_key=KEYS[1])
    assert done.returncode == 2 and "was put back, and it generates again" in done.said, done.said
    assert mine.shell(look) == before
    assert "history" in mine.shell(f"ls {home}/.local/state/llmops-sglang")
    mine.deploy(server_state="absent")
    assert f"{NAME}@b" not in mine.shell(f"find {units}")
