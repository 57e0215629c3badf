# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a model answers where a program was asked for, and what that program prints."""

from __future__ import annotations

import json

import pytest
from hostile import ANY_TEXT, JSON_JUNK, SCALARS, assert_linear, fuzz, goes_out, json_text, json_values, made_of
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils import _case_runner as case_runner
from ansible_collections.llmops.sglang.plugins.module_utils._code_extraction import find_code, is_python
from ansible_collections.llmops.sglang.plugins.module_utils._coding_judge import _decoded, _Run, _what_is_wrong, same
from ansible_collections.llmops.sglang.plugins.module_utils._degenerate_text import repeated_tail, repeated_token

PROGRAM = "def solve(a):\n    return a\n"
ANSWER = made_of(
    "```python\n", "```\n", "```", "````\n", "~~~\n", "~~~py\n", "```bash\n", "  ```\n", PROGRAM, "def solve(", "solve = 1\n",
    "class solve:\n", "async def solve(x): pass\n",
    "<think>", "</think>", "<THINK>", "\n", "\r\n", "\r", "text ", "`", "~", "import os\n", "\tdef solve(a):\n\t\tpass\n", "\0",
    "print(1)\n", "\\", '"""', "'''", "#",
)  # fmt: skip


@fuzz(ANSWER | ANY_TEXT, st.sampled_from(["solve", "f", "a.b", "", "é"]))
def test_code_is_a_part_of_its_answer_or_none(answer, entry_point):
    code = find_code(answer, entry_point)
    if code is None:
        return
    assert code.strip()
    # Never anything that was not said: each line of it is one of the answer's own.
    assert all(line in answer or "<think>" in answer.lower() for line in code.split("\n"))


@fuzz(
    st.sampled_from(["```", "````", "~~~"]),
    st.sampled_from(["", "python", "py", "Python3"]),
    st.text(st.sampled_from("ab \n.,*"), max_size=30),
    st.text(st.sampled_from("ab \n.,*"), max_size=30),
    st.booleans(),
)
def test_a_program_in_a_fence_is_found(fence, language, before, after, closed):
    answer = f"{before}\n{fence}{language}\n{PROGRAM}" + (f"{fence}\n{after}" if closed else "")
    assert find_code(answer, "solve") == PROGRAM
    assert find_code(f"<think>{fence}\ndef solve(): wrong\n{fence}\n</think>" + answer, "solve") == PROGRAM


@fuzz(st.text(st.sampled_from("The quick, brown fox! \n"), min_size=1, max_size=60))
def test_prose_is_no_program(answer):
    """An answer without a fence that is no Python defines nothing."""
    code = find_code("Sure! Here you are: " + answer, "solve")
    assert code is None


@fuzz(
    ANSWER
    | ANY_TEXT
    | st.sampled_from(
        [
            "(" * 5000,
            "-" * 50_000 + "1",
            "x" + ".a" * 5000,
            "1" + "+1" * 5000,
            "[" * 300,
            "lambda:" * 5000,
            "9" * 6000,
            "\ud800",
            "'''" * 999,
            "if 1:\n " * 200,
        ]
    )
)
def test_any_text_is_python_or_not(text):
    assert is_python(text) in (True, False)


LINES = st.lists(
    st.dictionaries(st.sampled_from(["ready", "ended", "said", "value", "error", "end", "broken", "tried"]), json_values("int", "list"),
                    max_size=3).map(json_text) | JSON_JUNK | ANY_TEXT,
    max_size=5,
)  # fmt: skip


@fuzz(LINES, json_values("a"))
def test_what_a_program_prints_never_passes_by_itself(lines, other):
    """The judge alone knows the value; what is no encoded value of it is wrong, and says why."""
    told = _decoded("\n".join(lines))
    assert all(isinstance(line, dict) for line in told)
    secret = case_runner.encode([12345678901, "Sesame7f3a", {"k": (1.5, None)}])
    assert "Sesame7f3a" not in repr([told, other])
    for run in (_Run(), _Run(ended="exit"), _Run(ended="time")):
        why = _what_is_wrong(run, told, secret, False, 1.0)
        assert why
        goes_out(why.encode("utf-8", "replace").decode())
    assert same(secret, secret) and not same(other, secret) and not same(secret, other, loose=True)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
        | st.frozensets(st.integers() | st.text(max_size=3), max_size=3)
    ),
    max_leaves=8,
)


@fuzz(VALUES, VALUES)
def test_a_value_equals_itself_after_its_way_through_a_pipe(value, other):
    encoded = json.loads(json.dumps(case_runner.encode(value)), parse_int=lambda digits: int(digits[:18]))
    assert same(encoded, case_runner.encode(value))
    if type(value) is not type(other):
        assert not same(encoded, case_runner.encode(other))


@fuzz(ANY_TEXT | st.builds(lambda text, times: text * times, ANY_TEXT, st.integers(1, 200)) | SCALARS.map(str))
def test_a_text_is_degenerate_or_not(text):
    for unit in (repeated_tail(text), *(repeated_token(text, tokens) for tokens in (0, 1, 40, len(text)))):
        assert isinstance(unit, str) and unit in text


READERS = {
    "code": lambda text: find_code(text, "solve"),
    "code in a fence": lambda text: find_code("```python\n" + text, "solve"),
    "code after a thought": lambda text: find_code("<think>" + text, "solve"),
    "definition": lambda text: find_code(text + "\ndef solve(): pass", "solve"),
    "printed": _decoded,
    "degenerate": lambda text: (repeated_tail(text), repeated_token(text, len(text))),
}
PIECES = ["a", " ", "\n", " \n", "\t", "`", "```", "```\n", "```a", "~", "~~~\n", "``` ", "  ```\n", "<think>", "</think>",
          "<think></think>", "def ", "def solve", "solve ", "solve", "async ", "\r\n", "{", '{"a":1}\n',
          "{\n", "[", "(", "\\", "é", "a b ", "1"]  # fmt: skip


@pytest.mark.parametrize("reader", READERS)
def test_time_grows_with_the_length(reader):
    for piece in PIECES:
        assert_linear(READERS[reader], "", piece)
        assert_linear(READERS[reader], "```", piece)
        assert_linear(READERS[reader], "x ", piece, "\n```")
