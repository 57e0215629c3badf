# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unit files, environment files, start scripts and command lines that a stranger wrote."""

from __future__ import annotations

import pathlib
import re
import tempfile

import pytest
from hostile import (
    ANY_TEXT,
    CANARY,
    as_read,
    assert_linear,
    fuzz,
    goes_out,
    made_of,
    mutated,
    or_failure,
    repeated,
)
from hypothesis import assume
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils import _environment_file as environment_file
from ansible_collections.llmops.sglang.plugins.module_utils import _unit_file as unit_file
from ansible_collections.llmops.sglang.plugins.module_utils import _unit_syntax as syntax
from ansible_collections.llmops.sglang.plugins.module_utils._endpoint import address_of, from_argv, node_of_argv
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._former_command import former_words
from ansible_collections.llmops.sglang.plugins.module_utils._launch_command import read_launch
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import describe_change, expand_words
from ansible_collections.llmops.sglang.plugins.module_utils._shell_script import Script
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState

UNIT = made_of(
    "[Service]", "[Unit]", "\n", "\r\n", "\r", "\\\n", "\\", "ExecStart=", "ExecStart=@-:+!", "Environment=", "A=1", '"', "'", "#", ";", "=",
    " ", "\t", "%%", "$$", "${X}", "\\x41", "\\u00e9", "\\U0001f600", "\\U99999999", "\\ud800", "\\777", "/bin/python", "--port",
)  # fmt: skip
REAL_UNITS = [
    unit_file.render(
        unit_file.UnitPlan(
            "sglang-a.service",
            ["/opt/py/bin/python", "-m", "sglang.launch_server", "--model-path", "/m o", "--json", '{"a": "$x %h"}'],
            environment={"A": "b c", "HTTP_PROXY": "http://p:1"},
            user="sglang",
            style=style,
            overrides={"Service": {"LimitCORE": 0}},
        )
    )
    for style in ("unit", "drop_in")
]
SCRIPT = made_of(
    "#!/bin/bash\n", "\n", "export ", "A=1", "A=$A$A", "$A", "${B:-c}", "$(", "`", "cd /x", "source /v/bin/activate", "exec ", "if ", "then ",
    "python -m sglang.launch_server", " --port 1", "'", '"', "\\", "\\\n", ";", "&&", "|", ">", "2>&1", "<<EOF", "#", "*", "~", "conda run -n x ", "env ",
)  # fmt: skip
WORDS = st.lists(
    st.sampled_from(
        ["env", "A=1", "-i", "-u", "python", "/opt/v/bin/python3.11", "-m", "sglang.launch_server", "sglang", "serve", "bash", "-c", "-lc", "exec",
         "docker", "run", "uv", "conda", "-n", "x", "--", "--host", "--port", "--port=1", "", "taskset", "/s/run.sh", "--api-key", "$X", "${X}"]
    )
    | ANY_TEXT,
    max_size=12,
)  # fmt: skip


@fuzz(UNIT | ANY_TEXT | mutated(REAL_UNITS))
def test_units_by_strangers_are_read_or_refused(text):
    text = as_read(text)
    settings = syntax.parse_unit(text)
    for dummy, key, value in settings:
        # What stands on its own line to systemd is no part of a value: it ends lines at carriage returns, too.
        assert "\n" not in key + value and "\r" not in key + value
    assert all(isinstance(word, str) for word in syntax.exec_start_of(text))
    for raw in (text, *(value for dummy, dummy2, value in settings)):
        words = or_failure(syntax.split_words, raw)
        if not isinstance(words, Failure):
            assert "\n" not in "".join(words) or "\n" in raw or "\\" in raw
    for value in (unit_file.fingerprint_of(text), unit_file.exec_start_value(text)):
        assert isinstance(value, str)
    unit_file.is_own(text)


@fuzz(
    st.lists(
        st.tuples(st.sampled_from(["A", "ExecStart"]), st.text(st.sampled_from("ab =%$#;[]{}'é"), max_size=20)),
        max_size=8,
    )
)
def test_settings_that_were_written_are_read_back(pairs):
    pairs = [(key, value.strip()) for key, value in pairs]
    text = "[Service]\n" + "".join(f"{key}={value}\n" for key, value in pairs)
    assert syntax.parse_unit(text) == [("Service", key, value) for key, value in pairs]


@fuzz(
    st.lists(ANY_TEXT, max_size=5),
    st.dictionaries(st.text(st.sampled_from("AB_1"), min_size=1, max_size=4), ANY_TEXT, max_size=3),
    st.dictionaries(st.sampled_from(["Description", "Nice", "LimitCORE", "ExecStartPre"]), ANY_TEXT | st.integers(), max_size=2),
    ANY_TEXT,
)  # fmt: skip
def test_a_unit_says_what_it_was_made_of_and_nothing_else(words, environment, service, directory):
    plan = unit_file.UnitPlan(
        "a.service",
        ["/bin/python", *words],
        environment=environment,
        working_directory=directory,
        overrides={"Service": service},
    )
    try:
        text = unit_file.render(plan)
    except Failure as failure:
        assert failure.failure_class == "unit_invalid"
        return
    text.encode("utf-8")
    assert syntax.exec_start_of(text) == plan.words
    settings = syntax.parse_unit(text)
    keys = {key for section, key, dummy in settings if section == "Service"}
    known = "Type|Environment|ExecStart|Restart.*|Kill.*|Timeout.*|Limit.*|LogRate.*|WorkingDirectory|Description|Nice|ExecStartPre"
    assert all(re.fullmatch(known, key) for key in keys), "a value has become a setting"
    read = {}
    for raw in syntax.setting(settings, "Service", "Environment"):
        read.update(word.replace("%%", "%").partition("=")[::2] for word in syntax.split_words(raw))
    assert {name: read.get(name) for name in environment} == environment
    assert unit_file.fingerprint_of(text) == read["LLMOPS_SGLANG_UNIT"]


@fuzz(
    st.dictionaries(st.from_regex(r"[A-Z_][A-Z0-9_]{0,5}", fullmatch=True), ANY_TEXT, max_size=5),
    st.sampled_from(["\n", "\r\n", "\n\n# x\n"]),
)
def test_environment_files_that_were_written_are_read_back(variables, end):
    lines = {name: or_failure(syntax.environment_file_line, name, value) for name, value in variables.items()}
    kept = {name: line for name, line in lines.items() if not isinstance(line, Failure)}
    text = "".join(line + end for line in kept.values())
    assert environment_file.parse_environment_file(text) == {name: variables[name] for name in kept}


@fuzz(made_of("A=", "B=", "\n", "\r", "\\", '"', "'", "#", ";", "x", " ", "KEY=", "export ") | ANY_TEXT)
def test_environment_files_by_strangers_are_read(text):
    found = environment_file.parse_environment_file(text)
    for name, value in found.items():
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
        assert isinstance(environment_file.is_secret_variable(name, value), bool)
    # A file that ends in the middle of a line tells no more than the whole one does, up to its last value.
    whole = environment_file.parse_environment_file(text + "\nLAST=1\n")
    assert set(whole) >= set(found) - {"LAST"} or text.rstrip("\n").endswith("\\") or text.count('"') or text.count("'")


@fuzz(st.binary(max_size=100) | ANY_TEXT.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_files_of_any_bytes_are_text_or_none(data):
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "file")
        path.write_bytes(data)
        text = environment_file.read_file(str(path))
        assert text is None if b"\0" in data else text.encode("utf-8", "surrogateescape") == data


@fuzz(SCRIPT | ANY_TEXT, st.dictionaries(st.sampled_from("AB"), ANY_TEXT, max_size=2))
def test_scripts_by_strangers_are_read(text, variables):
    script = Script(text, variables)
    assert all(isinstance(word, str) for command in script.commands for word in command.words)
    launch = read_launch(["/bin/bash", "-c", text], variables)
    assert launch.kind in ("", "shell", "env", "conda", "uv", "container", "other")
    # Without the server's words nothing is certain.
    assert launch.found or not launch.words
    assert not launch.clear or launch.found


@fuzz(
    st.lists(st.text(st.sampled_from("ab1-_./"), min_size=1, max_size=8), min_size=1, max_size=6),
    st.sampled_from(["'", '"', ""]),
)
def test_words_of_a_script_are_those_of_its_shell(words, quote):
    assume(all("=" not in word and word != "-c" for word in words))
    line = " ".join(f"{quote}{word}{quote}" for word in words)
    launch = read_launch(["bash", "-c", f"cd /x && exec python -m sglang.launch_server {line} 2>&1\n"])
    assert (launch.found, launch.words, launch.directory) == (True, tuple(words), "/x")


@fuzz(WORDS, st.dictionaries(st.sampled_from(["X", "A"]), ANY_TEXT, max_size=2), ANY_TEXT | SCRIPT)
def test_command_lines_by_strangers_are_taken_apart(argv, environ, script):
    launch = read_launch(argv, environ, lambda path: script)
    assert all(isinstance(word, str) for word in launch.words)
    assert launch.found or not launch.interpreter
    expand_words(argv, environ)
    assert isinstance(from_argv(argv), str) and len(node_of_argv(argv)) == 2
    or_failure(address_of, from_argv(argv))
    describe_change(argv, launch.words)


@fuzz(st.lists(st.sampled_from(["a", "--model-path", "x y", "é", "\udcff", "--context-length"]), max_size=5))
def test_a_key_on_a_command_line_is_never_told(words):
    for flag in (["--api-key", CANARY], [f"--api-key={CANARY}"], ["--admin-api-key", CANARY], [f"--ap={CANARY}"]):
        for argv in ([*words, *flag], [*flag, *words]):
            assert CANARY not in describe_change(argv, words)


class Host:
    """As much of a service manager as the reader of a former command asks."""

    def __init__(self, words, variables):
        self.words, self.variables = words, variables

    def exec_start(self, dummy_name):
        return self.words

    def environment(self, dummy_name):
        return self.variables


@fuzz(
    WORDS,
    st.dictionaries(st.sampled_from(["X", "A"]), ANY_TEXT, max_size=2),
    UNIT | st.none(),
    st.sampled_from(["loaded", "not-found"]),
    ANY_TEXT,
)
def test_the_command_before_is_words_whatever_it_was(words, variables, text, state, files):
    text = text and as_read(text)
    unit = UnitState("a.service", {"LoadState": state, "EnvironmentFiles": files})
    found = former_words(Host(words, variables), unit, text)
    assert isinstance(found, list) and all(isinstance(word, str) for word in found)


@fuzz(ANY_TEXT | made_of("http://", "https://", "a", ":", "@", "[", "]", "::1", "/v1", "?", "#", "99999", "-1", "%00"))
def test_addresses_are_read_or_refused(url):
    found = or_failure(address_of, url)
    if not isinstance(found, Failure):
        assert found.host and 0 < found.port < 65536
    else:
        assert found.failure_class == "bad_request"
        goes_out(found.msg.encode("utf-8", "replace").decode())


READERS = {
    "unit": lambda text: (syntax.parse_unit(text), syntax.exec_start_of(text)),
    "words": lambda text: or_failure(syntax.split_words, text),
    "own": lambda text: (unit_file.fingerprint_of(text), unit_file.exec_start_value(text)),
    "environment": environment_file.parse_environment_file,
    "secrets": lambda text: environment_file.hide_secret_variables(text, "*"),
    "script": lambda text: Script(text, {"A": "b c"}),
    "launch": lambda text: read_launch(["bash", "-c", text]),
    "argv": lambda text: (
        read_launch(text.split(" ")),
        from_argv(text.split(" ")),
        describe_change(text.split(" "), []),
    ),
}
REPEATED = [
    ("", "a"), ("", "a "), ("A=", "b"), ("A=", '"b"'), ('A="', "\\"), ("", "A=1\n"), ("", "A=1 "), ("", "\\\n"), ("[Service]\nExecStart=", "a \\\n"),
    ("[Service]\n", "ExecStart=a\n"), ("ExecStart=", "\\\n"), ("", "$A"), ("", "exec "), ("", "env "), ("", "'"), ("", '"'), ("#", "\\\n"), ("", "\n"),
    ("", "A='"), ('A="', "x"), ("", ">"), ("", "<a "), ("", "1>"), ("", "export A=1 "), ("", "export A=1;"), ("", "if "), ("cd ", "/a;cd "), ("", "--a "),
    ("", "[A]\n"), ("", "\u2028"), ("Environment=LLMOPS_SGLANG_UNIT=", "0"), ("", "://a:"), ("", "a://b:c"), ("", "python -m sglang.launch_server\n"),
]  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
def test_time_grows_with_the_length(reader):
    for prefix, unit in REPEATED:
        assert_linear(READERS[reader], prefix, unit)


@fuzz(
    st.sampled_from(sorted(READERS)),
    repeated("A=", "\\\n", "\\", "exec ", "env ", "$A", "${A", "[Service]\n", "ExecStart=", "'", '"', "#", "export "),
    whole=1000,
)
def test_time_grows_with_the_length_of_whatever_is_repeated(reader, parts):
    assert_linear(READERS[reader], *parts, thorough=False)


def test_variables_made_of_each_other_do_not_fill_the_memory():
    script = Script("A=aaaaaaaaaa\n" + "A=$A$A$A$A$A$A$A$A$A$A\n" * 30 + "python -m sglang.launch_server $A\n", {})
    assert sum(len(word) for command in script.commands for word in command.words) < 2**24
    assert not all(command.clear for command in script.commands)
