# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask, read_api_key
from ansible_collections.llmops.sglang.plugins.module_utils._unit_secrets import secret_files

KEY = "sk-real-secret"


@pytest.mark.parametrize(
    "text",
    [
        f"ServerArgs(api_key='{KEY}', port=1)",
        f"{{'admin_api_key': '{KEY}'}}",
        json.dumps({"api_key": KEY}),
        f"--api-key {KEY} --port 1",
        f"--admin-api-key={KEY}",
        f"Authorization: Bearer {KEY}",
        f"ssl_keyfile_password='{KEY}'",
    ],
)
def test_keys_are_masked_where_servers_print_them_even_if_unknown(text):
    assert KEY not in Mask().text(text)


def test_a_known_secret_is_masked_anywhere():
    assert Mask([KEY]).value({"a": [f"x{KEY}y", {KEY: 1}]}) == {"a": ["x********y", {"********": 1}]}


@pytest.mark.parametrize("word", ["EMPTY", "None", "", None, "abc"])
def test_words_that_stand_for_no_key_do_not_blank_out_text(word):
    assert Mask([word]).text("EMPTY None abc") == "EMPTY None abc"


def test_the_longer_of_two_secrets_goes_first():
    assert Mask(["token", "token-long"]).text("token-long") == "********"


def test_a_key_is_the_first_line_of_its_file(tmp_path):
    path = tmp_path / "key"
    path.write_text("k1\nk2\n")
    assert read_api_key(None, str(path)) == "k1"
    assert read_api_key("given", str(path)) == "given"
    assert read_api_key(None, None) is None


@pytest.mark.parametrize("content", [None, "\n"])
def test_a_key_file_without_a_key_is_a_failure(tmp_path, content):
    path = tmp_path / "key"
    if content is not None:
        path.write_text(content)
    with pytest.raises(Failure, match="key file"):
        read_api_key(None, str(path))


@pytest.mark.parametrize("key", ["sk-plain", 'with "quotes" and \\', "ключ"])
def test_the_key_in_the_configuration_that_the_collection_writes_itself(tmp_path, key):
    folder = tmp_path / "llm.service.secrets"
    folder.mkdir()
    (folder / "config.yaml").write_text(
        secret_files({"api_key": key, "admin_api_key": "other"}, {}, "# mine\ntp-size: 8\n").config, encoding="utf-8"
    )
    assert read_api_key(None, str(folder / "config.yaml")) == key


@pytest.mark.parametrize("lead", ["api_key='", 'api_key="', "'api_key': '", '{"api-key": "'])
def test_a_key_whose_quote_stays_open_is_masked_and_takes_no_time(lead):
    """The line was cut. With a backslash that fitted in two ways, the search went through two to the power of them."""
    assert "geheim" not in Mask().text(f"{lead}geheim")
    assert Mask().text(f"{lead}\\{'x' * 5}\nnext line").endswith("\nnext line")
    assert len(Mask().text(lead + "\\" * 5000)) < 100
