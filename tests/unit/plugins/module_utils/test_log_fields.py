# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The field parser: what it reads, and that no text upsets it."""

from __future__ import annotations

import json
import pathlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils._log_fields import parse_fields, typed
from ansible_collections.llmops.sglang.plugins.module_utils._time_limit import cpu_time_limit

LOGS = pathlib.Path(__file__).parents[2] / "fixtures" / "logs"
NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,12}", fullmatch=True).filter(lambda name: name != "server_args")
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=8
)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (
            "[2026-05-30 08:20:46 TP0] Initialized DDTREE draft runner. attention_backend=triton, model=DFlashDraftModel, "
            "block_size=8, draft_window_size=2048, compact_cache=True",
            {
                "attention_backend": "triton",
                "model": "DFlashDraftModel",
                "block_size": 8,
                "draft_window_size": 2048,
                "compact_cache": True,
            },
        ),
        (
            "Load weight end. elapsed=0.11 s, type=Qwen3ForCausalLM, avail mem=62.26 GB, mem usage=0.06 GB.",
            {"elapsed": 0.11, "type": "Qwen3ForCausalLM", "avail_mem": 62.26, "mem_usage": 0.06},
        ),
        (
            "DFLASH block size mismatch: using num_draft_tokens=8 but draft config block_size=16.",
            {"num_draft_tokens": 8, "block_size": 16},
        ),
        ("mask_token=<|MASK|>, mask_token_id=3, a==4, b!=5, c<=6", {"mask_token": "<|MASK|>", "mask_token_id": 3}),
        (
            "resolved prefill.backend='disabled' (e.g. via --cuda-graph=off or so)",
            {"prefill.backend": "disabled", "cuda-graph": "off"},
        ),
        ("x=Config(a='1, b=2', c=[3]), d=4", {"x": "Config(a='1, b=2', c=[3])", "d": 4}),
        ("a=1, a=2", {"a": 1}),
        ("a=, b=None, c=-1e3, d=1e999, e=inf", {"a": "", "b": None, "c": -1000.0, "d": "1e999", "e": "inf"}),
        ("f={'x': [1, 2), g=3", {"f": "{'x': [1, 2), g=3"}),
        ("it's what don't=7 means", {"t": 7}),
        ("no fields here", {}),
        ("", {}),
    ],
)
def test_lines(text, fields):
    assert parse_fields(text) == fields


@pytest.mark.parametrize("opening", ["ServerArgs(model_path='/m x/y', ", "{'model_path': '/m x/y', "])
def test_server_arguments(opening):
    call = opening.endswith("', ") and opening.startswith("S")
    pairs = {
        "host": "0.0.0.0",
        "cuda_graph_bs": [1, 2, 4],
        "json": '{"a": "b, c=d"}',
        "quote": "it's",
        "tp_size": 2,
        "none": None,
    }
    body = ", ".join(f"{k}={v!r}" if call else f"{k!r}: {v!r}" for k, v in pairs.items())
    padding = ", ".join(f"p{i}='{'x' * 90}'" if call else f"'p{i}': '{'x' * 90}'" for i in range(95))
    mode = "mode=<Mode.A: 'a'>" if call else "'mode': <Mode.A: 'a'>"
    text = f"[2026-05-30 08:20:46] server_args={opening}{body}, {mode}, {padding}{')' if call else '}'}"
    assert len(text) > 9000
    fields = parse_fields(text)
    assert {key: fields[key] for key in pairs} == pairs
    assert fields["model_path"] == "/m x/y"
    assert fields["mode"] == "<Mode.A: 'a'>"
    assert "c" not in fields and "a" not in fields and len(fields) == len(pairs) + 97


@pytest.mark.parametrize("name", ["0.5.15-dflash-no-window-api-key", "0.5.23-api-key"])
def test_server_arguments_of_a_real_server(name):
    text = next(line for line in (LOGS / "healthy" / f"{name}.log").open(encoding="utf-8") if "server_args=" in line)
    fields = parse_fields(text.rstrip())
    assert len(fields) > 300
    assert fields["host"] == "127.0.0.1" and isinstance(fields["port"], int) and fields["tp_size"] == 1
    assert all(key.isidentifier() for key in fields)


@given(st.dictionaries(NAMES, VALUES, max_size=8))
def test_a_list_of_representations_is_read_back(pairs):
    text = "Something happened. " + ", ".join(f"{key}={value!r}" for key, value in pairs.items())
    assert parse_fields(text) == json.loads(json.dumps(pairs))


@given(st.dictionaries(NAMES, VALUES, max_size=8), st.booleans())
def test_server_arguments_are_read_back(pairs, call):
    body = ", ".join(f"{key}={value!r}" for key, value in pairs.items())
    text = f"[t] server_args=ServerArgs({body})" if call else f"[t] server_args={pairs!r}"
    assert parse_fields(text) == json.loads(json.dumps(pairs))


@given(st.text() | st.text(alphabet="ab=,'\"()[]{}<>\\ .-"))
@settings(max_examples=400)
def test_no_text_raises_and_every_field_is_json(text):
    for line in (text, f"server_args={{{text}", f"server_args=S({text}"):
        json.dumps(parse_fields(line), allow_nan=False)


@given(VALUES)
def test_typed_reads_representations(value):
    assert typed(repr(value)) == json.loads(json.dumps(value)) or isinstance(value, str)


@pytest.mark.parametrize(
    "text",
    [
        "a=" + "(" * 200_000,
        "(" * 100_000 + "]" * 100_000,
        "a" * 400_000,
        "a=1 " * 100_000,
        "--" * 200_000,
        "a=<" * 100_000,
        "server_args={" + "'a': 1, " * 50_000,
        "x='" + "\\" * 200_000,
        "a b=1, " * 50_000,
        "a=[" + "'" * 200_001,
    ],
    ids=range(10),
)
def test_long_lines_take_linear_time(text):
    """What grew with the square of a line would take hours."""
    with cpu_time_limit(120):
        assert isinstance(parse_fields(text), dict)
