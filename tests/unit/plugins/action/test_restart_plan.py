# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order of a rolling restart, and its refusal before anything is touched."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.action import restart_plan as action
from ansible_collections.llmops.sglang.plugins.modules import restart_plan as module
from ansible_collections.llmops.sglang.tests.unit import controller_task

ROUTER = "http://router:30000"
HOSTS = [f"host{number}" for number in range(1, 9)]


def worker(host):
    return f"http://{host}:30001"


def mapping(host, **more):
    return {"router_url": ROUTER, "worker_url": worker(host), **more}


def told(out=(), sick=(), hosts=HOSTS, more=(), url=ROUTER):
    """What router_info says of a router that does not know *out* and calls *sick* unhealthy."""
    workers = [
        {"id": h, "url": worker(h), "healthy": h not in sick, "load": 0} for h in [*hosts, *more] if h not in out
    ]
    return {"router_url": url, "workers": workers}


@pytest.fixture
def planned(monkeypatch):
    def plan(hosts=HOSTS, mappings=None, nodes=None, groups=None, **options):
        mappings = {host: mapping(host) for host in hosts} if mappings is None else mappings
        hostvars = {host: {"server_router": mappings[host]} if host in mappings else {} for host in hosts}
        for host, value in (nodes or {}).items():
            hostvars[host]["server_nodes"] = value
        more = {
            "ansible_play_hosts": list(hosts),
            "hostvars": hostvars,
            "groups": {"all": list(hosts), **(groups or {})},
        }
        return controller_task.run(action, monkeypatch, options, task_vars=more)

    return plan


def test_options_and_results_are_the_documented_ones():
    options, always = controller_task.documented(module)
    assert options == action.ActionModule.SPEC
    assert always == set(action.ActionModule.NOTHING)


def test_without_answers_it_only_says_whom_to_ask(planned):
    mappings = {"host1": mapping("host1", delegate_to="edge"), "host2": mapping("host2"), "host3": None}
    result = planned(["host1", "host2", "host3", "host4"], mappings)
    assert result["routers"] == [{"router_url": ROUTER, "host": "host1", "delegate_to": "edge"}]
    assert result["batches"] == []


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        ({}, [1] * 8),
        ({"serial": 3}, [3, 3, 2]),
        ({"serial": "3"}, [3, 3, 2]),
        ({"serial": "25%"}, [2] * 4),
        ({"serial": [1, "50%"]}, [1, 4, 3]),
        ({"serial": 3, "canary": True}, [1, 3, 3, 1]),
        ({"serial": 3, "canary": "yes"}, [1, 3, 3, 1]),
        ({"serial": 3, "canary": "host5"}, [1, 3, 3, 1]),
        ({"serial": 3, "canary": "false"}, [3, 3, 2]),
        ({"serial": 3, "canary": ""}, [3, 3, 2]),
    ],
    ids=str,
)
def test_how_many_go_at_a_time(planned, options, sizes):
    result = planned(routers=[told()], **options)
    assert result["serial"] == sizes == [len(batch) for batch in result["batches"]]
    assert sorted(sum(result["batches"], [])) == HOSTS
    if options.get("canary") == "host5":
        assert result["batches"][0] == ["host5"]


def test_what_an_earlier_run_left_out_is_first(planned):
    result = planned(routers=[told(out=["host6"], sick=["host4"])], min_available="6", serial=2)
    assert result["batches"][0] == ["host4", "host6"]
    assert "6 of 8 workers serve now" in result["plan"][0]
    assert result["plan"][1] == "step 1: host4 (out of its router now), host6 (out of its router now)"


def test_a_named_canary_waits_for_those_that_are_out(planned):
    result = planned(routers=[told(out=["host6", "host7"])], canary="host3", min_available="7", serial=1)
    assert result["batches"][:4] == [["host6"], ["host7"], ["host3"], ["host1"]]
    result = planned(routers=[told(out=["host6", "host7"])], canary="host7", serial=4)
    assert result["batches"] == [["host7"], ["host6", "host1", "host2", "host3"], ["host4", "host5", "host8"]]


def test_who_is_out_together(planned):
    mappings = {host: mapping(host) for host in HOSTS[:3]} | {"host4": mapping("host4", router_url="http://other")}
    routers = [told(hosts=HOSTS[:3]), told(hosts=["host4"], url="http://other")]
    result = planned(HOSTS[:5], mappings, routers=routers, serial=4)
    assert result["together"] == {
        **{host: [worker(h) for h in HOSTS[:3]] for host in HOSTS[:3]},
        "host4": [worker("host4")],
        "host5": [],
    }


@pytest.mark.parametrize(
    ("options", "state"),
    [
        ({"min_available": "7"}, {}),
        ({"min_available": "87%"}, {}),
        ({"min_available": "5", "serial": 3}, {}),
        ({"min_available": 0}, {}),
        ({"min_available": "8"}, {"more": ["host9"]}),
        # What is out comes back before anything else is taken out.
        ({"min_available": "7"}, {"out": ["host1", "host2"]}),
        ({"min_available": "100%"}, {"out": HOSTS}),
    ],
    ids=str,
)
def test_enough_are_left(planned, options, state):
    hosts = HOSTS[:1] if options["min_available"] == "100%" else HOSTS
    result = planned(hosts, routers=[told(**{"hosts": hosts, **state})], **options)
    assert not result.get("failed"), result["msg"]


@pytest.mark.parametrize(
    ("options", "state", "said"),
    [
        ({"min_available": "8"}, {}, "Without 'host1' only 7 of the 8 workers"),
        ({"min_available": "88%"}, {}, "wants 8 (88% of 8)"),
        ({"min_available": "6", "serial": 3}, {}, "Without 'host1' and 'host2' and 'host3' only 5 of the 8"),
        # Only the second batch takes too many.
        ({"min_available": "6", "serial": [1, 4]}, {}, "Without 'host2' and 'host3' and 'host4' and 'host5' only 4"),
        ({"min_available": "7"}, {"sick": ["host9"], "more": ["host9"], "hosts": HOSTS[:7]}, "only 6 of the 8"),
    ],
    ids=str,
)
def test_too_few_would_be_left(planned, options, state, said):
    hosts = state.get("hosts", HOSTS)
    result = planned(hosts, routers=[told(**state)], **options)
    assert result["failed"] and result["failure_class"] == "rule_violated"
    assert said in result["msg"] and result["batches"] == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"canary": "hots3"}, "meant is host3"),
        ({"min_available": "most"}, "'most' says not how many"),
        ({"min_available": "101%"}, "'101%' says not how many"),
        ({"serial": "0"}, "'0' in 'restart_serial'"),
        ({"serial": [2, "x"]}, "'x' in 'restart_serial'"),
    ],
    ids=str,
)
def test_options_that_cannot_be(planned, options, said):
    result = planned(routers=[told()], **options)
    assert result["failed"] and result["failure_class"] == "bad_request"
    assert said in result["msg"]


@pytest.mark.parametrize(
    ("mappings", "options", "said"),
    [
        ({"host1": {"router_url": ROUTER}}, {}, "needs 'router_url' and 'worker_url'"),
        ({"host1": mapping("a"), "host2": mapping("A")}, {}, "'host1' and 'host2' have the same 'worker_url'"),
        (
            {"host1": mapping("host1")},
            {"min_available": "50%"},
            "the host 'host2' has no 'server_router' (nor have 1 more)",
        ),
    ],
    ids=["half a mapping", "one worker twice", "a rule without a router"],
)
def test_inventories_that_cannot_be(planned, mappings, options, said):
    result = planned(["host1", "host2", "host3"], mappings, **options)
    assert result["failed"] and result["failure_class"] == "bad_request"
    assert said in result["msg"]


def test_hosts_without_a_router_are_restarted_one_by_one(planned):
    result = planned(HOSTS[:2], {}, routers=[], canary="host2")
    assert result["batches"] == [["host2"], ["host1"]] and result["routers"] == []


def test_the_hosts_of_one_server_go_together_and_have_one_worker(planned):
    pair = {"host3": "big", "host2": "big", "host6": ["host5", "host6"], "host5": ["host5", "host6"], "host1": []}
    routers = [told(out=["host3", "host6", "host5"])]
    result = planned(nodes=pair, groups={"big": ["host2", "host3"]}, routers=routers, canary="host3", min_available=4)
    assert result["batches"] == [["host5", "host6"], ["host2", "host3"], ["host1"], ["host4"], ["host7"], ["host8"]]
    assert result["together"]["host2"] == [worker("host2")]
    assert "5 of 6 workers serve now, 5 at the worst moment (step 1); 4 have to" in result["plan"][0]
    refused = planned(["host1", "host2"], nodes={"host2": ["host2", "host3"]}, routers=[told()])
    assert refused["failure_class"] == "bad_request" and "whose node 'host3' is none of this play's" in refused["msg"]


def test_a_long_plan_is_cut(planned):
    hosts = [f"h{number}" for number in range(200)]
    result = planned(hosts, routers=[told(hosts=hosts)])
    assert len(result["plan"]) == 52 and result["plan"][-1] == "and 150 steps more"
