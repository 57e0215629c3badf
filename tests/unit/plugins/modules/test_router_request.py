# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""That a request through a router reached one worker is said only where that worker counted one."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.modules import router_request
from ansible_collections.llmops.sglang.tests.unit.routed_workers import RoutedWorkers, served


@pytest.fixture
def asked(run_module):
    def ask(routed, worker="b", check=False, **options):
        with served(routed) as url:
            args = {"router_url": url, "worker_url": routed.urls[worker], "timeout": 60, **options}
            return run_module(router_request, args, check)

    return ask


@pytest.mark.parametrize("tells", ["metrics", "load"])
@pytest.mark.parametrize("api", ["chat", "completions", "generate"])
def test_one_lands(asked, tells, api):
    routed = RoutedWorkers(["a", "b", "c"], tells=tells)
    result = asked(routed, api=api)
    assert result["ok"] and result["told_by"] == tells and not result["changed"]
    assert 1 <= result["answered"] <= result["sent"]
    assert routed.ended["b"] >= 1
    wanted = {None} if api == "generate" else {"org/model"}
    assert {body.get("model") for body in routed.prompts} == wanted


def test_no_two_prompts_begin_alike(asked):
    routed = RoutedWorkers(["a", "b"], turn=["a"] * 9 + ["b"])
    assert asked(routed)["ok"]
    begins = [body["text"][:6] for body in routed.prompts]
    assert len(begins) == len(set(begins)) >= 10


@pytest.mark.parametrize("tells", ["metrics", "load"])
def test_a_router_that_sends_all_of_it_elsewhere(asked, tells):
    result = asked(RoutedWorkers(turn=["a"], tells=tells), timeout=1)
    assert result["failed"] and result["failure_class"] == "router_failed" and result["ok"] is False
    assert "by what the worker counts none was its" in result["msg"] and result["answered"] > 0


def test_a_worker_that_tells_nothing_proves_nothing(asked):
    result = asked(RoutedWorkers(["b"], tells="nothing"), timeout=1)
    assert result["failed"] and "does not tell what it has in hand: none of its routes tells it" in result["msg"]


def test_a_router_that_answers_none(asked):
    result = asked(RoutedWorkers(["b"], status=503), timeout=1)
    assert result["failed"] and "status 503 no worker" in result["msg"] and result["answered"] == 0


def test_a_router_that_is_not_there(run_module):
    args = {"router_url": "http://127.0.0.1:9", "worker_url": "http://127.0.0.1:9", "timeout": 0.5}
    result = run_module(router_request, args)
    assert result["failed"] and result["failure_class"] == "router_failed"
    assert set(router_request.NOTHING) <= set(result) and result["log_tail"] == []


def test_each_gets_its_own_key(asked):
    routed = RoutedWorkers()
    asked(routed, api_key="key-of-router", worker_api_key="key-of-worker")
    assert {key for name, key in routed.keys if not name} == {"Bearer key-of-router"}
    assert {key for name, key in routed.keys if name} == {"Bearer key-of-worker"}


def test_in_check_mode_nothing_is_sent(asked):
    routed = RoutedWorkers()
    result = asked(routed, check=True)
    assert result["ok"] is None and "check mode" in result["skipped_reason"] and routed.paths == []
