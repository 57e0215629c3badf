# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading flags in a wheel, and the catalogue made of several: with a small wheel that has each form of registration."""

from __future__ import annotations

import pathlib
import sys
import zipfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools"))

import flag_catalogue
import sglang_wheel

SERVER_ARGS = """
import argparse
from typing import List, Literal, Optional
from sglang.srt.arg_groups.arg_utils import A, Arg, NS
from sglang.srt.choices import BACKENDS, Mode

FORMATS = ["auto", "dummy"]
FORMATS += ["late"]


def _parsers():
    if cached:
        return []
    from sglang.srt.choices import PARSERS

    return list(PARSERS)


class ServerArgs:
    model_path: A[str, Arg(help="The path.", aliases=["--model"])]
    tp_size: A[int, Arg(help="x", cli_name="--tensor-parallel-size", aliases=["--tp-size"])] = 1
    trust: A[bool, "Trust."] = False
    sizes: A[Optional[List[int]], NS("x"), f"Sizes of {argparse}."] = None
    window: A[int | None, "Window."] = None
    level: A[Literal["low", "high"], Arg(help="Level.")] = "low"
    hidden: A[str, Arg(no_cli=True)] = ""
    callback: A[Optional[dict], NS("x")] = None
    strict: A[Optional[bool], Arg(help="Strict.", action=argparse.BooleanOptionalAction)] = None
    load_format: A[str, Arg(help="Format.", choices=FORMATS)] = "auto"
    plain: int = 1

    @staticmethod
    def add_cli_args(parser):
        extra = [m.name.lower() for m in Mode]
        parser.add_argument("--backend", type=str, choices=BACKENDS + ["mine"])
        parser.add_argument("--mode", choices=extra, nargs="+")
        parser.add_argument("--parser", choices=["auto"] + _parsers())
        parser.add_argument("--old-window", dest="window", action=DeprecatedAliasStoreAction, new_flag="--window", type=int)
        parser.add_argument("--dead", action=DeprecatedAction, help="It is dead.")
        parser.add_argument("--settings", type=json.loads)
"""
CHOICES = """
from enum import Enum, auto

BACKENDS = ["a", "b"]
PARSERS = {"p": 1, "q": 2}


class Mode(Enum):
    ONE = auto()
    TWO = "zwei"
"""


@pytest.fixture
def wheel(tmp_path):
    def make(version, source=SERVER_ARGS):
        path = tmp_path / f"sglang-{version}-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("sglang/srt/server_args.py", source)
            file.writestr("sglang/srt/choices.py", CHOICES)
        return path

    return make


def test_each_form_of_registration_is_read(wheel):
    found = flag_catalogue.release_of(wheel("1.0"))
    assert found == {
        "--model-path": ["--model-path", "", "v", "str", "", None, ["--model"], ""],
        "--tensor-parallel-size": ["--tensor-parallel-size", "tp_size", "v", "int", "", None, ["--tp-size"], ""],
        "--trust": ["--trust", "", "t", "bool", "", None, [], ""],
        "--sizes": ["--sizes", "", "v", "int", "+", None, [], ""],
        "--window": ["--window", "", "v", "int", "", None, [], ""],
        "--level": ["--level", "", "v", "str", "", ["high", "low"], [], ""],
        "--strict": ["--strict", "", "b", "bool", "", None, ["--no-strict"], ""],
        "--load-format": ["--load-format", "", "v", "str", "", ["auto", "dummy", "late"], [], ""],
        "--backend": ["--backend", "", "v", "str", "", ["a", "b", "mine"], [], ""],
        "--mode": ["--mode", "", "v", "str", "+", ["one", "two"], [], ""],
        "--parser": ["--parser", "", "v", "str", "", ["auto", "p", "q"], [], ""],
        "--old-window": ["--old-window", "window", "d", "int", "", None, [], "--window"],
        "--dead": ["--dead", "", "x", "bool", "", None, [], "It is dead."],
        "--settings": ["--settings", "", "v", "json", "", None, [], ""],
    }


def test_choices_that_the_source_does_not_tell_are_an_error_and_no_guess(wheel):
    with pytest.raises(sglang_wheel.Unresolved, match="--backend"):
        sglang_wheel.flags_of(wheel("1.0", SERVER_ARGS.replace("BACKENDS +", "asked_at_run_time() +")))


def test_a_catalogue_reads_back_as_it_was_written(wheel, tmp_path):
    one = flag_catalogue.release_of(wheel("0.9.post1"))
    two = flag_catalogue.release_of(wheel("0.10", SERVER_ARGS.replace('"--dead"', '"--alive"')))
    target = tmp_path / "catalogue.py"
    target.write_text(flag_catalogue.render({"0.10": two, "0.9.post1": one}))
    table = flag_catalogue.read(target)
    assert list(table) == ["0.9.post1", "0.10"]
    assert table == {"0.9.post1": one, "0.10": two}
    assert flag_catalogue.differences(one, two) == [
        f"--alive: None became {two['--alive']}",
        f"--dead: {one['--dead']} became None",
    ]


def test_the_catalogue_in_the_collection_is_what_its_writer_writes():
    table = flag_catalogue.read(flag_catalogue.TARGET)
    assert flag_catalogue.render(table) == flag_catalogue.TARGET.read_text(encoding="utf-8")
    assert "PACKED" in flag_catalogue.TARGET.read_text(encoding="utf-8")
    # All of it travels with the module at each run.
    assert flag_catalogue.TARGET.stat().st_size < 40_000
