# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import (
    Manager,
    UnitState,
    bus_label,
    parse_bus_tokens,
    parse_properties,
    plain_invocation_id,
)


class Commands:
    """Answers of commands by their first words; remembers what was asked."""

    def __init__(self, **answers):
        self.answers = answers
        self.seen = []

    def __call__(self, argv, **dummy):
        self.seen.append(argv)
        for key, answer in self.answers.items():
            if key in argv:
                return answer
        return (0, "", "")


def test_exec_start_keeps_every_character():
    line = r'a(sasbttttuii) 1 "/bin/x" 4 "/bin/x" "a b" "{\"k\": \"v\"}" "\303\244\n$X" false 0 0 0 0 0 0 0'
    manager = Manager(Commands(ExecStart=(0, line, "")))
    assert manager.exec_start("x.service") == ["/bin/x", "a b", '{"k": "v"}', "ä\n$X"]


def test_exec_start_without_a_bus_is_read_from_show():
    show = "ExecStart={ path=/bin/x ; argv[]=/bin/x --port 1 ; ignore_errors=no ; start_time=[n/a] }\n"
    commands = Commands(ExecStart=(1, "", "no bus"), show=(0, show, ""))
    assert Manager(commands).exec_start("x.service") == ["/bin/x", "--port", "1"]


def test_without_a_bus_the_unit_s_file_tells_where_a_word_ends(tmp_path):
    unit = tmp_path / "x.service"
    unit.write_text("[Service]\nExecStart=/bin/x --json '{\"a\": 1}' \\\n  50%% $$HOME\n")
    show = f'ExecStart={{ path=/bin/x ; argv[]=/bin/x --json {{"a": 1}} 50% $$HOME ; ignore_errors=no }}\nFragmentPath={unit}\n'
    manager = Manager(Commands(ExecStart=(1, "", "no bus"), show=(0, show, "")))
    assert manager.exec_start("x.service") == ["/bin/x", "--json", '{"a": 1}', "50%", "$$HOME"]
    unit.write_text("[Service]\nExecStart=/bin/other\n")
    assert manager.exec_start("x.service") == ["/bin/x", "--json", '{"a":', "1}", "50%", "$$HOME"]


def test_variables_that_systemd_does_not_expand_are_no_variables(tmp_path):
    words = '1 "/bin/x" 2 "/bin/x" "$A"'
    plain = (0, f"a(sasbttttuii) {words} false 0 0 0 0 0 0 0", "")
    literal = (0, f'a(sasasttttuii) {words} 1 "no-env-expand" 0 0 0 0 0 0 0', "")
    assert Manager(Commands(ExecStart=plain, ExecStartEx=literal)).exec_start("x.service") == ["/bin/x", "$$A"]
    expanded = (0, f'a(sasasttttuii) {words} 1 "ignore-failure" 0 0 0 0 0 0 0', "")
    assert Manager(Commands(ExecStart=plain, ExecStartEx=expanded)).exec_start("x.service") == ["/bin/x", "$A"]
    # systemd before 243 has neither the prefix nor the property.
    assert Manager(Commands(ExecStart=plain, ExecStartEx=(1, "", ""))).exec_start("x.service") == ["/bin/x", "$A"]
    unit = tmp_path / "x.service"
    unit.write_text("[Service]\nExecStart=-:/bin/x $A\n")
    show = f"ExecStart={{ path=/bin/x ; argv[]=/bin/x $A ; ignore_errors=yes }}\nFragmentPath={unit}\n"
    commands = Commands(ExecStart=(1, "", "no bus"), show=(0, show, ""))
    assert Manager(commands).exec_start("x.service") == ["/bin/x", "$$A"]


def test_a_unit_without_a_command_has_no_words():
    assert Manager(Commands(ExecStart=(0, "a(sasbttttuii) 0", ""))).exec_start("x.service") == []


@pytest.mark.parametrize(
    ("name", "label"), [("sglang.service", "sglang_2eservice"), ("9a-b.service", "_39a_2db_2eservice")]
)
def test_the_object_path_is_escaped(name, label):
    assert bus_label(name) == label


@pytest.mark.parametrize("text", ["", None, "0" * 32, "00000000-0000-0000-0000-000000000000"])
def test_no_invocation_is_empty(text):
    assert plain_invocation_id(text) == ""


def test_invocation_ids_are_plain():
    assert plain_invocation_id("AB-cd") == "abcd"


def test_a_typing_error_is_answered_with_the_closest_name():
    files = "sglang-k26-ddtree.service enabled enabled\nssh.service enabled enabled\n"
    manager = Manager(Commands(**{"list-unit-files": (0, files, "")}))
    failure = manager.no_such_unit(UnitState("sglash-k26-ddtree.service", {"LoadState": "not-found"}))
    assert failure.failure_class == "no_such_unit"
    assert "'sglang-k26-ddtree.service'" in failure.msg
    assert "ssh.service" not in failure.msg


def test_a_refused_verb_is_a_failure_with_its_own_words():
    manager = Manager(Commands(stop=(1, "", "Failed to stop x.service: Access denied\n")))
    with pytest.raises(Failure) as raised:
        manager.systemctl("stop", "x.service")
    assert raised.value.failure_class == "no_permission"
    assert "Access denied" in raised.value.msg


def test_a_user_without_a_manager_is_told_to_linger():
    with pytest.raises(Failure, match="enable-linger"):
        Manager(Commands(), scope="user", uid=4242424)


def test_environment_files_with_spaces_are_read_whole():
    state = UnitState("x", {"EnvironmentFiles": "/etc/a b.env (ignore_errors=no)"})
    assert state.environment_files == ["/etc/a b.env"]


def test_values_may_hold_the_separator():
    assert parse_properties("A=b=c\nEmpty=\n") == {"A": "b=c", "Empty": ""}


def test_bus_strings_may_hold_quotes_and_backslashes():
    assert parse_bus_tokens(r's "a\"b\\c"') == ["s", 'a"b\\c']


@pytest.mark.parametrize(
    "answers",
    [
        {"Environment": (0, 'as 2 "A=2 $\\303\\274" "B="', "")},
        {"Environment": (1, "", "no bus"), "show": (0, 'Environment="A=2 \\$ü" B=\n', "")},
    ],
)
def test_the_environment_keeps_every_character(answers):
    assert Manager(Commands(**answers)).environment("x.service") == {"A": "2 $ü", "B": ""}


@pytest.mark.parametrize(
    ("said", "failure_class"),
    [
        ("Failed to stop llm.service: Unit polkit.service is masked.", "no_permission"),
        ("Failed to stop llm.service: Access denied", "no_permission"),
        ("Failed to stop llm.service: Interactive authentication required.", "no_permission"),
        ("Failed to start llm.service: Unit llm.service is masked.", "unit_invalid"),
        ("Failed to start llm.service: Unit llm.service has a bad unit file setting.", "unit_invalid"),
    ],
)
def test_a_refusal_is_told_from_a_bad_unit(said, failure_class):
    manager = Manager(lambda argv, **dummy: (1, "", said + "\n"))
    with pytest.raises(Failure) as raised:
        manager.systemctl("stop", "llm.service")
    assert raised.value.failure_class == failure_class
    assert ("become" in raised.value.msg) is (failure_class == "no_permission")


def test_credentials_are_asked_for_only_where_there_are_some():
    asked = []

    def run_command(argv, **dummy):
        asked.append(argv)
        return 0, 'a(ss) 2 "key" "/etc/a b" "other" "/etc/c"\n', ""

    manager = Manager(run_command)
    assert manager.load_credentials(UnitState("llm.service", {})) == []
    assert asked == []
    state = UnitState("llm.service", {"LoadCredential": "[unprintable]"})
    assert manager.load_credentials(state) == [("key", "/etc/a b"), ("other", "/etc/c")]
    assert asked[0][0] == "busctl" and asked[0][-1] == "LoadCredential"


def test_without_a_bus_credentials_are_read_from_the_unit_s_files(tmp_path):
    drop_in = tmp_path / "x.conf"
    drop_in.write_text("[Service]\nLoadCredential=key:/etc/k\n")
    state = UnitState("x.service", {"LoadCredential": "[unprintable]", "DropInPaths": str(drop_in)})
    assert Manager(lambda argv, **dummy: (1, "", "no bus")).load_credentials(state) == [("key", "/etc/k")]


@pytest.mark.parametrize("fails", [1, 4, 99])
@pytest.mark.parametrize(
    "said", ["Transport endpoint is not connected", "Message recipient disconnected from message bus"]
)
def test_a_manager_that_executes_itself_anew_is_asked_again(said, fails):
    asked, paused = [], []

    def run(argv, **_more):
        asked.append(argv)
        failed = len(asked) <= fails
        return (1, "", f"Failed to get properties: {said}\n") if failed else (0, "MainPID=7\n", "")

    manager = Manager(run)
    manager.sleep = paused.append
    if fails < 99:
        assert manager.show("x.service").main_pid == 7 and len(paused) == fails
    else:
        with pytest.raises(Failure, match="Failed to get properties"):
            manager.show("x.service")
        assert 1 < sum(paused) < 10


def test_a_value_never_becomes_another_property():
    assert parse_properties("Environment=A=x\u2028MainPID=7\x85Result=success\nMainPID=1\n") == {
        "Environment": "A=x\u2028MainPID=7\x85Result=success",
        "MainPID": "1",
    }


@pytest.mark.parametrize("number", ["\u00b2", "9" * 5000, "-1", ""], ids=range(4))
def test_what_is_no_number_is_zero(number):
    assert UnitState("a.service", {"MainPID": number}).main_pid == 0


@pytest.mark.parametrize("word", ["\\8", "\\777", "\\x", "\\u"])
def test_escapes_that_the_bus_does_not_have_are_read(word):
    assert len(parse_bus_tokens(f's "{word}"')) == 2
