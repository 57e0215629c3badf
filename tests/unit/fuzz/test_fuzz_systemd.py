# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What systemctl and busctl print, and the kernel's tables, for units and processes of any names and values."""

from __future__ import annotations

import pathlib
import tempfile

import pytest
from hostile import ANY_BYTES, ANY_TEXT, as_read, assert_linear, fuzz, made_of, or_failure
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._listener import (
    process_stat,
    unit_of_cgroup,
)
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import cgroup_of, read_argv, read_environ
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import (
    Manager,
    UnitState,
    bus_label,
    is_denied,
    parse_bus_tokens,
    parse_properties,
    plain_invocation_id,
)
from ansible_collections.llmops.sglang.plugins.module_utils._unit_name import closest, unit_name

NAMES = ("LoadState", "ActiveState", "MainPID", "NRestarts", "ExecMainStatus", "InvocationID", "Environment", "EnvironmentFiles",
         "DropInPaths", "ExecStart",
         "LoadCredential", "LoadError", "NeedDaemonReload", "FragmentPath")  # fmt: skip
SHOWN = made_of(
    *NAMES, "=", "\n", "\r", "\u2028", "\x85", "\x0c", "\x1c", "loaded", "active", "yes", "1", "²", "9" * 5000, "-1", " ", '"', "'", "\\", "$", "A=1",
    "/x (ignore_errors=yes)", "{ path=/x ; argv[]=/x a ; ignore_errors=no ; }",
)  # fmt: skip
TOKENS = made_of(
    "a(sasbttttuii)",
    "as",
    " ",
    "1",
    "2",
    "²",
    "9" * 5000,
    "-1",
    '"',
    '"a"',
    "\\",
    "\\n",
    "\\8",
    "\\777",
    "\\x",
    "\\x41",
    "\\303\\251",
    "é",
    "no-env-expand",
    "\n",
    "$X",
)


def manager_of(*outputs, rc=0):
    """A manager whose commands print *outputs* in turn, the last one for ever."""
    left = list(outputs)

    def run_command(argv, **dummy_named):
        return (rc if argv[0] == "busctl" else 0, left.pop(0) if len(left) > 1 else left[0], "")

    manager = Manager(run_command)
    manager.sleep = lambda dummy: None
    return manager


def assert_state(state):
    for number in (state.main_pid, state.n_restarts, state.exec_main_status, state.exec_main_start_monotonic_us):
        assert isinstance(number, int) and number >= 0
    assert state.invocation_id == plain_invocation_id(state.invocation_id)
    assert all(isinstance(path, str) for path in (*state.drop_in_paths, *state.environment_files))
    # Absence never counts as a unit, nor as one that runs.
    assert state.exists == (state.properties.get("LoadState") in ("loaded", "masked"))
    assert not state.running or state.main_pid


@fuzz(SHOWN | ANY_TEXT)
def test_any_output_of_systemctl_is_a_state(text):
    assert_state(manager_of(text).show("a.service"))


@fuzz(
    st.dictionaries(
        st.sampled_from(NAMES), st.text(st.sampled_from("a=1 \u2028\x85\x0b\x0c\x1c\r\"'é²"), max_size=20), max_size=6
    )
)
def test_a_value_never_becomes_another_property(properties):
    """Whatever else ends lines to Python ends none to systemctl."""
    text = "".join(f"{name}={value}\n" for name, value in properties.items())
    assert parse_properties(text) == properties
    assert_state(UnitState("a.service", properties))


def quoted(word):
    """As busctl prints a string: a quote, a backslash and what is not printable in ASCII as in C."""
    return (
        '"'
        + "".join(
            chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:03o}"
            for b in word.encode("utf-8", "surrogateescape")
        )
        + '"'
    )


WORD = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["\udcff", "a\udcc3b", "\\303", '\\"']
)


@fuzz(st.lists(WORD, max_size=5))
def test_words_of_the_bus_are_read_back(words):
    assert parse_bus_tokens(" ".join(["as", str(len(words)), *map(quoted, words)]) + "\n") == [
        "as",
        str(len(words)),
        *words,
    ]


@fuzz(st.lists(WORD, max_size=5), st.booleans())
def test_a_command_is_read_back(words, as_it_is):
    words = ["/bin/python", *words]
    told = f"a(sasbttttuii) 1 {quoted(words[0])} {len(words)} {' '.join(map(quoted, words))} false 0 0 0 0 0 0 0\n"
    flags = '1 "no-env-expand"' if as_it_is else "0"
    more = f"a(sasasttttuii) 1 {quoted(words[0])} {len(words)} {' '.join(map(quoted, words))} {flags} 0 0 0 0 0 0 0\n"
    wanted = [word.replace("$", "$$") for word in words] if as_it_is and "$" in "".join(words) else words
    assert manager_of(told, more).exec_start("a.service") == wanted


@fuzz(TOKENS | SHOWN | ANY_TEXT, TOKENS | SHOWN, st.sampled_from([0, 1]))
def test_any_output_of_busctl_is_words(text, then, rc):
    text, then = as_read(text), as_read(then)
    parse_bus_tokens(text)
    for manager in (manager_of(text, then, rc=rc), manager_of(text)):
        for read in (manager.exec_start, manager.environment):
            found = or_failure(read, "a.service")
            assert isinstance(found, (list, dict, Failure))
        found = or_failure(manager.load_credentials, UnitState("a.service", {"LoadCredential": "x"}))
        assert isinstance(found, Failure) or all(len(pair) == 2 for pair in found)


@fuzz(SHOWN | ANY_TEXT, ANY_TEXT)
def test_unknown_units_are_refused_in_words(text, name):
    manager = manager_of(text)
    assert all(isinstance(one, str) and one.split() == [one] for one in manager.unit_names())
    failure = manager.no_such_unit(UnitState(name, parse_properties(text)))
    assert failure.failure_class == "no_such_unit"
    is_denied(text)
    found = or_failure(unit_name, name)
    if not isinstance(found, Failure):
        assert found.endswith(".service") and "/" not in found and "\n" not in found
        label = bus_label(found)
        assert label.isascii() and label.replace("_", "").isalnum()
    assert set(closest(name, manager.unit_names())) <= set(manager.unit_names())


@fuzz(ANY_TEXT | st.text(st.sampled_from("0aF-\n "), max_size=40))
def test_invocations_are_plain(text):
    plain = plain_invocation_id(text)
    assert plain == plain_invocation_id(plain) and "-" not in plain and (plain == "" or plain.strip("0"))


@fuzz(ANY_BYTES)
def test_what_a_process_says_of_itself_is_read_whatever_it_is(data):
    """Its name, command line and environment are its own to write."""
    with tempfile.TemporaryDirectory() as proc:
        path = pathlib.Path(proc, "7")
        path.mkdir()
        for name, content in (
            ("stat", b"7 (" + data + b") S 1 7"),
            ("cgroup", b"0::/" + data + b"\n"),
            ("cmdline", data),
            ("environ", data),
        ):
            path.joinpath(name).write_bytes(content)
        stat = process_stat(7, proc)
        assert (stat.state, stat.parent) == ("S", 1)
        assert isinstance(unit_of_cgroup(cgroup_of(7, proc)), str)
        argv = read_argv(7, proc)
        assert argv is None or "\0".join(argv).encode("utf-8", "surrogateescape") == data.rstrip(b"\0")
        assert all(isinstance(word, str) for pair in (read_environ(7, proc) or {}).items() for word in pair)


READERS = {
    "properties": parse_properties,
    "state": lambda text: manager_of(text).show("a.service").environment_files,
    "files": lambda text: UnitState("a", {"EnvironmentFiles": text, "DropInPaths": text}).environment_files,
    "tokens": parse_bus_tokens,
    "command": lambda text: manager_of(text).exec_start("a.service"),
    "shown command": lambda text: manager_of("ExecStart=" + text, rc=1).exec_start("a.service"),
    "environment": lambda text: manager_of(text).environment("a.service"),
    "denied": is_denied,
    "name": lambda text: or_failure(unit_name, text),
    "group": unit_of_cgroup,
}
PIECES = ["a", " ", "=", "A=1\n", "A=", '"', '"a" ', "\\", '\\"', "\\x41", "\\303", "/x (ignore_errors=yes) ", "/x (", "argv[]=",
          "argv[]=a ; ", "\n", "é", "/a.service", "a.slice/",
          "Authentication ", "authentication is ", "1 ", "'", "$"]  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
def test_time_grows_with_the_length(reader):
    for piece in PIECES:
        assert_linear(READERS[reader], "", piece)
