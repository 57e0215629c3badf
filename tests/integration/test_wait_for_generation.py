# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""wait_for_generation against the stand-in server under real systemd."""

from __future__ import annotations

import re

import pytest
import waited_server
import yaml
from fault_rows import fault
from waited_server import DFLASH, FAST, MODULE

server = waited_server.server


def test_ready_is_this_invocation_with_speculation_and_warmups(server):
    server.write(arguments=DFLASH).start()
    result = server.ready(
        require_speculation=True, warmup_contexts=[200, 800], warmup_concurrency=4, expected_model="org/model"
    )
    assert result["invocation_id"] == server.property("InvocationID") and str(result["main_pid"]) == server.property(
        "MainPID"
    )
    assert result["listener"]["owned"] == "yes" and result["listener"]["unit"] == f"{server.name}.service"
    assert result["models"] == ["org/model"] and result["generated_from"] == "content" and result["text"]
    stages = result["stages"]
    order = ["process_started", "port_bound", "first_http_answer", "first_generation", "ready"]
    assert [stages[name] for name in order] == sorted(stages[name] for name in order)
    assert "warmup_context_800" in stages and "warmup_concurrency_4" in stages
    tokens = {one["size"]: one["prompt_tokens"] for one in result["warmups"] if one["kind"] == "context"}
    assert all(0.5 * size <= counted <= 1.2 * size for size, counted in tokens.items()), tokens


def test_a_server_without_speculation_is_told(server):
    server.write().start().ready()
    assert "verify step" in server.fails("no_speculation", require_speculation=True, timeout=6)["msg"]
    fault("serving", "It generates without the speculation that was asked for")


def test_every_api_and_streams(server):
    server.write(arguments=DFLASH).start()
    for options in ({"stream": True}, {"api": "completions"}, {"api": "generate"}, {"api": "generate", "stream": True}):
        result = server.ready(**options)
        assert result["generated_from"] == "content" and result["usage"]["completion_tokens"] > 0, options


def test_a_name_with_a_typing_error_offers_the_right_one(server):
    server.write()
    result = server.hosts.run_module("host1", MODULE, {"name": server.name.replace("wait", "wiat")})
    assert result["failure_class"] == "no_such_unit" and server.name in result["msg"] and result["elapsed"] < 300
    fault("start", "The name of the unit has a typing error")


def test_a_unit_that_was_never_started_and_one_that_was_stopped(server):
    server.write()
    server.fails("never_started")
    fault("start", "The unit was never started")
    # systemd forgets the invocation of a stopped unit, unless something wants that unit.
    server.shell(f"systemctl add-wants multi-user.target {server.name}")
    server.start()
    server.ready()
    server.shell(f"systemctl stop {server.name}")
    server.fails("inactive")
    fault("start", "The unit was stopped by somebody")


def test_not_restarted_though_it_generates(server):
    server.write().start()
    invocation = server.ready()["invocation_id"]
    dashed = "-".join((invocation[:8], invocation[8:12], invocation[12:16], invocation[16:20], invocation[20:])).upper()
    assert server.fails("not_restarted", previous_invocation_id=dashed)["attempts"] == 0
    fault("start", "The restart did not happen, and the old invocation generates")
    server.start()
    result = server.ready(previous_invocation_id=invocation)
    assert result["invocation_id"] != invocation


def test_a_process_of_another_unit_that_answers_is_told(server):
    other = f"{server.name}-old"
    command = f"-p Environment=PYTHONPATH={server.hosts.repository}/tests/simulator /usr/bin/python3 -B -m sglang.launch_server"
    server.background(other, f"{command} --model-path org/model --port {server.port}")
    server.write("SIM_LOAD_SECONDS=30").start()
    result = server.fails("foreign_listener")
    assert f"{other}.service" in result["msg"] and result["listener"]["owned"] == "no" and result["attempts"] == 0
    fault("start", "A process of another unit answers at the port while the server loads")
    assert str(result["listener"]["pid"]) == server.shell(f"systemctl show --value -p MainPID {other}")


def test_a_taken_port_is_told_though_the_ready_line_shows(server):
    other = f"{server.name}-old"
    command = f"-p Environment=PYTHONPATH={server.hosts.repository}/tests/simulator /usr/bin/python3 -B -m sglang.launch_server"
    server.background(other, f"{command} --model-path org/model --port {server.port}")
    server.wait(base_url=f"http://127.0.0.1:{server.port}", name=None)
    server.write().start()
    result = server.fails("port_in_use")
    assert f"{other}.service" in result["msg"] and result["attempts"] == 0 and result["log_tail"]
    fault("start", "The port is taken, although the server logs that it is ready")


def test_a_script_that_takes_its_time_beside_a_server_at_the_default_address(server):
    """Longer than a process on its way out is given: another server there is none that the unit was to be."""
    server.background(f"{server.name}-other", "/usr/bin/python3 -m http.server --bind 127.0.0.1 30000")
    script = f"/run/{server.name}.sh"
    server.shell(
        f"cat > {script} <<'END'\n#!/bin/bash\nsleep 5\n"
        f"exec /usr/bin/python3 -B -m sglang.launch_server --model-path org/model --port {server.port}\nEND\nchmod +x {script}"
    )
    server.write(extra=f"ExecStart=\nExecStart={script}").start()
    result = server.ready()
    assert result["base_url"] == f"http://127.0.0.1:{server.port}" and result["listener"]["owned"] == "yes"
    server.shell(f"systemctl stop {server.name}-other")


def test_a_lingering_process_of_the_last_invocation_is_waited_for(server):
    # With KillMode=none the old process stays in the unit's control group and goes on answering everything.
    server.write_gated("KillMode=none")
    server.shell(f"touch {server.gate}")
    first = server.start().ready()
    # The new one binds the port when the old one has gone, and that is in the middle of the wait.
    server.shell(f"rm {server.gate}; systemctl restart {server.name}")
    assert server.property("MainPID") != str(first["main_pid"])
    server.when_waited_for(f"sleep 1; kill -KILL {first['main_pid']}; touch {server.gate}")
    result = server.ready(previous_invocation_id=first["invocation_id"])
    assert result["invocation_id"] != first["invocation_id"] and result["listener"]["owned"] == "yes"
    assert result["attempts"] == result["outcomes"]["generated"] == 2 and str(result["main_pid"]) == server.property(
        "MainPID"
    )
    fault(
        "start",
        "The process before the restart lingers and answers everything",
        "It is waited out: only the new process counts.",
    )


def test_crash_loop(server):
    server.write("SIM_LOAD_SECONDS=0.3 SIM_FAULT=load:crash:7", extra="Restart=always\nRestartSec=0.2").start()
    result = server.fails("crash_loop", max_restarts=1, timeout=600)
    assert result["elapsed"] < 300 and "exit status 1" in result["msg"] and result["log_tail"]
    fault("start", "systemd restarts a server that crashes each time")


SCHEDULER = FAST + " SIM_FAULT=load:crash:{}"
IMPORT = FAST + " SIM_FAULT=import:crash:{}"


@pytest.mark.parametrize(
    ("cause", "environment", "arguments", "extra", "failure_class", "word"),
    [
        ("A flag that this server does not know", FAST, "--no-such 2048", "", "bad_arguments", "--no-such"),
        (
            "A flag that this server does not know, under a unit that restarts it for ever",
            FAST,
            "--no-such 2048",
            "Restart=always\nRestartSec=5",
            "bad_arguments",
            "--no-such",
        ),
        ("The scheduler is killed while it loads", SCHEDULER.format("SIGKILL"), "", "", "server_crashed", "Rank 0"),
        ("The scheduler dies while it loads", SCHEDULER.format("7"), "", "", "server_crashed", "Rank 0 scheduler"),
        ("The server dies before it has read its arguments", IMPORT.format("7"), "", "", "gave_up", "exit status 7"),
        (
            "The command says why and ends",
            FAST,
            "",
            "ExecStart=\nExecStart=sh -c 'sleep 1; echo no such library; exit 7'",
            "gave_up",
            "last line: no such library",
        ),
        ("A library crashes while it is imported", IMPORT.format("SIGSEGV"), "", "", "server_crashed", "SIGSEGV"),
    ],
)
def test_a_start_that_fails_is_told_at_once(server, cause, environment, arguments, extra, failure_class, word):
    server.write(environment, arguments, extra).start()
    result = server.fails(failure_class, timeout=300)
    assert result["elapsed"] < 150 and word in result["msg"] and "usage" not in result["msg"] and result["log_tail"]
    fault("start", cause)


@pytest.mark.parametrize(
    ("said", "failure_class", "word"),
    [
        ("no such library", "gave_up", "Its last line: no such library"),
        ("launch_server.py: error: unrecognized arguments: --no-such", "bad_arguments", "'--no-such'"),
    ],
)
def test_last_words_that_journald_reads_when_the_unit_has_failed(server, said, failure_class, word):
    """It then gives them no invocation."""
    server.write(extra=f"ExecStart=\nExecStart=sh -c 'echo {said}; exit 7'")
    server.shell(
        'journald=$(systemctl show --property=MainPID --value systemd-journald); trap "kill -CONT $journald" EXIT; '
        f"kill -STOP $journald; systemctl start --no-block {server.name}; "
        f"for i in $(seq 1000); do systemctl is-failed -q {server.name} && exit; sleep 0.1; done; exit 1"
    )
    result = server.fails(failure_class, timeout=300)
    assert result["elapsed"] < 150 and word in result["msg"] and said in result["log_tail"]
    row = server.shell(f"journalctl --sync; journalctl -o verbose -u {server.name} _TRANSPORT=stdout")
    assert said in row and "_SYSTEMD_INVOCATION_ID" not in row, row
    fault("start", f"The command says why and ends before journald has read it: {said}")


@pytest.mark.parametrize("victim", ["sglang::schedul", "sglang::detoken"])
def test_a_killed_child_is_told_in_seconds(server, victim):
    server.write(f"{FAST} SIM_FAULT=serving:hang", DFLASH).start()
    # Nothing is ever generated: the wait is under way when the child dies.
    ready = f"journalctl -u {server.name} -o cat | grep -q fired.up"
    asked = f"ss -Htn state established sport = :{server.port} | grep -q ."
    server.when_waited_for(f"until {ready} && {asked}; do sleep 0.1; done; sleep 1; pkill -KILL {victim}")
    result = server.fails("server_crashed", timeout=300, request_timeout=300)
    assert result["elapsed"] < 150
    assert "sglang" in result["msg"] or "Subprocess" in result["msg"] or "exit code" in result["msg"], result["msg"]
    fault("serving", f"The process {victim} is killed while the server hangs in a generation")


def test_check_mode_sends_nothing(server):
    log = f"/run/{server.name}.log"
    server.write(f"{FAST} SIM_TRUTH_LOG={log}").start()
    server.ready()
    before = server.shell(f"cat {log}")
    result = server.wait(check=True)
    assert result["ok"] is None and result["skipped_reason"] and not result.get("failed")
    assert result["invocation_id"] == server.property("InvocationID") and result["attempts"] == 0
    assert server.shell(f"cat {log}") == before


def test_the_key_comes_from_a_file_and_shows_nowhere(server):
    key = "sk-integration-secret"
    server.write(arguments=f"--api-key {key}").start()
    server.shell(f"umask 077; echo {key} > /run/{server.name}.key; echo wrong-key-here > /run/{server.name}.wrong")
    result = server.ready(api_key_file=f"/run/{server.name}.key")
    assert key not in str(result)
    result = server.fails("unauthorized", api_key_file=f"/run/{server.name}.wrong")
    assert result["attempts"] <= 2 and key not in str(result) and "wrong-key-here" not in str(result)
    fault("serving", "The key is wrong")


def test_a_user_who_cannot_see_the_owner_is_not_told_ready(server):
    server.write().start()
    server.ready()
    result = server.wait(user="operator")
    assert result["failure_class"] in ("no_permission", "foreign_listener"), result
    assert result["listener"]["owned"] == "unknown" and result["failed"]
    fault("host", "A user who may not see whose socket it is waits")
    result = server.wait(user="operator", require_owner=False)
    assert result["ok"] is True and result["listener"]["owned"] == "unknown"


def test_become_and_no_become(server):
    server.write().start()
    server.ready()
    args = {"name": server.name, "timeout": 300, "progress_interval": 0}
    result = server.hosts.run_module("host1", MODULE, args, become_user="operator")
    assert result["failure_class"] == "no_permission" and "become" in result["msg"], result
    fault("host", "The user that became another one may not see the unit's process")
    result = server.hosts.run_module("host1", MODULE, args, become_user="root")
    assert result["ok"] is True and result["listener"]["owned"] == "yes", result


def test_a_url_alone_is_waited_for_from_the_controller(server, tmp_path):
    server.write(arguments="--host 0.0.0.0").start()
    url = f"http://{server.hosts.address('host1')}:{server.port}"
    task = {MODULE: {"base_url": url, "expected_model": "org/model", "timeout": 300}, "delegate_to": "localhost"}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([{"hosts": "host1", "gather_facts": False, "tasks": [task]}]))
    done = server.hosts.playbook(tmp_path / "play.yml")
    assert done.returncode == 0, done.stdout
    assert re.search(rf"^\[ *\d+ s\] host1 -> localhost {url}: ready$", done.stdout, re.MULTILINE), done.stdout


def test_a_unit_of_a_user(server):
    folder, systemctl = "/home/operator/.config/systemd/user", "XDG_RUNTIME_DIR=/run/user/$(id -u) systemctl --user"
    server.write()
    server.shell(
        f"install -d -o operator -g operator {folder} && cp /etc/systemd/system/{server.name}.service {folder}/"
    )
    started = server.hosts.ssh(
        "host1", f"{systemctl} daemon-reload && {systemctl} start {server.name}", user="operator"
    )
    assert started.returncode == 0, started.stderr
    try:
        result = server.wait(user="operator", scope="user")
        assert result["ok"] is True and result["listener"]["owned"] == "yes", result
        assert result["listener"]["unit"] == f"{server.name}.service" and result["invocation_id"]
    finally:
        server.hosts.ssh(
            "host1", f"{systemctl} kill -s KILL {server.name}; rm -f {folder}/{server.name}.service", user="operator"
        )


def test_an_earlier_start_tells_how_long_the_next_will_take(server):
    server.write("SIM_LOAD_SECONDS=5").start()
    first = server.ready()
    assert first["expected_elapsed"] is None and first["stages"]["port_bound"] >= 5
    again = server.ready()
    assert again["expected_elapsed"] == pytest.approx(first["stages"]["ready"], abs=0.1)
    file = "/var/lib/llmops-sglang/start-times.json"
    assert server.shell(f"stat -c %a {file}") == "600"


def test_lines_are_shown_while_it_waits(server, tmp_path):
    server.write_gated().start()
    # Longer than two of the intervals of the first task.
    server.when_waited_for(f"sleep 7; touch {server.gate}")
    play = {
        "hosts": "host1",
        "gather_facts": False,
        "tasks": [
            {"llmops.sglang.wait_for_generation": {"name": server.name, "timeout": 300, "progress_interval": 3}},
            {"llmops.sglang.wait_for_generation": {"name": server.name, "timeout": 300, "progress_interval": 0}},
            {"llmops.sglang.wait_for_generation": {"name": server.name, "progress_interval": 1}, "no_log": True},
        ],
    }
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    done = server.hosts.playbook(tmp_path / "play.yml")
    assert done.returncode == 0, done.stdout
    lines = re.findall(rf"^\[ *(\d+) s\] host1 {server.name}: (.*)$", done.stdout, re.MULTILINE)
    assert lines[-1][1] == "ready" and len(lines) >= 3, done.stdout
    assert any(re.search("weights|graphs|arguments|memory|engine", text) for _seconds, text in lines), lines
    assert len([text for _seconds, text in lines if text == "ready"]) == 1
