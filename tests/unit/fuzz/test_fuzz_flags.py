# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flags, their values, help texts and versions of servers that nobody here has seen."""

from __future__ import annotations

import json

import pytest
from hostile import ANY_TEXT, CANARY, FIXTURES, assert_linear, fuzz, goes_out, made_of, mutated, or_failure
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils import _flags as flags
from ansible_collections.llmops.sglang.plugins.module_utils._adopted_arguments import adopt_arguments
from ansible_collections.llmops.sglang.plugins.module_utils._endpoint import argument, hide_keys
from ansible_collections.llmops.sglang.plugins.module_utils._server_help import HelpStore, ask_server, parse_help
from ansible_collections.llmops.sglang.plugins.module_utils._version import at_least, version_key

NEWEST = flags.table_of(None)
KNOWN = sorted(flags.spans())
VALUES = st.sampled_from(
    ["1", "-1", "0.5", "-0.5", "1e400", "nan", "inf", "9" * 5000, "²", "1_0", "٣", "{}", '{"a": 1}', "[1]", "[" * 2000, '{"a":' * 2000,
     "NaN", "", " ", "a b", "--", "-", "true",
     '"', "\udcff", "\ud800", "DFLASH", "EAGLE", "a,b"]
)  # fmt: skip
WORDS = st.lists(
    st.sampled_from(KNOWN)
    | st.sampled_from(KNOWN).map(lambda word: word[:-2])
    | VALUES
    | ANY_TEXT
    | st.tuples(st.sampled_from(KNOWN), VALUES).map("=".join),
    max_size=10,
)
VERSIONS = (
    st.sampled_from(flags.VERSIONS)
    | made_of("0", "5", ".", "v", "rc", "post", "dev", "a", "1", "-", "+g", "²", "٣", "9" * 5000, most=8)
    | ANY_TEXT
)


@fuzz(VERSIONS, VERSIONS)
def test_versions_are_ordered_or_refused(one, other):
    keys = [or_failure(version_key, text, allowed=(ValueError,)) for text in (one, other)]
    if any(isinstance(key, ValueError) for key in keys):
        return
    assert all(len(key) == 6 and all(isinstance(part, int) for part in key) for key in keys)
    assert at_least(one, one) and (at_least(one, other) or at_least(other, one))
    assert flags.nearest_release(one) in flags.VERSIONS
    table = flags.table_of(one)
    assert table.flags and table.origin in ("catalogue", "nearest")


@fuzz(WORDS, VERSIONS | st.none())
def test_any_command_line_is_read_with_nothing_lost(words, version):
    """Each word is a flag's own, one of its values, or a surplus."""
    uses = flags.uses(words, NEWEST)
    told = [part for use in uses for part in ([use.word] if use.word else []) + use.values + use.surplus]
    # Whatever their order: of a flag that nobody knows, words may come behind a double dash, too.
    assert sorted("".join(told).replace("=", "")) == sorted("".join(w for w in words if w != "--").replace("=", ""))
    arguments = flags.arguments_of(words, version)
    # A value that is not equal to itself would look like a change each time.
    assert arguments == flags.arguments_of(list(words), version)
    json.dumps(arguments, allow_nan=False)
    argument(words, "--host", "--port"), hide_keys(words, "*")


@fuzz(WORDS, st.sampled_from([flags.VERSIONS[0], flags.VERSIONS[-1], "0.5.15"]))
def test_any_command_line_is_adopted_or_its_loss_is_told(words, version):
    adopted = adopt_arguments(words, flags.table_of(version))
    assert all(isinstance(name, str) and name for name in (*adopted.args, *adopted.speculative, *adopted.secrets))
    assert all(isinstance(one, str) and one for one in adopted.lost)
    json.dumps([adopted.args, adopted.speculative, adopted.flag_names], allow_nan=False)
    assert not words or not any(word.startswith("--") and len(word) > 2 for word in words) or adopted != type(adopted)()


@fuzz(
    st.lists(st.sampled_from(["--model-path", "/m", "--port", "1", "--trust-remote-code", "x"]), max_size=5),
    st.sampled_from(["api-key", "admin-api-key", "ssl-keyfile-password", "new-api-key", "hf-token"]),
    st.booleans(),
)
def test_an_adopted_secret_is_named_and_never_told(words, name, joined):
    secret = [f"--{name}={CANARY}"] if joined else [f"--{name}", CANARY]
    adopted = adopt_arguments([*words, *secret], NEWEST)
    assert adopted.secrets and CANARY not in repr(adopted)


HELP = made_of(
    "usage: launch_server.py [-h] --model-path MODEL_PATH\n", "  --", "  -h, --help  show\n", "--a", "--a-b, --c X", " {a,b}", " [X ...]",
    " X [X ...]", "  ", "\n", "{", "}",
    "--no-a", ", ", "        ", " help text", "[", "...]", "\u2028", "\r\n", "options:\n", "  --a, --no-a\n", "  --x {1,2}\n",
)  # fmt: skip
HELPS = [(FIXTURES / "engines" / "sglang_help.txt").read_text()]


@fuzz(HELP | ANY_TEXT | mutated(HELPS))
def test_any_help_text_is_flags(text):
    for flag in parse_help(text):
        assert flag.flag.startswith("--") and flag.dest and flag.takes_value == (flag.kind == flags.VALUE)
        assert all(word.startswith("--") for word in flag.aliases)
    table, why = ask_server(lambda words, **named: (0, text, ""), "python", {}, "0.5.23")
    assert (table is None) == bool(why)
    if table is not None:
        goes_out(sorted(table.words()))
        for word in [*table.words(), "--a", "--", "-", ""]:
            or_failure(table.find, word, allowed=(flags.Ambiguous,))


@fuzz(
    st.lists(
        st.tuples(
            st.from_regex(r"--[a-z][a-z0-9]{0,6}(-[a-z0-9]{1,4})?", fullmatch=True),
            st.sampled_from(["", " X", " {a,b}", " X [X ...]", " [X ...]"]),
        ),
        unique_by=lambda pair: pair[0],
        max_size=6,
    )
)
def test_flags_that_a_help_text_lists_are_read_back(pairs):
    text = "".join(
        f"  {flag}{metavar}{'  ' if number % 2 else chr(10) + ' ' * 24}says --what it does\n"
        for number, (flag, metavar) in enumerate(pairs)
    )
    found = parse_help(text)
    assert [(f.flag, f.takes_value, f.choices, f.nargs) for f in found] == [
        (
            flag,
            bool(metavar),
            ("a", "b") if "{" in metavar else None,
            {" X [X ...]": "+", " [X ...]": "*"}.get(metavar, ""),
        )
        for flag, metavar in pairs
    ]


@fuzz(HELP | ANY_TEXT | st.none(), ANY_TEXT)
def test_a_kept_help_text_that_was_damaged_never_raises(text, said):
    store = HelpStore(lambda key: text, lambda key, written: None)
    table, why = ask_server(lambda words, **named: (1, "", said), "python", {}, "0.5.23", "stamp", store)
    assert table is None or table.flags


READERS = {
    "help": parse_help,
    "an option": lambda text: parse_help("  --a " + text),
    "version": lambda text: or_failure(version_key, text, allowed=(ValueError,)),
    "words": lambda text: flags.arguments_of(text.split(" "), None),
    "adopted": lambda text: adopt_arguments(text.split(" "), NEWEST),
    "value": lambda text: adopt_arguments(["--json-model-override-args", text], NEWEST),
    "argument": lambda text: argument(text.split(" "), "--port"),
}
PIECES = ["a", " ", "  ", "{", "}", "[", "]", " [", "a [", "...]", " ...]", "--a", "--a ", "--a, ", "-", "-a", "\n", "  --a\n",
          "  --a  b\n", "1", "1.", ".", "9", '"', "--port ", "--port 1 ", "--po=", "=",
          "[1,", "{\"a\":", "--served-model-name a ", "--cuda-graph-bs 1 ", "x "]  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
def test_time_grows_with_the_length(reader):
    for piece in PIECES:
        assert_linear(READERS[reader], "", piece)
