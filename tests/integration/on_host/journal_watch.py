# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait for lines of a unit as journal_assert does, and say how many seconds after its row's time each of them was seen.

The settings are one JSON argument with the number of lines, the answer is a list on standard output.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

NAME = "llmops-watch"
SCRIPT = "sleep 3; for i in $(seq {lines}); do echo tick $i; sleep 0.37; done; exec sleep 600"


def run_command(argv, environ_update=None, **_more):
    done = subprocess.run(argv, capture_output=True, env={**os.environ, **(environ_update or {})}, check=False)
    return done.returncode, done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode()


def watch(lines):
    from ansible_collections.llmops.sglang.plugins.module_utils._journal_assert import Assertion, Question

    seen = []

    class Watch(Assertion):
        def _take(self, line):
            if line.text.startswith("tick"):
                seen.append(time.time() - line.timestamp_us / 1e6)
            super()._take(line)

    question = Question(name=NAME, expect=[{"contains": f"tick {lines}"}], timeout=lines + 60)
    assert Watch(question, run_command).run()["ok"]
    return seen


def main():
    lines = json.loads(sys.argv[1])["lines"]
    with tempfile.TemporaryDirectory() as folder:
        namespace = pathlib.Path(folder) / "ansible_collections" / "llmops"
        namespace.mkdir(parents=True)
        (namespace / "sglang").symlink_to(pathlib.Path(__file__).resolve().parents[3])
        sys.path.insert(0, folder)
        script = pathlib.Path(folder) / "ticks.sh"
        script.write_text(SCRIPT.format(lines=lines))
        words = ["systemd-run", f"--unit={NAME}", "--quiet", "/bin/bash", str(script)]
        subprocess.run(words, check=True)
        try:
            print(json.dumps(watch(lines)))
        finally:
            subprocess.run(["systemctl", "stop", NAME], check=True)


if __name__ == "__main__":
    main()
