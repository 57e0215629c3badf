# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs that only long tests need: they are installed on the machine, which the test hosts see, where they are not there."""

from __future__ import annotations

import os
import shutil
import subprocess


def program(package: str, *names: str) -> str:
    """Where the first of *names* (else the *package* itself) is that can be run; the package is installed if none is."""
    wanted = names or (package,)
    if not any(map(shutil.which, wanted)):
        install = [] if os.geteuid() == 0 else ["sudo", "-n"]
        install += [
            "env",
            "DEBIAN_FRONTEND=noninteractive",
            "apt-get",
            "install",
            "-y",
            "-qq",
            "--no-install-recommends",
        ]
        subprocess.run([*install, package], check=True, capture_output=True)
    return next(filter(None, map(shutil.which, wanted)))
