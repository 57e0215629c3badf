# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A test host that sees the real servers, for the tests here."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator, Sequence

from lane import HOST, Lane

INSTALL = pathlib.Path(__file__).resolve().parents[1] / "real" / "install.py"


def installed(only: Sequence[str] = ()) -> None:
    """Install what is missing of the servers of the real lane, or of ONLY these."""
    install = [sys.executable, str(INSTALL), *(["--only", *only] if only else [])]
    if subprocess.run([*install, "--check"], capture_output=True, check=False).returncode != 0:
        subprocess.run(install, check=True)


@contextlib.contextmanager
def real_host(directory: pathlib.Path, only: Sequence[str] = ()) -> Iterator[Lane]:
    """A Lane with its host, once these servers are installed."""
    installed(only)
    made = Lane(f"m{os.getpid()}", [HOST], directory, owner_pid=os.getpid())
    created = made.boot()
    assert created.returncode == 0, created.stdout + created.stderr
    try:
        yield made
    finally:
        made.destroy()
