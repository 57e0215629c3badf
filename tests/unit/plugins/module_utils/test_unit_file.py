# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of units and drop-ins, and of the files of their secrets."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._unit_file import UnitPlan, fingerprint_of, render
from ansible_collections.llmops.sglang.plugins.module_utils._unit_secrets import identity_of, secret_files
from ansible_collections.llmops.sglang.plugins.module_utils._unit_syntax import exec_start_of, parse_unit, setting
from ansible_collections.llmops.sglang.plugins.module_utils._unit_verify import complaints, verify

WORDS = ["/opt/x/bin/python", "-m", "sglang.launch_server", "--model-path", "/m", "--tp-size", "8"]
PLAN = UnitPlan("a.service", WORDS)


def plan(**changes):
    return dataclasses.replace(PLAN, **changes)


def values(text, key, section="Service"):
    return setting(parse_unit(text), section, key)


def test_the_defaults_fit_this_server():
    text = render(PLAN)
    assert exec_start_of(text) == WORDS
    for key, value in {
        "Type": "exec", "KillMode": "mixed", "KillSignal": "SIGINT", "TimeoutStopSec": "600", "Restart": "on-failure",
        "RestartPreventExitStatus": "2", "LimitMEMLOCK": "infinity", "LogRateLimitIntervalSec": "1us", "LogRateLimitBurst": "1000000",
    }.items():  # fmt: skip
        assert values(text, key) == [value]
    assert values(text, "WantedBy", "Install") == ["multi-user.target"]
    assert "PYTHONUNBUFFERED=1" in values(text, "Environment")


def test_equal_input_gives_equal_bytes():
    one = plan(environment={"B": "2", "A": "1"}, overrides={"Service": {"Nice": 5, "LimitCORE": 0}})
    two = plan(environment={"A": "1", "B": "2"}, overrides={"Service": {"LimitCORE": 0, "Nice": 5}})
    assert render(one) == render(two)


def test_no_user_controller_or_day_shows_in_the_bytes(tmp_path):
    """Sets in another order, another locale, zone, home, user and mask of modes."""
    program = (
        "from ansible_collections.llmops.sglang.plugins.module_utils._unit_file import UnitPlan, render\n"
        "print(render(UnitPlan('a.service', ['/py', '--x', 'ä'], environment={'HTTPS_PROXY': 'p', 'B': '2'},"
        " overrides={'Service': {'Nice': 5}, 'Unit': {'After': ['a', 'b']}})), end='')"
    )
    path = os.pathsep.join(p for p in sys.path if p)
    texts = set()
    for seed, zone, locale in (("1", "UTC", "C"), ("2", "Asia/Tokyo", "C.UTF-8")):
        environ = {
            "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": locale, "HOME": f"/{seed}", "USER": seed, "PYTHONPATH": path, "PYTHONUTF8": "1",
        }  # fmt: skip
        texts.add(subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, check=True).stdout)
    assert len(texts) == 1 and b"ExecStart=/py" in texts.pop()


def test_the_fingerprint_follows_what_a_process_inherits():
    text = render(PLAN)
    assert fingerprint_of(text)
    same = render(plan(overrides={"Service": {"TimeoutStopSec": 5, "Restart": "no"}, "Unit": {"Description": "other"}}))
    assert fingerprint_of(same) == fingerprint_of(text)
    for changes in (
        {"words": [*WORDS, "--port", "1"]},
        {"environment": {"A": "1"}},
        {"user": "x"},
        {"overrides": {"Service": {"Nice": 1}}},
    ):
        assert fingerprint_of(render(plan(**changes))) != fingerprint_of(text)


def test_overrides_replace_repeat_and_remove():
    service = {
        "Restart": "always",
        "LogRateLimitIntervalSec": None,
        "ExecStartPre": ["/bin/a", "/bin/b"],
        "PrivateTmp": True,
    }
    text = render(
        plan(environment_file="/s/environment", overrides={"Service": {**service, "EnvironmentFile": "-/etc/mine"}})
    )
    assert values(text, "Restart") == ["always"]
    assert values(text, "LogRateLimitIntervalSec") == []
    assert values(text, "ExecStartPre") == ["/bin/a", "/bin/b"]
    assert values(text, "PrivateTmp") == ["yes"]
    assert values(text, "EnvironmentFile") == ["/s/environment", "-/etc/mine"]


@pytest.mark.parametrize(
    "service",
    [
        {"ExecStart": "/x"},
        {"Environment": "A=1"},
        {"User": "x"},
        {"A b": "1"},
        {"Nice": "1\n2"},
        {"Nice": "1\\"},
        {"Nice": {"a": 1}},
    ],
)
def test_settings_that_would_break_the_unit_are_refused(service):
    with pytest.raises(Failure) as caught:
        render(plan(overrides={"Service": service}))
    assert caught.value.failure_class == "unit_invalid"


@pytest.mark.parametrize("python", ["python", "/a b/python", "/a$b/python", '/a"b'])
def test_interpreters_that_systemd_cannot_run_are_refused(python):
    with pytest.raises(Failure):
        render(plan(words=[python, *WORDS[1:]]))


def test_a_proxy_leaves_loopback_alone():
    text = render(plan(environment={"https_proxy": "http://p", "NO_PROXY": "a.b"}))
    assert "NO_PROXY=a.b,127.0.0.1,localhost,::1" in values(text, "Environment")
    assert "no_proxy=a.b,127.0.0.1,localhost,::1" in values(text, "Environment")
    assert "PROXY" not in render(PLAN)


def test_a_drop_in_overrides_the_command_and_leaves_the_rest_to_the_owner():
    text = render(plan(style="drop_in", environment={"A": "1"}, overrides={"Install": {"Alias": "x"}}))
    assert "ExecStart=\nExecStart=/opt" in text
    assert exec_start_of(text) == WORDS
    assert {key for dummy, key, dummy2 in parse_unit(text)} == {"Environment", "ExecStart"}


def test_a_user_unit():
    text = render(plan(scope="user"))
    assert values(text, "WantedBy", "Install") == ["default.target"]
    assert "network-online" not in text


def test_an_old_systemd():
    text = render(plan(systemd=239))
    assert values(text, "Type") == ["simple"]
    assert values(text, "LogRateLimitIntervalSec") == []


def test_the_key_comes_by_a_credential():
    text = render(
        plan(raw_words=["--config", "${CREDENTIALS_DIRECTORY}/config.yaml"], credential="config.yaml:/s/config.yaml")
    )
    assert re.search(r"^    --config \$\{CREDENTIALS_DIRECTORY\}/config\.yaml$", text, flags=re.MULTILINE)
    assert values(text, "LoadCredential") == ["config.yaml:/s/config.yaml"]


def test_secret_files():
    files = secret_files({"api_key": 'sk-"x\\', "admin_api_key": None}, {"HF_TOKEN": "a$b", "A": "1"})
    assert files.config == 'api-key: "sk-\\"x\\\\"\n'
    assert files.environment == 'A="1"\nHF_TOKEN="a\\$b"\n'
    text = files.environment_text("abc")
    assert text.startswith("LLMOPS_SGLANG_SECRETS=abc\n")
    assert identity_of(text) == "abc"
    assert not secret_files({"api_key": None}, {})
    assert secret_files({"api_key": "k"}, {}).environment_text("i") == "LLMOPS_SGLANG_SECRETS=i\n"


@pytest.mark.parametrize(
    ("keys", "environment"),
    [
        ({"api_key": "very\nsecret"}, {}),
        ({"api_key": ""}, {}),
        ({"api_key": "-secret"}, {}),
        ({"api_key": "secret\x7f"}, {}),
        ({}, {"A": "se\ncret"}),
        ({}, {"A": "secret\x1b"}),
        ({}, {"A-B": "secret"}),
    ],
)
def test_secrets_that_the_files_cannot_carry(keys, environment):
    with pytest.raises(Failure) as caught:
        secret_files(keys, environment)
    assert caught.value.failure_class == "unit_invalid"
    assert "cret" not in caught.value.msg.replace("secret", "", 1).replace("secrets may", "")


def test_complaints_about_others_are_left_out():
    output = """\
/tmp/v/a.service:2: Unknown key name 'MemoyMax' in section 'Service', ignoring.
/lib/systemd/system/other.service:3: Unknown key name 'X' in section 'Unit', ignoring.
a.service: Command /nowhere is not executable: No such file or directory
a.service: Command /elsewhere is not executable: No such file or directory
/tmp/v/a.service:3: Special user nobody configured, this is not safe!
other.service: Failed
"""
    text = "[Service]\nMemoyMax=8G\nUser=nobody\nX=/nowhere/x\nExecStart=-/nowhere --x\n"
    found = complaints(output, "a.service", "/tmp/v/a.service", "/etc/systemd/system/a.service", text)
    assert [complaint.text for complaint in found] == [
        "/etc/systemd/system/a.service:2: Unknown key name 'MemoyMax' in section 'Service', ignoring. (in 'MemoyMax=8G')",
        "/etc/systemd/system/a.service:5: Command /nowhere is not executable: No such file or directory (in 'ExecStart=-/nowhere --x')",
        "a.service: Command /elsewhere is not executable: No such file or directory",
        "/etc/systemd/system/a.service:3: Special user nobody configured, this is not safe! (in 'User=nobody')",
    ]
    assert [complaint.error for complaint in found] == [True, True, True, False]


def test_a_systemd_without_an_option_verifies_all_the_same(tmp_path):
    asked = []

    def old(words, **dummy):
        asked.append(words)
        if "--man=no" in words:
            return 1, "", "systemd-analyze: unrecognized option '--man=no'\n"
        return 0, "", "[x/a.service:2] Unknown lvalue\na.service: Unknown key name 'MemoyMax', ignoring.\n"

    found = verify(old, "a.service", "a.service", "[Service]\nMemoyMax=8G\n", "system", "/etc/a.service", str(tmp_path))
    assert [complaint.error for complaint in found] == [True]
    assert len(asked) == 2 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", ["x\rExecStartPre=/bin/evil", "x\nUser=root", "x\\", "\ud800", "x\0"], ids=range(5))
@pytest.mark.parametrize("option", ["user", "group", "working_directory", "overrides"])
def test_no_option_becomes_another_setting(option, value):
    given = {"Service": {"Description": value}} if option == "overrides" else value
    with pytest.raises(Failure) as caught:
        render(UnitPlan("a.service", ["/bin/python"], **{option: given}))
    assert caught.value.failure_class == "unit_invalid"
