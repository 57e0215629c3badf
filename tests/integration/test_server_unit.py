# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""server_unit under real systemd: what reaches the process, what shows where, and what is left alone."""

from __future__ import annotations

import json
import random
import string
import textwrap

import pytest
import recorded_unit
import yaml
from recorded_unit import Server

make = recorded_unit.make

KEY, TOKEN = "sk-integration-api-key", "hf-integration-token"
ADMIN = 'odd"key\\with$%h {x}: #'

NASTY = [
    '{"a":1}', '{"a": "b c"}', "50%", "%h", "%%", "$HOME", "${X}", "$$", 'a"b', "it's", "back\\slash", "trailing ", " leading", ";", "a;b",
    "{% if %}", "{{ x }}", "", "žluťoučký 机器", "\\", "\\n", "#x", "\t", "@x", "!", "~", "a\x7fb", "\x01", "'", '"', '\\"', "*", "\\x41",
]  # fmt: skip


def test_a_fresh_host_in_check_mode(make):
    server = make()
    result = server.write(check=True, api_key=KEY)
    assert result["changed"]
    assert not result["failed"]
    assert "ExecStart=" in result["diff"][0]["after"]
    assert server.shell(f"ls {server.folder} | grep {server.name}", check=False) == ""


@pytest.mark.parametrize("user", [None, "operator"])
def test_it_writes_once_and_systemd_knows_it(make, user):
    server = make(user)
    first, second = server.write(), server.write()
    assert (first["changed"], second["changed"]) == (True, False)
    shown = server.shell(
        f"{server.systemctl} show -p NeedDaemonReload,LoadState,KillMode,KillSignal,FragmentPath {server.name}"
    ).splitlines()
    # How it stops is what was measured to let running requests end: SIGINT (2) to the main process alone.
    assert sorted(shown) == sorted(
        ["LoadState=loaded", "NeedDaemonReload=no", "KillMode=mixed", "KillSignal=2", f"FragmentPath={first['path']}"]
    )
    assert not second["restart_required"]
    over = {"style": "drop_in", "args": {"model_path": "org/other"}}
    dropped, same = server.write(**over), server.write(**over)
    assert (dropped["changed"], same["changed"]) == (True, False)
    assert server.shell(f"{server.systemctl} show -P DropInPaths {server.name}").strip() == dropped["path"]
    assert server.start()["argv"][-1] == "org/other"


def test_another_user_or_order_changes_nothing(make):
    server = make()
    server.write(environment={"B": "2", "A": "1"}, args={"port": 1, "model_path": "org/model"})
    before = server.unit()
    again = server.write(args={"model_path": "org/model", "port": 1}, environment={"A": "1", "B": "2"})
    assert not again["changed"]
    assert server.unit() == before


@pytest.mark.parametrize("user", [None, "operator"])
def test_every_word_reaches_the_process(make, tmp_path, user):
    server = make(user)
    rng = random.Random(5)
    alphabet = string.printable.replace("\n", "") + "\\\\\"\"''%%$$;;{}  éß漢"
    words = NASTY + ["".join(rng.choices(alphabet, k=rng.randrange(12))) for dummy in range(300)]
    words = [w for w in words if not w.startswith("-")]
    odd = {
        f"ODD_{i}": w
        for i, w in enumerate(w for w in words[:400] if not any(ord(c) < 32 and c != "\t" or ord(c) == 127 for c in w))
    }
    options = server.options(
        environment=odd, args={"model_path": "org/model", "payload": words}, flag_names={"payload": "--payload"}
    )
    play = [{"hosts": "host1", "gather_facts": False, "tasks": [{"llmops.sglang.server_unit": Unsafe(options)}]}]
    playbook = tmp_path / "play.yml"
    playbook.write_text(yaml.dump(play, Dumper=Dumper, allow_unicode=True))
    done = server.hosts.playbook(playbook, {"ansible_user": user} if user else {})
    assert done.returncode == 0, done.stdout
    record = server.start()
    assert record["argv"] == ["-m", "sglang.launch_server", "--model-path", "org/model", "--payload", *words]
    assert {k: v for k, v in record["environ"].items() if k.startswith("ODD_")} == odd


class Unsafe(dict):
    """A mapping that Ansible must not template."""


class Dumper(yaml.SafeDumper):
    pass


Dumper.add_representer(Unsafe, lambda dumper, data: dumper.represent_mapping("!unsafe", data.items()))


@pytest.mark.parametrize("user", [None, "operator"])
def test_secrets_arrive_and_show_nowhere(make, user):
    server = make(user)
    result = server.write(api_key=KEY, environment_secrets={"HF_TOKEN": TOKEN, "ODD": ADMIN})
    record = server.start()
    assert record["config"] == f'api-key: "{KEY}"\n'
    assert (record["environ"]["HF_TOKEN"], record["environ"]["ODD"]) == (TOKEN, ADMIN)
    pid = server.shell(f"{server.systemctl} show -P MainPID {server.name}").strip()
    public = [
        json.dumps(result),
        server.unit(),
        server.hosts.ssh("host1", "journalctl --sync; journalctl -b -o json --all --no-pager").stdout,
        server.shell(f"{server.systemctl} show {server.name}"),
        server.shell(f"tr '\\0' ' ' < /proc/{pid}/cmdline"),
        server.shell(f"stat -c %a {server.folder}/{server.name}.service.secrets"),
    ]
    assert "server_unit" in public[2]
    for secret in (KEY, TOKEN, ADMIN):
        assert not any(secret in text or json.dumps(secret)[1:-1] in text for text in public)
    assert public[-1].strip() == "700"
    secrets = {"api_key": KEY, "environment_secrets": {"HF_TOKEN": TOKEN, "ODD": ADMIN}}
    again = server.write(**secrets)
    assert (again["changed"], again["restart_required"]) == (False, False)
    loud = server.hosts.say("host1", "llmops.sglang.server_unit", server.options(**secrets), user=user)
    assert '"module_args"' in loud and server.python in loud
    assert not any(secret in loud or json.dumps(secret)[1:-1] in loud for secret in (KEY, TOKEN, ADMIN))


def test_a_server_of_another_user_reads_its_key(make):
    server = make()
    assert server.write(api_key=KEY, user="nobody", admin_api_key=ADMIN)["changed"]
    record = server.start()
    assert record["euid"] != 0
    assert yaml.safe_load(record["config"]) == {"api-key": KEY, "admin-api-key": ADMIN}


def test_a_restart_is_required_exactly_when_the_process_would_differ(make):
    server = make()
    server.write(api_key=KEY)
    server.start()
    timeout = server.write(api_key=KEY, service={"TimeoutStopSec": 30})
    assert (timeout["changed"], timeout["restart_required"]) == (True, False)
    for options in ({"api_key": "another-key"}, {"api_key": KEY, "args": {"model_path": "org/model", "port": 31000}}):
        forecast = server.write(check=True, service={"TimeoutStopSec": 30}, **options)
        done = server.write(service={"TimeoutStopSec": 30}, **options)
        assert (forecast["restart_required"], done["restart_required"]) == (True, True)
        repeated = server.write(service={"TimeoutStopSec": 30}, **options)
        assert (repeated["changed"], repeated["restart_required"]) == (False, True)
    server.start()
    assert not server.write(service={"TimeoutStopSec": 30}, **options)["restart_required"]


def test_a_copy_that_systemd_has_not_read_is_read(make):
    server = make()
    server.write()
    server.start()
    for meddle in ("touch -d '+1 hour'", "chmod 600"):
        server.shell(f"{meddle} {server.folder}/{server.name}.service")
        assert server.write()["changed"]
        again = server.write()
        assert (again["changed"], again["restart_required"]) == (False, False)


def test_a_drop_in_over_the_unit_of_somebody_else(make):
    server = make()
    missing, forecast = server.write(style="drop_in"), server.write(style="drop_in", check=True)
    assert missing["failure_class"] == "no_such_unit"
    # What makes the unit may be an earlier task, which only forecasts, too.
    assert (forecast["changed"], forecast["failed"]) == (True, False) and "no unit" in str(forecast["warnings"])
    owner = textwrap.dedent(f"""\
        [Service]
        Environment=RECORD={server.record} OWNER=1
        ExecStart={server.python} -m sglang.launch_server --model-path org/old --port 1
        """)
    server.shell(f"cat > {server.folder}/{server.name}.service <<'END'\n{owner}END\nsystemctl daemon-reload")
    result = server.write(style="drop_in", api_key=KEY)
    assert result["flag_changes"]["changed"] == {"model_path": {"before": "org/old", "after": "org/model"}}
    assert result["flag_changes"]["removed"] == {"port": 1}
    # Those of others that systemd reads before it, what "systemctl edit" makes among them.
    server.shell(
        f"cd {server.folder}/{server.name}.service.d; printf '[Service]\\nExecStart=\\nExecStart=/bin/false\\n' > 99-other.conf;"
        "cp 99-other.conf override.conf; systemctl daemon-reload"
    )
    record = server.start()
    assert record["argv"][:4] == ["-m", "sglang.launch_server", "--model-path", "org/model"]
    assert record["environ"]["OWNER"] == "1"
    assert KEY in record["config"]
    assert not server.write(style="drop_in", api_key=KEY)["changed"]
    removed = server.hosts.run_module(
        "host1", "llmops.sglang.server_unit", {"name": server.name, "style": "drop_in", "state": "absent"}
    )
    assert removed["changed"]
    assert server.unit() == owner
    assert server.shell(f"ls {server.folder}/{server.name}.service.d").split() == ["99-other.conf", "override.conf"]
    server.shell(f"rm -r {server.folder}/{server.name}.service.d; systemctl daemon-reload")
    assert server.start()["argv"][-1] == "1"
    server.shell(
        f"mkdir -p /usr/local/lib/systemd/system; mv {server.folder}/{server.name}.service /usr/local/lib/systemd/system;"
        f"systemctl daemon-reload; systemctl mask --runtime {server.name}"
    )
    masked = server.write(style="drop_in")
    server.shell(f"systemctl unmask --runtime {server.name}; rm /usr/local/lib/systemd/system/{server.name}.service")
    assert masked["failure_class"] == "unit_invalid" and "is masked" in masked["msg"]


def test_absent_leaves_nothing(make):
    server = make()
    server.write(api_key=KEY)
    # What server_service keeps of a unit is of no use without it.
    kept = f"/var/cache/llmops-sglang/{server.name}.service.json"
    server.shell(f"systemctl enable {server.name}; mkdir -p /var/cache/llmops-sglang; touch {kept}")
    for changed in (True, False):
        result = server.hosts.run_module("host1", "llmops.sglang.server_unit", {"name": server.name, "state": "absent"})
        assert result["changed"] is changed
    assert server.shell(f"find /etc/systemd/system /var/cache/llmops-sglang -name '{server.name}*'") == ""
    assert "not-found" in server.shell(f"systemctl show -p LoadState {server.name}")


def test_a_flood_of_lines_arrives_whole(hosts):
    """What journald drops could be the line that proves the draft window."""
    server = Server(hosts, "flood")
    talker = "/srv/units/talker"
    lines = 40000
    server.shell(f"printf '#!/bin/sh\\nseq {lines}\\nexec sleep 600\\n' > {talker} && chmod 755 {talker}")
    result = server.write(python=talker)
    assert not result["failed"], result
    server.shell("systemctl restart flood")
    said = "journalctl _SYSTEMD_INVOCATION_ID=$(systemctl show -P InvocationID flood) -o cat --no-pager"
    server.shell(f"for i in $(seq 1000); do journalctl --sync; {said} | grep -qx {lines} && break; sleep 0.1; done")
    assert int(server.shell(f"{said} | grep -cE '^[0-9]+$'")) == lines
    server.shell("systemctl stop flood")
