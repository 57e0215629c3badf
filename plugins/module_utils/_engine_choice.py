# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Find the load client that the option engine names: in the server's own environment, or where an option says."""

from __future__ import annotations

import os
import shutil
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._benchmark_target import BenchmarkTarget
from ansible_collections.llmops.sglang.plugins.module_utils._engine import EngineRunner, RunCommand
from ansible_collections.llmops.sglang.plugins.module_utils._engine_guidellm import GuidellmClient
from ansible_collections.llmops.sglang.plugins.module_utils._engine_sglang import SglangClient
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._launch_command import read_launch


def engine_of(
    params: t.Mapping[str, t.Any], run_command: RunCommand, target: BenchmarkTarget
) -> t.Optional[EngineRunner]:
    """The client of the option ``engine``, which has shown that it works; ``None`` for this collection's own.

    :raises Failure: ``missing_dependency`` if it is not there, ``bad_request`` if it cannot do what is asked.
    """
    if params["engine"] == "builtin":
        return None
    argv, environ = target.process()
    engine: t.Union[SglangClient, GuidellmClient]
    if params["engine"] == "sglang":
        python = params["engine_python"] or _interpreter(argv, environ)
        if not python:
            raise _not_found("sglang", "the unit's command line names no interpreter of this host")
        engine = SglangClient(run_command, python, environ, target.side.server, target.tokenizer())
    else:
        python = params["engine_python"]
        command = [python, "-m", "guidellm"] if python else [shutil.which("guidellm") or ""]
        if not command[0]:
            raise _not_found("guidellm", "no command 'guidellm' is found on this host")
        engine = GuidellmClient(run_command, command, target.side.server, target.tokenizer())
    engine.check(params["api"], params["load_model"], params["arrival"])
    return EngineRunner(engine, run_command)


def _interpreter(argv: t.Sequence[str], environ: t.Mapping[str, str]) -> str:
    """The interpreter that runs the server, absolute; empty where there is none on this host."""
    launch = read_launch(argv)
    word = launch.interpreter if launch.found and launch.kind != "container" else ""
    if word and not os.path.isabs(word):
        word = shutil.which(word, path=environ.get("PATH")) or ""
    return word


def _not_found(engine: str, why: str) -> Failure:
    return Failure(
        "missing_dependency",
        f"The load client of the engine '{engine}' is not there: {why}; set 'engine_python' to an interpreter whose "
        "environment has it, or use the engine 'builtin', which needs nothing installed.",
    )
