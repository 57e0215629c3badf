# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets that are found by where they stand or what they look like, and text that holds none."""

from __future__ import annotations

import time

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._known_secrets import in_file
from ansible_collections.llmops.sglang.plugins.module_utils._redaction import (
    Redaction,
    secret_values,
    secret_words,
)

CANARY = "c4n4ry+sEcReT/0"


@pytest.mark.parametrize(
    "text",
    [
        f"python -m sglang.launch_server --api-key {CANARY} --port 1",
        f"--admin-api-key={CANARY}",
        f"vllm serve m --hf-token {CANARY}",
        f"llama-server --api-key '{CANARY}'",
        f"['serve', '--auth-token', '{CANARY}', '--port', '1']",
        f'bash -c "exec serve --password={CANARY} --port 1"',
        f"docker run -e HF_TOKEN={CANARY} image",
        f"docker run --env MY_PASSWORD='{CANARY}' image",
        f"ServerArgs(model_path='m', api_key='{CANARY}', admin_api_key=None)",
        f"{{'ssl_keyfile_password': '{CANARY}'}}",
        f'{{"hf_token": "{CANARY}", "port": 1}}',
        f"wandb_secret = '{CANARY}'",
        f"Authorization: Bearer {CANARY}",
        f"authorization: Basic {CANARY}",
        f"x-api-key: {CANARY}",
        f"'Cookie': '{CANARY}'",
        f"https://user:{CANARY.replace('/', '_')}@host/path",
        f"key\n-----BEGIN RSA PRIVATE KEY-----\n{CANARY}\n-----END RSA PRIVATE KEY-----\n",
    ],
)
def test_a_secret_is_known_by_what_stands_around_it(text):
    redacted = Redaction().text(text)
    assert CANARY not in redacted and CANARY.replace("/", "_") not in redacted and "********" in redacted
    assert Redaction().text(redacted) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "hf_AbCdEfGhIjKlMnOpQrStUv",
        "sk-proj-abcdefghijklmnopqrst",
        "ghp_abcdefghijklmnop1234",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc-_",
    ],
)
def test_a_token_is_known_by_its_look(text):
    assert text not in Redaction().text(f"downloading with {text}, please wait")


@pytest.mark.parametrize(
    "text",
    [
        "--tokenizer-path /m --max-total-tokens 4096 --speculative-num-draft-tokens 16 --ssl-keyfile /k.pem",
        "server_args={'tokenizer_path': '/m', 'chunked_prefill_size': 8192, 'max_prefill_tokens': 16384}",
        "[2026-05-30 08:20:46 TP0] Decode batch, #running-req: 8, #token: 2455, token usage: 0.00, accept len: 5.60",
        "max_total_num_tokens=6619616, chunked_prefill_size=8192, context_len=4096",
        'INFO:     127.0.0.1:51234 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
        "TOKENIZERS_PARALLELISM=false NCCL_DEBUG=WARN CUDA_VISIBLE_DEVICES=0,1",
        "http://127.0.0.1:30000/v1/models",
        "KeyError: 'model.layers.0'",
        "api_key=None, admin_api_key=None, token=12",
    ],
)
def test_other_text_stays(text):
    assert Redaction().text(text) == text


def test_a_known_secret_goes_wherever_and_however_it_stands():
    secret = 'pa"ss\\wö rd'
    redaction = Redaction([secret])
    for text in (secret, repr(secret), 'say "pa\\"ss\\\\w\\u00f6 rd"', "a%3Dpa%22ss%5Cw%C3%B6%20rd"):
        assert "ss" not in redaction.text(f"xx {text} yy")
    assert redaction.value({secret: [secret]}) == {"********": ["********"]}


def test_words_of_a_command_line_are_judged_with_the_one_before():
    argv = ["serve", "--hf-token", CANARY, "--port", "1", f"--auth={CANARY}", "-c", f"X_KEY={CANARY} run"]
    shown = Redaction().words(argv)
    assert CANARY not in " ".join(shown) and shown[3:5] == ["--port", "1"] and len(shown) == len(argv)
    assert secret_words(argv)[:2] == [CANARY, CANARY]
    assert secret_words(["env", f"HF_TOKEN={CANARY}", "serve", "--tokenizer-path", "/m"]) == [CANARY]


def test_variables_are_secret_unless_they_are_known_to_be_harmless():
    environment = {
        "HF_TOKEN": "abcd",
        "CANARY": CANARY,
        "MODEL_DIR": "/opt/models",
        "WORKERS": "16",
        "SGLANG_LOG_MS": "something-longer",
        "HTTPS_PROXY": "http://me:pr0xyPass@proxy:3128",
        "SHORT": "prod",
    }
    assert secret_values(environment) == ["abcd", CANARY, "pr0xyPass"]
    shown = Redaction().environment(environment)
    assert "MODEL_DIR=/opt/models" in shown and "SGLANG_LOG_MS=something-longer" in shown
    assert {"CANARY=********", "HF_TOKEN=********", "HTTPS_PROXY=********"} < set(shown)


def test_the_settings_of_a_unit_are_judged_one_by_one():
    text = (
        f'[Service]\nEnvironment="CANARY={CANARY} with blanks" \\\n  SGLANG_LOG_MS=1 HF_TOKEN={CANARY}\n'
        f'SetCredential=key:{CANARY}\nEnvironment="open={CANARY}\nExecStart=/x --hf-token {CANARY} --port 1\nUser=llm'
    )
    shown = Redaction().unit_text(text)
    assert CANARY not in shown and "blanks" not in shown
    assert '"SGLANG_LOG_MS=1"' in shown and "User=llm" in shown and "--port 1" in shown


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f'api-key: "{CANARY}"\nmodel-path: /m\nport: 30000\n', [CANARY]),
        (f"# mine\nadmin_api_key: {CANARY}\n", [CANARY]),
        (f"LLMOPS_SGLANG_SECRETS=00ff00ff00ff\nHF_TOKEN={CANARY}\nMODE=fast\n", [CANARY]),
        (f"{CANARY}\n", [CANARY]),
        (f"two words {CANARY}\n{CANARY}", [f"two words {CANARY}", CANARY]),
        ("", []),
    ],
)
def test_what_a_file_of_secrets_holds(text, found):
    assert in_file(text) == found


@pytest.mark.parametrize("piece", ["-a", "a_", "--key", "x=", '"', "://", "eyJ.", "A b: '"])
def test_long_text_takes_no_longer_than_its_length(piece):
    """Ten times the text may take ten times as long, not a hundred times; with much room for a busy machine."""
    redaction = Redaction(["secret"])

    def taken(count):
        begin = time.process_time()
        redaction.text(piece * count)
        return time.process_time() - begin

    assert taken(20000) < 60 * max(taken(2000), 0.005)
