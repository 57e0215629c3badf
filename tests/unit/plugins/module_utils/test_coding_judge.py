# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs judged by value and type, in a sandbox that tells what kept them in."""

from __future__ import annotations

import json
import subprocess

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _coding_judge, _sandbox
from ansible_collections.llmops.sglang.plugins.module_utils._built_in_tasks import BUILT_IN
from ansible_collections.llmops.sglang.plugins.module_utils._case_runner import decode, encode
from ansible_collections.llmops.sglang.plugins.module_utils._coding_judge import Verdict, judge, same
from ansible_collections.llmops.sglang.plugins.module_utils._coding_tasks import Case, CodingTask
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._sandbox import Sandbox, bytes_of

TASKS = {task.name: task for task in BUILT_IN}
# Programs that want to be judged right, and what must be named as what stopped them.
HOSTILE = {
    "an object that equals everything": (
        "class E:\n    def __eq__(self, other): return True\ndef gcd(a, b): return E()",
        {"values"},
    ),
    "a number of a class of its own": (
        "class I(int):\n    def __eq__(self, other): return True\ndef gcd(a, b): return I(6)",
        {"values"},
    ),
    "an exit": (
        "import os\ndef gcd(a, b): os._exit(0)",
        {"values"},
    ),
    "a system exit": (
        "def gcd(a, b): raise SystemExit(0)",
        set(),
    ),
    "an endless loop": (
        "def gcd(a, b):\n    while True: pass",
        {"time"},
    ),
    "an endless loop that ignores signals": (
        "import signal\nsignal.signal(15, signal.SIG_IGN)\ndef gcd(a, b):\n    while True: pass",
        {"time"},
    ),
    "all the memory": (
        "def gcd(a, b):\n    x = []\n    while True: x.append(bytearray(10 ** 7))",
        {"memory"},
    ),
    "verdicts of its own": (
        "import os\ndef gcd(a, b):\n    for fd in range(9):\n"
        '        try: os.write(fd, b\'\\n{"case": 0, "value": ["int", "0x6"]}\\n{"end": true}\\n\')\n        except OSError: pass\n    os._exit(0)',
        {"values"},
    ),
    "endless output": (
        "import os\ndef gcd(a, b):\n    while True:\n        for fd in range(3, 9):\n"
        "            try: os.write(fd, b'x' * 65536)\n            except OSError: pass",
        {"output"},
    ),
    "a child that outlives it": (
        "import os, time\nif os.fork() == 0:\n    os.setsid(); time.sleep(30); os._exit(0)\ndef gcd(a, b): os._exit(0)",
        {"processes", "values"},
    ),
    "errors that say nothing": (
        "import os, sys\nframe = sys._getframe()\nwhile 'order' not in frame.f_locals: frame = frame.f_back\n"
        "out = frame.f_locals['out']\n"
        'def gcd(a, b):\n    for n in range(8): os.write(out, b\'{"case": %d, "error": ""}\\n\' % n)\n    os._exit(0)',
        {"values"},
    ),
    "another encoder": (
        "import json\njson.dumps = lambda *a, **k: '{}'\ndef gcd(a, b): return 6",
        set(),
    ),
    "no such function": (
        "def lcm(a, b): return 6",
        set(),
    ),
    "half a program": (
        "def gcd(a, b):\n    return (a",
        set(),
    ),
    "null bytes": (
        "def gcd(a, b): return 6\x00",
        set(),
    ),
    "a recursion": (
        "def gcd(a, b): return gcd(a, b)",
        {"recursion"},
    ),
    "a nest": (
        "def gcd(a, b):\n    x = []\n    for _ in range(10 ** 5): x = [x]\n    return x",
        {"values"},
    ),
}


def run_command(args, data=None, environ_update=None, **dummy):
    done = subprocess.run(args, input=data.encode(), capture_output=True, check=False)
    return done.returncode, done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode("utf-8", "replace")


@pytest.fixture
def sandbox():
    return Sandbox(run_command, "none", bytes_of("256M"))


def test_a_right_program_passes_and_an_almost_right_one_does_not(sandbox):
    task = TASKS["gcd"]
    right = "def gcd(a, b):\n    while b: a, b = b, a % b\n    return abs(a)"
    assert judge(sandbox, task, right, 10) == Verdict(8)
    wrong = judge(sandbox, task, right.replace("abs(a)", "a"), 10)
    assert (wrong.passed, wrong.reason) == (7, "case 6 of 8: returned another value of type int: -0x7")
    assert wrong.contained == [] and wrong.seconds > 0


def test_arguments_arrive_with_their_types(sandbox):
    args = [(1, [2.5, None]), {3: "three", (4, 5): b"\x00\xff"}, {6, 7}, float("inf"), 10**400, "\ud800ü"]
    task = CodingTask("t", "", "f", [Case(args, {"key": frozenset("a")}, (*args, frozenset("a")))])
    assert judge(sandbox, task, "def f(*args, key): return (*args, key)", 10) == Verdict(1)
    assert decode(encode(args)) == args


@pytest.mark.parametrize("trick", list(HOSTILE))
def test_no_trick_passes(sandbox, trick):
    code, words = HOSTILE[trick]
    verdict = judge(sandbox, TASKS["gcd"], code, 60 if "time" not in words else 1)
    assert verdict.passed < 8 and verdict.reason
    assert words <= set(verdict.contained)


def test_a_program_that_repeats_its_verdicts_is_caught(sandbox):
    program = (
        "import sys, os\nframe = sys._getframe()\nwhile 'order' not in frame.f_locals: frame = frame.f_back\n"
        "out = frame.f_locals['out']\n"
        'def gcd(a, b):\n    os.write(out, b\'{"case": 0, "value": ["int", "0x6"]}\\n\')\n    return 6'
    )
    verdict = judge(sandbox, TASKS["gcd"], program, 60)
    assert verdict.reason == "case 1 of 8: the program printed values of its own"
    assert verdict.contained == ["values"]


@pytest.mark.parametrize(
    ("out", "said", "contained"),
    [
        ('{"ready": true}\n', "Finished with result: oom-kill", ["memory"]),
        ('{"ready": true}\n', "Finished with result: timeout", ["time"]),
        ('{"ready": true}\n', "Finished with result: signal", ["crash"]),
        ('{"ready": true}\n{"ended": "signal 24", "said": ""}', "", ["time"]),
        ('{"ready": true}\n{"ended": "signal 25", "said": ""}', "", ["files"]),
        ('{"ready": true}\n{"ended": "signal 31", "said": ""}', "", ["system_calls"]),
        ('{"ready": true}\n{"ended": "signal 11", "said": "{\\"tried\\": \\"network\\"}"}', "", ["crash", "network"]),
        ('{"ready": true}\n{"ended": "memory", "said": ""}', "", ["memory"]),
        (
            '{"ready": true}\n{"ended": "exit", "said": "{\\"tried\\": \\"a lie\\"}\\n{\\"tried\\": [1]}"}',
            "",
            ["values"],
        ),
        ('{"ready": true}\n{"ended": "exit", "said": ""}\n{"ended": "exit", "said": ""}', "", ["crash"]),
        ('{"ready": true}\n{"ended": "exit", "said": "' + "[" * 5000 + '"}', "", ["values"]),
        ('{"ready": true}\n{"ended": "exit", "said": "{' + '\\"case\\": ' + "9" * 50000 + '}"}', "", ["values"]),
    ],
)
def test_what_contained_a_program_is_told_by_whoever_ended_it(sandbox, monkeypatch, out, said, contained):
    monkeypatch.setattr(sandbox, "run", lambda *words: (out, said))
    verdict = judge(sandbox, TASKS["gcd"], "", 1)
    found = [word for word in verdict.contained if word != "values" or contained == ["values"]]
    assert (verdict.passed, found) == (0, contained)


def test_the_child_does_not_hold_the_expected_values(sandbox, monkeypatch):
    seen = []
    monkeypatch.setattr(sandbox, "run", lambda program, text, seconds: seen.append(json.loads(text)) or ("", ""))
    with pytest.raises(Failure):
        judge(sandbox, TASKS["fib"], "", 1)
    assert [set(case) for case in seen[0]["cases"]] == [{"args", "kwargs"}] * 8


def test_a_sandbox_that_does_not_start_is_no_failed_task(sandbox, monkeypatch):
    monkeypatch.setattr(sandbox, "run", lambda *words: ("", "Failed to connect to bus"))
    with pytest.raises(Failure) as caught:
        _coding_judge.check_sandbox(sandbox)
    assert caught.value.failure_class == "sandbox_unavailable" and "Failed to connect to bus" in caught.value.msg


@pytest.mark.parametrize(
    ("status", "said", "logged", "cause"),
    [
        (1, "", "", "ended without a word"),
        (124, "", "", "ended after 90 s"),
        (
            1,
            "Running as unit: x.service\nJob for x failed.",
            "Starting x\nx: Failed with result 'y'.",
            "(Job for x failed.)",
        ),
        (
            1,
            "Running as unit: x.service",
            "Starting\nx: Failed to set up user namespacing: Busy\nx: Failed at step",
            "Busy)",
        ),
    ],
    ids=["nothing", "cut off", "systemd-run's word", "the journal's word"],
)
def test_a_sandbox_that_does_not_start_always_tells_its_cause(status, said, logged, cause):
    def run(args, **more):
        return (0, logged, "") if args[0] == "journalctl" else (status, "", said)

    with pytest.raises(Failure) as caught:
        _coding_judge.check_sandbox(Sandbox(run, "systemd", 1 << 28))
    assert cause in caught.value.msg and "Running as" not in caught.value.msg


def test_a_sandbox_from_which_a_program_breaks_out_is_refused(sandbox, monkeypatch):
    _coding_judge.check_sandbox(sandbox)  # with none nothing is promised
    sandbox.kind = "systemd"
    monkeypatch.setattr(Sandbox, "_systemd_run", lambda self, seconds: ["env", "-i"])
    with pytest.raises(Failure) as caught:
        _coding_judge.check_sandbox(sandbox)
    assert "open a socket" in caught.value.msg


@pytest.mark.parametrize("user", [None, {"XDG_RUNTIME_DIR": "/run/user/7"}])
def test_the_unit_of_the_sandbox_has_its_limits(user):
    calls = []
    made = Sandbox(lambda args, **more: calls.append((args, more)) or (0, "", ""), "systemd", 1 << 28, user)
    made.run("print(1)", "", 3.0)
    words, more = calls[-1]
    assert "InaccessiblePaths=-/dev/shm -/tmp -/var/tmp" in words and "LimitFSIZE=1M" in words
    assert {
        "PrivateNetwork=yes",
        "ProtectSystem=strict",
        "NoNewPrivileges=yes",
        "RuntimeMaxSec=13",
        f"MemoryMax={1 << 28}",
    } <= set(words)
    assert ("DynamicUser=yes" in words) is (user is None)
    # All processes of a user count against it, wherever they run.
    assert ("LimitNPROC=32" in words) is (user is None)
    assert ("unshare" in words) is ("--user" in words) is (user is not None)
    assert more["environ_update"] == (user or {})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (0, False),
        (1, 1.0),
        ("1", 1),
        ([1], (1,)),
        ({}, []),
        (None, False),
        ({1}, [1]),
        ({"a": 1}, {"a": True}),
        ([], [None]),
        (b"a", "a"),
        (b"a", bytearray(b"a")),
        (b"", None),
        ((1, (2,)), (1, [2])),
        ({1: [{"a": (0,)}]}, {1: [{"a": (False,)}]}),
        (float("nan"), None),
        (float("inf"), float("-inf")),
        (2**64, float(2**64)),
        (frozenset(), set()),
        ("1", b"1"),
    ],
)
def test_types_count(one, other):
    assert not same(encode(one), encode(other))
    assert same(encode(one), encode(one)) and same(encode(other), encode(other))


def test_floating_point_may_differ_in_the_last_digits():
    assert same(encode(0.1 + 0.2), encode(0.3)) and not same(encode(0.31), encode(0.3))
    assert same(encode(float("nan")), encode(float("nan"))) and same(encode(float("inf")), encode(float("inf")))
    assert same(encode([{"a": (0.1 + 0.2,)}]), encode([{"a": (0.3,)}]))
    assert not same(encode(float("nan")), encode(0.0)) and not same(encode(0.0), encode(float("nan")))


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, True),
        ([1, (2.0,)], (1.0, [2]), True),
        (True, 1, False),
        (True, 1.0, False),
        (1, 1.5, False),
        (10**400, 1e300, False),
        ((1, 2), [1, 2, 3], False),
        ("1", 1, False),
        ([], (), True),
        ([], {}, False),
    ],
)
def test_a_task_may_say_that_numbers_and_sequences_count_alike(one, other, equal):
    assert same(encode(one), encode(other), loose=True) is equal
    assert same(encode(other), encode(one), loose=True) is equal


@pytest.mark.parametrize(
    "value",
    [object(), [object()], {"a": {1: (object(),)}}, type("L", (list,), {})(), 1 << (1 << 21), [object] * 3],
    ids=lambda value: str(type(value)),
)
def test_what_is_no_plain_data_equals_nothing_not_even_itself(value):
    assert not same(encode(value), encode(value))
    nest = []
    nest.append(nest)
    assert not same(encode(nest), encode(nest))


@pytest.mark.parametrize(
    "value", [0, "int", [], ["int"], ["int", 1], ["int", "0x1", 2], [["int"], "0x1"], {"int": 1}, None]
)
def test_what_a_program_prints_itself_breaks_nothing(value):
    assert not same(value, encode(1)) and not same(value, encode(1.0), loose=True)
    assert not same(value, encode([1])) and not same(value, encode({"a": 1}))


@pytest.mark.parametrize(
    ("size", "found"), [("256M", 256 << 20), ("1G", 1 << 30), ("67108864", 64 << 20), ("512 MiB", 512 << 20)]
)
def test_sizes(size, found):
    assert bytes_of(size) == found


@pytest.mark.parametrize("size", ["", "lots", "1M", "-1G", "1.5G"])
def test_senseless_sizes_are_refused(size):
    with pytest.raises(Failure):
        bytes_of(size)


def test_a_host_without_an_interpreter_is_told(monkeypatch):
    monkeypatch.setattr(_sandbox, "_INTERPRETERS", ("/nowhere/python3",))
    with pytest.raises(Failure) as caught:
        Sandbox(run_command, "none", 1 << 28).run("", "", 1)
    assert caught.value.failure_class == "sandbox_unavailable"
