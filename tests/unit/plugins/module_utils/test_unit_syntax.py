# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words of unit files: what is written must read back the same, by rules written down here once more."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils import _unit_syntax as syntax
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure

NASTY = [
    '{"a":1}', '{"a": "b c"}', "50%", "%h", "$HOME", "${X}", 'a"b', "it's", "back\\slash", "trailing ", " leading", ";", "{% if %}", "",
    "žluťoučký 机器", "\\", "\\n", "#x", "a;b", "\t", "$$", "%%", "-", "@x", "~", "a\x7fb", "\x01", "'", '"', '\\"', "\u2028",
]  # fmt: skip
TEXT = st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs", "Cn"]), max_size=30)


def reference_words(line: str) -> list[str]:
    """systemd.syntax(7) and systemd.service(5) for a line of words in double quotes or none: an independent reading."""
    words = []
    for match in re.finditer(r'"((?:[^"\\]|\\.)*)"(?=\s|$)|([^\s"\']+)(?=\s|$)', line, flags=re.DOTALL):
        quoted, bare = match.groups()
        text = (
            bare
            if quoted is None
            else re.sub(r"\\x([0-9a-f]{2})|\\(.)", lambda m: chr(int(m[1], 16)) if m[1] else m[2], quoted)
        )
        assert quoted is not None or "\\" not in text
        # A lone ; would end the command, a word that begins with # or ; would end a continued line.
        assert quoted is not None or text[0] not in ";#"
        assert not re.search(r"(?<!%)(?:%%)*%(?!%)", text), "a specifier is left"
        assert not re.search(r"(?<!\$)(?:\$\$)*\$(?!\$)", text), "a variable is left"
        words.append(text.replace("%%", "%").replace("$$", "$"))
    return words


@pytest.mark.parametrize("word", NASTY)
def test_nasty_words_read_back(word):
    line = syntax.argument_word(word)
    # Whatever reads the file line by line, or strips it, must not meet a control character.
    assert not any(ord(c) < 32 or ord(c) == 127 for c in line)
    assert reference_words(line) == [word]
    assert syntax.literal_words("/bin/x " + line)[1:] == [word]


@given(st.lists(TEXT, max_size=8))
def test_any_words_read_back(words):
    line = " ".join(syntax.argument_word(w) for w in words)
    assert reference_words(line) == words
    assert syntax.literal_words("/bin/x " + line)[1:] == words


@pytest.mark.parametrize("word", ["a\nb", "a\0b", "\udcff", "a\ufffe", "\U0001ffff", "\ufdd0"])
def test_what_a_unit_file_cannot_carry_is_refused(word):
    with pytest.raises(Failure) as caught:
        syntax.argument_word(word)
    assert caught.value.failure_class == "unit_invalid"


def test_dollar_has_no_meaning_in_environment():
    assert syntax.environment_word("A", "$HOME 50% x") == '"A=$HOME 50%% x"'


@pytest.mark.parametrize(
    ("name", "value"), [("1A", "x"), ("A-B", "x"), ("", "x"), ("A", "a\rb"), ("A", "\x1b[0m"), ("A", "a\nb")]
)
def test_environment_that_systemd_would_ignore_is_refused(name, value):
    with pytest.raises(Failure):
        syntax.environment_word(name, value)


def test_environment_file_lines_escape_what_the_shell_would_read():
    assert syntax.environment_file_line("A", 'a"b$c`d\\e') == r'A="a\"b\$c\`d\\e"'


def test_units_by_hand_are_read():
    text = """\
# a comment
[Unit]
Description=x
[Service]
Environment=A=1
ExecStart=/old/python -m x
ExecStart=
ExecStart=/py -m sglang.launch_server \\
  --model-path '/m o' \\
# between
  --served-model-name "a\\x20b" --json {} --pct 5%% --dollar $$x
; another
Restart=always
"""
    assert syntax.exec_start_of(text) == [
        "/py", "-m", "sglang.launch_server", "--model-path", "/m o", "--served-model-name", "a b", "--json", "{}", "--pct", "5%", "--dollar", "$x",
    ]  # fmt: skip
    assert ("Service", "Restart", "always") in syntax.parse_unit(text)


def test_a_quote_that_is_not_closed_is_refused():
    with pytest.raises(Failure, match="not closed"):
        syntax.split_words('/x "a')
    assert syntax.exec_start_of('[Service]\nExecStart=/x "a\n') == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r"a\tb", ["a\tb"]),
        (r'"\u017e\303\274"', ["žü"]),
        (r"'a'\''b'", ["a'b"]),
        (r"\q", [r"\q"]),
        ('a"b c"d', ["ab cd"]),
        ('""', [""]),
    ],
)
def test_escapes_of_others_are_read(text, words):
    assert syntax.split_words(text) == words


@pytest.mark.parametrize("escape", [r"\ud800", r"\U99999999", r"\777", r"\x00", r"\u0000"])
def test_an_escape_that_stands_for_no_character_stays(escape):
    assert syntax.split_words(escape) == [escape]


def test_lines_end_where_they_end_for_systemd():
    text = "[Service]\rExecStart=/x \\\r\n  a\n\rUser=b\u2028c\xa0\n"
    assert syntax.parse_unit(text) == [("Service", "ExecStart", "/x    a"), ("Service", "User", "b\u2028c\xa0")]
