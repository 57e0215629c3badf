# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which SGLang is played: the release, and the fork's word if it is a fork."""

from __future__ import annotations

import json
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
DEFAULT_VERSION = "0.5.15.post1"


class Release:
    """A release such as ``0.5.15.post1``, compared by its first three numbers.

    ``fork`` is the lower-case name of a fork's algorithm ("ddtree") or "".
    """

    def __init__(self, version, fork=""):
        numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
        if numbers is None:
            raise ValueError("version '%s' does not look like 0.5.15 or 0.5.15.post1" % version)
        self.version = version
        self.fork = fork.lower()
        self.numbers = tuple(int(part) for part in numbers.groups())

    def since(self, version):
        """True when this release is ``version`` (without a post number) or later."""
        return self.numbers >= tuple(int(part) for part in version.split("."))

    def __str__(self):
        return self.version


def installed():
    """The release that ``install.py`` wrote beside this package, or the one in the environment."""
    choice = {}
    path = os.path.join(HERE, "installed.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as handle:
            choice = json.load(handle)
    version = os.environ.get("SIM_VERSION") or choice.get("version") or DEFAULT_VERSION
    fork = os.environ.get("SIM_FORK", choice.get("fork", ""))
    return Release(version, fork)
