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
