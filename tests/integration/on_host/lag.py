# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long after the fact the module says ready, or failed, and how long after it a shell loop does.

The settings are one JSON argument; the lists of seconds and numbers go as JSON to standard output.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

from unit_of_test import Unit

SHELL_PAUSE = 15.0


def generates(port):
    """Whether one generation is answered, as a shell loop's curl asks for it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("POST", "/v1/chat/completions", "{}")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class Measured:
    """What is measured with the units of one folder."""

    def __init__(self, settings, folder):
        self.settings, self.folder = settings, folder
        self.rng, self.made = random.Random(settings["seed"]), []

    def unit(self, number):
        made = Unit(f"lag-{number}", self.settings["port"] + number, self.settings["defaults"], self.folder)
        self.made.append(made)
        made.write()
        return made

    def starts(self):
        """From the first moment at which a generation would have succeeded to the verdict; generations asked for."""
        unit, lags, asked = self.unit(0), [], []
        subprocess.run(["systemctl", "daemon-reload"], check=True)
        for dummy in range(self.settings["starts"]):
            unit.next_start(load=self.rng.uniform(0.5, 3))
            unit.systemctl("restart")
            result, verdict = unit.wait()
            assert result.get("ok"), result
            lags.append(verdict - unit.time_of(result["invocation_id"], "ready"))
            asked.append(len(unit.asked_at(result["invocation_id"])))
        return {"lags": lags, "asked": asked}

    def failures(self):
        """From the death of a process that loads to the verdict: its main process in turn is killed, or exits."""
        unit, lags, words = self.unit(0), [], []
        subprocess.run(["systemctl", "daemon-reload"], check=True)
        for number in range(self.settings["starts"]):
            unit.next_start(load=600)
            unit.systemctl("restart")
            main_pid = int(unit.property("MainPID"))
            pair, died = [main_pid, child_of(main_pid)], []
            victims = pair if number % 2 else pair[::-1]
            timer = threading.Timer(self.rng.uniform(0.5, 3), kill, (*victims, died))
            timer.start()
            result, verdict = unit.wait()
            timer.join()
            words.append(result.get("failure_class"))
            lags.append(verdict - died[0])
        return {"lags": lags, "words": words}

    def shell(self):
        """The lag of a loop that asks for a generation every quarter of a minute; all units at a time, since they only wait."""
        units = [self.unit(number) for number in range(self.settings["starts"])]
        subprocess.run(["systemctl", "daemon-reload"], check=True)
        with concurrent.futures.ThreadPoolExecutor(len(units)) as pool:
            lags = list(pool.map(self.loop, units, [self.rng.uniform(1, 1 + SHELL_PAUSE) for dummy in units]))
        return {"lags": lags}

    @staticmethod
    def loop(unit, load):
        unit.next_start(load=load)
        unit.systemctl("start")
        while not generates(unit.port):
            time.sleep(SHELL_PAUSE)
        return time.monotonic() - unit.time_of(unit.property("InvocationID"), "ready")


def kill(victim, other, died):
    os.kill(victim, signal.SIGKILL)
    died.append(time.monotonic())
    # Its child outlives the main process that is killed.
    with contextlib.suppress(ProcessLookupError):
        os.kill(other, signal.SIGKILL)


def child_of(pid):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
        if done.stdout.split():
            return int(done.stdout.split()[0])
    raise AssertionError(f"process {pid} made no child")


def main():
    settings = json.loads(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="llmops-lag-") as folder:
        measured = Measured(settings, folder)
        try:
            json.dump(getattr(measured, settings["what"])(), sys.stdout)
        finally:
            for unit in measured.made:
                unit.remove()


if __name__ == "__main__":
    main()
