# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every file below some directories, so that two looks can be compared: prints one JSON object of path and description.

    snapshot.py '{"roots": ["/etc"], "strip": "", "without": ["/etc/mtab"], "untimed": ["/etc"], "unlisted": []}'

A description has kind and mode, owner, size, times of change, and the hash of the content or where a link points to.
``strip`` is left out at the beginning of each path; the others are patterns of the paths that are left: of what is not looked at,
of directories whose own times may change, and of those that may come and go and count only for what they hold.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import stat
import sys


def described(path, timed):
    status = os.lstat(path)
    said = [f"{status.st_mode:o}", f"{status.st_uid}:{status.st_gid}"]
    if stat.S_ISREG(status.st_mode):
        with open(path, "rb") as file:
            said += [str(status.st_size), hashlib.sha256(file.read()).hexdigest()]
    elif stat.S_ISLNK(status.st_mode):
        said.append(os.readlink(path))
    elif stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
        # An overlay notes what was removed from below as a device.
        said.append(str(status.st_rdev))
    return said + ([f"mtime {status.st_mtime_ns}", f"ctime {status.st_ctime_ns}"] if timed else [])


def matches(path, patterns):
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def look(roots, without, untimed, unlisted, strip=""):
    found = {}
    todo = list(roots)
    while todo:
        path = todo.pop()
        shown = path[len(strip) :] or "/"
        if matches(shown, without):
            continue
        try:
            if not matches(shown, unlisted):
                found[shown] = described(path, not matches(shown, untimed))
            if os.path.isdir(path) and not os.path.islink(path):
                todo += [os.path.join(path, name) for name in os.listdir(path)]
        except FileNotFoundError:
            # Gone meanwhile, or never there.
            found.pop(shown, None)
    return found


if __name__ == "__main__":
    json.dump(look(**json.loads(sys.argv[1])), sys.stdout)
