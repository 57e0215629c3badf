# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host's journal that a test writes row by row, and its questions to it."""

from __future__ import annotations

import json

from ansible_collections.llmops.sglang.plugins.module_utils._journal_assert import Assertion, Question
from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import (
    STARTED,
    SUPPRESSED,
)

UNIT, OLD, NOW = "llm.service", "a" * 32, "b" * 32


RUNNER = (
    "[2026-05-30 08:20:46 TP0] Initialized DFLASH draft runner. attention_backend=triton, "
    "model=DFlashDraftModel, block_size={}, draft_window_size={}, compact_cache=False"
)


def printed(row):
    """*row* as ``journalctl -o export`` prints it; in JSON, as another tool in its place may, where a text is withheld."""
    if None in row.values():
        return json.dumps(row, separators=(",", ":")) + "\n"
    out = b""
    for name, value in row.items():
        raw = bytes(value) if isinstance(value, (list, bytes)) else str(value).encode()
        binary = not isinstance(value, str) or not value.isprintable()
        out += name.encode() + (b"\n" + len(raw).to_bytes(8, "little") if binary else b"=") + raw + b"\n"
    return (out + b"\n").decode("utf-8", "surrogateescape")


class Host:
    """A host's systemctl and journalctl: matches, cursors, --all and --lines as journalctl has them."""

    def __init__(self, **properties):
        self.properties = {
            "LoadState": "loaded", "ActiveState": "active", "SubState": "running", "InvocationID": NOW,
            # More than any process has.
            "MainPID": "4194305",
            "StandardOutput": "journal", "StandardError": "inherit", "LogLevelMax": "-1", "SyslogLevel": "6",
            "LogRateLimitIntervalUSec": "0", "LogRateLimitBurst": "0", **properties,
        }  # fmt: skip
        self.server_words: list[str] = []
        self.configuration = self.headers = ""
        self.synced = 1
        self.boot = "d" * 32
        self.rows, self.commands, self.error, self.rc, self.clock, self.later = [], [], "", 0, 0.0, []

    def row(self, message, **fields):
        number = len(self.rows) + 1
        row = {
            "__CURSOR": f"c{number}",
            "__REALTIME_TIMESTAMP": str(1_800_000_000_000_000 + number),
            "__MONOTONIC_TIMESTAMP": str(5_000_000_000 + number),
            "_BOOT_ID": self.boot,
            "PRIORITY": "6",
            "MESSAGE": message,
        }
        self.rows.append(
            {key: value for key, value in {**row, **fields}.items() if key == "MESSAGE" or value is not None}
        )

    def say(self, *messages, invocation=NOW, unit=UNIT, **fields):
        for message in messages:
            self.row(
                message,
                _SYSTEMD_UNIT=unit,
                _SYSTEMD_INVOCATION_ID=invocation,
                _TRANSPORT="stdout",
                _STREAM_ID=invocation,
                **fields,
            )

    def start(self, invocation=NOW, **fields):
        self.row(
            f"Started {UNIT}.",
            _PID="1",
            _SYSTEMD_UNIT="init.scope",
            UNIT=UNIT,
            INVOCATION_ID=invocation,
            MESSAGE_ID=STARTED,
            JOB_RESULT="done",
            **fields,
        )

    def suppress(self, count, unit=UNIT, **fields):
        self.row(
            f"Suppressed {count} messages from {unit}",
            MESSAGE_ID=SUPPRESSED,
            N_DROPPED=str(count),
            _SYSTEMD_UNIT="systemd-journald.service",
            _TRANSPORT="driver",
            **fields,
        )

    def sleep(self, seconds):
        self.clock += seconds
        while self.later and self.later[0][0] <= self.clock:
            self.later.pop(0)[1]()

    def run_command(self, argv, **dummy):
        self.commands.append(argv)
        if argv[0] == "systemctl":
            if "show" in argv:
                return 0, "".join(f"{key}={value}\n" for key, value in self.properties.items()), ""
            return 0, "llm.service enabled\nother.service static\n", ""
        if argv[0] == "busctl":
            words = ["python", *self.server_words]
            return 0, f'a(sasb) 1 "python" {len(words)} ' + " ".join(f'"{word}"' for word in words) + " false\n", ""
        if argv[0] == "systemd-analyze":
            return 0, self.configuration, ""
        if "--sync" in argv:
            return self.synced, "", "refused"
        assert argv[0] == "journalctl"
        if "--header" in argv:
            return 0, self.headers, ""
        for word in argv:
            if word.startswith("--field="):
                name = word.partition("=")[2]
                return 0, "".join(sorted({f"{row[name]}\n" for row in self.rows if name in row})), ""
        rows = [row for row in self.rows if self._fits(row, [word for word in argv[3:] if not word.startswith("--")])]
        for word in argv:
            if word.startswith("--cursor="):
                place = self._place(word.partition("=")[2])
                back = "--reverse" in argv
                rows = [row for row in rows if (place - self._place(row["__CURSOR"])) * (1 if back else -1) >= 0]
                rows = rows[::-1] if back else rows
            elif word.startswith("--lines="):
                rows = rows[-int(word.partition("=")[2]) :]
        if "--all" not in argv:
            rows = [{**row, "MESSAGE": None} if len(str(row["MESSAGE"])) > 4096 else row for row in rows]
        return self.rc, "".join(map(printed, rows)), self.error

    def _place(self, cursor):
        """Which row it is; of its own cursors also one that was there and is gone."""
        if cursor[0] == "c":
            return int(cursor[1:])
        return next(place for place, row in enumerate(self.rows, 1) if row["__CURSOR"] == cursor)

    @staticmethod
    def _fits(row, words):
        if not words:
            return True
        for group in " ".join(words).split(" + "):
            wanted = {}
            for word in group.split():
                key, dummy, value = word.partition("=")
                wanted.setdefault(key, []).append(value)
            if all(row.get(key) in values for key, values in wanted.items()):
                return True
        return False

    def ask(self, **options):
        question = Question(**{"name": "llm", **options})
        return Assertion(question, self.run_command, sleep=self.sleep, clock=lambda: self.clock).run()


def one(pattern=r"Initialized \w+ draft runner", **more):
    return {"pattern": pattern, **more}
