# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""server_service and server_info against real systemd, with units that anybody could have written."""

from __future__ import annotations

import pytest
from fault_rows import fault
from hand_written_unit import SERVE, Unit, stand_in


@pytest.mark.parametrize(
    "command", [SERVE.format(port=4101), ":/bin/sh -c 'sleep 1000; exit ${X}'"], ids=["words", "unexpanded"]
)
def test_converge_starts_once_and_then_leaves_it(unit, command):
    unit.write(command)
    first, second = unit.bring(), unit.bring()
    assert first["changed"]
    assert first["previous_invocation_id"] is None
    assert not second["changed"]
    assert second["invocation_id"] == first["invocation_id"]
    assert second["reason"] == "the running process is what the unit describes"


def test_a_unit_that_was_broken_by_hand_keeps_its_process(unit):
    unit.write(SERVE.format(port=4101))
    before = unit.bring()
    unit.shell(f"sed -i s/^ExecStart=/ExecStrt=/ {unit.folder}/{unit.name}.service")
    refused = unit.bring()
    assert refused["failure_class"] == "no_such_unit"
    assert "left as it is" in refused["msg"]
    assert unit.shell(f"systemctl show -P InvocationID {unit.name}") == before["invocation_id"]
    unit.shell(f"rm {unit.folder}/{unit.name}.service")
    assert unit.bring("restarted")["failure_class"] == "no_such_unit"
    assert unit.shell(f"systemctl show -P InvocationID {unit.name}") == before["invocation_id"]


def test_enabled_until_the_next_boot_is_not_enabled(unit):
    unit.write(SERVE.format(port=4101), "[Install]\nWantedBy=multi-user.target")
    unit.shell(f"systemctl enable --runtime {unit.name}")
    assert unit.bring(enabled=True)["changed"]
    assert unit.shell(f"systemctl is-enabled {unit.name}") == "enabled"
    assert not unit.bring(enabled=True)["changed"]
    assert unit.bring(enabled=False)["changed"]
    assert not unit.bring(enabled=False)["changed"]


@pytest.mark.parametrize("reload", [True, False])
def test_a_changed_unit_is_restarted_whoever_changed_it(unit, reload):
    unit.write(SERVE.format(port=4102))
    before = unit.bring()
    unit.write(SERVE.format(port=4103), reload=reload)
    after = unit.bring()
    assert after["changed"]
    assert after["previous_invocation_id"] == before["invocation_id"] != after["invocation_id"]
    assert "4103" in unit.shell(f"cat /proc/{after['main_pid']}/cmdline | tr '\\0' ' '")
    assert not unit.bring()["changed"]


def test_a_unit_that_changed_and_changed_back_is_not_restarted(unit):
    unit.write(SERVE.format(port=4104))
    before = unit.bring()
    unit.write(SERVE.format(port=4105))
    unit.write(SERVE.format(port=4104))
    after = unit.bring()
    assert not after["changed"]
    assert after["invocation_id"] == before["invocation_id"]


def test_a_changed_environment_is_a_difference(unit):
    unit.write(SERVE.format(port=4106), "Environment=A=1")
    unit.bring()
    unit.write(SERVE.format(port=4106), 'Environment="A=2 $ü"')
    assert unit.info()["unit"]["matches_unit"] is False
    assert unit.bring()["reason"] == "restarted: the environment variable A differs"
    assert unit.info()["unit"]["matches_unit"] is True
    assert not unit.bring()["changed"]


def test_check_mode_tells_and_touches_nothing(unit):
    fresh = unit.bring(check=True)
    assert fresh["changed"] and "failed" not in {k for k, v in fresh.items() if v is True}
    unit.write(SERVE.format(port=4107))
    before = unit.bring()
    unit.write(SERVE.format(port=4108))
    told = unit.bring(check=True, diff=True)
    assert told["changed"]
    assert "would be restarted" in told["diff"]["prepared"] and "4108" in told["diff"]["prepared"]
    assert told["invocation_id"] == before["invocation_id"]
    assert unit.bring(check=True)["changed"]


def test_the_old_process_is_gone_before_it_returns(unit):
    """The old server takes its time to end; the new one needs the same port."""
    unit.write(
        """/usr/bin/python3 -c 'import http.server,signal,time,sys; signal.signal(signal.SIGTERM, lambda *a: (time.sleep(2), sys.exit(0))); \
http.server.ThreadingHTTPServer(("127.0.0.1", 4109), http.server.SimpleHTTPRequestHandler).serve_forever()'"""
    )
    before = unit.bring()
    unit.shell("until (exec 3<>/dev/tcp/127.0.0.1/4109) 2>/dev/null; do sleep 0.1; done")
    after = unit.bring("restarted")
    assert after["stopped_cleanly"] is True
    assert after["elapsed"] >= 2
    assert unit.shell(f"test -e /proc/{before['main_pid']} && echo there || echo gone") == "gone"


def test_processes_that_survive_the_stop_are_a_failure_that_names_them(unit):
    unit.write(SERVE.format(port=4110), "ExecStartPost=/bin/sh -c 'setsid sleep 987 & true'\nKillMode=process\n")
    unit.bring()
    result = unit.bring("restarted", stop_timeout=2)
    assert result["failed"]
    assert result["failure_class"] == "stop_failed"
    assert "sleep 987" in result["msg"]
    fault("serving", "A child of the server survives the stop")
    unit.shell("pkill -KILL -f 'sleep 987'")


def test_a_stop_that_does_not_end_in_time_is_told(unit):
    unit.bring_deaf("TimeoutStopSec=600")
    result = unit.bring("stopped", stop_timeout=2)
    assert result["failure_class"] == "stop_failed"
    assert result["invocation_id"]
    fault("serving", "The server ignores the stop")


def test_a_command_that_is_not_there_is_told_as_such(unit):
    unit.write("/nonexistent/python -m sglang.launch_server")
    result = unit.bring()
    assert result["failed"]
    assert result["failure_class"] == "unit_invalid"
    assert "could not execute" in result["msg"]
    fault("start", "The program of the unit is not there")


def test_stopped_and_started(unit):
    unit.write(SERVE.format(port=4111))
    assert unit.bring("started")["changed"]
    assert not unit.bring("started")["changed"]
    stopped = unit.bring("stopped")
    assert stopped["changed"]
    assert stopped["main_pid"] is None
    assert not unit.bring("stopped")["changed"]


def test_an_unknown_unit_is_a_failure_that_offers_the_closest_name(hosts, unit):
    unit.write(SERVE.format(port=4112))
    result = hosts.run_module("host1", "llmops.sglang.server_service", {"name": unit.name.replace("svc", "scv")})
    assert result["failure_class"] == "no_such_unit"
    assert unit.name in result["msg"]
    fault("change", "A restart of a unit whose name has a typing error")


def test_an_unknown_unit_is_no_failure_for_the_facts(hosts):
    result = hosts.run_module("host1", "llmops.sglang.server_info", {"name": "nobody"})
    assert not result["failed"]
    assert result["unit"]["state"] == "not-found"
    assert result["evidence"]["invocation_id"] is None


def test_the_unit_of_a_user(hosts):
    unit = Unit(hosts, "svc-user", user="operator")
    unit.write(SERVE.format(port=4113))
    first, second = unit.bring(), unit.bring()
    assert first["changed"] and not second["changed"]
    assert unit.info()["unit"]["matches_unit"] is True
    assert unit.bring("stopped")["changed"]


def test_a_user_s_manager_without_a_bus_is_asked_by_its_own_socket(hosts):
    """As on a server without dbus-user-session; blanks must not divide the words that are read without it."""
    unit = Unit(hosts, "svc-busless", user="operator")
    unit.write(SERVE.format(port=4139) + ' --directory "/tmp/a  b"', "Environment=\"A=b  'c'\" B=$x")
    bus = f"{unit.systemctl} {{}} dbus.socket dbus.service"
    unit.shell(f"{bus.format('stop')} && ! {unit.systemctl.replace('systemctl', 'busctl')} status")
    try:
        first, second, info = unit.bring(), unit.bring(), unit.info()
        stopped = unit.bring("stopped")
    finally:
        unit.shell(bus.format("start"))
    assert (first["changed"], second["changed"]) == (True, False), second["reason"]
    assert info["unit"]["matches_unit"] is True and info["unit"]["argv"][-1] == "/tmp/a  b"
    assert stopped["stopped_cleanly"] is not None


def test_a_user_without_a_manager_is_told_to_linger(hosts):
    hosts.ssh("host1", "id guest || useradd --create-home --shell /bin/sh guest")
    args = {"name": "x", "scope": "user"}
    result = hosts.run_module("host1", "llmops.sglang.server_service", args, become_user="guest")
    assert result["failed"]
    assert "enable-linger" in result["msg"]
    fault("host", "The user has no service manager, since nobody lingers")


def test_the_facts_name_another_command_line(unit):
    unit.write(SERVE.format(port=4114))
    unit.bring()
    unit.write(SERVE.format(port=4115), reload=False)
    info = unit.info()
    assert info["unit"]["matches_unit"] is False
    assert [c["subject"] for c in info["conflicts"]] == ["unit"]
    assert info["server"]["reachable"] is False
    assert info["journal"]["draft_runner"] is None


def test_a_foreign_holder_of_the_port_is_named_before_anything_stops(unit):
    stand_in(unit, 4133)
    unit.write(
        "/usr/bin/python3 -m sglang.launch_server --model-path /m --port 4133",
        f"Environment=PYTHONPATH={unit.folder}/{unit.name}.d",
    )
    before = unit.bring()
    unit.shell("systemd-run --unit squatter /usr/bin/python3 -m http.server 4134 --bind 127.0.0.1")
    unit.shell("until curl -s -o /dev/null http://127.0.0.1:4134/; do :; done")
    unit.write(
        "/usr/bin/python3 -m sglang.launch_server --model-path /m --port 4134",
        f"Environment=PYTHONPATH={unit.folder}/{unit.name}.d",
    )
    refused = unit.bring()
    assert refused["failure_class"] == "port_in_use"
    assert "squatter.service" in refused["msg"]
    fault("start", "Another process took the port before the restart")
    assert unit.shell(f"systemctl show -P InvocationID {unit.name}") == before["invocation_id"]
    unit.shell("systemctl stop squatter")
    assert unit.bring()["restarted"]


def test_a_user_without_the_right_is_told_so(hosts, unit):
    """This host's polkit is masked, as it is on many servers: systemctl then speaks of polkit and not of the user."""
    unit.write(SERVE.format(port=4135))
    before = unit.bring()
    for state in ("stopped", "restarted"):
        result = hosts.run_module(
            "host1", "llmops.sglang.server_service", {"name": unit.name, "state": state}, user="operator"
        )
        assert (result["failure_class"], result["changed"]) == ("no_permission", False), result["msg"]
        assert "become" in result["msg"] and result["invocation_id"] == before["invocation_id"]
        fault("host", f"A user without the right wants the server {state}")


def test_a_crash_loop_with_its_start_limit_hit_is_started_anew(unit):
    unit.write("/bin/false", "Restart=always\nRestartSec=0\n[Unit]\nStartLimitBurst=2\nStartLimitIntervalSec=600")
    unit.shell(f"systemctl start {unit.name}; until systemctl is-failed -q {unit.name}; do :; done")
    unit.write(SERVE.format(port=4136), "[Unit]\nStartLimitBurst=2\nStartLimitIntervalSec=600")
    result = unit.bring()
    assert result["changed"] and result["main_pid"]
    fault(
        "start",
        "systemd has given the unit up after too many starts",
        "It is started all the same: the count is cleared first.",
    )


def test_a_service_that_systemd_keeps_restarting_is_brought_down_and_replaced(unit):
    """Jobs of the automatic restart and of ours meet; each ends as it was asked for."""
    unit.write("/bin/sh -c 'exit 1'", "Restart=always\nRestartSec=50ms\n[Unit]\nStartLimitIntervalSec=0")
    unit.shell(f"systemctl start {unit.name} || true")
    for dummy in range(2):
        assert not unit.bring("stopped").get("failure_class")
        assert unit.shell(f"systemctl is-active {unit.name} || true") in ("inactive", "failed")
        unit.shell(f"systemctl reset-failed {unit.name}; systemctl start {unit.name} || true")
    settings = "Restart=always\nRestartSec=50ms\n[Unit]\nStartLimitIntervalSec=0"
    unit.write(SERVE.format(port=4137), settings, reload=False)
    result = unit.bring()
    # After the reload the automatic restart may already have come first with the new command.
    assert "failure_class" not in result and unit.shell(f"systemctl is-active {unit.name}") == "active"
    assert not unit.bring()["changed"]
    fault(
        "start",
        "systemd restarts the service again and again while it is stopped and replaced",
        "It is brought down, and the new one runs.",
    )


def test_a_stop_by_a_kill_is_reported(unit):
    unit.bring_deaf("TimeoutStopSec=1")
    result = unit.bring("stopped")
    assert (result["stopped_cleanly"], result["stopped_by"]) == (False, "signal SIGKILL")
    fault(
        "serving",
        "The server has to be killed, since it does not stop",
        "The stop succeeds and is told as not clean, by signal SIGKILL.",
    )
