# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run one of the system's own programs and say why when it fails."""

from __future__ import annotations

import subprocess
from typing import Sequence

from .settings import HostsError

# Named here, because the caller's PATH may lack sbin or put shims of other tools first.
ENVIRON = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}


def run(words: Sequence[str], check: bool = True, text: str = "", timeout: float = 30) -> subprocess.CompletedProcess:
    """Run WORDS with TEXT as their input; with CHECK an exit status other than 0 raises HostsError."""
    try:
        done = subprocess.run(
            list(words), input=text, capture_output=True, text=True, env=ENVIRON, timeout=timeout, check=False
        )
    except OSError as error:
        raise HostsError(f"The program {words[0]!r} could not be run ({error}): install its package.") from error
    except subprocess.TimeoutExpired as error:
        raise HostsError(
            f"The command {' '.join(words)!r} did not end in {timeout:g} s: see what it waits for."
        ) from error
    if check and done.returncode:
        said = " ".join((done.stderr or done.stdout).split())
        raise HostsError(f"The command {' '.join(words)!r} failed (exit status {done.returncode}): {said or 'silent'}.")
    return done
