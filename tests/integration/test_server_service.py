# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""server_service and server_info against real systemd, with units that anybody could have written."""

from __future__ import annotations

import json
import textwrap

import pytest

SERVE = "/usr/bin/python3 -m http.server {port} --bind 127.0.0.1"


class Unit:
    """One unit on a host, written by hand."""

    def __init__(self, hosts, name, user=None):
        self.hosts, self.name, self.user = hosts, name, user
        self.folder = "/etc/systemd/system" if user is None else "/home/operator/.config/systemd/user"
        self.systemctl = "systemctl" if user is None else "XDG_RUNTIME_DIR=/run/user/$(id -u) systemctl --user"

    def write(self, exec_start, extra="", reload=True):
        text = textwrap.dedent(f"""\
            [Service]
            Type=exec
            ExecStart={exec_start}
            {extra}
            """)
        reload_command = f" && {self.systemctl} daemon-reload" if reload else ""
        self.shell(
            f"mkdir -p {self.folder} && cat > {self.folder}/{self.name}.service <<'END'\n{text}END\ntrue{reload_command}"
        )

    def shell(self, command):
        done = self.hosts.ssh("host1", command, user=self.user or "root")
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def bring(self, state="converged", check=False, diff=False, **options):
        scope = "system" if self.user is None else "user"
        args = {"name": self.name, "state": state, "scope": scope, "stop_timeout": 20, "start_timeout": 10, **options}
        return self.hosts.run_module(
            "host1", "llmops.sglang.server_service", args, check=check, diff=diff, user=self.user
        )

    def info(self):
        scope = "system" if self.user is None else "user"
        return self.hosts.run_module(
            "host1", "llmops.sglang.server_info", {"name": self.name, "scope": scope}, user=self.user
        )


@pytest.fixture
def unit(hosts, request):
    made = Unit(hosts, "svc-" + request.node.name.replace("_", "-").replace("[", "-").replace("]", "")[:60])
    yield made
    hosts.ssh(
        "host1",
        f"systemctl kill -s KILL {made.name}; systemctl stop {made.name}; rm -f {made.folder}/{made.name}.service",
    )


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
    unit.shell("pkill -KILL -f 'sleep 987'")


def test_a_stop_that_does_not_end_in_time_is_told(unit):
    unit.write("/bin/sh -c 'trap \"\" TERM; while :; do sleep 1; done'", "TimeoutStopSec=600")
    unit.bring()
    result = unit.bring("stopped", stop_timeout=2)
    assert result["failure_class"] == "stop_failed"
    assert result["invocation_id"]


def test_a_command_that_is_not_there_is_told_as_such(unit):
    unit.write("/nonexistent/python -m sglang.launch_server")
    result = unit.bring()
    assert result["failed"]
    assert result["failure_class"] == "unit_invalid"
    assert "could not execute" in result["msg"]


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


def test_the_facts_name_another_command_line(unit):
    unit.write(SERVE.format(port=4114))
    unit.bring()
    unit.write(SERVE.format(port=4115), reload=False)
    info = unit.info()
    assert info["unit"]["matches_unit"] is False
    assert [c["subject"] for c in info["conflicts"]] == ["unit"]
    assert info["server"]["reachable"] is False
    assert info["journal"]["draft_runner"] is None


BY_HAND = """\
# Started by the night shift.
[Unit]
Description=our llm
After=network-online.target

[Service]
Type=simple
; the port is in the file
EnvironmentFile=-{folder}/{name}.env
EnvironmentFile=-/nonexistent
Environment="GREETING=a b" HF_TOKEN=hf_verysecret
Environment=PYTHONPATH={folder}/{name}.d
WorkingDirectory=/tmp
LimitNOFILE=4096
ExecStart=/usr/bin/python3 -m sglang.launch_server --model /m \\
  --po ${{PORT}} --api-key sk-verysecret \\
# compare with the trial of last week
  --json-model-override-args '{{"rope": {{"factor": 2.0}}, "name": "100%% $$HOME"}}' \\
  $MORE
"""
VARIABLES = "# c\nPORT='4130'\nMORE='--speculative-algorithm DFLASH --speculative-draft-model-path \"/d r\"'\n"
STAND_IN = "import http.server, sys\nhttp.server.ThreadingHTTPServer(('127.0.0.1', {port}), http.server.SimpleHTTPRequestHandler).serve_forever()\n"


def stand_in(unit, port):
    """A package sglang below the unit's folder whose server binds a port and understands every flag."""
    package = f"{unit.folder}/{unit.name}.d/sglang"
    unit.shell(
        f"mkdir -p {package} {package}-0.5.15.dist-info && touch {package}/__init__.py && echo a > {package}-0.5.15.dist-info/RECORD"
        f" && printf 'Metadata-Version: 2.1\\nName: sglang\\nVersion: 0.5.15\\n' > {package}-0.5.15.dist-info/METADATA"
        f" && cat > {package}/launch_server.py <<'END'\n{STAND_IN.format(port=port)}END\n"
    )


@pytest.fixture
def by_hand(hosts, request):
    made = Unit(hosts, f"adopt-{request.param}", request.param)
    yield made
    hosts.ssh(
        "host1", f"{made.systemctl} stop {made.name}; rm -r {made.folder}/{made.name}.*", user=request.param or "root"
    )


@pytest.mark.parametrize("by_hand", [None, "operator"], indirect=True)
def test_a_unit_written_by_hand_is_adopted_and_rendered_to_the_same_command_line(hosts, by_hand):
    unit = by_hand
    stand_in(unit, 4130)
    for path, text in ((".env", VARIABLES), (".service", BY_HAND.format(folder=unit.folder, name=unit.name))):
        unit.shell(f"cat > {unit.folder}/{unit.name}{path} <<'END'\n{text}END\n")
    unit.shell(f"{unit.systemctl} daemon-reload")
    unit.bring()
    info = unit.info()
    adoption = info["adoption"]
    assert "verysecret" not in str(info)
    assert adoption["secrets"] == ["api_key", "HF_TOKEN"]
    assert adoption["complete"], adoption["remarks"]
    options = adoption["options"]
    assert options["args"] == {
        "model_path": "/m",
        "port": 4130,
        "json_model_override_args": '{"rope": {"factor": 2.0}, "name": "100% $HOME"}',
    }
    assert options["speculative"] == {"algorithm": "DFLASH", "draft_model_path": "/d r"}
    assert options["environment"]["GREETING"] == "a b" and options["environment"]["PORT"] == "4130"
    assert (options["service"], options["working_directory"]) == ({"LimitNOFILE": "4096"}, "/tmp")
    assert info["unit"]["matches_unit"] is True, info["unit"]
    assert not unit.bring()["changed"]
    kept = f"{'/var/cache' if unit.user is None else '/home/operator/.cache'}/llmops-sglang/{unit.name}.service.json"
    assert json.loads(unit.shell(f"cat {kept}"))["invocation_id"] == info["unit"]["invocation_id"]
    written = hosts.run_module(
        "host1",
        "llmops.sglang.server_unit",
        {
            **options,
            "sglang_version": "0.5.15",
            "api_key": "sk-other",
            "dest_dir": f"/tmp/{unit.name}",
            "verify": False,
        },
        user=unit.user,
    )
    assert not written["failed"], written
    before = [word for word in info["unit"]["argv"] if word != "********"]
    after = [w for w in written["argv"] if w != "--config" and not w.startswith("${")]
    assert sorted(spelled_out(before)) == sorted(after)


def spelled_out(words):
    """What the person abbreviated, as server_unit writes it; the key goes another way."""
    full = {"/usr/bin/python3": "/usr/bin/python3", "--model": "--model-path", "--po": "--port"}
    return [full.get(word, word) for word in words if word != "--api-key"]


def test_a_unit_of_our_own_adopted_and_written_again_is_the_same_file(hosts, unit):
    """Byte for byte: with what its secrets are called, the options lead back to the unit that runs."""
    stand_in(unit, 4138)
    secrets = {"api_key": "sk-verysecret", "environment_secrets": {"HF_HOME_OF_OURS": "hf-verysecret"}}
    options = {
        "name": unit.name,
        "python": "/usr/bin/python3",
        "args": {"model_path": "/m %h", "port": 4138, "tp_size": 8, "json_model_override_args": {"a": {"b": "$X"}}},
        "speculative": {"algorithm": "NGRAM", "num_draft_tokens": 4},
        "environment": {"PYTHONPATH": f"{unit.folder}/{unit.name}.d", "GREETING": "a 'b' 50%"},
        "service": {"LimitNOFILE": 4096, "ExecStartPre": ["/bin/true", "/bin/true 2"]},
        "unit": {"Description": "ours"},
        "user": "operator",
        "working_directory": "/tmp",
    }
    written = hosts.run_module("host1", "llmops.sglang.server_unit", {**options, **secrets})
    assert written["changed"], written
    unit.bring()
    info = unit.info()
    assert "verysecret" not in str(info)
    adoption = info["adoption"]
    assert (adoption["secrets"], adoption["complete"]) == (["api_key", "HF_HOME_OF_OURS"], True), adoption["remarks"]
    again = hosts.run_module(
        "host1", "llmops.sglang.server_unit", {**adoption["options"], **secrets}, check=True, diff=True
    )
    assert not again["changed"], again["diff"]
    assert again["argv"] == written["argv"] and not again["restart_required"]


def test_a_server_behind_a_shell_is_not_restarted_again_and_again(unit):
    """'exec' in a wrapper leaves another command line than the unit's."""
    stand_in(unit, 4131)
    command = "/usr/bin/python3 -m sglang.launch_server --model-path /m --port 4131"
    unit.write(f"/bin/sh -c 'export PYTHONPATH={unit.folder}/{unit.name}.d; exec {command}'")
    assert unit.bring()["changed"]
    again = unit.bring()
    assert not again["changed"], again["reason"]
    info = unit.info()
    assert (info["unit"]["matches_unit"], info["adoption"]["wrapper"]["kind"]) == (True, "shell")
    assert info["adoption"]["options"]["args"] == {"model_path": "/m", "port": 4131}
    unit.write(f"/bin/sh -c 'export PYTHONPATH={unit.folder}/{unit.name}.d; exec {command} --tp 2'")
    assert unit.bring()["reason"] == "restarted: the command line differs: unit says --tp 2"
    for number, reason in ((1, "runs with --tp 2"), (2, "what the unit starts the server by changed")):
        unit.write(f"/usr/bin/nice -n {number} {command}", f"Environment=PYTHONPATH={unit.folder}/{unit.name}.d")
        assert unit.info()["unit"]["matches_unit"] is False
        assert reason in unit.bring()["reason"]
        assert unit.info()["unit"]["matches_unit"] is True
    assert not unit.bring()["changed"]


def test_what_the_server_read_at_its_start_decides_as_well(unit):
    """An upgrade, another model configuration, a file of variables, a credential: each once, and then no more."""
    stand_in(unit, 4132)
    place = f"{unit.folder}/{unit.name}.d"
    unit.shell(
        f"mkdir {place}/model && echo '{{}}' > {place}/model/config.json && echo k1 > {place}/key && echo A=1 > {place}/env"
    )
    unit.write(
        f"/usr/bin/python3 -m sglang.launch_server --model-path {place}/model --port 4132",
        f"Environment=PYTHONPATH={place}\nLoadCredential=key:{place}/key\nEnvironmentFile={place}/env",
    )
    unit.bring()
    assert not unit.bring()["changed"]
    before = unit.info()["evidence"]["inputs_sha256"]
    assert sorted(before) == ["model", "sglang"]
    for change, said in (
        (f"mv {place}/sglang-0.5.15.dist-info {place}/sglang-0.5.16.dist-info", "the installed SGLang changed"),
        (f"echo '{{\"a\": 1}}' > {place}/model/config.json", "the model's configuration changed"),
        (f"echo k2 > {place}/key", "the credential key changed"),
        (f"echo A=2 > {place}/env", "the environment variable A of an environment file differs"),
    ):
        unit.shell(change)
        after = unit.bring()
        assert said in after["reason"] and after["restarted"]
    assert unit.info()["unit"]["matches_unit"] is True
    unit.shell(f"echo k3 > {place}/key")
    assert unit.info()["unit"]["matches_unit"] is False
    assert "the credential key changed" in unit.bring(check=True)["reason"]
    unit.shell(f"echo k2 > {place}/key")
    unit.shell(f"touch {place}/model/config.json")
    assert not unit.bring()["changed"]
    assert unit.info()["evidence"]["inputs_sha256"]["model"] != before["model"]


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


def test_a_crash_loop_with_its_start_limit_hit_is_started_anew(unit):
    unit.write("/bin/false", "Restart=always\nRestartSec=0\n[Unit]\nStartLimitBurst=2\nStartLimitIntervalSec=600")
    unit.shell(f"systemctl start {unit.name}; until systemctl is-failed -q {unit.name}; do :; done")
    unit.write(SERVE.format(port=4136), "[Unit]\nStartLimitBurst=2\nStartLimitIntervalSec=600")
    result = unit.bring()
    assert result["changed"] and result["main_pid"]


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


def test_a_stop_by_a_kill_is_reported(unit):
    unit.write("/bin/sh -c 'trap \"\" TERM; while :; do sleep 1; done'", "TimeoutStopSec=1")
    unit.bring()
    result = unit.bring("stopped")
    assert (result["stopped_cleanly"], result["stopped_by"]) == (False, "signal SIGKILL")
