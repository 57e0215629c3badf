# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exit 0 when a test host can be booted on this machine; else print the reason in one sentence and exit 1."""

from __future__ import annotations

import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from hostset import requirements
from hostset.settings import HostsError


def main() -> int:
    if os.geteuid() != 0 and _has_sudo():
        return subprocess.call(["sudo", "-n", sys.executable, "-B", os.path.abspath(__file__)])
    try:
        requirements.check()
    except HostsError as error:
        print(error)
        return 1
    return 0


def _has_sudo() -> bool:
    """Whether sudo asks no password, tried in a session of its own: what it remembers for this terminal helps no worker."""
    try:
        done = subprocess.run(["sudo", "-n", "true"], capture_output=True, start_new_session=True, check=False)
        return done.returncode == 0
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main())
