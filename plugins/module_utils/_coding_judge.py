# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Judge a program by what its function returns: the child prints, the parent compares."""

from __future__ import annotations

import inspect
import json
import math
import os
import time
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils import _case_runner
from ansible_collections.llmops.sglang.plugins.module_utils._coding_tasks import Case, CodingTask
from ansible_collections.llmops.sglang.plugins.module_utils._sandbox import PROCESSES, Sandbox, unavailable

# What can have contained a program; the module's documentation says what each means.
CONTAINMENTS = (
    "crash",
    "files",
    "leftovers",
    "memory",
    "network",
    "output",
    "processes",
    "recursion",
    "signals",
    "system_calls",
    "time",
    "values",
)
# SIGXCPU, SIGXFSZ and SIGSYS end a program at a limit; any other signal is its own.
_SIGNALS = {"signal 24": "time", "signal 25": "files", "signal 31": "system_calls"}


@dataclass
class Verdict:
    """How many cases came out right, why the first other one did not, and what kept the program in.

    :ivar contained: of :data:`CONTAINMENTS`.
    :ivar seconds: what the program took, the sandbox included.
    """

    passed: int
    reason: str = ""
    contained: list[str] = field(default_factory=list)
    seconds: float = field(default=0.0, compare=False)


@dataclass
class _Run:
    """What came out of the sandbox."""

    ready: bool = False
    ended: str = ""
    lines: list[dict[str, t.Any]] = field(default_factory=list)
    said: str = ""
    contained: set[str] = field(default_factory=set)
    seconds: float = 0.0


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
        ("write a file in /tmp", lambda: open("/tmp/llmops-sandbox", "w")),
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
    # Its attempts take a moment; on a host with much else to do that moment is no sign of a bad sandbox.
    run = _run(sandbox, task, _ATTEMPTS, 60.0)
    found = next((line.get("value") for line in run.lines if line.get("case") == 0), None)
    if found is None:
        raise unavailable(sandbox.why_not(run.said))
    if sandbox.kind == "systemd" and not same(found, _case_runner.encode([])):
        raise unavailable(f"a program in it could {', '.join(one[1] for one in found[1])}")


def judge(sandbox: Sandbox, task: CodingTask, code: str, seconds: float) -> Verdict:
    """Run *code* and compare what it returns in each case, by type and value.

    :raises Failure: ``sandbox_unavailable`` if the sandbox did not even start.
    """
    run = _run(sandbox, task, code, seconds)
    if not run.ready:
        raise unavailable(sandbox.why_not(run.said))
    passed, reason = 0, ""
    broken = next((line["broken"] for line in run.lines if "broken" in line), None)
    if broken is not None:
        reason = f"the program did not load: {str(broken)[:200]}"
    else:
        for number, case in enumerate(task.cases):
            told = [line for line in run.lines if line.get("case") == number and not isinstance(line["case"], bool)]
            wrong = _what_is_wrong(run, told, _case_runner.encode(case.expected), task.compare == "loose", seconds)
            passed += not wrong
            reason = reason or (f"case {number + 1} of {len(task.cases)}: {wrong}" if wrong else "")
    return Verdict(passed, reason, sorted(run.contained), run.seconds)


def _run(sandbox: Sandbox, task: CodingTask, code: str, seconds: float) -> _Run:
    order = {
        "code": code,
        "entry_point": task.entry_point,
        "memory": sandbox.memory,
        "seconds": seconds,
        "processes": PROCESSES if sandbox.kind == "systemd" else None,
        # The expected values stay here: what the child does not know, it cannot print.
        "cases": [
            {"args": _case_runner.encode(list(case.args)), "kwargs": _case_runner.encode(dict(case.kwargs))}
            for case in task.cases
        ],
    }
    started = time.monotonic()
    out, said = sandbox.run(inspect.getsource(_case_runner), json.dumps(order), seconds)
    run = _Run(said=said, seconds=time.monotonic() - started)
    told = _decoded(out)
    run.ready = any("ready" in line for line in told)
    # The watcher says this once; what says it as well is the program, by way of the watcher's open files.
    ends = [line for line in told if "ended" in line]
    if len(ends) == 1:
        run.ended = str(ends[0]["ended"])
        run.lines = _decoded(str(ends[0].get("said")))
    run.contained = _containments(run)
    return run


def _containments(run: _Run) -> set[str]:
    if "result: oom-kill" in run.said:
        return {"memory"}
    if not run.ended:
        # The watcher was ended, and with it all else; or it was disarmed and the service manager ended both.
        return {"time" if "result: timeout" in run.said else "crash"} if run.ready else set()
    found = {word for word in (line.get("tried") for line in run.lines) if isinstance(word, str)} & {*CONTAINMENTS}
    if run.ended == "exit":
        # A program that does not load says so; any other comes to its end by the runner alone.
        found |= set() if any("end" in line or "broken" in line for line in run.lines) else {"values"}
    else:
        found.add(run.ended if run.ended in CONTAINMENTS else _SIGNALS.get(run.ended, "crash"))
    return found


def _decoded(text: str) -> list[dict[str, t.Any]]:
    """The lines of *text* that are JSON mappings: whoever wrote them."""
    lines = []
    for line in text.split("\n"):
        try:
            # No plain numbers of a million digits: a stranger wrote this.
            decoded = json.loads(line, parse_int=lambda digits: int(digits[:18])) if line.startswith("{") else None
        except (ValueError, RecursionError):
            continue
        if isinstance(decoded, dict):
            lines.append(decoded)
    return lines


def _what_is_wrong(
    run: _Run, told: t.Sequence[t.Mapping[str, t.Any]], expected: list[t.Any], loose: bool, seconds: float
) -> str:
    """Why a case did not pass; empty where it did. What was no honest answer is added to what *run* was contained by."""
    if len(told) == 1 and "error" in told[0]:
        # Whoever wrote it may have written nothing, which must not be taken for nothing wrong.
        return str(told[0]["error"])[:200].strip() or "an error without a word was told"
    value = told[0].get("value") if len(told) == 1 else None
    if value is not None and same(value, expected, loose):
        return ""
    kind = value[0] if isinstance(value, list) and value and isinstance(value[0], str) else ""
    if kind and not _holds_an_object(value):
        return f"returned another value of type {kind[:20]}: {_shown(value[1:])}"
    if run.ended not in ("time", "output") and "memory" not in run.contained:
        run.contained.add("values")
    if kind:
        return f"returned {_shown(value[1:])}"
    if told:
        return "the program printed values of its own"
    if run.ended == "time":
        return f"no value came back (it was ended after {seconds:g} s)"
    ends = {"output": "it printed too much", "exit": "the program ended itself", "": "all of it was ended"}
    return f"no value came back ({ends.get(run.ended, f'it was ended by {run.ended}')})"


def _holds_an_object(value: t.Any) -> bool:
    """Whether something in an encoded value is no plain data."""
    try:
        return isinstance(value, list) and (value[:1] == ["other"] or any(map(_holds_an_object, value)))
    except RecursionError:
        return True


def _shown(parts: list[t.Any]) -> str:
    try:
        return (str(parts[0]) if len(parts) == 1 and isinstance(parts[0], str) else json.dumps(parts)[1:-1])[:100]
    except RecursionError:
        return "nested without end"


def same(value: t.Any, expected: t.Any, loose: bool = False) -> bool:
    """Whether two encoded values are equal in type and value; floating point within one part in 1e9.

    :arg loose: an integer may stand for the floating point number of its value, and a tuple for a list, or the reverse.
    """
    if not (isinstance(value, list) and isinstance(expected, list) and value and expected):
        return value.__class__ is expected.__class__ and value == expected
    kinds = {one[0] if isinstance(one[0], str) else "" for one in (value, expected)}
    if "other" in kinds:
        return False
    if kinds == {"float"} or (loose and kinds == {"int", "float"}):
        return _close(value, expected)
    if kinds == {"list", "tuple"} and loose:
        value, expected = value[1:], expected[1:]
    return len(value) == len(expected) and all(same(one, other, loose) for one, other in zip(value, expected))


def _close(value: list[t.Any], expected: list[t.Any]) -> bool:
    if value == expected:
        return True
    try:
        one, other = (int(number, 16) if kind == "int" else float(number) for kind, number in (value, expected))
        return math.isclose(one, other, rel_tol=1e-9)
    except (OverflowError, TypeError, ValueError):
        return False
