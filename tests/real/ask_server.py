# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask the code of an installed SGLang, without a start of it."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
from typing import Any

import real_servers

HERE = pathlib.Path(__file__).resolve().parent


def ask(version: str, program: str, question: Any = None) -> Any:
    """What a program of this directory answers in the environment of a release, to what it reads from standard input."""
    environ = {**os.environ, "PYTHONPATH": str(HERE / "shim"), "LLMOPS_STAND_INS": "torchvision,IPython,sgl_kernel"}
    environ.update(SGLANG_USE_CPU_ENGINE="1", SGLANG_IS_FLASHINFER_AVAILABLE="false", HF_HUB_OFFLINE="1")
    command = [str(real_servers.interpreter(f"sglang-{version}")), str(HERE / program)]
    done = subprocess.run(command, input=json.dumps(question), env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
