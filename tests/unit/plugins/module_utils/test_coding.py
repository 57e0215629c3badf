# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Coding tasks: found in an answer, judged by value and type, and never failed for a server that was not there."""

from __future__ import annotations

import json
import subprocess

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _coding_eval, _coding_judge, _sandbox
from ansible_collections.llmops.sglang.plugins.module_utils._case_runner import encode
from ansible_collections.llmops.sglang.plugins.module_utils._code_extraction import find_code
from ansible_collections.llmops.sglang.plugins.module_utils._coding_eval import Answer, NotAnswered
from ansible_collections.llmops.sglang.plugins.module_utils._coding_judge import Verdict, judge, same
from ansible_collections.llmops.sglang.plugins.module_utils._coding_server import answer_of
from ansible_collections.llmops.sglang.plugins.module_utils._coding_tasks import BUILT_IN, parse_tasks
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._sandbox import Sandbox, bytes_of

TASKS = {task.name: task for task in BUILT_IN}
RIGHT = {
    "is_palindrome": "def is_palindrome(t):\n    s = [c.lower() for c in t if c.isalnum()]\n    return s == s[::-1]",
    "fib": "def fib(n):\n    a, b = 0, 1\n    for _ in range(n): a, b = b, a + b\n    return a",
    "merge_sorted": "def merge_sorted(left, right): return sorted(left + right)",
    "word_count": "def word_count(text):\n    found = {}\n    for w in text.lower().split(): found[w] = found.get(w, 0) + 1\n    return found",
    "gcd": "def gcd(a, b):\n    while b: a, b = b, a % b\n    return abs(a)",
}
# Programs that are almost right, with the cases that find them.
WRONG = {
    "is_palindrome": "def is_palindrome(t): return t == t[::-1]",
    "fib": "def fib(n): return n if n < 2 else int(((1 + 5 ** .5) / 2) ** n / 5 ** .5 + .5)",
    "merge_sorted": "def merge_sorted(left, right): return sorted(set(left + right))",
    "word_count": "from collections import Counter\ndef word_count(text): return Counter(text.split(' '))",
    "gcd": "def gcd(a, b):\n    while b: a, b = b, a % b\n    return a",
}
HOSTILE = {
    "an object that equals everything": "class E:\n    def __eq__(self, other): return True\ndef gcd(a, b): return E()",
    "a number of a class of its own": "class I(int):\n    def __eq__(self, other): return True\ndef gcd(a, b): return I(6)",
    "an exit": "import os\ndef gcd(a, b): os._exit(0)",
    "a system exit": "def gcd(a, b): raise SystemExit(0)",
    "an endless loop": "def gcd(a, b):\n    while True: pass",
    "an endless loop that ignores signals": "import signal\nsignal.signal(15, signal.SIG_IGN)\ndef gcd(a, b):\n    while True: pass",
    "all the memory": "def gcd(a, b):\n    x = []\n    while True: x.append(bytearray(10 ** 7))",
    "verdicts of its own": (
        "import os\ndef gcd(a, b):\n"
        "    for fd in range(9):\n"
        '        try: os.write(fd, b\'\\n{"case": 0, "value": ["int", "0x6"]}\\n{"end": true}\\n\')\n'
        "        except OSError: pass\n"
        "    os._exit(0)"
    ),
    "endless output": "import os\ndef gcd(a, b):\n    while True:\n        for fd in range(3, 9):\n"
    "            try: os.write(fd, b'x' * 65536)\n            except OSError: pass",
    "a child that outlives it": "import os, time\nif os.fork() == 0:\n    os.setsid(); time.sleep(30); os._exit(0)\n"
    "def gcd(a, b): os._exit(0)",
    "another encoder": "import json\njson.dumps = lambda *a, **k: '{}'\ndef gcd(a, b): return 6",
    "no such function": "def lcm(a, b): return 6",
    "half a program": "def gcd(a, b):\n    return (a",
    "null bytes": "def gcd(a, b): return 6\x00",
    "a recursion": "def gcd(a, b): return gcd(a, b)",
    "a nest": "def gcd(a, b):\n    x = []\n    for _ in range(10 ** 5): x = [x]\n    return x",
}


def run_command(args, data=None, environ_update=None, **dummy):
    done = subprocess.run(args, input=data.encode(), capture_output=True, check=False)
    return done.returncode, done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode("utf-8", "replace")


@pytest.fixture
def sandbox():
    return Sandbox(run_command, "none", bytes_of("256M"))


def test_the_five_tasks_have_cases_enough():
    assert list(TASKS) == ["is_palindrome", "fib", "merge_sorted", "word_count", "gcd"]
    assert all(len(task.cases) >= 8 and task.entry_point in task.prompt for task in BUILT_IN)


@pytest.mark.parametrize("name", list(TASKS))
def test_a_right_program_passes_and_an_almost_right_one_does_not(sandbox, name):
    task = TASKS[name]
    assert judge(sandbox, task, RIGHT[name], 10) == Verdict(len(task.cases))
    wrong = judge(sandbox, task, WRONG[name], 10)
    assert wrong.passed < len(task.cases) and wrong.reason


@pytest.mark.parametrize("trick", list(HOSTILE))
def test_no_trick_passes(sandbox, trick):
    verdict = judge(sandbox, TASKS["gcd"], HOSTILE[trick], 2)
    assert verdict.passed == 0 and verdict.reason


def test_a_program_that_repeats_its_verdicts_is_caught(sandbox):
    program = (
        "import sys, os\nframe = sys._getframe()\nwhile 'order' not in frame.f_locals: frame = frame.f_back\n"
        "order, out = frame.f_locals['order'], frame.f_locals['out']\n"
        "def gcd(a, b):\n"
        '    os.write(out, (\'\\n%s {"case": 0, "value": ["int", "0x6"]}\\n\' % order[\'nonce\']).encode())\n    return 6'
    )
    verdict = judge(sandbox, TASKS["gcd"], program, 5)
    assert verdict.reason == "case 1 of 8: the program printed values of its own"


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
        (124, "", "", "ended after 30 s"),
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
    words, more = calls[0]
    assert {
        "PrivateNetwork=yes",
        "ProtectSystem=strict",
        "NoNewPrivileges=yes",
        "RuntimeMaxSec=3",
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
    ],
)
def test_types_count(one, other):
    assert not same(encode(one), encode(other))
    assert same(encode(one), encode(one)) and same(encode(other), encode(other))


def test_floating_point_may_differ_in_the_last_digits():
    assert same(encode(0.1 + 0.2), encode(0.3)) and not same(encode(0.31), encode(0.3))
    assert same(encode(float("nan")), encode(float("nan"))) and same(encode(float("inf")), encode(float("inf")))


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("```python\ndef f(): pass\n```", "def f(): pass\n"),
        ("Text\n```\ndef f(): pass\n```\nUse:\n```python\nprint(f())\n```", "def f(): pass\n"),
        ("```py\ndef f(): return 1\n```\nbetter:\n~~~python\ndef f(): return 2\n~~~", "def f(): return 2\n"),
        ("```bash\npip install x\n```\ndef f():\n    pass", "def f():\n    pass"),
        ("Sure! Here:\n\ndef f():\n    return 1", "def f():\n    return 1"),
        ("```python\ndef f(:", "def f(:"),
        ("<think>```python\ndef f(): bad\n```</think>```python\ndef f(): good\n```", "def f(): good\n"),
        ("f = lambda: 1", "f = lambda: 1"),
        ("aaaaaaaa", "aaaaaaaa"),
        ("I am sorry, I cannot help with that.", None),
        ("<think>def f(): pass", None),
        ("", None),
        (" \n", None),
    ],
)
def test_code_is_found(answer, code):
    assert find_code(answer, "f") == code


def evaluated(ask, samples=1, judged=lambda task, code: Verdict(len(task.cases))):
    return _coding_eval.summary(_coding_eval.evaluate(BUILT_IN, ask, judged, samples))


def test_a_server_that_is_not_there_fails_no_task():
    def ask(prompt):
        raise NotAnswered("refused: POST http://127.0.0.1:1: connection refused")

    result = evaluated(ask)
    assert (result["ok"], result["pass_rate"], result["tasks_not_run"], result["tasks_failed"]) == (False, None, 5, 0)
    assert {task["status"] for task in result["tasks"]} == {"not_run"}
    assert all("refused" in task["reason"] for task in result["tasks"])


def test_one_task_that_was_not_run_leaves_no_rate():
    answers = iter([Answer("x = 1")] * 4)

    def ask(prompt):
        try:
            return next(answers)
        except StopIteration:
            raise NotAnswered("timeout: ...") from None

    result = evaluated(ask)
    assert (result["ok"], result["pass_rate"], result["tasks_passed"], result["tasks_not_run"]) == (False, None, 4, 1)


def test_refused_counts_as_not_passed():
    result = evaluated(lambda prompt: Answer("No, thank you."))
    assert (result["ok"], result["pass_rate"], result["tasks_refused"]) == (True, 0.0, 5)
    assert "No, thank you." in result["tasks"][0]["reason"]
    silent = evaluated(lambda prompt: Answer("", "length"))
    assert "max_tokens" in silent["tasks"][0]["reason"]


def test_a_task_is_what_its_worst_sample_is():
    verdicts = iter([Verdict(8), Verdict(3, "case 4 of 8: returned ..."), Verdict(8)] * 5)
    result = evaluated(lambda prompt: Answer("x = 1", "length"), 3, lambda task, code: next(verdicts))
    first = result["tasks"][0]
    assert (first["status"], first["cases_passed"], first["samples"], first["samples_passed"]) == ("failed", 3, 3, 2)
    assert first["reason"] == "case 4 of 8: returned ... (the answer was cut at max_tokens)"


def test_code_is_cut_in_the_result_and_results_stay_small():
    code = "x = 1\n" * 600
    result = evaluated(lambda prompt: Answer(code))
    assert all(len(task["code"]) < 2100 for task in result["tasks"])
    many = [task for task in BUILT_IN for dummy in range(60)]
    reports = _coding_eval.evaluate(many, lambda prompt: Answer(code), lambda task, code: Verdict(0, "r" * 200))
    for count in (20, 60, 300):
        found = _coding_eval.summary(reports[:count])
        assert len(json.dumps(found)) < 64000
        assert (len(found["tasks"]) + found["tasks_omitted"], found["tasks_total"]) == (count, count)


@pytest.mark.parametrize("decoded", [None, [], {}, {"choices": []}, {"choices": [{}]}, {"error": {"message": "x"}}])
def test_an_answer_of_another_shape_is_not_run(decoded):
    with pytest.raises(NotAnswered):
        answer_of(decoded)


def test_null_content_is_an_empty_answer():
    assert answer_of({"choices": [{"message": {"content": None}, "finish_reason": "length"}]}) == Answer("", "length")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ([], "no list of tasks"),
        ([{"name": "a"}], "'prompt'"),
        ([{"name": "a", "prompt": "p", "entry_point": "f;g", "cases": [{"expected": 1}]}], "no name of a function"),
        ([{"name": "a", "prompt": "p", "entry_point": "class", "cases": [{"expected": 1}]}], "no name of a function"),
        ([{"name": "a", "prompt": "p", "entry_point": "f", "cases": []}], "at least one case"),
        ([{"name": "a", "prompt": "p", "entry_point": "f", "cases": [{"args": [1]}]}], "expected"),
        ([{"name": "a", "prompt": "p", "entry_point": "f", "cases": [{"expected": 1}], "timeout": -1}], "timeout"),
        ([{"name": "a", "prompt": "p", "entry_point": "f", "cases": [{"expected": 1}], "typo": 1}], "'typo'"),
        ([{"name": "a", "prompt": "p", "entry_point": "f", "cases": [{"expected": 1}]}] * 2, "two tasks"),
    ],
)
def test_a_task_that_cannot_be_used_is_named(raw, said):
    with pytest.raises(Failure) as caught:
        parse_tasks(raw, "the option 'tasks'")
    assert caught.value.failure_class == "bad_request" and said in caught.value.msg


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
