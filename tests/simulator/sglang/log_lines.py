# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How SGLang writes log lines: the prefix with its ranks, uvicorn's two streams, tracebacks without a prefix."""

from __future__ import annotations

import os
import sys
import time


def _write(fd, text):
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(fd, data) :]


def raw(text):
    """A line of stderr without prefix: warnings, tracebacks."""
    _write(2, text if text.endswith("\n") else text + "\n")


def progress(text, last=False):
    """One state of a progress bar: a carriage return before it, a line feed only after the last one.

    What another rank prints meanwhile lands behind it on the same line, as with the real bars.
    """
    _write(2, "\r" + text + ("\n" if last else ""))


def stamp(ranks=""):
    """``[2026-05-30 08:20:46 TP0]``: local time, milliseconds only with SGLANG_LOG_MS=1."""
    now = time.time()
    text = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    if os.environ.get("SGLANG_LOG_MS") == "1":
        text += ".%03d" % (now % 1 * 1000)
    return "[%s%s]" % (text, ranks)


LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40, "critical": 50}
_hidden_below = {"sglang": 20, "http": 20}


def set_levels(level, http_level=None):
    """What --log-level and --log-level-http hide."""
    _hidden_below["sglang"] = LEVELS.get(str(level or "info").lower(), 20)
    _hidden_below["http"] = LEVELS.get(str(http_level or level or "info").lower(), 20)


def log(message, ranks="", level=20):
    """A line of an SGLang logger (stderr); the level is not in the line."""
    if level >= _hidden_below["sglang"]:
        _write(2, "%s %s\n" % (stamp(ranks), message))


def warn(message, ranks=""):
    log(message, ranks, 30)


def error(message, ranks=""):
    log(message, ranks, 40)


def uvicorn(message, level="INFO"):
    """A line of uvicorn's error logger (stderr), e.g. ``INFO:     Started server process [1]``."""
    if LEVELS[level.lower()] >= _hidden_below["http"]:
        _write(2, "%s %s %s\n" % (stamp(), (level + ":").ljust(9), message))


def access(client, method, target, status, phrase):
    """A line of uvicorn's access logger, the only one on stdout."""
    if _hidden_below["http"] > 20:
        return
    try:
        _write(1, '%s INFO:     %s - "%s %s HTTP/1.1" %d %s\n' % (stamp(), client, method, target, status, phrase))
    except OSError:
        pass


def rank_prefix(sizes, ranks):
    """The rank block: each rank only where its size is above 1, in SGLang's order."""
    order = ("DP", "PP", "ATTN_CP", "MOE_DP", "TP", "EP")
    return "".join(" %s%d" % (name, ranks.get(name, 0)) for name in order if sizes.get(name, 1) > 1)


def traceback_text(frames, error):
    """A traceback of SGLang's look; ``frames`` are (file below site-packages, line, function, source line)."""
    root = os.path.join(os.path.dirname(sys.executable), "..", "lib", "site-packages")
    root = os.path.normpath(root)
    lines = ["Traceback (most recent call last):"]
    for path, number, function, source in frames:
        lines.append('  File "%s/%s", line %d, in %s' % (root, path, number, function))
        lines.append("    " + source)
    return "\n".join(lines + [error])
