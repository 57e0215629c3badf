# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the unit tests hold playbooks/awx.yml against, against the modules themselves, which pip fetches."""

from __future__ import annotations

import subprocess
import sys

import awx_modules


def test_the_published_modules_have_the_same_options():
    done = subprocess.run(
        [sys.executable, awx_modules.__file__, "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "no difference\n"), done.stdout + done.stderr
