# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The listed differences between the stand-in and the recorded servers, and which of them a whole run has met."""

from __future__ import annotations

import fnmatch
import pathlib
import re

import yaml

from conformance import recordings

KNOWN = yaml.safe_load((pathlib.Path(__file__).parent / "known_differences.yml").read_text())
RECORDS = sorted(recordings.VERSIONS)
SERVERS = [(record, server) for record in RECORDS for server in recordings.load(record, "exchanges.json")["servers"]]
LOGS = [(record, name) for record in RECORDS for name in recordings.load(record, "logs.json")]
used: set[int] = set()
ran: set[tuple[str, ...]] = set()


def unlisted(record, place, differences):
    """The differences that no entry of the list covers; marks the entries that are used."""
    left = []
    for difference in differences:
        matching = [
            index
            for index, entry in enumerate(KNOWN)
            if fnmatch.fnmatch(record, entry["record"])
            and fnmatch.fnmatch(place, entry["place"])
            and re.search(entry["difference"], difference)
        ]
        used.update(matching)
        if not matching:
            left.append(f"{record} {place}: {difference}")
    return left


def met():
    """What this process has met, as it can travel between processes."""
    return {"used": sorted(used), "ran": sorted(map(list, ran))}


def add(other):
    """Take in what another process has met."""
    used.update(other["used"])
    ran.update(map(tuple, other["ran"]))


def out_of_date():
    """The entries that no comparison needed; only a run of all comparisons can tell."""
    if len(ran) < len(SERVERS) + len(RECORDS) + len(LOGS):
        return []
    return [entry for index, entry in enumerate(KNOWN) if index not in used]
