# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Units of others under real systemd: adopted as options, and held against the process that runs."""

from __future__ import annotations

import json

import pytest
from hand_written_unit import Unit, stand_in

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
