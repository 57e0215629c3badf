# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading units that people wrote back into options: what is adopted renders the same command line."""

from __future__ import annotations

import json
import pathlib
import random

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils import _adoption_source, _flags, _speculative
from ansible_collections.llmops.sglang.plugins.module_utils._adopted_arguments import SECRET_ARGUMENTS, adopt_arguments
from ansible_collections.llmops.sglang.plugins.module_utils._adoption import Found, adopt, file_settings
from ansible_collections.llmops.sglang.plugins.module_utils._environment_file import parse_environment_file
from ansible_collections.llmops.sglang.plugins.module_utils._flags import table_of
from ansible_collections.llmops.sglang.plugins.module_utils._launch_command import read_launch
from ansible_collections.llmops.sglang.plugins.module_utils._server_arguments import Entry, Words
from ansible_collections.llmops.sglang.plugins.module_utils._unit_file import UnitPlan, render
from ansible_collections.llmops.sglang.plugins.module_utils._unit_secrets import SecretFiles
from ansible_collections.llmops.sglang.plugins.module_utils._unit_syntax import exec_start_of, quote

PYTHON = "/opt/sglang/bin/python"
START = [PYTHON, "-m", "sglang.launch_server"]
TEXT = st.text(st.characters(min_codepoint=32, exclude_characters="\x7f", exclude_categories=["Cs", "Cn"]), min_size=1)


def written_again(adopted, table):
    """The words that server_unit writes for the adopted options."""
    words = Words(table)
    algorithm = adopted.speculative.get("algorithm", "")
    for entry in _speculative.entries(adopted.speculative, table, adopted.flag_names, algorithm, None):
        words.add(entry)
    for name, value in adopted.args.items():
        words.add(Entry(f"args.{name}", name, value, adopted.flag_names.get(name, "")))
    return words.words()


def value_for(draw, flag, table):
    """A value that the flag takes, as a word; an old spelling's choices are those of the argument."""
    choices = flag.choices or table.of_dest(flag.dest).choices
    if choices:
        return draw(st.sampled_from(choices))
    kinds = {
        "int": st.integers(-(10**6), 10**9).map(str),
        "float": st.floats(allow_nan=False, allow_infinity=False).map(repr),
        "json": st.dictionaries(TEXT, TEXT, max_size=2).map(json.dumps),
        "json_list_type": st.lists(st.dictionaries(TEXT, st.integers(), max_size=2), max_size=2).map(json.dumps),
        "human_readable_int": st.sampled_from(["4096", "4k", "1.5M", "2Gi"]),
    }
    return draw(kinds.get(flag.type, TEXT.filter(lambda text: not _flags.is_option(text))))


@st.composite
def command_lines(draw):
    """A release and words of it, each flag in one of its spellings."""
    table = _flags.table_of(draw(st.sampled_from(_flags.VERSIONS)))
    flags = draw(st.lists(st.sampled_from(table.flags), max_size=6, unique_by=lambda flag: flag.dest))
    words = ["--model-path", draw(TEXT.filter(lambda text: not _flags.is_option(text)))]
    for flag in flags:
        if flag.dest in SECRET_ARGUMENTS or flag.dest in ("model_path", "speculative_algorithm"):
            continue
        if not flag.takes_value:
            words.append(flag.flag)
            continue
        several = draw(st.integers(1, 3)) if flag.nargs in ("+", "*") else 1
        values = [value_for(draw, flag, table) for dummy in range(several)]
        if flag.nargs in ("+", "*"):
            values = [v for v in values if not _flags.is_option(v)] or ["1"]
        spelled = draw(st.sampled_from([flag.flag, *flag.aliases]))
        if flag.nargs in ("+", "*"):
            words += [spelled, *values]
        elif draw(st.booleans()) or _flags.is_option(values[0]):
            words.append(f"{spelled}={values[0]}")
        else:
            words += [spelled, values[0]]
    return table, words


@settings(max_examples=150, deadline=None)
@given(command_lines())
def test_what_is_adopted_means_the_same_and_is_written_the_same_from_then_on(line):
    table, words = line
    adopted = adopt_arguments(words, table)
    assert adopted.lost == []
    canonical = written_again(adopted, table)
    assert _flags.arguments_of(canonical, table=table) == _flags.arguments_of(words, table=table)
    once_more = adopt_arguments(canonical, table)
    assert once_more == adopted
    assert written_again(once_more, table) == canonical


def as_people_write(words, generator):
    """ExecStart= over several lines, with comments, in single or double quotes."""
    lines = [" ".join(words[:3])]
    for word in words[3:]:
        plain = word.replace("%", "%%").replace("$", "$$")
        single = "'" not in plain and "\\" not in plain and generator.random() < 0.5
        written = f"'{plain}'" if single else quote(plain)
        if word.startswith("--"):
            lines += ["# why this is set"] if generator.random() < 0.3 else []
            lines.append("  " + written)
        else:
            lines[-1] += "   " + written
    text, *rest = lines
    for line in rest:
        text += " \\\n" + line if not line.startswith("#") else " \\\n" + line
    return f"[Unit]\nDescription=by hand\n; old\n[Service]\nExecStart={text}\n"


@settings(max_examples=60, deadline=None)
@given(command_lines(), st.integers())
def test_a_unit_written_by_hand_is_adopted_whole(line, seed):
    table, words = line
    text = as_people_write([*START, *words], random.Random(seed))
    launch = read_launch(exec_start_of(text))
    assert (launch.kind, launch.interpreter, launch.clear) == ("", PYTHON, True)
    assert list(launch.words) == words
    result = adopt(Found("llm.service", "system", launch, {}, file_settings([text]), python=PYTHON), table)
    assert result["complete"], result["remarks"]
    again = render(UnitPlan("llm.service", [*START, *written_again(adopt_arguments(words, table), table)]))
    second = adopt(
        Found("llm.service", "system", read_launch(exec_start_of(again)), {}, file_settings([again]), python=PYTHON),
        table,
    )
    assert second["options"].get("args") == result["options"].get("args")
    assert second["options"].get("speculative") == result["options"].get("speculative")
    assert "service" not in second["options"], "the settings that server_unit writes by itself are no settings to keep"


def adopted(command, version="0.5.15", environment=(), **more):
    words = command if isinstance(command, list) else command.split()
    launch = read_launch(words, dict(environment), more.pop("read", lambda path: None))
    python = more.pop("python", launch.interpreter)
    found = Found("llm.service", "system", launch, dict(environment), python=python, **more)
    return adopt(found, _flags.table_of(version))


def test_a_forks_flags_keep_their_spelling():
    result = adopted(
        f"{' '.join(START)} --model-path /m --speculative-algorithm DDTREE --speculative-ddtree-budget 8 --our-switch"
    )
    options = result["options"]
    assert options["speculative"] == {"algorithm": "DDTREE", "ddtree_budget": "8"}
    assert options["flag_names"] == {"ddtree_budget": "--speculative-ddtree-budget", "our_switch": "--our-switch"}
    assert options["args"] == {"model_path": "/m", "our_switch": True}
    assert result["complete"]


def test_abbreviations_and_old_names_are_spelled_out():
    result = adopted(
        f"{' '.join(START)} --model /m --tp 8 --po=30001 --speculative-algo DFLASH --speculative-draft-model-path /d"
        " --speculative-dflash-draft-window-size 2048"
    )
    assert result["options"]["args"] == {"model_path": "/m", "tp_size": 8, "port": 30001}
    assert result["options"]["speculative"] == {
        "algorithm": "DFLASH",
        "draft_model_path": "/d",
        "draft_window_size": 2048,
    }
    assert result["role_variables"]["server_speculative"] == result["options"]["speculative"]


def test_the_role_takes_all_that_a_unit_says():
    lines = [("Unit", "Documentation", "man:x"), ("Service", "Nice", "5"), ("Install", "WantedBy", "llm.target")]
    result = adopted(
        f"{' '.join(START)} --model-path /m --speculative-algorithm DDTREE --our-switch",
        environment={"A": "1"},
        settings=lines,
        user="u",
        group="g",
        working_directory="/srv",
    )
    assert result["complete"] and set(result["options"]) >= {"unit", "service", "install", "working_directory", "group"}
    assert result["role_variables"] == {f"server_{name}": value for name, value in result["options"].items()}
    role = pathlib.Path(__file__).resolve().parents[4] / "roles/server/meta/argument_specs.yml"
    known = yaml.safe_load(role.read_text())["argument_specs"]["main"]["options"]
    assert set(result["role_variables"]) <= set(known)


def test_an_ambiguous_flag_is_told_and_not_guessed():
    result = adopted(f"{' '.join(START)} --model-path /m --tokenizer /t")
    assert not result["complete"]
    assert any("ambiguous" in remark for remark in result["remarks"])


@pytest.mark.parametrize(
    "word",
    ["--api-key sk-secret-123", "--api-key=sk-secret-123", "--ap sk-secret-123", "--admin-api-key sk-secret-123"],
)
def test_keys_are_named_and_never_shown(word):
    result = adopted(
        f"{' '.join(START)} --model-path /m {word}",
        environment={"HF_TOKEN": "hf_verysecret", "HTTPS_PROXY": "http://u:topsecret@proxy:1", "A": "1"},
    )
    assert result["secrets"][0] in ("api_key", "admin_api_key")
    assert result["secrets"][1:] == ["HF_TOKEN", "HTTPS_PROXY"]
    assert result["options"]["environment"] == {"A": "1"}
    assert "secret" not in json.dumps(result["options"])
    assert result["complete"]


def test_a_secret_inside_of_another_value_is_not_shown():
    extra = '{"token": "hf_verysecret"}'
    result = adopted(
        [*START, "--model-path", "/m", "--model-loader-extra-config", extra], environment={"HF_TOKEN": "hf_verysecret"}
    )
    assert "verysecret" not in json.dumps(result)
    assert not result["complete"]


def test_a_credential_in_the_unit_is_dropped():
    text = "[Service]\nSetCredential=key:sk-secret-123\nRestart=always\nLimitNOFILE=7\nExecStartPre=/a\nExecStartPre=/b\nRestart=no"
    result = adopted([*START, "--model-path", "/m"], settings=file_settings([text]))
    assert result["secrets"] == ["key"]
    assert result["options"]["service"] == {"Restart": "no", "LimitNOFILE": "7", "ExecStartPre": ["/a", "/b"]}


def test_the_keys_of_a_unit_of_our_own_are_named():
    plan = UnitPlan(
        "llm.service",
        [*START, "--model-path", "/m"],
        ["--config", "${CREDENTIALS_DIRECTORY}/config.yaml"],
        environment={"A": "1"},
        environment_file="/etc/systemd/system/llm.service.secrets/environment",
        credential="config.yaml:/etc/systemd/system/llm.service.secrets/config.yaml",
    )
    files = SecretFiles("api-key: x\n", 'HF_HOME_SECRETS="x"\n')
    variables = {
        "A": "1",
        "PYTHONUNBUFFERED": "1",
        "LLMOPS_SGLANG_UNIT": "0" * 64,
        **parse_environment_file(files.environment_text("1")),
    }
    text = render(plan)
    result = adopted(
        exec_start_of(text), environment=variables, secret_names=["HF_HOME_SECRETS"], settings=file_settings([text])
    )
    assert result["secrets"] == ["api_key", "HF_HOME_SECRETS"]
    assert result["options"] == {
        "name": "llm",
        "scope": "system",
        "python": PYTHON,
        "args": {"model_path": "/m"},
        "environment": {"A": "1"},
    }
    assert result["complete"]


SERVE = f"{' '.join(START)} --model-path /m --port 1"


@pytest.mark.parametrize(
    ("words", "kind", "interpreter", "complete"),
    [
        (["/usr/bin/env", "A=1", *SERVE.split()], "env", PYTHON, True),
        (["/bin/bash", "-c", f"exec {SERVE}"], "shell", PYTHON, True),
        (["bash", "-lc", f"export A=1 B='x y'; cd /srv && {SERVE} 2>&1"], "shell", PYTHON, True),
        (
            ["/bin/sh", "-c", "source /opt/sglang/bin/activate && A=1 python -m sglang.launch_server --model-path /m --port 1"],
            "shell", PYTHON, True,
        ),
        (["/bin/sh", "-c", f"P=1\nset -e\n{SERVE[:-1]}$P"], "shell", PYTHON, True),
        (["/bin/sh", "-c", f"{SERVE[:-1]}$(cat /port)"], "shell", PYTHON, False),
        (["/bin/sh", "-c", f"if true; then {SERVE}; fi"], "shell", PYTHON, False),
        (["/bin/sh", "/opt/run.sh"], "shell", PYTHON, True),
        (["/opt/run.sh"], "shell", PYTHON, True),
        (["/opt/conda/bin/conda", "run", "-n", "llm", *SERVE.replace(PYTHON, "python").split()], "conda", "/opt/conda/envs/llm/bin/python", True),
        (["/usr/bin/uv", "run", "--project", "/srv/llm", *SERVE.replace(PYTHON, "python").split()], "uv", "/srv/llm/.venv/bin/python", True),
        (["/usr/bin/numactl", "--cpunodebind=0", *SERVE.split()], "other", PYTHON, False),
        (["/usr/bin/docker", "run", "image", *SERVE.split()], "container", "", False),
        (["/opt/sglang/bin/sglang", "serve", "--model-path", "/m", "--port", "1"], "", PYTHON, True),
    ],
)  # fmt: skip
def test_wrappers_are_named_and_looked_through(words, kind, interpreter, complete):
    scripts = {"/opt/run.sh": f"#!/bin/bash\n# start it\nexport A=1\nexec {SERVE} \\\n  # done\n"}
    result = adopted(words, read=scripts.get)
    launch = read_launch(words, {}, scripts.get)
    assert (launch.kind, launch.interpreter) == (kind, interpreter)
    assert result["complete"] is complete, result["remarks"]
    assert bool(result["remarks"]) or complete
    assert (result["wrapper"] or {"kind": ""})["kind"] == kind
    if complete:
        assert result["options"]["args"] == {"model_path": "/m", "port": 1}


def test_what_a_wrapper_sets_is_kept():
    script = "export A=1 HF_TOKEN=hf_verysecret; cd /srv; B=2 exec " + SERVE
    result = adopted(["/bin/sh", "-c", script])
    assert result["options"]["environment"] == {"A": "1", "B": "2"}
    assert result["options"]["working_directory"] == "/srv"
    assert result["secrets"] == ["HF_TOKEN"]
    assert "verysecret" not in json.dumps(result)


@pytest.mark.parametrize("word", ["source /etc/default/llm", ". /etc/default/llm", "eval A=1", "conda activate llm"])
def test_variables_that_a_script_reads_elsewhere_are_not_passed_over(word):
    result = adopted(["/bin/sh", "-c", f"set -a; {word}; set +a; exec {SERVE}"])
    assert not result["complete"]
    assert any("variables" in remark for remark in result["remarks"])


def test_the_directory_of_a_script_comes_after_the_one_of_the_unit():
    for directory, expected in (("/opt/llm", "/opt/llm"), ("llm", "/srv/llm")):
        result = adopted(["/bin/sh", "-c", f"cd {directory}; exec {SERVE}"], working_directory="/srv")
        assert result["options"]["working_directory"] == expected


def test_settings_that_add_up_are_all_kept():
    text = (
        "[Unit]\nConditionPathExists=/a\nConditionPathExists=/b\n"
        "[Service]\nSupplementaryGroups=video\nSupplementaryGroups=render\nCPUAffinity=0\nCPUAffinity=1\n"
        "Restart=always\nRestart=no\nRuntimeDirectory=a\nRuntimeDirectory=\nRuntimeDirectory=b\n"
    )
    options = adopted(SERVE, settings=file_settings([text]))["options"]
    assert options["unit"] == {"ConditionPathExists": ["/a", "/b"]}
    assert options["service"] == {
        "SupplementaryGroups": ["video", "render"],
        "CPUAffinity": ["0", "1"],
        "Restart": "no",
        "RuntimeDirectory": "b",
    }


def test_a_command_that_is_no_server_has_no_arguments():
    result = adopted("/usr/bin/sleep 5")
    assert not result["complete"]
    assert "args" not in result["options"]
    assert any("does not start an SGLang server" in remark for remark in result["remarks"])


def test_a_secret_in_another_command_of_the_unit_is_not_shown():
    text = "[Service]\nExecStartPre=/bin/sh -c 'HF_TOKEN=hf_verysecret fetch --api-key sk-verysecret'"
    result = adopted([*START, "--model-path", "/m"], settings=file_settings([text]))
    assert "verysecret" not in json.dumps(result)
    assert "ExecStartPre" in result["options"]["service"] and not result["complete"]


@pytest.mark.parametrize(
    ("text", "secrets", "complete"),
    [
        ('admin-api-key: "x"\napi-key: "y"\n', ["admin_api_key", "api_key"], True),
        ('tp-size: 8\nssl-keyfile-password: "x"\n', ["ssl_keyfile_password"], False),
        (None, ["api_key"], True),
    ],
)
def test_the_configuration_file_of_our_own_tells_which_keys_it_holds(tmp_path, text, secrets, complete):
    config = tmp_path / "llm.service.secrets" / "config.yaml"
    config.parent.mkdir()
    if text is not None:
        config.write_text(text)
    words = [*START, "--model-path", "/m", "--config", "${CREDENTIALS_DIRECTORY}/config.yaml"]
    names = _adoption_source._config_names([("Service", "LoadCredential", f"config.yaml:{config}")], words)
    result = adopted(words, environment={"LLMOPS_SGLANG_UNIT": "0"}, config_names=names)
    assert (result["secrets"], result["complete"]) == (secrets, complete)


def test_a_value_that_is_nested_without_end_stays_a_text():
    text = "[" * 100_000
    assert adopt_arguments(["--json-model-override-args", text], table_of(None)).args == {
        "json_model_override_args": text
    }
