# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What server_unit refuses before it writes, and what a failing write leaves behind, under real systemd."""

from __future__ import annotations

import json
import re

import pytest
import recorded_unit
from fault_rows import fault

make = recorded_unit.make


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
        fault("change", f"The inventory asks for {options}")
        assert server.shell(f"ls {server.folder} | grep {server.name}", check=False) == ""


def test_what_this_host_would_let_fail_is_refused_before_anything_is_written(make):
    server = make()
    server.shell(
        "systemd-run -q --unit=holder python3 -m http.server 4188; install -d -m 700 /srv/units/secret-model;"
        "until ss -ltn | grep -q :4188; do sleep 0.1; done"
    )
    for cause, options, failure_class, parts in (
        (
            "The unit's user may not read the model",
            {"args": {"model_path": "/srv/units/secret-model"}, "user": "nobody"},
            "rule_violated",
            ["secret-model", "nobody"],
        ),
        (
            "The model is to come from a cache that lacks it",
            {"environment": {"HF_HUB_OFFLINE": "1"}},
            "rule_violated",
            ["org/model", "hub cache"],
        ),
        (
            "The unit would start a container's client",
            {"python": "/usr/bin/podman"},
            "unit_invalid",
            ["runs containers"],
        ),
    ):
        result = server.write(**options)
        assert result["failure_class"] == failure_class, result
        assert all(part in result["msg"] for part in parts), result["msg"]
        fault("change", cause)
        assert server.shell(f"ls {server.folder} | grep {server.name}", check=False) == ""
    taken = {"args": {"model_path": "org/model", "port": 4188}}
    warned = server.write(**taken, environment={"HF_HUB_OFFLINE": "1"}, preflight="warn")
    assert warned["changed"]
    assert all(any(part in warning for warning in warned["warnings"]) for part in ("holder.service", "hub cache"))
    server.shell("systemctl stop holder; chmod 755 /srv/units/secret-model")
    assert not server.write(args={"model_path": "/srv/units/secret-model"}, user="nobody")["failed"]


@pytest.mark.parametrize("options", [{}, {"style": "drop_in"}], ids=["unit", "drop_in"])
@pytest.mark.parametrize("user", [None, "operator"])
def test_a_server_of_systemd_run_is_not_taken_for_what_is_written(make, user, options):
    """Its unit goes before any file, and is gone once it is stopped."""
    server = make(user)
    scope = {"scope": "user"} if user else {}
    run = "XDG_RUNTIME_DIR=/run/user/$(id -u) systemd-run --user" if user else "systemd-run"
    server.shell(f"{run} --quiet --unit={server.name} /bin/sleep 9999")
    pid = server.shell(f"{server.systemctl} show -P MainPID {server.name}")
    for check in (True, False):
        refused = server.write(check=check, **options)
        assert refused["failure_class"] == "unit_invalid" and "is a transient one" in refused["msg"], refused
        fault("change", "The server was started by systemd-run, and its unit is to be written")
    asked = {"name": server.name, "state": "restarted", **scope}
    refused = server.hosts.run_module("host1", "llmops.sglang.server_service", asked, user=user)
    assert refused["failure_class"] == "unit_invalid" and "would be gone" in refused["msg"], refused
    fault("change", "The server was started by systemd-run, and is to be restarted")
    assert server.shell(f"{server.systemctl} show -P MainPID {server.name}") == pid
    assert server.shell(f"ls {server.folder} | grep {server.name}", check=False) == ""
    server.shell(f"{server.systemctl} stop {server.name}")
    if not options:
        assert server.write()["changed"] and server.start()


def test_a_file_that_goes_before_the_one_that_is_written_is_named(make):
    server = make()
    above = "/etc/systemd/system.control"
    server.shell(
        f"mkdir -p {above}; printf '[Service]\\nExecStart=/bin/true\\n' > {above}/{server.name}.service; systemctl daemon-reload"
    )
    try:
        refused = server.write()
        assert (
            refused["failure_class"] == "unit_invalid"
            and f"'{above}/{server.name}.service' goes before" in refused["msg"]
        )
        fault("change", "Another file of the unit's name goes before the one that is written")
        assert server.write(style="drop_in")["changed"]
    finally:
        server.shell(
            f"rm -rf {above}/{server.name}.service {server.folder}/{server.name}.service.d; systemctl daemon-reload"
        )


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
        fault("host", f"The disk is full when the unit is written (preflight: {preflight})")
    server.shell(f"rm {place}/filler; mount -o remount,ro {place}")
    for preflight in ("fail", "skip"):
        fixed = server.write(dest_dir=place, args={"model_path": "org/other"}, preflight=preflight)
        assert fixed["failure_class"] == "write_failed", fixed
        assert "ead-only" in fixed["msg"]
        fault("host", f"The file system is read-only when the unit is written (preflight: {preflight})")
    assert server.shell(f"cat {first['path']}; ls -A {place}") == f"{before}{server.name}.service\n"
    server.shell(f"umount {place}")


def test_a_masked_unit_is_told(make):
    server = make()
    server.shell(f"systemctl mask {server.name}")
    result = server.write()
    server.shell(f"systemctl unmask {server.name}")
    assert result["failure_class"] == "unit_invalid"
    assert "systemctl unmask" in result["msg"]
    fault("change", "The unit is masked")


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
    fault("change", "The installed fork lacks a flag that SGLang has")
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
