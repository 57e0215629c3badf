# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a record keeps of how its server was set."""

from __future__ import annotations

import json
import pathlib

from ansible_collections.llmops.sglang.plugins.module_utils._benchmark_settings import server_settings

RECORDS = pathlib.Path(__file__).resolve().parents[3] / "unit" / "fixtures" / "records"
KEY = "sk-the-secret"
ARGV = ["/opt/python", "-m", "sglang.launch_server", "--model-path", "org/model", "--tp", "8", "--api-key", KEY]


def told():
    """What a real SGLang answered."""
    with open(RECORDS / "sglang-0.5.15-dflash" / "exchanges.json", encoding="utf-8") as handle:
        exchanges = json.load(handle)["exchanges"]
    answer = next(e["response"] for e in exchanges if e["path"] == "/server_info" and e["status"] == 200)
    return json.loads(answer) if isinstance(answer, str) else answer


def test_the_server_s_own_word_counts_with_what_was_not_given():
    found = server_settings({**told(), "api_key": KEY}, ARGV, {"SGLANG_X": "1", "HOME": "/root", "SGLANG_API_KEY": KEY})
    assert found["arguments_from"] == "server"
    assert found["arguments"]["speculative_algorithm"] == "DFLASH"
    # DFLASH sets this one by itself where nobody does.
    assert found["arguments"]["max_running_requests"] == told()["max_running_requests"]
    assert found["environment"] == {"SGLANG_X": "1"}
    assert KEY not in json.dumps(found) and "internal_states" not in found["arguments"]


def test_a_silent_server_is_known_by_its_command_line():
    for info in (None, {"version": "0.5.15", "model_path": "org/model"}):
        found = server_settings(info, ARGV, None, "0.5.15")
        assert (found["arguments_from"], found["environment"]) == ("command_line", None)
        assert found["arguments"]["tp_size"] == 8
        assert KEY not in json.dumps(found)


def test_nobody_tells():
    assert server_settings(None, [], {}) == {"arguments": None, "arguments_from": None, "environment": {}}
