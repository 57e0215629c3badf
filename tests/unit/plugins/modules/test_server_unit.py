# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module server_unit, writing below a directory of the test's own."""

from __future__ import annotations

import json
import os
import pathlib
import stat
import sys

import pytest
import yaml

KEY, TOKEN = "sk-the-api-key", "hf-the-token"


@pytest.fixture
def run(run_server_unit):
    return run_server_unit


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_it_writes_once(run, tmp_path):
    first, second = run(), run()
    assert (first["changed"], second["changed"]) == (True, False)
    assert first["path"] == str(tmp_path / "llm.service")
    assert mode(first["path"]) == 0o644
    assert first["argv"] == [
        sys.executable,
        "-m",
        "sglang.launch_server",
        "--model-path",
        "org/model",
        "--tp-size",
        "8",
    ]
    assert first["exec_start"] == " ".join(first["argv"])
    assert first["sglang_version"] == "0.5.15"
    assert first["restart_required"] is False
    assert first["flag_changes"]["added"] == {"model_path": "org/model", "tp_size": 8}
    assert second["flag_changes"] == {"added": {}, "removed": {}, "changed": {}}


def test_check_mode_says_the_same_and_writes_nothing(run, tmp_path):
    forecast = run(check=True, api_key=KEY)
    assert [p.name for p in tmp_path.iterdir() if p.name != "tmp"] == []
    done = run(api_key=KEY)
    for key in ("changed", "path", "argv", "exec_start", "flag_changes", "diff"):
        assert forecast[key] == done[key]


def test_changes_by_meaning(run):
    run(args={"model_path": "org/model", "tp_size": 8, "port": 1}, extra_args=["--trust-remote-code"])
    changed = run(args={"model_path": "org/model", "tp_size": 4, "trust_remote_code": True, "host": "::"})
    assert changed["flag_changes"] == {
        "added": {"host": "::"},
        "removed": {"port": 1},
        "changed": {"tp_size": {"before": 8, "after": 4}},
    }
    assert changed["diff"]["before"] != changed["diff"]["after"]
    assert changed["diff"]["prepared"] == ("In words:\n  host: :: is new\n  port: 1 goes\n  tp_size: 8 becomes 4\n")


def test_other_changes_are_told_in_words_and_no_secret(run):
    args = {"model_path": "m"}
    run(args=args, environment={"A": "1"})
    said = run(args=args, environment={"HF_TOKEN": TOKEN}, service={"Restart": "no"}, api_key=KEY)["diff"][0][
        "prepared"
    ]
    assert "other settings change: A (environment)" in said and "HF_TOKEN (environment)" in said and "Restart" in said
    assert KEY not in said and TOKEN not in said
    assert (
        "prepared"
        not in run(args=args, environment={"HF_TOKEN": TOKEN}, service={"Restart": "no"}, api_key=KEY)["diff"]
    )


def test_an_upgrade_that_renames_a_flag_changes_no_argument(run):
    speculative = {"algorithm": "DFLASH", "draft_model_path": "org/draft", "draft_window_size": 64}
    run(sglang_version="0.5.11", speculative=speculative)
    upgraded = run(sglang_version="0.5.23", speculative=speculative)
    assert "--speculative-draft-window-size" in upgraded["argv"]
    assert upgraded["flag_changes"]["added"] == upgraded["flag_changes"]["removed"] == {}


@pytest.mark.parametrize("version", ["0.5.11", "0.5.15.post1", "0.5.23"])
@pytest.mark.parametrize("window", ["trained", 512, "512"])
def test_speculation_is_told_under_one_spelling(run, tmp_path, version, window):
    draft = tmp_path / "draft"
    draft.mkdir()
    (draft / "config.json").write_text('{"block_size": 8, "sliding_window": 2048}')
    by_option = {"algorithm": "dflash", "draft_model_path": str(draft), "draft_window_size": window, "block_size": 8}
    told = run(sglang_version=version, speculative=by_option)["speculative"]
    number = 2048 if window == "trained" else 512
    assert told == {
        "algorithm": "DFLASH",
        "draft_model_path": str(draft),
        "draft_window_size": number,
        "block_size": 8,
    }


def test_what_proves_the_speculation_is_said(run, tmp_path):
    draft = tmp_path / "draft"
    draft.mkdir()
    (draft / "config.json").write_text('{"block_size": 8, "sliding_window": 2048}')
    dflash = {"algorithm": "DFLASH", "draft_model_path": str(draft), "draft_window_size": "trained"}
    wanted = {"preset": ["dflash"], "preset_fields": {"compact_cache": True, "draft_window_size": 2048}}
    for options in ({"check": True}, {}, {"style": "drop_in"}):
        assert run(speculative=dflash, **options)["journal_proof"] == wanted
    assert run()["journal_proof"] == run(state="absent")["journal_proof"] == {"preset": [], "preset_fields": {}}


def test_speculation_is_told_wherever_it_was_set(run, tmp_path):
    as_args = {
        "speculative_algorithm": "DFLASH",
        "speculative_draft_model_path": "org/draft",
        "speculative_dflash_draft_window_size": 512,
    }
    told = run(args={"model_path": "m", **as_args}, extra_args=["--speculative-draft-window-size=64"])["speculative"]
    assert (told["algorithm"], told["draft_model_path"], told["draft_window_size"]) == ("DFLASH", "org/draft", 64)
    fork = run(
        speculative={
            "algorithm": "DDTREE",
            "draft_model_path": "org/draft",
            "draft_window_size": 64,
            "tree_budget": 16,
        },
        flag_names={"tree_budget": "--speculative-ddtree-budget", "draft_window_size": "--fork-window"},
    )["speculative"]
    assert (fork["algorithm"], fork["draft_window_size"], fork["tree_budget"]) == ("DDTREE", 64, 16)
    assert run()["speculative"] == {}


@pytest.mark.parametrize(("value", "line"), [(None, ""), (True, 'X="true"\n'), (0, 'X="0"\n'), ("", 'X=""\n')])
def test_a_secret_variable_is_written_like_any_other(run, tmp_path, value, line):
    run(api_key=KEY, environment_secrets={"X": value})
    text = (tmp_path / "llm.service.secrets" / "environment").read_text()
    assert text.partition("\n")[2] == line


def test_secrets_show_nowhere(run, tmp_path):
    result = run(api_key=KEY, environment_secrets={"HF_TOKEN": TOKEN})
    unit = (tmp_path / "llm.service").read_text()
    text = json.dumps({k: v for k, v in result.items() if k != "invocation"})
    for secret in (KEY, TOKEN):
        assert secret not in text
        assert secret not in unit
    folder = tmp_path / "llm.service.secrets"
    assert (mode(folder), mode(folder / "config.yaml"), mode(folder / "environment")) == (0o700, 0o600, 0o600)
    assert (folder / "config.yaml").read_text() == f'api-key: "{KEY}"\n'
    assert f'HF_TOKEN="{TOKEN}"' in (folder / "environment").read_text()
    assert "LoadCredential=config.yaml:/etc/systemd/system/llm.service.secrets/config.yaml" in unit
    assert result["argv"][-2:] == ["--config", "${CREDENTIALS_DIRECTORY}/config.yaml"]


def test_the_user_s_own_configuration_and_the_key_are_one_file(run, tmp_path):
    own = tmp_path / "own.yaml"
    own.write_text("# mine\nmodel-path: org/model\nlora-paths:\n- a\n- b\ntp-size: 4")
    options = {"api_key": KEY, "args": {"config": str(own), "port": 1}}
    result = run(**options)
    merged = tmp_path / "llm.service.secrets" / "config.yaml"
    assert yaml.safe_load(merged.read_text()) == {**yaml.safe_load(own.read_text()), "api-key": KEY}
    assert mode(merged) == 0o600
    assert result["argv"].count("--config") == 1
    assert any("is not checked" in w and str(own) in w for w in result["warnings"])
    assert str(own) not in result["argv"]
    assert not run(**options)["changed"]
    own.write_text("model-path: org/other")
    assert run(**options)["changed"]
    assert yaml.safe_load(merged.read_text()) == {"model-path": "org/other", "api-key": KEY}
    alone = run(args={"config": str(own)})
    assert alone["argv"][-2:] == ["--config", str(own)]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{model-path: m}\n", "no plain YAML mapping"),
        ("- a\n", "no plain YAML mapping"),
        ("  model-path: m\n", "no plain YAML mapping"),
        ("model-path: m\n---\ntp-size: 1\n", "no plain YAML mapping"),
        ("model-path: m\n...\n", "no plain YAML mapping"),
        ("api-key: x\n", "both set the key"),
        ("'api_key' : x\n", "both set the key"),
    ],
)
def test_a_configuration_that_cannot_take_the_key_is_refused(run, tmp_path, text, part):
    own = tmp_path / "own.yaml"
    own.write_text(text)
    result = run(api_key=KEY, args={"config": str(own)})
    assert result["failure_class"] == "rule_violated"
    assert part in result["msg"]
    assert not (tmp_path / "llm.service").exists()


def test_a_changed_secret_is_a_change_with_a_new_identity(run, tmp_path):
    environment = tmp_path / "llm.service.secrets" / "environment"
    run(api_key=KEY)
    first = environment.read_text()
    assert not run(api_key=KEY)["changed"]
    assert environment.read_text() == first
    again = run(api_key="another-key")
    assert again["changed"]
    assert environment.read_text() != first
    assert "another-key" not in json.dumps(again["diff"])
    assert run()["changed"]
    assert not environment.parent.exists()


def test_a_key_that_stood_in_the_old_unit_is_not_shown(run, tmp_path):
    (tmp_path / "llm.service").write_text(
        "[Service]\nExecStart=/py -m sglang.launch_server --model-path m --api-key old-secret-key\n"
    )
    result = run()
    assert "old-secret-key" not in json.dumps(result)
    assert result["flag_changes"]["removed"] == {"api_key": "********"}
    assert any("was not written by this module" in w for w in result["warnings"])


def test_a_secret_that_stood_or_stands_in_the_unit_s_environment_is_not_shown(run, tmp_path):
    (tmp_path / "llm.service").write_text(
        "[Service]\nEnvironment=\"HF_TOKEN=old-hf-100%%\" A=1\nExecStart=/bin/sh -c 'X_KEY=old-x-key exec /py -m sglang.launch_server'\n"
    )
    result = run(environment={"WANDB_KEY": "a-plain-key", "HTTPS_PROXY": "http://u:old-pass@p:1", "A": "1"})
    for secret in ("old-hf", "old-x-key", "a-plain-key", "old-pass"):
        assert secret not in json.dumps([result["diff"], result["flag_changes"], result["warnings"]])
    assert "A=1" in result["diff"]["before"]
    (said,) = [w for w in result["warnings"] if "environment_secrets" in w]
    assert "HTTPS_PROXY, WANDB_KEY" in said


@pytest.mark.parametrize(
    ("options", "failure_class", "part"),
    [
        ({"args": {"model_path": "m", "api_key": KEY}}, "rule_violated", "use the option 'api_key'"),
        ({"extra_args": ["--api-key", KEY]}, "rule_violated", "use the option 'api_key'"),
        ({"extra_args": [f"--api-k={KEY}"]}, "rule_violated", "use the option 'api_key'"),
        ({"args": {"model_path": "m", "ssl_keyfile_password": KEY}}, "rule_violated", "name that in 'args.config'"),
        ({"extra_args": ["--ssl-keyfile-pass", KEY]}, "rule_violated", "name that in 'args.config'"),
        ({"args": {"tp_size": 8}}, "rule_violated", "args.model_path"),
        ({"args": {"model_path": "m", "nonsense": 8}}, "unknown_flag", "args.nonsense"),
        ({"args": {"model_path": "m\nx"}}, "unit_invalid", "line break"),
        ({"sglang_version": "newest"}, "unit_invalid", "newest"),
        ({"python": "python3"}, "unit_invalid", "absolute"),
        ({"flag_names": {"a": "b"}}, "unknown_flag", "--its-flag"),
        ({"api_key": KEY, "extra_args": ["--config", "/x.yaml"]}, "rule_violated", "args.config"),
        ({"api_key": KEY, "args": {"config": "/no/x.yaml"}}, "rule_violated", "'/no/x.yaml' is not there"),
        ({"sglang_version": "0.5.7", "admin_api_key": KEY}, "unknown_flag", "0.5.8"),
        ({"name": "a b"}, "unit_invalid", "'a b'"),
        ({"name": "a@"}, "unit_invalid", "'a@1'"),
        ({"environment_secrets": {"X": [KEY]}}, "unit_invalid", "give it as text"),
        ({"python": "/nowhere/python", "sglang_version": "auto"}, "unit_invalid", "/nowhere/python"),
        ({"dest_dir": "/proc/nowhere"}, "write_failed", "/proc/nowhere"),
    ],
)
def test_refusals_come_before_anything_is_written(run, tmp_path, options, failure_class, part):
    result = run(**options)
    assert result["failed"]
    assert result["failure_class"] == failure_class
    assert part in result["msg"]
    assert result["log_tail"] == []
    assert KEY not in json.dumps({k: v for k, v in result.items() if k != "invocation"})
    assert [p.name for p in tmp_path.iterdir() if p.name != "tmp"] == []


def test_a_missing_interpreter_is_a_warning_below_a_directory(run):
    result = run(python="/nowhere/python")
    assert result["changed"]
    assert any("/nowhere/python" in w for w in result["warnings"])


def test_absent_removes_what_the_module_wrote(run, tmp_path):
    run(api_key=KEY)
    other = tmp_path / "llm.service.d"
    other.mkdir()
    assert run(check=True, state="absent")["changed"]
    assert (tmp_path / "llm.service").exists()
    assert run(state="absent")["changed"]
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != "tmp") == ["llm.service.d"]
    assert not run(state="absent")["changed"]


def test_absent_leaves_the_unit_of_somebody_else(run, tmp_path):
    (tmp_path / "llm.service").write_text("[Service]\nExecStart=/bin/true\n")
    result = run(state="absent")
    assert result["failure_class"] == "unit_invalid"
    assert (tmp_path / "llm.service").exists()


def test_a_drop_in_and_its_removal(run, tmp_path):
    result = run(style="drop_in")
    assert result["path"] == str(tmp_path / "llm.service.d" / "zz-llmops-sglang.conf")
    assert mode(tmp_path / "llm.service.d") == 0o755
    for name in ("90-other.conf", "override.conf", "zzz.conf"):
        (tmp_path / "llm.service.d" / name).write_text("[Service]\nExecStart=\nExecStart=/bin/false\n")
    named = [w for w in run(style="drop_in")["warnings"] if "ExecStart= after this file" in w]
    assert len(named) == 1 and "zzz.conf" in named[0]
    run(style="drop_in", state="absent")
    assert sorted(p.name for p in (tmp_path / "llm.service.d").iterdir()) == [
        "90-other.conf",
        "override.conf",
        "zzz.conf",
    ]


def test_a_copy_of_the_unit_before(run, tmp_path):
    first = run()
    second = run(args={"model_path": "other"}, backup=True)
    assert first["argv"][4] in pathlib.Path(second["backup_file"]).read_text()


def test_the_version_is_read_in_the_environment(run, tmp_path):
    info = tmp_path / "site" / "sglang-0.5.13.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.13\n")
    result = run(
        sglang_version="auto", environment={"PYTHONPATH": str(tmp_path / "site")}, dest_dir=str(tmp_path / "out")
    )
    assert result["sglang_version"] == "0.5.13"


def test_an_unknown_version_is_said_and_the_nearest_assumed(run):
    result = run(sglang_version="0.5.15+fork", introspect="never")
    assert any("catalogue" in w for w in result["warnings"])
    assert result["argv"][-2:] == ["--tp-size", "8"]
    assert run(sglang_version="0.5.15", introspect="always")["failure_class"] == "unit_invalid"


def test_a_file_beside_a_secret_is_no_secret(run):
    tls = run(args={"model_path": "m", "ssl_certfile": "/c"}, extra_args=["--ssl-keyfile", "/k"])
    assert tls["argv"][-4:] == ["--ssl-certfile", "/c", "--ssl-keyfile", "/k"]


def test_extra_words_that_repeat_an_argument_are_said(run):
    result = run(extra_args=["--tensor-parallel-size", "4"])
    assert any("sets tp_size again" in w for w in result["warnings"])
    assert result["flag_changes"]["added"]["tp_size"] == 4


def test_warnings_before_a_failure_are_said(run):
    result = run(sglang_version="0.5.15+fork", introspect="never", args={"model_path": "m", "nonsense": 1})
    assert result["failure_class"] == "unknown_flag"
    assert any("catalogue" in w for w in result["warnings"])
