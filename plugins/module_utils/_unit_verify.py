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

# What systemd drops, or cannot run. Its other remarks (an obsolete value that it updates, User=nobody) leave the unit whole.
_ERRORS = re.compile(
    r"ignor|not executable|fail|refus|invalid|unknown|no such file|bad-setting|not absolute|missing|lacks",
    re.IGNORECASE,
)

RunCommand = t.Callable[..., "tuple[int, str, str]"]


def verify(
    run_command: RunCommand, name: str, relative: str, text: str, scope: str, final: str, workdir: str
) -> list[Complaint]:
    """The complaints of ``systemd-analyze verify`` about one file of unit *name*, with *final* for its path.

    Its exit code is 0 for an unknown key or a bad value, so what it prints is read.

    :arg relative: the file's path below a unit directory.
    :arg workdir: where a directory may be made for a moment.
    """
    stage = tempfile.mkdtemp(prefix="verify-", dir=workdir)
    try:
        path = os.path.join(stage, relative)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # World-readable like the file itself: systemd remarks on others.
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w", encoding="utf-8") as handle:
            handle.write(text)
        words = ["systemd-analyze", *(["--user"] if scope == "user" else []), "verify"]
        # A trailing colon adds the usual directories: drop-ins and the unit of somebody else are read as well.
        environ = {
            "SYSTEMD_UNIT_PATH": f"{stage}:",
            "SYSTEMD_COLORS": "0",
            "LC_ALL": "C",
            "SYSTEMD_LOG_LEVEL": "notice",
        }
        dummy, out, err = run_command([*words, "--man=no", name], environ_update=environ, check_rc=False)
        if "unrecognized option" in err:
            dummy, out, err = run_command([*words, name], environ_update=environ, check_rc=False)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return complaints(out + "\n" + err, name, path, final, text)


class Complaint(t.NamedTuple):
    """One remark of systemd; ``error`` where a setting is dropped or the unit cannot run."""

    text: str
    error: bool


def complaints(output: str, name: str, path: str, final: str, text: str) -> list[Complaint]:
    """The remarks in *output* about this unit, each with the setting it is about; those about other units are left out."""
    lines = text.splitlines()
    found = []
    for line in map(str.strip, output.splitlines()):
        own = line.startswith(f"{name}: ") or path in line
        if not own:
            continue
        at = re.search(re.escape(path) + r":(\d+):", line)
        number = int(at.group(1)) if at else _line_of_command(line, lines)
        if not at and number:
            line = line.replace(f"{name}: ", f"{path}:{number}: ", 1)
        setting = lines[number - 1].strip()[:200] if 0 < number <= len(lines) else ""
        error = bool(_ERRORS.search(line.replace(path, "").replace(name, "")))
        found.append(Complaint(line.replace(path, final) + (f" (in '{setting}')" if setting else ""), error))
    return list(dict.fromkeys(found))


def _line_of_command(said: str, lines: t.Sequence[str]) -> int:
    """The number of the line that names a program which systemd cannot run, of which it tells no line; 0 for none."""
    command = re.search(r"Command (\S+) is not executable", said)
    if not command:
        return 0
    named = re.compile(rf"Exec\w+=[-@:+!|]*{re.escape(command.group(1))}(?:\s|$)")
    return next((number for number, line in enumerate(lines, 1) if named.match(line)), 0)
