# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The faults that SIM_FAULT asks for: where they strike, what they do, and from which request on.

Grammar: ``STAGE:KIND[:ARGUMENT][@after=N][@times=N][@path=PREFIX]``, several separated by commas.
"""

from __future__ import annotations

import os
import signal
import time

STAGES = ("import", "args", "load", "draft", "graphs", "bind", "warmup", "ready", "serving", "stop")
KINDS = ("crash", "hang", "drip", "lie", "status")
LIES = {
    "draft": ("window", "window_none"),
    "ready": ("no_bind", "early"),
    "serving": (
        "health",
        "models",
        "error_body",
        "empty_choices",
        "null_content",
        "empty_content",
        "html",
        "truncated",
        "no_usage",
        "no_done",
        "short",
        "garbage",
        "gzip",
        "not_json",
    ),
}
GENERATION_PATHS = ("/v1/chat/completions", "/v1/completions", "/generate")


class FaultError(ValueError):
    """SIM_FAULT cannot be understood."""


class Fault:
    """One fault. ``argument`` is the text after the second colon, or ""."""

    def __init__(self, text):
        head, *conditions = text.strip().split("@")
        parts = head.split(":", 2)
        if len(parts) < 2 or parts[0] not in STAGES or parts[1] not in KINDS:
            raise FaultError("SIM_FAULT: %r is not STAGE:KIND[:ARGUMENT]; stages %s, kinds %s" % (text, STAGES, KINDS))
        self.stage, self.kind = parts[0], parts[1]
        self.argument = parts[2] if len(parts) > 2 else ""
        if self.kind == "lie" and self.argument.split(":")[0] not in LIES.get(self.stage, ()):
            raise FaultError("SIM_FAULT: stage %s has the lies %s, not %r" % (self.stage, LIES.get(self.stage), text))
        self.after, self.times, self.path = 0, 0, ""
        for condition in conditions:
            name, _dummy, value = condition.partition("=")
            if name == "after":
                self.after = int(value)
            elif name == "times":
                self.times = int(value)
            elif name == "path":
                self.path = value
            else:
                raise FaultError("SIM_FAULT: unknown condition %r in %r" % (condition, text))

    @property
    def lie(self):
        return self.argument.split(":")[0]

    @property
    def detail(self):
        return self.argument.partition(":")[2]

    def strikes(self, path, number):
        """True for request ``number`` (1, 2, ... of its kind of path) on ``path``."""
        if self.path:
            if not path.startswith(self.path):
                return False
        elif path not in GENERATION_PATHS:
            return False
        return number > self.after and (not self.times or number <= self.after + self.times)

    def __repr__(self):
        return "%s:%s:%s" % (self.stage, self.kind, self.argument)


class Faults:
    """All faults of this process."""

    def __init__(self, text=None):
        text = os.environ.get("SIM_FAULT", "") if text is None else text
        self.all = [Fault(part) for part in text.split(",") if part.strip()]

    def at(self, stage, kind=None):
        """The faults of a stage, optionally of one kind."""
        return [fault for fault in self.all if fault.stage == stage and kind in (None, fault.kind)]

    def lies(self, stage, lie):
        return any(fault.kind == "lie" and fault.lie == lie for fault in self.at(stage))

    def drip_seconds(self, stage):
        """Seconds by which a start-up stage is stretched (``drip``), or 0."""
        return sum(float(fault.argument or 10) for fault in self.at(stage, "drip"))


def strike_process(fault, raise_exception):
    """Do what a start-up crash or hang asks for; ``raise_exception(name)`` prints a traceback and never returns."""
    if fault.kind == "hang":
        time.sleep(float(fault.argument) if fault.argument else 1e9)
    elif fault.kind == "crash":
        how = fault.argument or "exception"
        if how.isdigit():
            os._exit(int(how))
        if how.startswith("SIG"):
            os.kill(os.getpid(), getattr(signal, how))
            time.sleep(60)
        raise_exception(how)
