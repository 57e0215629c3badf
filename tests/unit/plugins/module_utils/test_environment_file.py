# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of environment variables, read as systemd reads them, and which of the variables are secrets."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._environment_file import (
    is_secret_variable,
    parse_environment_file,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A=1\n# c\n; d\nB = two words  \n", {"A": "1", "B": "two words"}),
        ('A=\'x y\'\nB="q\\"q\\n"\n', {"A": "x y", "B": 'q"q\\n'}),
        ("A=a\\\nb\nA2=a\\ \nno\n=x\n1x=2\nexport C=1\n", {"A": "ab", "A2": "a "}),
        ("A=x'y'\nB='x'y\nC=$HOME\nD=\n", {"A": "x'y'", "B": "xy", "C": "$HOME", "D": ""}),
        ("A='multi\nline'\nA3=last", {"A": "multi\nline", "A3": "last"}),
        ("A=1\nA=2", {"A": "2"}),
        # The answers of systemd 252.
        ("# comment \\\nA=eaten\nB=1", {"B": "1"}),
        (
            'D="q\\"q\\n\\$\\`\\\\"\nH=\'x\'y "z"\nP="a" # b\nS=tail\\  ',
            {"D": 'q"q\\n$`\\', "H": 'xy "z"', "P": "a# b", "S": "tail "},
        ),
    ],
)
def test_environment_files_read_as_systemd_does(text, expected):
    assert parse_environment_file(text) == expected


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("HF_TOKEN", "x", True),
        ("AWS_SECRET_ACCESS_KEY", "x", True),
        ("TOKENIZERS_PARALLELISM", "false", False),
        ("SSL_CERT_FILE", "/k", False),
        ("MAX_TOKENS", "5", False),
        ("http_proxy", "http://u:p@h:1", True),
        ("http_proxy", "http://h:1", False),
    ],
)
def test_secrets_are_told_by_whole_words(name, value, secret):
    assert is_secret_variable(name, value) is secret
