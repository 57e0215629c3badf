# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Log lines with their changing parts taken out, and the differences between two logs."""

from __future__ import annotations

import re

PREFIX = re.compile(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d((?: [A-Z_]+\d+)*)\] ")
# What depends on who asks the server while it starts, and on how often.
IGNORED = re.compile(
    r'"(GET|POST) /(?!generate|freeze_gc|model_info)|Endpoint \'/get_|Health check request|FastAPIDeprecation|^  |Decode batch'
)


def template(line):
    """A line without time, numbers, paths, lists and addresses."""
    found = PREFIX.match(line)
    text = line
    if found:
        text = "[T%s] %s" % (found.group(1), line[found.end() :])
    text = re.sub(r"server_args=(ServerArgs\(|\{).*", r"server_args=\1", text)
    text = re.sub(r"\[(\d+(, )?)*\]", "[N]", text)
    text = re.sub(r"(?<![\w.])/[\w./-]+/[\w.-]+|\borg/\w+", "P", text)
    text = re.sub(r"\b[0-9a-f]{32}\b", "ID", text)
    text = re.sub(r"\|[^|]*\|", "|B|", text)
    text = re.sub(r"(?<![A-Za-z])-?\d+(\.\d+)?", "N", text)
    return re.sub(r" +", " ", text).rstrip()


def templates(log):
    """The templates of a log in order of first appearance; of a log that begins after the ready line no access lines."""
    seen = {}
    tail = "fired up" in log[:200]
    for line in re.split(r"[\r\n]+", log):
        if tail and ("HTTP/1.1" in line or "Prefill batch" in line):
            continue
        if line and line != "..." and not IGNORED.search(line):
            seen.setdefault(template(line), None)
    return list(seen)


def differences(recorded, simulated):
    """What only one of them has, and the first pair of common lines in another order."""
    old, new = templates(recorded), templates(simulated)
    for text in old:
        if text not in new:
            yield f"missing line {text}"
    for text in new:
        if text not in old:
            yield f"extra line {text}"
    common_old, common_new = [t for t in old if t in new], [t for t in new if t in old]
    for before, after in zip(common_old, common_new):
        if before != after:
            yield f"order: recorded {before!r} where the stand-in has {after!r}"
            return
