# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The summary of a release is one, and promises what the README and the code do."""

from __future__ import annotations

import re
import sys

import yaml

from ansible_collections.llmops.sglang.plugins.module_utils._flag_catalogue import VERSIONS
from ansible_collections.llmops.sglang.tests.tools.doc_examples import CLONE
from ansible_collections.llmops.sglang.tests.unit.docs.documented_collection import playbooks

sys.path.insert(0, str(CLONE / "tests" / "tools"))

from release_notes import release_notes, version

FRAGMENTS = sorted((CLONE / "changelogs" / "fragments").glob("*.yml"))
PROMISES = (
    r"ansible-core [\d.]+ to [\d.]+",
    r"systemd [\d.]+ or newer",
    r"Python [\d.]+ to [\d.]+",
    r"SGLang [\d.]+ or newer",
)


def summaries():
    """Of several the last would win, without a word."""
    contents = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in FRAGMENTS]
    return [content["release_summary"] for content in contents if "release_summary" in content]


def test_a_release_has_one_summary_at_most():
    assert len(summaries()) <= 1


def test_it_promises_the_versions_that_the_readme_names():
    readme = " ".join((CLONE / "README.md").read_text(encoding="utf-8").split())
    for summary in summaries():
        promised = [found for promise in PROMISES for found in re.findall(promise, summary)]
        assert len(promised) == len(PROMISES)
        assert [one for one in promised if one not in readme] == []
        assert f"up to {VERSIONS[-1]}" in summary and f"SGLang {VERSIONS[0]} or newer" in summary


def test_it_names_playbooks_that_there_are():
    for summary in summaries():
        assert set(re.findall(r"llmops\.sglang\.\w+", summary)) <= playbooks()


def words(text):
    """What is said, without the markup of either side."""
    return re.sub(r"[\W_]+", " ", re.sub(r"\\(.)|</?code>", r"\1", text)).split()


def test_the_notes_of_the_release_say_what_every_fragment_says():
    notes = release_notes()
    assert f"## v{version()}" in notes.replace("\\", "")
    said = " ".join(words(notes))
    for path in FRAGMENTS:
        for entries in yaml.safe_load(path.read_text(encoding="utf-8")).values():
            for entry in [entries] if isinstance(entries, str) else entries:
                assert " ".join(words(entry)) in said, (path.name, entry)
