# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What runs inside the sandbox: calls a stranger's function and prints what it returns.

Its source is handed to an interpreter of its own; nothing else may be imported here but the standard library. It judges
nothing, because code beside it could turn any judgement; it does not even hold the values that are expected.
"""

from __future__ import annotations

import json
import os
import sys


def encode(value, depth=0):
    """*value* with the exact type of each part; what is no plain data becomes the name of its type."""
    kind = type(value)
    if value is None or kind is bool:
        return ["none"] if value is None else ["bool", value]
    if kind is int:
        return ["int", hex(value)]
    if kind is float:
        return ["float", repr(value)]
    if kind is str:
        return ["str", value]
    if depth < 20 and kind in (list, tuple):
        return [kind.__name__, [encode(one, depth + 1) for one in value]]
    if depth < 20 and kind in (set, frozenset):
        return [kind.__name__, sorted((encode(one, depth + 1) for one in value), key=json.dumps)]
    if depth < 20 and kind is dict:
        return [
            "dict",
            sorted(([encode(k, depth + 1), encode(v, depth + 1)] for k, v in value.items()), key=json.dumps),
        ]
    return ["other", kind.__name__[:80]]


def limit(memory, seconds, processes):
    """Resource limits of this process: not every host enforces those of the control group."""
    import resource

    limits = [("AS", memory), ("CPU", int(seconds) + 1), ("FSIZE", 1 << 20), ("NOFILE", 64), ("CORE", 0)]
    if processes:
        limits.append(("NPROC", processes))
    for name, most in limits:
        try:
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
        except (ValueError, OSError):
            pass


def main():
    order = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    nothing = os.open(os.devnull, os.O_RDWR)
    out = os.dup(1)
    for number in (0, 1, 2):
        os.dup2(nothing, number)

    def tell(what):
        data = ("\n%s %s\n" % (order["nonce"], json.dumps(what))).encode("utf-8")
        while data:
            data = data[os.write(out, data) :]

    tell({"ready": True})
    limit(order["memory"], order["seconds"], order["processes"])
    space = {"__name__": "candidate", "__builtins__": __builtins__}
    try:
        exec(compile(order["code"], "candidate", "exec"), space)
        function = space[order["entry_point"]]
    except BaseException as exc:
        tell({"broken": "%s: %s" % (type(exc).__name__, str(exc)[:200])})
        return
    for number, case in enumerate(order["cases"]):
        try:
            tell({"case": number, "value": encode(function(*case["args"], **case["kwargs"]))})
        except BaseException as exc:
            tell({"case": number, "error": "%s: %s" % (type(exc).__name__, str(exc)[:200])})
    tell({"end": True})
    os._exit(0)


if __name__ == "__main__":
    main()
