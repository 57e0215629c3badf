# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a server's own help text says of its flags."""

from __future__ import annotations

import argparse

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _flags
from ansible_collections.llmops.sglang.plugins.module_utils._server_arguments import direct_flag, related_flag
from ansible_collections.llmops.sglang.plugins.module_utils._server_help import HelpStore, ask_server, parse_help


def parser():
    made = argparse.ArgumentParser(prog="launch_server.py")
    made.add_argument("--model-path", "--model", type=str, required=True, help="The path. " * 60)
    made.add_argument("--tensor-parallel-size", "--tp-size", type=int)
    made.add_argument("--cuda-graph-bs", type=int, nargs="+")
    made.add_argument("--lora-paths", type=str, nargs="*")
    made.add_argument("--tokenizer-mode", choices=["auto", "slow"])
    made.add_argument("--trust-remote-code", action="store_true", help="Trust --this-is-text.")
    made.add_argument("--lora-strict-loading", action=argparse.BooleanOptionalAction)
    made.add_argument("--fp8-gemm-backend", dest="fp8_gemm_runner_backend")
    made.add_argument("--speculative-algorithm", help="Builtins: EAGLE, DFLASH, DDTREE.")
    made.add_argument("--speculative-ddtree-budget", type=int)
    return made


def test_flags_of_a_help_text(monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    found = {flag.flag: flag for flag in parse_help(parser().format_help())}
    assert set(found) == {
        "--help", "--model-path", "--tensor-parallel-size", "--cuda-graph-bs", "--lora-paths", "--tokenizer-mode", "--trust-remote-code",
        "--lora-strict-loading", "--fp8-gemm-backend", "--speculative-algorithm", "--speculative-ddtree-budget",
    }  # fmt: skip
    assert found["--model-path"].aliases == ("--model",)
    assert found["--tensor-parallel-size"].dest == "tensor_parallel_size"
    assert found["--cuda-graph-bs"].nargs == "+"
    assert found["--lora-paths"].nargs == "*"
    assert found["--tokenizer-mode"].choices == ("auto", "slow")
    assert not found["--trust-remote-code"].takes_value
    assert found["--lora-strict-loading"].kind == _flags.PAIR
    assert found["--fp8-gemm-backend"].dest == "fp8_gemm_runner_backend"


def test_the_form_of_newer_pythons():
    (flag,) = parse_help("options:\n  --model-path, --model MODEL_PATH  The path.\n")
    assert (flag.flag, flag.aliases, flag.dest, flag.takes_value) == ("--model-path", ("--model",), "model_path", True)


def test_asking_gives_types_of_the_nearest_release(monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    seen = []

    def run_command(argv, **options):
        seen.append((argv, options["environ_update"]))
        return 0, parser().format_help(), "a warning"

    table, why = ask_server(run_command, "/py", {"PYTHONPATH": "/shim"}, "0.5.12+fork")
    assert why == ""
    assert seen[0][0][2:] == ["/py", "-m", "sglang.launch_server", "--help"]
    assert seen[0][1]["PYTHONPATH"] == "/shim"
    assert table.origin == "help"
    assert table.get_exact("--tp-size").type == "int"
    assert table.get_exact("--speculative-ddtree-budget") is not None
    assert table.get_exact("--speculative-draft-window-size") is None


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        ((1, "", "ModuleNotFoundError: no torch"), "no torch"),
        ((124, "", ""), "did not come"),
        ((0, "hello", ""), "hello"),
    ],
)
def test_a_server_that_does_not_tell(answer, part):
    table, why = ask_server(lambda argv, **dummy: answer, "/py", {}, "0.5.12")
    assert table is None
    assert part in why


@pytest.mark.parametrize(("stamp", "asked"), [("s1", 1), ("", 2)])
def test_a_help_text_is_kept_as_long_as_the_files_are_the_same(monkeypatch, stamp, asked):
    monkeypatch.setenv("COLUMNS", "400")
    seen, kept = [], {}

    def run_command(argv, **dummy):
        seen.append(argv)
        return 0, parser().format_help(), ""

    store = HelpStore(kept.get, kept.__setitem__)
    tables = [ask_server(run_command, "/py", {}, "0.5.12+f", stamp, store)[0] for dummy in range(2)]
    assert tables[0].words() == tables[1].words()
    assert len(seen) == asked
    ask_server(run_command, "/py", {}, "0.5.12+f", "s2", store)
    ask_server(run_command, "/other", {}, "0.5.12+f", "s2", store)
    assert len(seen) == asked + 2


def test_a_server_that_shows_only_the_old_spelling_gets_that():
    text = "  --model-path MODEL_PATH\n  --speculative-dflash-draft-window-size SPECULATIVE_DFLASH_DRAFT_WINDOW_SIZE\n"
    table, dummy = ask_server(lambda argv, **dummy: (0, text, ""), "/py", {}, "0.5.15")
    flag = related_flag(table, "speculative_draft_window_size") or direct_flag(table, "speculative_draft_window_size")
    assert flag.flag == "--speculative-dflash-draft-window-size"
    assert not flag.deprecated
    assert table.get_exact("--speculative-draft-window-size") is None


def test_hidden_deprecated_flags_of_a_known_release_stay():
    text = "  --model-path MODEL_PATH\n  --speculative-draft-window-size SPECULATIVE_DRAFT_WINDOW_SIZE\n"
    table, dummy = ask_server(lambda argv, **dummy: (0, text, ""), "/py", {}, "0.5.15")
    assert table.get_exact("--speculative-dflash-draft-window-size").deprecated
    assert table.get_exact("--tp-size") is None
