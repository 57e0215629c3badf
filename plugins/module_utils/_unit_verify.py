# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What systemd says of a unit file before it is in place."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import typing as t

RunCommand = t.Callable[..., "tuple[int, str, str]"]


def verify(run_command: RunCommand, name: str, relative: str, text: str, scope: str, final: str, workdir: str) -> list[str]:
    """The complaints of ``systemd-analyze verify`` about one file of unit *name*, with *final* for its path.

    Its exit code is 0 for an unknown key or a bad value, so what it prints is read.

    :arg relative: the file's path below a unit directory.
    :arg workdir: where a directory may be made for a moment.
    """
    stage = tempfile.mkdtemp(prefix="verify-", dir=workdir)
    try:
        path = os.path.join(stage, relative)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # World-readable like the file itself: systemd complains of others.
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w", encoding="utf-8") as handle:
            handle.write(text)
        words = ["systemd-analyze", *(["--user"] if scope == "user" else []), "verify", "--man=no", name]
        # A trailing colon adds the usual directories: drop-ins and the unit of somebody else are read as well.
        environ = {"SYSTEMD_UNIT_PATH": f"{stage}:", "SYSTEMD_COLORS": "0", "LC_ALL": "C", "SYSTEMD_LOG_LEVEL": "notice"}
        dummy, out, err = run_command(words, environ_update=environ, check_rc=False)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return complaints(out + "\n" + err, name, path, final)


def complaints(output: str, name: str, path: str, final: str) -> list[str]:
    """The lines of *output* that speak of this unit; those about other units are left out."""
    found = []
    for line in output.splitlines():
        line = line.strip()
        if path in line:
            found.append(line.replace(path, final))
        elif line.startswith(f"{name}: "):
            found.append(line)
    return [line for line in dict.fromkeys(found) if not re.search(r"world-inaccessible|is marked world-writable", line)]
