# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many workers of a router serve, and how many are left without some."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.modules import router_info
from ansible_collections.llmops.sglang.tests.unit.routed_workers import RoutedWorkers, served

FOUR = ["a", "b", "c", "d"]


@pytest.fixture
def told(run_module):
    def tell(routed, out=(), check=False, **options):
        with served(routed) as url:
            taken = [routed.urls.get(name, f"http://{name}:1") for name in out]
            return run_module(router_info, {"router_url": url, "taken_out": taken, **options}, check)

    return tell


def counts(result):
    return result["known"], result["healthy"], result["left"]


@pytest.mark.parametrize("check", [False, True])
def test_all_serve(told, check):
    result = told(RoutedWorkers(FOUR), check=check)
    assert counts(result) == (4, 4, 4) and not result["changed"]
    assert [set(worker) for worker in result["workers"]] == [{"id", "url", "healthy", "load"}] * 4


def test_the_ranks_of_a_worker_are_one(told):
    assert counts(told(RoutedWorkers(FOUR, ranks=2), ["a"])) == (4, 4, 3)


def test_an_older_router_tells_no_health_so_the_workers_are_asked(told):
    routed = RoutedWorkers(FOUR, style="query")
    routed.health["c"] = False
    assert counts(told(routed, ["a"])) == (4, 3, 2)


@pytest.mark.parametrize(
    ("out", "sick", "rule", "left"),
    [
        (["a"], [], "3", 3),
        (["a"], [], "75%", 3),
        (["a", "b"], [], "2", 2),
        # One that the router does not know belongs to it all the same.
        (["e"], [], "100%", 4),
        # Nothing is taken away from anybody.
        (["a"], ["a"], "4", 3),
        (["a", "b"], ["a"], "2", 2),
    ],
    ids=str,
)
def test_enough_are_left(told, out, sick, rule, left):
    routed = RoutedWorkers(FOUR)
    routed.health.update(dict.fromkeys(sick, False))
    result = told(routed, out, min_available=rule)
    assert not result.get("failed"), result["msg"]
    assert result["left"] == left


@pytest.mark.parametrize(
    ("out", "sick", "rule", "said"),
    [
        (["a"], [], "4", "only 3 of the 4 workers"),
        (["a"], [], "76%", "wants 4 (76% of 4)"),
        (["a"], ["b"], "3", "only 2 of the 4 workers"),
        (["a", "e"], [], "4", "only 3 of the 5 workers"),
    ],
    ids=str,
)
def test_too_few_are_left(told, out, sick, rule, said):
    routed = RoutedWorkers(FOUR)
    routed.health.update(dict.fromkeys(sick, False))
    result = told(routed, out, min_available=rule)
    assert result["failed"] and result["failure_class"] == "rule_violated" and said in result["msg"]
    # What it saw is told, too.
    assert len(result["workers"]) == 4 and result["left"] is not None


def test_a_rule_that_is_none(told):
    result = told(RoutedWorkers(), ["a"], min_available="half")
    assert result["failed"] and result["failure_class"] == "bad_request" and "'half'" in result["msg"]


def test_a_router_that_is_not_there(run_module):
    result = run_module(router_info, {"router_url": "http://127.0.0.1:9"})
    assert result["failed"] and result["failure_class"] == "router_failed"
    assert set(router_info.nothing({})) <= set(result) and result["log_tail"] == []
