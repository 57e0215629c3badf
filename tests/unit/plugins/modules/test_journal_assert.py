# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module journal_assert: lines, fields and counts of one invocation."""

from __future__ import annotations

import json

import pytest
from ansible.module_utils import basic

from ansible_collections.llmops.sglang.plugins.module_utils import _journal_assert
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._journal import (
    log_tail,
    read_invocation,
)
from ansible_collections.llmops.sglang.plugins.module_utils._log_facts import is_draft_runner
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager
from ansible_collections.llmops.sglang.plugins.modules import journal_assert
from ansible_collections.llmops.sglang.tests.unit.journal_host import NOW, OLD, RUNNER, UNIT, Host, one


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


@pytest.mark.parametrize(
    "asked",
    [
        {"expect": [one(r"(a+)+$", title="slow")]},
        {"must_not_match": [{"title": "slow", "pattern": r"(a+)+$"}]},
        {"expect": [one("k=", title="slow", fields={"k": {"regex": r"(a+)+$"}})]},
    ],
)
def test_a_pattern_that_never_ends(host, monkeypatch, asked):
    """Against a line of 48 KiB, which is as long as journald makes one by itself."""
    monkeypatch.setattr(_journal_assert, "PATTERN_TIME", 0.2)
    host.say("k=" + "a" * 49_150 + "!")
    with pytest.raises(Failure) as failure:
        host.ask(**asked)
    assert failure.value.failure_class == "pattern_too_slow" and "'slow'" in failure.value.msg


def test_keys_are_masked_everywhere(host):
    host.say(
        "[t] server_args=ServerArgs(host='0.0.0.0', api_key='sk-very-secret', admin_api_key='sk-admin-secret', tp_size=8)"
    )
    for fields in ({"api_key": "sk-very-secret"}, {"api_key": "other"}, {"tp_size": 9}, None):
        text = json.dumps(host.ask(expect=[one("server_args=", fields=fields)], must_not_match=["tp_size"]))
        assert "secret" not in text and "********" in text


def test_a_log_tail_never_shows_a_key(host):
    host.say("server_args=ServerArgs(a=1, api_key='sk-the-key', b=2)")
    assert log_tail(Manager(host.run_command), UNIT, NOW)[-1:] == [
        "server_args=ServerArgs(a=1, api_key='********', b=2)"
    ]


def test_only_the_lines_that_are_wanted_are_kept(host):
    log = read_invocation(Manager(host.run_command), UNIT, NOW, keep=is_draft_runner)
    assert [line.text for line in log.lines] == [RUNNER.format(8, None)] and not log.manager_lines
    assert log.incomplete == "" and log.service_entries == 3


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
    "results_left_out",
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
