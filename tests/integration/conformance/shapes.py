# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Differences between two JSON bodies, by keys and types, and between two sets of headers."""

from __future__ import annotations

import re

IGNORED_HEADERS = {"date", "content-length", "connection"}


def kind(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    return {str: "string", list: "list", dict: "object"}[type(value)]


def body_differences(recorded, simulated, path="$", null_is_any=False):
    """Sentences such as "missing $.usage" or "type $.choices[].text: recorded string, simulated null"."""
    if kind(recorded) != kind(simulated):
        if null_is_any and "null" in (kind(recorded), kind(simulated)):
            return
        yield f"type {path}: recorded {kind(recorded)}, simulated {kind(simulated)}"
    elif isinstance(recorded, dict):
        for key in recorded:
            if key not in simulated:
                yield f"missing {path}.{key}"
            else:
                yield from body_differences(recorded[key], simulated[key], f"{path}.{key}", null_is_any)
        for key in simulated:
            if key not in recorded:
                yield f"extra {path}.{key}"
    elif isinstance(recorded, list) and recorded and simulated:
        yield from body_differences(recorded[0], simulated[0], path + "[]", null_is_any)


def message_differences(recorded, simulated):
    """Error texts must be the same but for numbers and file paths."""
    for name, old, new in _messages(recorded, simulated):
        if _plain(old) != _plain(new):
            yield f"text {name}: recorded {_plain(old)!r}, simulated {_plain(new)!r}"


def _messages(recorded, simulated):
    if isinstance(recorded, dict) and isinstance(simulated, dict):
        for key, value in recorded.items():
            if key in simulated:
                for name, old, new in _messages(value, simulated[key]):
                    yield f"{key}.{name}".rstrip("."), old, new
    elif isinstance(recorded, str) and isinstance(simulated, str):
        yield "", recorded, simulated


def _plain(text):
    text = re.sub(r"File \"[^\"]*\"", "File P", text)
    text = re.sub(r"'/[^']*'", "'P'", text)
    return re.sub(r"-?\d+(\.\d+)?", "N", text)[:200]


def header_differences(recorded, simulated):
    old = {name: value for name, value in recorded.items() if name not in IGNORED_HEADERS}
    new = {name: value for name, value in simulated.items() if name not in IGNORED_HEADERS}
    for name in sorted(set(old) | set(new)):
        if old.get(name) != new.get(name):
            yield f"header {name}: recorded {old.get(name)}, simulated {new.get(name)}"


def metric_names(text):
    return set(re.findall(r"^# TYPE (\S+) (\w+)", text, re.M))


def metric_differences(recorded, simulated):
    old, new = metric_names(recorded), metric_names(simulated)
    for name, sort in sorted(old - new):
        yield f"missing metric {name} {sort}"
    for name, sort in sorted(new - old):
        yield f"extra metric {name} {sort}"


def stream_shape(events):
    """The shapes of a stream's events, each run of equal ones once."""
    shapes = []
    for event in events:
        shape = event if isinstance(event, str) else _shape(event)
        if not shapes or shapes[-1] != shape:
            shapes.append(shape)
    return shapes


def _shape(value):
    if isinstance(value, dict):
        return "{%s}" % ", ".join(f"{key}: {_shape(item)}" for key, item in sorted(value.items()))
    if isinstance(value, list):
        return "[%s]" % (_shape(value[0]) if value else "")
    return kind(value)


def stream_differences(recorded, simulated):
    old, new = stream_shape(recorded), stream_shape(simulated)
    for shape in old:
        if shape not in new:
            yield f"missing event {shape}"
    for shape in new:
        if shape not in old:
            yield f"extra event {shape}"
    if set(old) == set(new) and old != new:
        yield "order of events"
