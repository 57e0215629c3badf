# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalogue against published wheels, which pip fetches: one of each way in which SGLang has declared its flags."""

from __future__ import annotations

import subprocess
import sys

import flag_catalogue


def test_the_published_wheels_say_the_same():
    done = subprocess.run(
        [sys.executable, flag_catalogue.__file__, "--check", "0.5.6", "0.5.15.post1", "0.5.20"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "no difference\n"), done.stdout + done.stderr
