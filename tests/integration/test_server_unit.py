# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""server_unit under real systemd: what reaches the process, what shows where, and what is left alone."""

from __future__ import annotations

import json
import random
import re
import string
import textwrap

import pytest
import yaml

KEY, TOKEN = "sk-integration-api-key", "hf-integration-token"
ADMIN = 'odd"key\\with$%h {x}: #'

# Stands in for the interpreter: it writes down what it was started with.
RECORDER = """\
#!/usr/bin/python3
import json, os, sys, time
words = open("/proc/self/cmdline", "rb").read().rstrip(b"\\0").split(b"\\0")
record = {"argv": sys.argv[1:], "environ": dict(os.environ), "euid": os.geteuid()}
if "--config" in sys.argv:
    record["config"] = open(sys.argv[sys.argv.index("--config") + 1]).read()
path = os.environ["RECORD"]
json.dump(record, open(path + ".new", "w"))
os.rename(path + ".new", path)
while True:
    time.sleep(60)
"""

NASTY = [
    '{"a":1}', '{"a": "b c"}', "50%", "%h", "%%", "$HOME", "${X}", "$$", 'a"b', "it's", "back\\slash", "trailing ", " leading", ";", "a;b",
    "{% if %}", "{{ x }}", "", "žluťoučký 机器", "\\", "\\n", "#x", "\t", "@x", "!", "~", "a\x7fb", "\x01", "'", '"', '\\"', "*", "\\x41",
]  # fmt: skip


class Server:
    """One unit made by the module on host1."""

    def __init__(self, hosts, name, user=None):
        self.hosts, self.name, self.user = hosts, name, user
        home = "/srv/units" if user is None else "/home/operator/units"
        self.python, self.record = f"{home}/recorder", f"{home}/{name}.json"
        self.folder = "/etc/systemd/system" if user is None else "/home/operator/.config/systemd/user"
        self.systemctl = "systemctl" if user is None else "XDG_RUNTIME_DIR=/run/user/$(id -u) systemctl --user"
        self.shell(
            f"mkdir -p {home} && cat > {self.python} <<'END'\n{RECORDER}END\nchmod 755 {self.python}; chmod 1777 {home}"
        )

    def shell(self, command, check=True):
        done = self.hosts.ssh("host1", command, user=self.user or "root")
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout

    def options(self, **options):
        environment = {"RECORD": self.record, **options.pop("environment", {})}
        base = {
            "name": self.name,
            "scope": "system" if self.user is None else "user",
            "python": self.python,
            "sglang_version": "0.5.15",
            "args": {"model_path": "org/model"},
        }
        return {**base, "environment": environment, **options}

    def write(self, check=False, **options):
        return self.hosts.run_module(
            "host1", "llmops.sglang.server_unit", self.options(**options), check=check, diff=True, user=self.user
        )

    def start(self):
        """Start it anew and read what it was started with."""
        wait = f"for i in $(seq 100); do test -s {self.record} && break; sleep 0.1; done"
        self.shell(f"rm -f {self.record}; {self.systemctl} restart {self.name}; {wait}")
        text = self.shell(f"cat {self.record}", check=False)
        assert text, self.shell(f"{self.systemctl} status --full --lines=30 {self.name}", check=False)
        return json.loads(text)

    def unit(self):
        return self.shell(f"cat {self.folder}/{self.name}.service")


@pytest.fixture
def make(hosts, request):
    made = []

    def new(user=None):
        name = "unit-" + request.node.name.replace("_", "-").replace("[", "-").replace("]", "")[:60]
        made.append(Server(hosts, name, user))
        return made[-1]

    yield new
    for server in made:
        server.shell(
            f"{server.systemctl} kill -s KILL {server.name}; {server.systemctl} stop {server.name};"
            f"rm -rf {server.folder}/{server.name}.service*; {server.systemctl} daemon-reload",
            check=False,
        )


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


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"service": {"MemoyMax": "8G"}}, ["MemoyMax"]),
        ({"service": {"MemoryMax": "abc"}}, ["MemoryMax", "abc"]),
        ({"service": {"ExecStartPre": "/nowhere/tool"}}, ["/nowhere/tool"]),
        ({"unit": {"Restart": "always"}}, ["Restart"]),
        ({"user": "no-such-user"}, ["no-such-user"]),
    ],
)
def test_what_systemd_would_not_take_is_refused(make, options, parts):
    server = make()
    # Check mode refuses it as well: only one of the cases pays for both.
    for check in (True, False) if "MemoyMax" in parts else (False,):
        result = server.write(check=check, **options)
        assert result["failure_class"] == "unit_invalid"
        assert all(part in result["msg"] for part in parts), result["msg"]
        line = re.search(rf"{server.name}\.service:(\d+): .*\(in '(\w+)=", result["msg"])
        assert "user" in options or (line and line[2] in str(options)), result["msg"]
        assert server.shell(f"ls {server.folder} | grep {server.name}", check=False) == ""


def test_what_this_host_would_let_fail_is_refused_before_anything_is_written(make):
    server = make()
    server.shell(
        "systemd-run -q --unit=holder python3 -m http.server 4188; install -d -m 700 /srv/units/secret-model;"
        "for i in $(seq 100); do ss -ltn | grep -q :4188 && break; sleep 0.1; done"
    )
    for options, failure_class, parts in (
        (
            {"args": {"model_path": "/srv/units/secret-model"}, "user": "nobody"},
            "rule_violated",
            ["secret-model", "nobody"],
        ),
        ({"environment": {"HF_HUB_OFFLINE": "1"}}, "rule_violated", ["org/model", "hub cache"]),
        ({"python": "/usr/bin/podman"}, "unit_invalid", ["runs containers"]),
    ):
        result = server.write(**options)
        assert result["failure_class"] == failure_class, result
        assert all(part in result["msg"] for part in parts), result["msg"]
        assert server.shell(f"ls {server.folder} | grep {server.name}", check=False) == ""
    taken = {"args": {"model_path": "org/model", "port": 4188}}
    warned = server.write(**taken, environment={"HF_HUB_OFFLINE": "1"}, preflight="warn")
    assert warned["changed"]
    assert all(any(part in warning for warning in warned["warnings"]) for part in ("holder.service", "hub cache"))
    server.shell("systemctl stop holder; chmod 755 /srv/units/secret-model")
    assert not server.write(args={"model_path": "/srv/units/secret-model"}, user="nobody")["failed"]


def test_a_full_disk_and_a_read_only_directory_leave_the_old_unit(make):
    server = make()
    place = f"/srv/units/{server.name}.dest"
    server.shell(f"mkdir -p {place} && mount -t tmpfs -o size=128k none {place}")
    first = server.write(dest_dir=place)
    before = server.shell(f"cat {first['path']}")
    server.shell(f"head -c 1M /dev/zero > {place}/filler || true")
    for preflight in ("fail", "skip"):
        full = server.write(dest_dir=place, args={"model_path": "org/other"}, preflight=preflight)
        assert full["failure_class"] == "write_failed", full
        assert "make room" in full["msg"]
    server.shell(f"rm {place}/filler; mount -o remount,ro {place}")
    for preflight in ("fail", "skip"):
        fixed = server.write(dest_dir=place, args={"model_path": "org/other"}, preflight=preflight)
        assert fixed["failure_class"] == "write_failed", fixed
        assert "ead-only" in fixed["msg"]
    assert server.shell(f"cat {first['path']}; ls -A {place}") == f"{before}{server.name}.service\n"
    server.shell(f"umount {place}")


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


def test_a_masked_unit_is_told(make):
    server = make()
    server.shell(f"systemctl mask {server.name}")
    result = server.write()
    server.shell(f"systemctl unmask {server.name}")
    assert result["failure_class"] == "unit_invalid"
    assert "systemctl unmask" in result["msg"]


def test_the_installed_server_is_asked(make):
    """A fork with a version and a flag of its own, as far as its metadata and its help text go."""
    server = make()
    server.shell(
        f"mkdir -p /srv/fork/{server.name}/sglang /srv/fork/{server.name}/sglang-0.5.12+ddtree.dist-info; cd /srv/fork/{server.name};"
        "printf 'Metadata-Version: 2.1\\nName: sglang\\nVersion: 0.5.12+ddtree\\n' > sglang-0.5.12+ddtree.dist-info/METADATA;"
        "echo 'raise SystemExit(\"imported\")' > sglang/__init__.py.off; touch sglang/__init__.py;"
        'printf \'import argparse\\np = argparse.ArgumentParser()\\nfor f in ("model-path", "speculative-algorithm", "speculative-ddtree-budget"):'
        '\\n    p.add_argument("--" + f, help="EAGLE, DDTREE")\\np.parse_args()\\n\' > sglang/launch_server.py'
    )
    options = {
        "python": "/usr/bin/python3",
        "sglang_version": "auto",
        "environment": {"PYTHONPATH": f"/srv/fork/{server.name}"},
        "speculative": {"algorithm": "DDTREE", "tree_budget": 8},
    }
    result = server.write(**options)
    assert result["sglang_version"] == "0.5.12+ddtree"
    assert result["argv"][-4:] == ["--speculative-algorithm", "DDTREE", "--speculative-ddtree-budget", "8"]
    # The second look does not run it: what it says now, with files as old as before, is not noticed.
    server.shell(
        f"cd /srv/fork/{server.name}/sglang; touch -r launch_server.py old;"
        "echo 'raise SystemExit(9)' > launch_server.py; touch -r old launch_server.py"
    )
    assert not server.write(**options)["changed"]
    before = server.unit()
    refused = server.write(**{**options, "speculative": {"algorithm": "DDTREE", "draft_window_size": 8}})
    assert refused["failure_class"] == "unknown_flag"
    assert server.unit() == before


def test_a_drafter_of_the_hub_is_looked_for_where_the_unit_s_user_has_its_cache(make):
    """Below the home of that user, or where the server's environment says; never on a network."""
    server = make()
    options = {
        "user": "operator",
        "args": {"model_path": "org/model", "max_running_requests": 4},
        "speculative": {"algorithm": "DFLASH", "draft_model_path": "org/draft", "draft_window_size": "trained"},
    }
    refused = server.write(**options)
    assert refused["failure_class"] == "rule_violated" and "local hub cache" in refused["msg"]
    for place, window, environment in (
        ("~operator/.cache/huggingface", 2048, {}),
        ("/srv/hf-home", 512, {"HF_HOME": "/srv/hf-home"}),
    ):
        model = f"{place}/hub/models--org--draft"
        config = json.dumps({"layer_types": ["sliding_attention", "full_attention"], "sliding_window": window})
        server.shell(
            f"mkdir -p {model}/refs {model}/snapshots/c1; echo c1 > {model}/refs/main; echo '{config}' > {model}/snapshots/c1/config.json;"
            "chown -R operator: ~operator"
        )
        written = server.write(**options, environment=environment)
        server.shell(f"rm -r {model}")
        assert written["speculative"]["draft_window_size"] == window, written


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
    server.shell(f"for i in $(seq 300); do journalctl --sync; {said} | grep -qx {lines} && break; sleep 0.1; done")
    assert int(server.shell(f"{said} | grep -cE '^[0-9]+$'")) == lines
    server.shell("systemctl stop flood")
