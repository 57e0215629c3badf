# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Judge a program by what its function returns: the child prints, the parent compares."""

from __future__ import annotations

import inspect
import json
import math
import os
import secrets
import typing as t
from dataclasses import dataclass

from ansible_collections.llmops.sglang.plugins.module_utils import _case_runner
from ansible_collections.llmops.sglang.plugins.module_utils._coding_tasks import Case, CodingTask
from ansible_collections.llmops.sglang.plugins.module_utils._sandbox import PROCESSES, Sandbox, unavailable


@dataclass
class Verdict:
    """How many cases came out right, and why the first other one did not."""

    passed: int
    reason: str = ""


# Tries what no program may do in there; a setting that a service manager silently passes over shows here.
_ATTEMPTS = """
import os, socket

def attempts(home, owner):
    done = []
    for name, attempt in (
        ("open a socket", socket.socket),
        ("read the caller's home", lambda: os.listdir(home)),
        ("send signals", lambda: os.kill(os.getppid(), 0)),
        ("write a file in /etc or /usr", lambda: [open(d + "/llmops-sandbox", "w") for d in ("/etc", "/usr")]),
    ):
        try:
            attempt()
            done.append(name)
        except OSError:
            pass
    if os.getuid() == owner and os.getpid() > 9:
        done.append("see the caller's processes")
    return done
"""


def check_sandbox(sandbox: Sandbox) -> None:
    """Run a program that tries to break out.

    :raises Failure: ``sandbox_unavailable`` if it does not come back, or came through.
    """
    task = CodingTask("check", "", "attempts", [Case([os.path.expanduser("~"), os.getuid()], expected=[])])
    lines, said = _run(sandbox, task, _ATTEMPTS, 10.0)
    found = next((line.get("value") for line in lines if line.get("case") == 0), None)
    if found is None:
        raise unavailable(sandbox.why_not(said))
    if sandbox.kind == "systemd" and not same(found, _case_runner.encode([])):
        raise unavailable(f"a program in it could {', '.join(one[1] for one in found[1])}")


def judge(sandbox: Sandbox, task: CodingTask, code: str, seconds: float) -> Verdict:
    """Run *code* and compare what it returns in each case, by type and value.

    :raises Failure: ``sandbox_unavailable`` if the sandbox did not even start.
    """
    lines, said = _run(sandbox, task, code, seconds)
    if not any(line.get("ready") for line in lines):
        raise unavailable(sandbox.why_not(said))
    broken = next((line["broken"] for line in lines if "broken" in line), None)
    if broken is not None:
        return Verdict(0, f"the program did not load: {str(broken)[:200]}")
    passed, reason = 0, ""
    for number, case in enumerate(task.cases):
        said_of_case = [line for line in lines if line.get("case") == number and not isinstance(line["case"], bool)]
        wrong = _what_is_wrong(said_of_case, _case_runner.encode(case.expected))
        passed += not wrong
        reason = reason or (f"case {number + 1} of {len(task.cases)}: {wrong}" if wrong else "")
    return Verdict(passed, reason)


def _run(sandbox: Sandbox, task: CodingTask, code: str, seconds: float) -> tuple[list[dict[str, t.Any]], str]:
    nonce = secrets.token_hex(16)
    order = {
        "nonce": nonce,
        "code": code,
        "entry_point": task.entry_point,
        "memory": sandbox.memory,
        "seconds": seconds,
        "processes": PROCESSES if sandbox.kind == "systemd" else None,
        # The expected values stay here: what the child does not know, it cannot print.
        "cases": [{"args": list(case.args), "kwargs": dict(case.kwargs)} for case in task.cases],
    }
    out, said = sandbox.run(inspect.getsource(_case_runner), json.dumps(order), seconds)
    return [line for line in (_decoded(text, nonce) for text in out.split("\n")) if line is not None], said


def _decoded(text: str, nonce: str) -> t.Optional[dict[str, t.Any]]:
    if not text.startswith(nonce + " "):
        return None
    try:
        line = json.loads(text[len(nonce) + 1 :])
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None


def _what_is_wrong(said: t.Sequence[t.Mapping[str, t.Any]], expected: list[t.Any]) -> str:
    if not said:
        return "no value came back (the program ended, or was ended by the limits)"
    if len(said) > 1:
        return "the program printed values of its own"
    if "error" in said[0]:
        return str(said[0]["error"])[:200]
    if not same(said[0].get("value"), expected):
        return f"returned {_shown(said[0].get('value'))}"
    return ""


def same(value: t.Any, expected: t.Any) -> bool:
    """Whether two encoded values are equal in type and value; floating point within one part in 1e9."""
    if isinstance(expected, list) and expected[:1] == ["float"]:
        try:
            return (
                isinstance(value, list)
                and value[:1] == ["float"]
                and (math.isclose(float(value[1]), float(expected[1]), rel_tol=1e-9) or value[1] == expected[1])
            )
        except (IndexError, TypeError, ValueError):
            return False
    if isinstance(expected, list):
        if not isinstance(value, list) or len(value) != len(expected):
            return False
        return all(same(one, other) for one, other in zip(value, expected))
    return value.__class__ is expected.__class__ and value == expected


def _shown(value: t.Any) -> str:
    kind = value[0] if isinstance(value, list) and value else "?"
    if kind == "other":
        return f"an object of type {str(value[1:2])[:60]}"
    return f"another value of type {str(kind)[:20]}: {json.dumps(value[1:])[:100]}"
