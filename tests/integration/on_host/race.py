# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restart units whose old process lingers and answers everything, and hold the module's verdict to what the new one says.

The settings are one JSON argument, the counts go as JSON to standard output.
"""

from __future__ import annotations

import concurrent.futures
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

from unit_of_test import Unit

LONGEST_LINGER = 3.0
WAYS = ("child", "outside", "slow")
POLL = 0.25


class Poll(threading.Thread):
    """What a poll of the model list, and one of a generation, would have said ready of, and when."""

    ROUTES = {"models": ("GET", "/v1/models"), "generation": ("POST", "/v1/chat/completions")}

    def __init__(self, port, asked):
        super().__init__(daemon=True)
        self.port, self.asked, self.said, self.over = port, asked, {}, threading.Event()

    def run(self):
        while len(self.said) < len(self.ROUTES) and not self.over.is_set():
            for name, (verb, path) in self.ROUTES.items():
                if name not in self.said and self.answers(verb, path):
                    self.said[name] = time.monotonic()
            self.asked.touch()
            time.sleep(POLL)

    def answers(self, verb, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(verb, path, "{}" if verb == "POST" else None)
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


class Race:
    """Restarts of one unit, one after the other."""

    def __init__(self, unit, rng, reuse):
        self.unit, self.rng, self.reuse = unit, rng, reuse
        self.problems, self.polls_wrong, self.ways, self.waits = [], {"models": 0, "generation": 0}, {}, []

    def draw(self):
        self.unit.next_start(
            load=self.rng.uniform(0, 0.5),
            warm=self.rng.choice([0.0, 0.0, self.rng.uniform(0, 0.5)]),
            linger=self.rng.uniform(0, LONGEST_LINGER),
            way=self.rng.choice(WAYS),
            reuse=self.reuse,
            until_asked=True,
        )

    def run(self, restarts):
        self.unit.write()
        subprocess.run(["systemctl", "daemon-reload"], check=True)
        self.draw()
        self.unit.systemctl("start")
        result = self.unit.wait()[0]
        if not result.get("ok"):
            self.problems.append(f"the first start: {result.get('failure_class')} {result.get('msg')}")
            return
        for dummy in range(restarts):
            self.restart()

    def restart(self):
        unit, old = self.unit, self.unit.plan
        previous = unit.property("InvocationID")
        self.draw()
        # A slow stop would keep the command until the old process is gone.
        unit.systemctl("restart", *(["--no-block"] if old["way"] == "slow" else []))
        restarted = time.monotonic()
        # However slow the machine: the old process goes when this poll has met it.
        poll = Poll(unit.port, unit.file_of(previous, "polled"))
        poll.start()
        result, verdict = unit.wait(previous_invocation_id=previous)
        current = unit.property("InvocationID")
        truth = unit.time_of(current, "ready")
        poll.over.set()
        poll.join()
        for name, said in poll.said.items():
            self.polls_wrong[name] += truth is None or said < truth
        way = f"{old['way']}{' twins' if self.reuse else ''}"
        self.ways[way] = self.ways.get(way, 0) + 1
        # While the old process answers on the same port, too, nothing can be ready.
        gone = unit.time_of(previous, "gone") or restarted
        self.waits.append(verdict - max(truth or verdict, gone, restarted))
        wrong = self.wrong(result, verdict, previous, current, truth)
        if wrong:
            self.problems.append(f"{wrong} (old {old}, new {unit.plan})")

    @staticmethod
    def wrong(result, verdict, previous, current, truth):
        """What is wrong with the module's verdict; empty where nothing is."""
        if not result.get("ok"):
            return f"not ready: {result.get('failure_class')} {result.get('msg')}"
        if current == previous or result["invocation_id"] != current:
            return f"ready speaks of {result['invocation_id']}, and {current} runs after {previous}"
        if truth is None or verdict < truth:
            return f"ready {verdict}, and the new process could generate at {truth}"
        if result["text"] != f"This is {current}.":
            return f"ready by the answer {result['text']!r}, and {current} runs"
        return ""


def main():
    settings = json.loads(sys.argv[1])
    rng, began = random.Random(settings["seed"]), time.monotonic()
    count = settings["side_by_side"]
    with tempfile.TemporaryDirectory(prefix="llmops-race-") as folder:
        races = [
            # Every second one binds its port while the old process still listens there.
            Race(
                Unit(f"race-{i}", settings["port"] + i, settings["defaults"], folder),
                random.Random(rng.random()),
                i % 2 > 0,
            )
            for i in range(count)
        ]
        try:
            with concurrent.futures.ThreadPoolExecutor(count) as pool:
                list(pool.map(lambda race: race.run(settings["restarts"] // count), races))
        finally:
            for race in races:
                race.unit.remove()
    lags = sorted(lag for race in races for lag in race.waits)
    ways = {}
    for race in races:
        for way, number in race.ways.items():
            ways[way] = ways.get(way, 0) + number
    summary = {
        "restarts": len(lags),
        "problems": [problem for race in races for problem in race.problems],
        "polls_wrong": {name: sum(race.polls_wrong[name] for race in races) for name in Poll.ROUTES},
        "ways": ways,
        "cpu_seconds": round(sum(os.times()[:4]), 1),
        "seconds": round(time.monotonic() - began, 1),
        "lag_p50": lags[len(lags) // 2] if lags else None,
        "lag_most": lags[-1] if lags else None,
    }
    json.dump(summary, sys.stdout)


if __name__ == "__main__":
    main()
