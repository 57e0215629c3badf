# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the environment says about the simulation: every SIM_* variable but SIM_FAULT is read here."""

from __future__ import annotations

import os


def _number(name, default):
    text = os.environ.get(name, "")
    if not text:
        return default
    try:
        return float(text)
    except ValueError:
        raise SystemExit("%s must be a number, not %r" % (name, text))


class Settings:
    """Numbers and words of the simulation; README.md explains each variable."""

    def __init__(self):
        self.import_seconds = _number("SIM_IMPORT_SECONDS", 0.0)
        self.child_import_seconds = _number("SIM_CHILD_IMPORT_SECONDS", 0.0)
        self.load_seconds = _number("SIM_LOAD_SECONDS", 0.5)
        self.warmup_seconds = _number("SIM_WARMUP_SECONDS", 0.3)
        self.teardown_seconds = _number("SIM_TEARDOWN_SECONDS", 0.2)
        # Scales the waits that are fixed in SGLang: 1 s of a health check, 5 s of a drain poll, 60 s of a core dump.
        self.pace = _number("SIM_PACE", 1.0)
        self.speed = _number("SIM_SPEED", 1.0)
        self.step_ms = _number("SIM_STEP_MS", 0.0)
        self.prefill_ms = _number("SIM_PREFILL_MS", -1.0)
        self.acceptance = _number("SIM_ACCEPTANCE", 0.0)
        self.accept_probability = _number("SIM_ACCEPT_PROBABILITY", 0.8)
        self.trained_window = int(_number("SIM_TRAINED_WINDOW", 0))
        self.answer_tokens = int(_number("SIM_ANSWER_TOKENS", 0))
        self.text = os.environ.get("SIM_TEXT", "")
        self.code = os.environ.get("SIM_CODE", "right")
        self.truth_log = os.environ.get("SIM_TRUTH_LOG", "")
        self.check_model_files = os.environ.get("SIM_MODEL_FILES", "check") != "ignore"
        self.peer_loss = os.environ.get("SIM_PEER_LOSS", "crash")
        self.device = os.environ.get("SIM_DEVICE", "cuda")
