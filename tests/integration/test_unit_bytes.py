# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Thousands of argument lists and environments: rendered here, started by a real systemd, and read back from the process."""

from __future__ import annotations

import base64
import json
import re

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils._unit_file import UnitPlan, render

LISTS = 2000
FOLDER = "/srv/unit-bytes"
# What quoting goes wrong on, more often than chance would have it; line break and NUL are refused elsewhere.
TROUBLE = " \"'\\%$;#{}~@!*?&|<>()[]=:,`^\tabfnrtvxuU019"
CHARACTERS = st.one_of(
    st.sampled_from(TROUBLE),
    st.characters(min_codepoint=32, max_codepoint=126),
    st.characters(min_codepoint=1, exclude_characters="\n", exclude_categories=["Cs"]),
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=6)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=5,
).map(lambda value: json.dumps(value, ensure_ascii=False))
PIECES = st.sampled_from(
    ["{{ x }}", "{% if %}", "$HOME", "${X}", "$$", "%h", "%%", "\\n", "\\x41", "\\101", "; ", " ", "", "-", "--a="]
)
WORDS = st.one_of(
    st.text(CHARACTERS, max_size=20),
    JSON,
    st.builds("{}{}{}".format, PIECES, st.text(CHARACTERS, max_size=5), PIECES),
)
# A process that writes what it got to the end of a file: the number of words, and each word with a NUL behind it.
RECORDER = """#!/bin/sh
printf '%s\\0' "$#" "$@" >> "$0.seen"
"""


@pytest.fixture(scope="module")
def lists():
    """Lists of words, all different, the same in each run."""
    found = []

    @settings(
        max_examples=LISTS + 50, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.lists(WORDS, max_size=6))
    def draw(example):
        found.append(example)

    draw()
    assert len(found) >= LISTS
    return found


def run_unit(hosts, tmp_path, text):
    """Have systemd run a oneshot service to its end."""
    source = tmp_path / "unit"
    source.write_text(text, encoding="utf-8")
    unit = "/etc/systemd/system/unit-bytes.service"
    hosts.run_module("host1", "ansible.builtin.copy", {"src": str(source), "dest": unit})
    done = hosts.ssh("host1", "systemctl daemon-reload && systemctl start unit-bytes", timeout=300)
    assert done.returncode == 0, hosts.ssh("host1", "systemctl status --lines=20 --full unit-bytes").stdout


def seen(hosts, name):
    done = hosts.ssh("host1", f"base64 {FOLDER}/{name}")
    assert done.returncode == 0, done.stderr
    return base64.b64decode(done.stdout).decode("utf-8").split("\0")[:-1]


def rendered(words=(), environment=None):
    return render(UnitPlan("x.service", [f"{FOLDER}/recorder", *words], environment=environment or {}))


def test_argument_lists_reach_the_process_byte_for_byte(hosts, tmp_path, lists):
    recorder = f"mkdir -p {FOLDER}; cat > {FOLDER}/recorder <<'END'\n{RECORDER}END\nchmod 755 {FOLDER}/recorder; rm -f {FOLDER}/*.seen"
    assert hosts.ssh("host1", recorder).returncode == 0
    # A oneshot service may have many commands, which systemd starts one after the other.
    commands = [re.search(r"^ExecStart=(?:.*\\\n)*.*$", rendered(words), flags=re.MULTILINE)[0] for words in lists]
    for start in range(0, len(commands), 500):
        run_unit(hosts, tmp_path, "\n".join(["[Service]", "Type=oneshot", *commands[start : start + 500], ""]))
    words, found = iter(seen(hosts, "recorder.seen")), []
    for count in words:
        found.append([next(words) for dummy in range(int(count))])
    assert len(found) == len(lists)
    assert [pair for pair in zip(lists, found, strict=True) if pair[0] != pair[1]] == []


def test_environments_reach_the_process_byte_for_byte(hosts, tmp_path, lists):
    # Control characters, which systemd ignores in a variable, are refused elsewhere.
    values = [re.sub(r"[\x00-\x08\x0a-\x1f\x7f]", "", " ".join(words)) for words in lists]
    environment = {f"ODD_{number}": value for number, value in enumerate(values)}
    text = rendered(environment=environment)
    lines = re.findall(r"^Environment=ODD.*$|^Environment=\"ODD.*$", text, flags=re.MULTILINE)
    assert len(lines) == len(values)
    copy = f"ExecStart=/bin/cp /proc/self/environ {FOLDER}/environ"
    assert hosts.ssh("host1", f"mkdir -p {FOLDER}").returncode == 0
    run_unit(hosts, tmp_path, "\n".join(["[Service]", "Type=oneshot", *lines, copy, ""]))
    got = dict(entry.split("=", 1) for entry in seen(hosts, "environ"))
    assert {name: got.get(name) for name in environment} == environment
