# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""journal_assert on journal files that systemd's own tools wrote: what no host says when it is asked to."""

from __future__ import annotations

import os
import subprocess

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._journal_assert import Assertion, Question

REMOTE = "/lib/systemd/systemd-journal-remote"
OLD, NOW, USER = "a" * 32, "b" * 32, "e" * 32
STARTED, SUPPRESSED = "39f53479d3a045ac8e11786248231fbf", "a596d6fe7bfa4994828e72309e95d61e"
JOURNALD_STARTED = "f77379a8490b408bbe5f6940505a777b"
RUNNER = "[2026-05-30 08:20:46 TP0] Initialized DDTREE draft runner. attention_backend=triton, model=DFlashDraftModel, "
RUNNER += "block_size={}, draft_window_size=2048, compact_cache=True"
MANAGER = {
    "_PID": "1",
    "_SYSTEMD_UNIT": "init.scope",
    "UNIT": "llm.service",
    "MESSAGE_ID": STARTED,
    "JOB_RESULT": "done",
}


def started(invocation):
    return {"MESSAGE": "Started llm.service.", "INVOCATION_ID": invocation, **MANAGER}


def said(message, invocation=NOW, **more):
    return {
        "MESSAGE": message,
        "_SYSTEMD_UNIT": "llm.service",
        "_SYSTEMD_INVOCATION_ID": invocation,
        "_PID": "9",
        **more,
    }


class Files:
    """A directory of journal files."""

    def __init__(self, folder):
        self.folder = folder

    def write(self, *rows):
        out = b""
        for place, row in enumerate(rows):
            fields = {
                "__REALTIME_TIMESTAMP": str(1_780_000_000_000_000 + place),
                "__MONOTONIC_TIMESTAMP": str(5_000_000 + place),
                "_BOOT_ID": "c" * 32,
                **row,
            }
            for name, value in fields.items():
                raw = value if isinstance(value, bytes) else value.encode()
                out += name.encode() + b"\n" + len(raw).to_bytes(8, "little") + raw + b"\n"
                if name.startswith("__"):
                    out = out[: -len(raw) - 10] + b"=" + raw + b"\n"
            out += b"\n"
        words = [REMOTE, f"--output={self.folder / 'one.journal'}", "--split-mode=none", "-"]
        done = subprocess.run(words, input=out, capture_output=True, check=False)
        assert done.returncode == 0 and f"after writing {len(rows)} entries" in done.stderr.decode(), done.stderr

    @staticmethod
    def run_command(argv, environ_update=None):
        environ = {**os.environ, **(environ_update or {})}
        done = subprocess.run(argv, capture_output=True, env=environ, check=False)
        return done.returncode, *(text.decode("utf-8", "surrogateescape") for text in (done.stdout, done.stderr))

    def ask(self, **options):
        asked = {"name": "llm", "directory": str(self.folder), "invocation": NOW, **options}
        return Assertion(Question(**asked), self.run_command).run()

    def absent(self, **options):
        """What an absent line and a forbidden one come to, which must be the same."""
        asked = [{"expect": [{"contains": "nothing"}]}, {"must_not_match": ["nothing"]}]
        results = [self.ask(**question, **options) for question in asked]
        assert not any(result["ok"] for result in results)
        assert len({result["failure_class"] for result in results}) == 1
        return results[0]["failure_class"]


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


def test_each_invocation_has_its_own_line(files):
    files.write(started(OLD), said(RUNNER.format(16), OLD), started(NOW), said(RUNNER.format(8)))
    asked = {"preset": ["dflash"], "preset_fields": {"block_size": 8, "draft_window_size": 2048}}
    assert files.ask(**asked)["ok"]
    old = files.ask(invocation=OLD, **asked)
    assert old["results"][0]["mismatches"] == [{"key": "block_size", "expected": 8, "actual": 16}]
    assert files.ask(invocation="any", **asked)["failure_class"] == "ambiguous_match"


def test_what_journalctl_really_gives(files):
    files.write(
        started(NOW),
        said(b"\x1b[1;33mcolour\x1b[0m x"),
        said(b"Loading 40%\rLoading 100%\r[..] Initialized X draft runner. a=1"),
        said(b"bad \xff\xfe bytes"),
        said("x" * 200_000 + " end=1"),
        said("L" * 49_152, _STREAM_ID="1", _LINE_BREAK="line-max"),
        said("another one's", _STREAM_ID="1", _PID="10"),
        said(" rest", _STREAM_ID="1"),
        said("{{ 6 * 7 }} {% raw %}"),
    )
    expect = [
        {"pattern": "^colour x$"},
        {"pattern": r"^\[\.\.\] Initialized", "fields": {"a": 1}},
        {"pattern": "^bad .. bytes$"},
        {"contains": "xxx end", "fields": {"end": 1}},
        {"pattern": "^L+ rest$"},
        {"pattern": "^another one's$"},
        {"contains": "{{ 6 * 7 }} {% raw %}"},
    ]
    result = files.ask(expect=expect, must_not_match=["nothing"])
    assert result["ok"] and result["results"][-2]["line"] == "{{ 6 * 7 }} {% raw %}", result["msg"]


@pytest.mark.parametrize(
    ("rows", "failure_class"),
    [
        ([said("words")], "log_truncated"),
        ([started(NOW)], "no_entries"),
        (
            [
                started(NOW),
                said("words"),
                {
                    "MESSAGE": "Suppressed 7 messages from llm.service",
                    "MESSAGE_ID": SUPPRESSED,
                    "N_DROPPED": "7",
                    "_SYSTEMD_UNIT": "systemd-journald.service",
                    "_TRANSPORT": "driver",
                },
            ],
            "rate_limited",
        ),
        (
            [
                started(NOW),
                said("words"),
                {"MESSAGE": "Journal started", "MESSAGE_ID": JOURNALD_STARTED, "_TRANSPORT": "driver"},
            ],
            "log_truncated",
        ),
    ],
    ids=["no start", "nothing said", "suppressed", "journald restarted"],
)
def test_an_incomplete_journal_proves_nothing(files, rows, failure_class):
    files.write(*rows)
    assert files.absent() == failure_class


def test_a_users_unit_whose_rows_an_older_journald_stamped_with_the_invocation_of_its_manager(files):
    about = {"USER_UNIT": "llm.service", "USER_INVOCATION_ID": NOW, "MESSAGE_ID": STARTED, "JOB_RESULT": "done"}
    manager = {"_SYSTEMD_UNIT": "user@1500.service", "_SYSTEMD_INVOCATION_ID": USER, "_PID": "800"}
    files.write(
        {"MESSAGE": "Started llm.", **about, **manager, "_SYSTEMD_USER_UNIT": "init.scope"},
        {"MESSAGE": "words", **manager, "_SYSTEMD_USER_UNIT": "llm.service"},
    )
    result = files.ask(scope="user", expect=[{"contains": "words"}])
    assert result["failure_class"] == "no_entries" and "carry another invocation" in result["msg"]


def test_a_broken_file(files):
    files.write(started(NOW), said("words"))
    assert files.ask(must_not_match=["nothing"])["ok"]
    (files.folder / "two.journal").write_bytes((files.folder / "one.journal").read_bytes()[:4096] + b"\xff" * 4096)
    assert files.absent() == "log_truncated"
