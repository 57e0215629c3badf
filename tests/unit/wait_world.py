# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A scripted host and server for the waiting loop, with a clock of their own."""

from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.module_utils._answer import Generation
from ansible_collections.llmops.sglang.plugins.module_utils._failure import FAILURE_CLASSES
from ansible_collections.llmops.sglang.plugins.module_utils._generation_probe import ProbeResult
from ansible_collections.llmops.sglang.plugins.module_utils._ownership import Ownership
from ansible_collections.llmops.sglang.plugins.module_utils._readiness import Readiness
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState
from ansible_collections.llmops.sglang.plugins.module_utils._wait_memory import WaitMemory
from ansible_collections.llmops.sglang.plugins.module_utils._wait_options import WaitOptions

X, Y = "0" * 31 + "a", "0" * 31 + "b"
OURS = Ownership("yes", 100, "sglang.service", "python -m sglang.launch_server")
THEIRS = Ownership("no", 77, "other.service", "python old.py")


def good(tokens=8, models=("m",), **more):
    generation = Generation(content="red", usage={"prompt_tokens": 10, "completion_tokens": tokens}, **more)
    return ProbeResult("generated", http=True, models=list(models), generation=generation)


def bad(outcome, failure_class, msg="said so", http=True, **more):
    return ProbeResult(outcome, failure_class, msg, http=http, **more)


def unit(active="active", sub="running", inv=Y, pid=100, restarts=0, load="loaded", started=0.0, **more):
    properties = {
        "LoadState": load,
        "ActiveState": active,
        "SubState": sub,
        "InvocationID": inv,
        "MainPID": str(pid),
        "NRestarts": str(restarts),
        "ExecMainStartTimestampMonotonic": str(int((1000 + started) * 1e6)),
        "ControlGroup": "/system.slice/sglang.service",
        **{name: str(value) for name, value in more.items()},
    }
    return UnitState("sglang.service", properties)


class World:
    """Host, server and clock at once. Each part is a value, or a function of the seconds since the wait began."""

    port = 30000
    unresolved = ""

    def __init__(self, **parts):
        self.now = 1000.0
        self.parts = {
            "unit": None,
            "sockets": ["socket"],
            "owner": OURS,
            "workers": {},
            "dead": {},
            "progress": ("", ""),
            "failure": None,
            "earlier_failure": None,
            "earlier_end": "",
            "last_words": "",
            "answer": good(),
            "takes": 0.05,
            "health": "200",
            "identities": [("m",)],
            "tls": False,
            "abandoned": False,
            **parts,
        }
        self.probes, self.asked_at, self.most, self.under_way, self.health_looks = [], [], 0, [], 0
        self.words_per_token, self.reached = 0.0, True

    def part(self, name):
        value = self.parts[name]
        return value(self.now - 1000) if callable(value) else value

    def clock(self):
        return self.now

    def sleep(self, seconds):
        assert 0 < seconds <= 0.1001
        self.now += seconds

    # The host.
    @property
    def has_unit(self):
        return self.parts["unit"] is not None

    def abandoned(self):
        return self.part("abandoned")

    def unit(self):
        return self.part("unit")

    def no_such_unit(self, state):
        return "no_such_unit", "There is no unit 'sglash.service': the closest is 'sglang.service'."

    def origin(self, state):
        return state.exec_main_start_monotonic_us / 1e6

    def process_started(self, state):
        return 0.0

    def workers(self, state, seen):
        return self.part("workers"), {pid: name for pid, name in self.part("dead").items() if pid in seen}

    def sockets(self):
        return self.part("sockets")

    def ownership(self, sockets, state):
        return self.part("owner")

    def nobody(self):
        return "Nothing listens on 127.0.0.1:30000."

    def where(self):
        return "10.0.0.5:30000"

    def refused(self):
        pass

    def earlier_failure(self, invocation_id):
        self.earlier = invocation_id
        return self.part("earlier_failure")

    def earlier_end(self, invocation_id):
        return self.part("earlier_end")

    def last_words(self, invocation_id):
        return self.part("last_words")

    def progress(self, state):
        return self.part("progress")

    def failure(self, state, final=False):
        return self.part("failure")

    # The server.
    def start(self, index, timeout, context=0, parallel=1):
        self.under_way = [handle for handle in self.under_way if handle.end > self.now]
        answer = self.part("answer")
        result = answer.pop(0) if isinstance(answer, list) else answer
        takes = self.part("takes")
        if takes > timeout:
            takes, result = timeout, bad("timeout", "generation_timeout", "no whole answer", http=False)
        handle = Script(self, self.now + takes, result)
        self.under_way.append(handle)
        self.most = max(self.most, len(self.under_way))
        self.probes.append((index, context, parallel))
        self.asked_at.append(self.now - 1000)
        return handle

    def start_health(self, path, timeout):
        self.health_looks += 1
        return Script(self, self.now + 0.01, self.part("health"))

    def identities(self, seconds):
        return self.part("identities")

    def speaks_tls(self, seconds):
        return self.part("tls")

    def judged(self, result, seconds):
        return result


class Script:
    """A handle whose result is there at *end*; waiting for it moves the clock."""

    def __init__(self, world, end, result):
        self.world, self.end, self.result = world, end, result

    def wait(self, seconds):
        self.world.now = min(self.world.now + seconds, max(self.end, self.world.now))
        return self.result if self.world.now >= self.end else None


def run(world, slice_seconds=1e9, **options):
    """The verdict, the memory and the seconds it took; slices pass their memory on as JSON would."""
    memory = WaitMemory(started=world.now, origin=world.now)
    options = WaitOptions(**{"timeout": 30.0, "request_timeout": 3.0, **options})
    while True:
        verdict = Readiness(options, memory, world, world, world.clock, world.sleep).run(slice_seconds)
        if verdict is not None:
            return verdict, memory, world.now - 1000
        memory = WaitMemory.load(memory.dump(), world.now)


def fails(world, failure_class, within=None, **options):
    verdict, memory, took = run(world, **options)
    assert verdict.failure_class == failure_class, verdict.msg
    assert failure_class in FAILURE_CLASSES and verdict.msg
    assert within is None or took <= within, took
    return verdict, memory, took
