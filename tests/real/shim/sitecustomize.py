# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lets an unmodified SGLang run on a machine without a GPU. Python imports this at its start from PYTHONPATH.

LLMOPS_STAND_INS names packages (comma-separated) that SGLang only imports on the CPU path and that have no CPU build.
LLMOPS_DFLASH_ON_CPU=1 lets SGLang 0.5.15's DFLASH worker run in Triton's interpreter.
"""

from __future__ import annotations

import os

if os.environ.get("LLMOPS_STAND_INS"):
    import stand_ins

    stand_ins.provide(os.environ["LLMOPS_STAND_INS"].split(","))

if os.environ.get("LLMOPS_DFLASH_ON_CPU") == "1":
    import dflash_on_cpu

    dflash_on_cpu.enable()
