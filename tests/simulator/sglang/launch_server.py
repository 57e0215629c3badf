# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m sglang.launch_server``: the entry point that a unit's ExecStart names."""

from __future__ import annotations

import sys

from sglang.launcher import Launcher

if __name__ == "__main__":
    Launcher(sys.argv[1:]).run()
