# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module journal_assert against a journal that the test writes row by row."""

from __future__ import annotations

import json
import pathlib
import re
import time

import pytest
from ansible.module_utils import basic
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils import _completeness, _journal_assert, _journal_presets
from ansible_collections.llmops.sglang.plugins.module_utils._completeness import journal_is_unreadable
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._journal import (
    JOURNALD_STARTED,
    STARTED,
    SUPPRESSED,
    InvocationLog,
    log_tail,
    read_invocation,
)
from ansible_collections.llmops.sglang.plugins.module_utils._journal_assert import Assertion, Question
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager
from ansible_collections.llmops.sglang.plugins.modules import journal_assert

LOGS = pathlib.Path(__file__).parents[2] / "fixtures" / "logs"
UNIT, OLD, NOW = "llm.service", "a" * 32, "b" * 32
RUNNER = (
    "[2026-05-30 08:20:46 TP0] Initialized DFLASH draft runner. attention_backend=triton, "
    "model=DFlashDraftModel, block_size={}, draft_window_size={}, compact_cache=False"
)


class Host:
    """A host's systemctl and journalctl: matches, cursors, --all and --lines as journalctl has them."""

    def __init__(self, **properties):
        self.properties = {
            "LoadState": "loaded", "ActiveState": "active", "SubState": "running", "InvocationID": NOW, "MainPID": "7",
            "StandardOutput": "journal", "StandardError": "inherit", "LogLevelMax": "-1", "SyslogLevel": "6",
            "LogRateLimitIntervalUSec": "0", "LogRateLimitBurst": "0", **properties,
        }  # fmt: skip
        self.server_words: list[str] = []
        self.rows, self.commands, self.error, self.rc, self.clock, self.later = [], [], "", 0, 0.0, []

    def row(self, message, **fields):
        number = len(self.rows) + 1
        row = {
            "__CURSOR": f"c{number}",
            "__REALTIME_TIMESTAMP": str(1_800_000_000_000_000 + number),
            "PRIORITY": "6",
            "MESSAGE": message,
        }
        self.rows.append({**row, **fields})

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
        assert argv[0] == "journalctl"
        if "--sync" in argv:
            return 1, "", "refused"
        rows = [row for row in self.rows if self._fits(row, [word for word in argv[3:] if not word.startswith("--")])]
        for word in argv:
            if word.startswith("--after-cursor="):
                after = int(word.partition("=c")[2])
                rows = [row for row in rows if int(row["__CURSOR"][1:]) > after]
            elif word.startswith("--until=@"):
                rows = [row for row in rows if int(row["__REALTIME_TIMESTAMP"]) <= float(word[9:]) * 1e6]
            elif word.startswith("--lines="):
                rows = rows[-int(word.partition("=")[2]) :]
        if "--all" not in argv:
            rows = [{**row, "MESSAGE": None} if len(str(row["MESSAGE"])) > 4096 else row for row in rows]
        return self.rc, "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows), self.error

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


@pytest.fixture
def host():
    made = Host()
    made.start(OLD)
    made.say("old words", RUNNER.format(16, None), invocation=OLD)
    made.start()
    made.say("hello", RUNNER.format(8, None), "bye")
    return made


def one(pattern=r"Initialized \w+ draft runner", **more):
    return {"pattern": pattern, **more}


def test_only_the_current_invocation_counts(host):
    good = host.ask(expect=[one(fields={"block_size": 8})])
    assert good["ok"] and good["failure_class"] == "" and good["invocation_id"] == NOW
    assert good["results"][0]["count"] == 1 and good["results"][0]["fields"] == {"block_size": 8}
    assert good["covers_start"] and good["entries_scanned"] == 4 and good["first_entry_at"].endswith("Z")
    bad = host.ask(expect=[one(fields={"block_size": 16})])
    assert bad["failure_class"] == "field_mismatch"
    assert bad["results"][0]["mismatches"] == [{"key": "block_size", "expected": 16, "actual": 8}]
    assert "16" in bad["msg"] and "8" in bad["msg"] and bad["log_tail"][-1] == "bye"
    assert host.ask(invocation="previous", expect=[one(fields={"block_size": 16})])["invocation_id"] == OLD
    assert host.ask(invocation=OLD.upper(), expect=[{"contains": "old words"}])["ok"]


def test_mismatch_missing_field_and_missing_line_differ(host):
    both = host.ask(expect=[one(fields={"draft_window_size": 2048, "ring": True})])
    assert both["failure_class"] == "field_mismatch"
    entry = both["results"][0]
    assert entry["mismatches"] == [{"key": "draft_window_size", "expected": 2048, "actual": None}]
    assert entry["missing"] == ["ring"] and "compact_cache" in entry["seen_keys"] and entry["cursor"] == "c6"
    assert host.ask(expect=[one(fields={"ring": True})])["failure_class"] == "field_missing"
    assert host.ask(expect=[one("no such line")])["failure_class"] == "pattern_not_found"
    for none in (None, "none", "null", "None"):
        assert host.ask(expect=[one(fields={"draft_window_size": none})])["ok"]


@pytest.mark.parametrize(
    ("fields", "holds"),
    [
        ({"block_size": {"min": 4, "max": 8}}, True),
        ({"block_size": {"min": 9}}, False),
        ({"block_size": {"one_of": [4, "8"]}}, True),
        ({"block_size": "8"}, True),
        ({"block_size": 8.0}, True),
        ({"block_size": True}, False),
        ({"compact_cache": False}, True),
        ({"compact_cache": "false"}, True),
        ({"compact_cache": 0}, False),
        ({"compact_cache": None}, False),
        ({"model": {"regex": "^DFlash"}}, True),
        ({"model": {"min": 3}}, False),
        ({"attention-backend": "triton"}, True),
        ({"draft_window_size": {"min": 1}}, False),
        ({"draft_window_size": ""}, False),
    ],
)
def test_comparisons(host, fields, holds):
    assert host.ask(expect=[one(fields=fields)])["ok"] is holds


def test_lines_that_do_not_agree(host):
    host.say(RUNNER.format(16, None))
    result = host.ask(expect=[one(fields={"block_size": 8})])
    assert result["failure_class"] == "ambiguous_match"
    assert "block_size=8" in result["msg"] and "block_size=16" in result["msg"]
    assert host.ask(expect=[one(fields={"block_size": 8}, occurrence="first")])["ok"]
    assert host.ask(expect=[one(fields={"block_size": 16}, occurrence="last")])["ok"]
    assert host.ask(expect=[one(fields={"block_size": 16}, occurrence="any")])["ok"]
    assert host.ask(expect=[one(fields={"block_size": 4}, occurrence="any")])["failure_class"] == "field_mismatch"
    assert host.ask(expect=[one(fields={"block_size": {"min": 8}})])["ok"]


@pytest.mark.parametrize(
    ("bounds", "failure_class"),
    [({"count": 1}, ""), ({"count": 2}, "count_mismatch"), ({"count": 0}, "count_mismatch"), ({"min_count": 2}, "count_mismatch"),
     ({"max_count": 1}, ""), ({"min_count": 0}, ""), ({"max_count": 0}, "count_mismatch")],
)  # fmt: skip
def test_counts(host, bounds, failure_class):
    assert host.ask(expect=[one(**bounds)])["failure_class"] == failure_class


def test_a_line_that_may_be_absent_has_to_be_said_so(host):
    assert host.ask(expect=[one("nothing", count=0)])["ok"] and host.ask(expect=[one("nothing", min_count=0)])["ok"]
    assert host.ask(expect=[one("nothing", max_count=3)])["failure_class"] == "pattern_not_found"


def test_who_wrote_the_line(host):
    assert host.ask(expect=[{"contains": "Started"}])["failure_class"] == "pattern_not_found"
    assert host.ask(expect=[{"contains": "Started", "source": "manager"}])["ok"]
    assert host.ask(must_not_match=["^Started"])["failure_class"] == "forbidden_match"


def test_a_forged_row_of_the_manager_proves_no_start(host):
    host.rows = [row for row in host.rows if row.get("INVOCATION_ID") != NOW]
    host.row(
        "Started llm.service.",
        _PID="99",
        _SYSTEMD_UNIT="evil.service",
        UNIT=UNIT,
        INVOCATION_ID=NOW,
        MESSAGE_ID=STARTED,
    )
    assert host.ask(must_not_match=["x"])["failure_class"] == "log_truncated"


def absent(host):
    """What an absent line and a forbidden one come to: they must say the same."""
    asked = (
        host.ask(expect=[one("nothing")]),
        host.ask(must_not_match=["nothing"]),
        host.ask(expect=[one("nothing", count=0)]),
    )
    assert not any(result["ok"] for result in asked)
    assert len({result["failure_class"] for result in asked}) == 1
    return asked[0]


def test_a_truncated_log(host):
    host.rows = [row for row in host.rows if row.get("INVOCATION_ID") != NOW]
    assert absent(host)["failure_class"] == "log_truncated"
    assert host.ask(expect=[one(fields={"block_size": 8})])["ok"], "a line that is there is there"
    assert host.ask(expect=[one(max_count=1)])["failure_class"] == "log_truncated"


@pytest.mark.parametrize("more", [{}, {"OBJECT_SYSTEMD_INVOCATION_ID": NOW}])
def test_suppressed_messages(host, more):
    host.suppress(5, **more)
    assert absent(host)["failure_class"] == "rate_limited"
    assert absent(host)["suppressed"] == 5


def test_suppressed_messages_of_somebody_else(host):
    host.suppress(5, unit="other.service")
    host.row(f"Suppressed 5 messages from {UNIT}", _SYSTEMD_UNIT=UNIT, _SYSTEMD_INVOCATION_ID=NOW)
    assert host.ask(must_not_match=["nothing"])["ok"]


def test_messages_that_may_be_suppressed_right_now(host):
    host.properties.update(LogRateLimitIntervalUSec="30s", LogRateLimitBurst="3")
    assert absent(host)["failure_class"] == "rate_limited"
    host.properties.update(LogRateLimitBurst="4")
    assert host.ask(must_not_match=["nothing"])["ok"]


def test_journald_was_restarted(host):
    host.row(
        "Journal started",
        MESSAGE_ID="f77379a8490b408bbe5f6940505a777b",
        _TRANSPORT="driver",
        _SYSTEMD_UNIT="systemd-journald.service",
    )
    assert absent(host)["failure_class"] == "log_truncated"


def test_rows_without_an_invocation_prove_nothing(host):
    host.row("stray words", _SYSTEMD_UNIT=UNIT, _PID="12")
    result = host.ask(expect=[{"contains": "stray words"}])
    assert result["failure_class"] == "pattern_not_found"
    assert result["unattributed"] == 1 and result["unattributed_lines"] == ["stray words"]
    assert host.ask(must_not_match=["stray"])["failure_class"] == "forbidden_match"


@pytest.mark.parametrize(
    ("settings", "failure_class"),
    [
        ({"StandardOutput": "file"}, "output_elsewhere"),
        ({"StandardError": "null"}, "output_elsewhere"),
        ({"StandardOutput": "journal+console"}, "pattern_not_found"),
        ({"LogLevelMax": "4"}, "log_level_hidden"),
        ({"LogLevelMax": "notice"}, "log_level_hidden"),
        ({"LogLevelMax": "6"}, "pattern_not_found"),
        ({"LogLevelMax": "4", "SyslogLevel": "4"}, "pattern_not_found"),
    ],
)
def test_output_that_does_not_reach_the_journal(host, settings, failure_class):
    host.properties.update(settings)
    assert host.ask(expect=[one("nothing")])["failure_class"] == failure_class


def test_output_to_a_file_has_no_entries_and_passes_nothing():
    host = Host(StandardOutput="file")
    host.start()
    assert absent(host)["failure_class"] == "output_elsewhere"


def test_units_without_a_log():
    host = Host()
    assert absent(host)["failure_class"] == "no_entries"
    host.start()
    assert absent(host)["failure_class"] == "no_entries"
    with pytest.raises(Failure) as failure:
        Host(InvocationID="", ActiveState="inactive").ask(must_not_match=["x"])
    assert failure.value.failure_class == "never_started"
    with pytest.raises(Failure) as failure:
        Host(LoadState="not-found", InvocationID="").ask(name="lm", must_not_match=["x"])
    assert failure.value.failure_class == "no_such_unit" and "llm.service" in failure.value.msg


def test_rows_that_are_gone_are_no_silence():
    now = int(time.time() * 1e6)
    host = Host(ExecMainStartTimestampMonotonic=str(int(time.monotonic() * 1e6) - 60_000_000))
    host.say("words", unit="other.service", invocation=OLD)
    host.rows[0]["__REALTIME_TIMESTAMP"] = str(now - 1_000_000)
    assert absent(host)["failure_class"] == "log_truncated"
    host.rows[0]["__REALTIME_TIMESTAMP"] = str(now - 120_000_000)
    assert absent(host)["failure_class"] == "no_entries"


@pytest.mark.parametrize(
    ("words", "hidden"),
    [(["--log-level", "warning"], True), (["--log-level=ERROR"], True), (["--log-level", "info"], False)],
)
def test_lines_that_the_server_itself_leaves_out(host, words, hidden):
    host.server_words = words
    assert host.ask(expect=[one("nothing")])["failure_class"] == ("log_level_hidden" if hidden else "pattern_not_found")
    assert host.ask(must_not_match=["^Traceback"], expect=[one()])["ok"], "errors would be there all the same"


def test_no_permission():
    host = Host()
    host.error = "Hint: You are currently not seeing messages from other users and the system.\n      Users in groups 'adm' can see all."
    assert absent(host)["failure_class"] == "no_permission"
    assert host.ask(expect=[one("x")], timeout=60)["failure_class"] == "no_permission" and host.clock < 1
    host = Host()
    host.error, host.rc = "No journal files were opened due to insufficient permissions.", 1
    assert absent(host)["failure_class"] == "no_permission"


def test_a_journal_that_may_not_be_read_although_nobody_says_so(tmp_path, monkeypatch):
    log = InvocationLog(UNIT, NOW)
    assert not journal_is_unreadable(log, [str(tmp_path)]), "no journal at all is no lack of rights"
    (tmp_path / "machine").mkdir()
    (tmp_path / "machine" / "system.journal").touch()
    assert not journal_is_unreadable(log, [str(tmp_path)])
    monkeypatch.setattr(_completeness.os, "access", lambda *dummy: False)
    assert journal_is_unreadable(log, [str(tmp_path)])


@pytest.mark.parametrize(
    ("asked", "failure_class"),
    [("c" * 32, "no_such_invocation"), ("nonsense", "no_such_invocation"), ("any", "rule_violated")],
)
def test_invocations_that_are_none(host, asked, failure_class):
    with pytest.raises(Failure) as failure:
        host.ask(invocation=asked, must_not_match=["x"])
    assert failure.value.failure_class == failure_class


def test_the_invocation_of_another_unit(host):
    host.say("x", invocation="d" * 32, unit="other.service")
    with pytest.raises(Failure, match="belong to 'llm.service' but to 'other.service'"):
        host.ask(invocation="d" * 32, expect=[{"contains": "x"}])


def test_no_previous_invocation():
    host = Host()
    host.start()
    with pytest.raises(Failure, match="knows no invocation"):
        host.ask(invocation="previous", expect=[{"contains": "x"}])


def test_exported_journals_need_no_manager(host):
    host.properties["LoadState"] = "not-found"
    result = host.ask(directory="/exported", invocation=OLD, expect=[{"contains": "old words"}], must_not_match=["bye"])
    assert result["ok"] and not [argv for argv in host.commands if argv[0] == "systemctl" or "--sync" in argv]
    assert all("--directory=/exported" in argv for argv in host.commands)
    both = host.ask(
        files=["/a.journal", "/b.journal"], invocation="any", expect=[{"contains": "words"}, {"contains": "bye"}]
    )
    assert both["ok"] and both["covers_start"] and {"--file=/a.journal", "--file=/b.journal"} <= set(host.commands[-1])
    with pytest.raises(Failure, match="give an id or 'any'"):
        host.ask(directory="/exported", expect=[{"contains": "x"}])


def test_long_messages_and_withheld_ones(host):
    host.say("x" * 9000 + " end=1")
    assert host.ask(expect=[one("x{9000} end", fields={"end": 1})])["ok"]
    host.say(None)
    assert absent(host)["failure_class"] == "message_withheld"


def test_a_forbidden_line(host):
    result = host.ask(must_not_match=[{"title": "no farewell", "pattern": "^by"}, "never"])
    assert result["failure_class"] == "forbidden_match" and "no farewell" in result["msg"]
    assert [entry["ok"] for entry in result["results"]] == [False, True] and result["results"][0]["line"] == "bye"


@pytest.mark.parametrize(
    "options",
    [{"expect": [one("(")]}, {"must_not_match": ["["]}, {"must_not_match": [{"patern": "x"}]}, {"must_not_match": [5]},
     {"expect": [{"pattern": "x", "fields": {"a": {"regex": "("}}}]}, {"expect": [{"title": "neither"}]}],
)  # fmt: skip
def test_questions_that_are_none(host, options):
    with pytest.raises(Failure) as failure:
        host.ask(**options)
    assert failure.value.failure_class == "rule_violated"


def test_a_pattern_that_never_ends(host, monkeypatch):
    monkeypatch.setattr(_journal_assert, "PATTERN_TIME", 0.2)
    host.say("a" * 5000 + "!")
    with pytest.raises(Failure) as failure:
        host.ask(expect=[one(r"(a+)+$", title="slow")])
    assert failure.value.failure_class == "pattern_too_slow" and "'slow'" in failure.value.msg


def test_waiting_sees_the_line(host):
    host.later = [(3.0, lambda: host.say("ready now"))]
    result = host.ask(expect=[{"contains": "ready now"}, one()], timeout=60)
    assert result["ok"] and 3.0 <= host.clock < 3.25
    polls = [argv for argv in host.commands if argv[0] == "journalctl" and "--after-cursor=c7" in argv]
    assert len(polls) > 10


def test_waiting_ends_at_the_deadline(host):
    assert host.ask(expect=[{"contains": "never"}], timeout=5)["failure_class"] == "pattern_not_found"
    assert 5 <= host.clock < 5.3


@pytest.mark.parametrize(
    "ends", [{"ActiveState": "failed", "SubState": "failed"}, {"SubState": "auto-restart"}, {"InvocationID": OLD}]
)
def test_waiting_ends_with_the_invocation(host, ends):
    host.later = [(2.0, lambda: host.properties.update(ends)), (2.01, lambda: host.say("last words"))]
    result = host.ask(expect=[{"contains": "never"}], timeout=60)
    assert result["failure_class"] == "pattern_not_found" and "has ended" in result["msg"] and host.clock < 4
    assert result["log_tail"][-1] == "last words"
    host.clock = 0.0
    host.ask(expect=[{"contains": "never"}], timeout=9, end_wait_when_failed=False)
    assert host.clock >= 9


def test_waiting_ends_with_a_forbidden_line_or_a_wrong_value(host):
    host.later = [(2.0, lambda: host.say("Traceback (most recent call last):"))]
    result = host.ask(expect=[{"contains": "never"}], must_not_match=["^Traceback"], timeout=60)
    assert host.clock < 2.5 and "forbidden_match" in [entry["failure_class"] for entry in result["results"]]
    host.clock = 0.0
    assert (
        host.ask(expect=[one(fields={"block_size": 9})], timeout=60)["failure_class"] == "field_mismatch"
        and host.clock < 1
    )


def test_a_line_that_is_split_while_it_waits(host):
    host.say("first half of a ", _LINE_BREAK="line-max")
    host.later = [(1.0, lambda: host.say("long line"))]
    assert host.ask(expect=[{"contains": "half of a long line"}], timeout=9)["ok"]


# What these servers did say: two have deprecated flags, and one freezes its garbage collector before its port is bound.
NOT_CLEAN = {
    "0.5.15-dflash-old-flag": ["deprecated flag"],
    "0.5.15-dflash-cpu": ["deprecated flag"],
    "0.5.23-skip-warmup": ["traceback", "warm-up failed"],
}


@pytest.mark.parametrize("asked", [{"preset": ["clean_start"]}, {"expect": [{"contains": "x"}]}])
def test_fields_that_no_preset_compares_are_refused(asked):
    host = Host()
    host.start()
    host.say("x")
    with pytest.raises(Failure, match="dflash") as raised:
        host.ask(preset_fields={"draft_window_size": 2048}, **asked)
    assert raised.value.failure_class == "rule_violated"


@pytest.mark.parametrize("name", sorted(path.stem for path in (LOGS / "healthy").glob("0*.log")))
def test_presets_on_healthy_servers(name):
    host = Host()
    host.start()
    host.say(*(LOGS / "healthy" / f"{name}.log").read_text(encoding="utf-8").splitlines())
    clean = host.ask(preset=["clean_start"])
    found = [entry["title"] for entry in clean["results"] if not entry["ok"]]
    assert found == NOT_CLEAN.get(name, []), clean["msg"]
    dflash = host.ask(preset=["dflash"], preset_fields={"draft_window_size": 2048, "compact_cache": True})
    words = {"dflash-no-window": "field_mismatch", "no-speculation": "pattern_not_found", "0.5.23": "pattern_not_found"}
    assert dflash["failure_class"] == next((word for part, word in words.items() if part in name), "")


@pytest.mark.parametrize(
    "name", sorted(path.stem for path in (LOGS / "failing").glob("*.log") if "args-" not in path.stem)
)
def test_a_failed_start_is_not_clean(name):
    host = Host()
    host.start()
    host.say(*(LOGS / "failing" / f"{name}.log").read_text(encoding="utf-8").splitlines())
    # These two were killed after they had said that they were ready.
    wanted = "" if name.endswith("-killed") else "bad-flag" if "bad-flag" in name else "forbidden_match"
    if wanted != "bad-flag":
        assert host.ask(preset=["clean_start"])["failure_class"] == wanted


def test_every_entry_of_a_preset_fits_its_sample():
    for entries in _journal_presets.PRESETS.values():
        for entry in entries:
            assert re.search(entry.pattern, entry.sample), entry.title


def test_keys_are_masked_everywhere(host):
    host.say(
        "[t] server_args=ServerArgs(host='0.0.0.0', api_key='sk-very-secret', admin_api_key='sk-admin-secret', tp_size=8)"
    )
    for fields in ({"api_key": "sk-very-secret"}, {"api_key": "other"}, {"tp_size": 9}, None):
        text = json.dumps(host.ask(expect=[one("server_args=", fields=fields)], must_not_match=["tp_size"]))
        assert "secret" not in text and "********" in text


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 40), st.integers(0, 30_000), st.sampled_from(["x", "é", "\U0001f600", "k=1, "]))
def test_the_result_stays_small(count, length, letter):
    host = Host()
    host.start()
    host.say(*["a=1 " + letter * length] * 3)
    for expect in (
        [one("a=", title=f"t{i}" * 200) for i in range(count)],
        [one("a=", fields={"k" * 300: "v" * 3000}) for dummy in range(count)],
    ):
        result = host.ask(expect=expect, must_not_match=["zzz" * 2000])
        assert len(json.dumps(result)) < 20_000
        assert len(result["log_tail"]) <= 10 and all(len(line) <= 400 for line in result["log_tail"])


@pytest.mark.parametrize(
    "line",
    [
        "[2026-05-30 09:00:00] Receive: obj=GenerateReqInput(rid='1', text='[2026-05-30 08:20:46 TP0] Initialized DFLASH draft "
        "runner. block_size=8, draft_window_size=2048, compact_cache=True')",
        '[2026-05-30 09:00:00] INFO:     127.0.0.1:1 - "GET /Initialized DFLASH draft runner. draft_window_size=2048 HTTP/1.1" 404',
    ],
)
def test_what_a_request_says_proves_nothing(line):
    """Prompts are in the journal with --log-requests, and people do ask models about logs."""
    host = Host()
    host.start()
    host.say(line)
    fields = {"draft_window_size": 2048}
    assert host.ask(preset=["dflash"], preset_fields=fields)["failure_class"] == "pattern_not_found"
    host.say(RUNNER.format(8, 2048))
    assert host.ask(preset=["dflash"], preset_fields=fields)["ok"]


def test_a_start_that_was_over_before_journald_was_restarted_is_whole():
    restarted = {"MESSAGE_ID": JOURNALD_STARTED, "_TRANSPORT": "driver"}
    host = Host()
    host.start()
    host.say(RUNNER.format(8, 2048), "[2026-05-30 08:21:00] The server is fired up and ready to roll!")
    host.row("Journal started", **restarted)
    assert host.ask(preset=["dflash", "clean_start"])["ok"]
    assert host.ask(must_not_match=["Traceback"])["failure_class"] == "log_truncated"


def test_a_start_in_which_journald_was_restarted_is_not():
    host = Host()
    host.start()
    host.say(RUNNER.format(8, 2048))
    host.row("Journal started", MESSAGE_ID=JOURNALD_STARTED, _TRANSPORT="driver")
    host.say("[2026-05-30 08:21:00] The server is fired up and ready to roll!")
    assert host.ask(preset=["dflash"])["failure_class"] == "log_truncated"


def test_a_log_tail_never_shows_a_key(host):
    host.say("server_args=ServerArgs(a=1, api_key='sk-the-key', b=2)")
    assert log_tail(Manager(host.run_command), UNIT, NOW)[-1:] == [
        "server_args=ServerArgs(a=1, api_key='********', b=2)"
    ]


def test_read_invocation_and_log_tail(host):
    manager = Manager(host.run_command)
    log = read_invocation(manager, UNIT, NOW)
    assert [line.text for line in log.lines][::2] == ["hello", "bye"] and log.incomplete == "" and log.covers_start
    assert [line.source for line in log.manager_lines] == ["manager"]
    host.say("key is api_key='sk-very-secret' " + "x" * 900)
    tail = log_tail(manager, UNIT, NOW, Mask(), 3)
    assert len(tail) == 3 and len(tail[-1]) == 400 and "secret" not in tail[-1]
    assert log_tail(manager, UNIT, "") == [] and log_tail(manager, UNIT, "e" * 32) == []


@pytest.fixture
def run(monkeypatch, run_module, host):
    def call(check=False, **options):
        monkeypatch.setattr(
            basic.AnsibleModule, "run_command", lambda module, argv, **more: host.run_command(argv, **more)
        )
        return run_module(journal_assert, {"name": "llm", **options}, check)

    return call


KEYS = {
    "ok",
    "failure_class",
    "results",
    "invocation_id",
    "entries_scanned",
    "first_entry_at",
    "covers_start",
    "suppressed",
    "unattributed",
    "log_tail",
    "changed",
}


@pytest.mark.parametrize("check", [False, True])
def test_the_module(run, check):
    good = run(check, expect=[one(fields={"block_size": 8, "draft_window_size": None})], must_not_match=["x y"])
    assert good["ok"] and not good.get("failed") and set(good) >= KEYS and good["changed"] is False
    bad = run(check, preset="dflash", preset_fields={"draft_window_size": 2048})
    assert bad["failed"] and bad["failure_class"] == "field_mismatch" and set(bad) >= KEYS


def test_the_module_with_an_unknown_unit(run, host):
    host.properties.update(LoadState="not-found", InvocationID="")
    result = run(unit="lm", name=None, expect=[one()])
    assert result["failure_class"] == "no_such_unit" and set(result) >= KEYS and result["ok"] is False
