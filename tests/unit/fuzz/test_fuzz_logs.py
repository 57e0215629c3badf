# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Log lines that anybody may have written, a client's own prompt among them."""

from __future__ import annotations

import json

import pytest
from hostile import (
    ANY_TEXT,
    CANARY,
    FIXTURES,
    assert_linear,
    fuzz,
    goes_out,
    made_of,
    mutated,
    repeated,
)
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils import _log_text as log_text
from ansible_collections.llmops.sglang.plugins.module_utils._failure import FAILURE_CLASSES
from ansible_collections.llmops.sglang.plugins.module_utils._field_match import differs, look_up
from ansible_collections.llmops.sglang.plugins.module_utils._journal_rows import clean_text
from ansible_collections.llmops.sglang.plugins.module_utils._known_secrets import in_file
from ansible_collections.llmops.sglang.plugins.module_utils._log_facts import (
    draft_runner,
    is_draft_runner,
    last_telling,
    stage_of,
)
from ansible_collections.llmops.sglang.plugins.module_utils._log_failures import failure_of
from ansible_collections.llmops.sglang.plugins.module_utils._log_fields import parse_fields, typed
from ansible_collections.llmops.sglang.plugins.module_utils._redaction import Redaction
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask

LOGS = [path.read_text(errors="replace")[:6000] for path in sorted((FIXTURES / "logs").glob("*/*.log"))]
LINE = made_of(
    "[2026-05-30 08:20:46 TP0] ", "Initialized DFLASH draft runner. ", "server_args=", "ServerArgs(", "'a': 1, ", "a=1, ", "model='x", "mem=5.00 GB",
    "Traceback (most recent call last):", "  File \"/x/launch_server.py\", line 1, in <module>", "ValueError: ", "error: unrecognized arguments: ",
    "--flag", "[Errno 98] ", "Scheduler hit an exception: ", "OutOfMemoryError", "watchdog timeout (", "loading ", "Capture ", "graph begin", "shards",
    "The above exception was the direct cause", "[rank0]: ", "|####|", "[1<", "9" * 30, "1e999", "0.5", "nan", "None", "<think>",
)  # fmt: skip
LINES = st.lists(LINE | ANY_TEXT, max_size=12) | mutated(LOGS).map(lambda text: text.split("\n"))


@fuzz(LINE | ANY_TEXT)
def test_fields_of_any_line_can_be_told(line):
    others = {}
    fields = parse_fields(line, others)
    json.dumps([fields, others], allow_nan=False)
    goes_out(parse_fields(clean_text(line)))
    for key, value in fields.items():
        assert look_up(fields, key) == value
        assert not differs(value, value) or isinstance(value, (dict, str, list))
        # What is not there equals nothing that is expected.
        assert differs({"min": 1}, look_up({}, key)) and differs({"one_of": [value, 1]}, object())


@fuzz(st.text(st.sampled_from("0123456789_+-.eExXaj'\"()[]{},: \\uN\n\ud800é٣²"), max_size=30) | ANY_TEXT)
def test_any_word_has_a_type(raw):
    value = typed(raw)
    json.dumps(value, allow_nan=False)
    assert isinstance(value, str) or value is None or str(value) or raw


@fuzz(LINES)
def test_any_log_is_told_or_not(lines):
    found = failure_of(lines)
    if found is not None:
        assert found[0] in FAILURE_CLASSES and found[1].strip() and len(found[1]) < 1500
    assert isinstance(stage_of(lines), str) and len(last_telling(lines)) <= 160
    runner = draft_runner(lines)
    assert (runner is None) == (not any(map(is_draft_runner, lines)))
    json.dumps(runner, allow_nan=False)


@fuzz(LINES)
def test_tracebacks_lie_in_their_log_one_after_the_other(lines):
    end = 0
    for block in log_text.tracebacks(lines):
        assert end <= block.start < block.end <= len(lines) and log_text.TRACEBACK in lines[block.start]
        end = block.end
    for line in lines:
        assert line.endswith(log_text.message_of(line)) and log_text.has_prefix(line) == (
            log_text.message_of(line) != line
        )


@fuzz(st.lists(st.text(st.sampled_from("abc .|#%0"), max_size=30), max_size=8), st.booleans())
def test_a_log_without_a_failure_tells_none(lines, stopped):
    """Garbage is no cause, and a server that was told to stop has not failed."""
    assert failure_of([*lines, *(["SIGTERM received"] if stopped else [])]) is None
    assert stage_of(lines) == "" and draft_runner(lines) is None


# Each word that is masked, and around it what a server may print.
SECRET_TEXT = st.lists(
    made_of("api_key=", "'api_key': ", '"api-key": "', "Bearer ", "--api-key ", "://u:", "@h", "hf_", "sk-", "TOKEN=", "'", '"', "\\",
            "\\\\", "x", " ", most=6),
    min_size=1,
    max_size=4,
)  # fmt: skip


@fuzz(SECRET_TEXT, st.sampled_from([Mask, Redaction]))
def test_a_known_secret_never_comes_through(parts, kind):
    mask = kind([CANARY, "", None, "no"])
    text = CANARY.join(["", *parts, ""])
    assert CANARY not in mask.text(text)
    value = {text: [text, {"a": text, "api_key": CANARY}], "b": (text,)}
    assert CANARY not in json.dumps(mask.value(value))
    goes_out(mask.value([clean_text(text)]))


# A value that only its place makes a secret: whatever stands before it in the line.
PLACES = [
    "api_key='{}'", 'api_key="{}"', "'api_key': '{}'", '"admin_api_key": "{}"', "--api-key {}", "--api-key={}", "Authorization: Bearer {}",
    "ssl_keyfile_password='{}'", "api-key: '{}'",
]  # fmt: skip


@fuzz(ANY_TEXT, st.sampled_from(PLACES), ANY_TEXT, st.sampled_from([Mask, Redaction]))
def test_a_secret_in_its_place_never_comes_through(before, place, after, kind):
    # An open quote before it would make the place a part of another text.
    before = before.translate(dict.fromkeys(map(ord, "'\"\\=:")))
    text = f"{before} {place.format(CANARY)} {after}"
    assert CANARY not in kind().text(text)


@fuzz(st.lists(st.sampled_from(["--api-key", "--token", "x", "HF_TOKEN=", "--port", "1"]), max_size=5), st.data())
def test_unit_texts_and_command_lines_are_shown_without_secrets(words, data):
    redaction = Redaction([CANARY])
    place = data.draw(st.integers(0, len(words)))
    argv = [*words[:place], CANARY, *words[place:]]
    assert CANARY not in " ".join(redaction.words(argv))
    unit = (
        "[Service]\nExecStart=" + " ".join(argv) + f'\nEnvironment="HF_TOKEN={CANARY}" B=1\nSetCredential=k:{CANARY}\n'
    )
    assert CANARY not in redaction.unit_text(unit)
    assert CANARY not in " ".join(redaction.environment({"A": CANARY, "PATH": f"/x:{CANARY}"}))


@fuzz(made_of("api-key: ", '"', "'", "A=", "\n", "#", "TOKEN=", ": ", "é") | ANY_TEXT)
def test_files_of_secrets_by_strangers_are_read(text):
    assert all(isinstance(one, str) for one in in_file(text))


READERS = {
    "fields": parse_fields,
    "failure": lambda text: failure_of([text]),
    "failure of lines": lambda text: failure_of(text.split(" ")),
    "failure of a process": lambda text: failure_of(
        [
            '  File "/x/launch_server.py"',
            "Scheduler hit an exception: Traceback (most recent call last):",
            "  File",
            text,
        ]
    ),
    "stage": lambda text: (stage_of([text]), is_draft_runner(text)),
    "telling": lambda text: last_telling([text]),
    "clean": clean_text,
    "mask": Mask([CANARY]).text,
    "redaction": Redaction([CANARY]).text,
    "unit": Redaction([CANARY]).unit_text,
    "secrets": in_file,
}
PIECES = [
    "a", "A", "1", " ", "\\", "'", '"', "(", "[", "{", "=", "a=", "a=1 ", "--", "-", "_", "a_", "a-", "loading ", "Capture ", "Capture a ",
    "load", "gloo ",
    "Model architecture ", "[Errno 98] ", "[Errno 98] error while attempting to bind on address (", "a at 1", "watchdog ", "error: ", "Initialized ", "|",
    "|#", "[1<", "[1", "\x1b[", "\x1b]", "\x9b1;", "api_key='", "api_key=\"", "api_key", "api_key =", "Bearer ", "--api-key ", "://",
    "://a:", "key=", "A='",
    'A="', "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "eyJaaaaaaaaaaa.", "sk-", "x-a-", "authorization: ", "Set-Cookie=",
    "Subprocess a ", "at ", "ValueError: ",
    "ERROR ", "ERROR a] ", "Free memory on device ", "To serve at least one request ", "NCCL error in: ", "DistBackendError: ", "is not available in ",
    "Environment=", "SetCredential=", "\n", "a\n", "mem usage=", "a b=", "<a", "x=<", "server_args=", "server_args={'a': ", "No such file or directory: '",
    "unrecognized arguments", "- ", "usage: ", "Traceback (most recent call last):", "[2026-05-30 08:20:46", " TP0",
]  # fmt: skip


BEGINNINGS = [
    ("api_key='", "\\", ""),
    ('{"api_key": "', "\\", ""),
    ("error: load", "a", ""),
    ("SIGQUIT [Errno 98] error while attempting to bind on address (", "'", ""),
    ("error: unrecognized arguments: ", "--a", ""),
    ("load ", "watchdog ", "timeout"),
    ("Initialized ", "a", " draft"),
    ("a='", "\\'", ""),
    ("server_args=A(", "a='", ""),
    ("x=", "(" * 3, ")"),
    ("-----BEGIN ", "A", ""),
    ("0.00.000.000 E a", ": ", ""),
    ("loading ", "a", "shard"),
    ("[1<", "a", ""),
]


@pytest.mark.parametrize("reader", READERS)
def test_time_grows_with_the_length(reader):
    for piece in PIECES:
        assert_linear(READERS[reader], "", piece)


@pytest.mark.parametrize("reader", READERS)
def test_time_grows_with_the_length_after_a_beginning(reader):
    for beginning in BEGINNINGS:
        assert_linear(READERS[reader], *beginning)


@fuzz(st.sampled_from(sorted(READERS)), repeated(*PIECES), whole=1000)
def test_time_grows_with_the_length_of_whatever_is_repeated(reader, parts):
    assert_linear(READERS[reader], *parts, thorough=False)
