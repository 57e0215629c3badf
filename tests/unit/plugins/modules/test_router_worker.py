# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module router_worker from its arguments to its result, on a router and a worker that do as the real ones do."""

from __future__ import annotations

import json
import socket

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _http_client, _router_worker
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._restart_cost import RunningRequests
from ansible_collections.llmops.sglang.plugins.module_utils._router_api import RouterApi
from ansible_collections.llmops.sglang.plugins.modules import router_worker
from ansible_collections.llmops.sglang.tests.unit.fake_router import FakeRouter, FakeWorker

KEY = "sk-router-key-1"
WORKER_KEY = "sk-worker-key-2"
INTERFACES = ("uuid", "url", "query")


@pytest.fixture
def world(monkeypatch):
    """Make routers and workers that end with the test; waits are short."""
    monkeypatch.setattr(_router_worker, "SETTLE", 0.05)
    monkeypatch.setattr(_router_worker, "_SHORTEST_PAUSE", 0.01)
    made = []

    def make(kind, *args, **options):
        made.append(kind(*args, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def put(run_module):
    def call(router, worker, state, check=False, **options):
        urls = {name: getattr(one, "url", one) for name, one in (("router_url", router), ("worker_url", worker))}
        usual = {"healthy_timeout": 600, "drain_timeout": 600, "request_timeout": 60}
        return run_module(router_worker, {**urls, **usual, "state": state, **options}, check)

    return call


def unused():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


@pytest.mark.parametrize("interface", INTERFACES)
@pytest.mark.parametrize("ranks", [0, 2])
def test_each_state_is_reached_once(world, put, interface, ranks):
    worker = world(FakeWorker)
    router = world(FakeRouter, ["http://other:1"], interface, ranks=ranks, slow=3)
    said = []
    for state in ("present", "present", "drained", "drained", "present", "absent", "absent"):
        result = put(router, worker, state)
        assert not result.get("failed"), result
        registered = any(url.split("@")[0] == worker.url for url in router.entries)
        assert result["worker"]["registered"] is registered is (state == "present")
        assert result["worker"]["url"] == worker.url
        said.append(result["changed"])
    assert said == [True, False, True, False, True, True, False]
    assert result["router"] == {
        "interface": "query" if interface == "query" else "workers",
        "workers": 1,
        "healthy_workers": 1,
    }
    assert any(url.startswith("http://other:1") for url in router.entries)


@pytest.mark.parametrize("interface", INTERFACES)
def test_check_mode_tells_the_same_and_changes_nothing(world, put, interface):
    worker = world(FakeWorker, running=[3])
    router = world(FakeRouter, ["http://other:1"], interface)
    asked = [put(router, worker, state, check=True) for state in ("present", "drained", "absent")]
    assert [result["changed"] for result in asked] == [True, False, False]
    assert asked[0]["diff"] == {
        "before": f"{worker.url}: not in the router\n",
        "after": f"{worker.url}: in the router, healthy\n",
    }
    router._enter(worker.url)
    asked = [put(router, worker, state, check=True) for state in ("present", "drained", "absent")]
    assert [result["changed"] for result in asked] == [False, True, True]
    assert asked[1]["worker"]["load"] == 3 and asked[1]["worker"]["registered"] is True
    assert asked[1]["diff"]["after"] == f"{worker.url}: not in the router\n"
    assert set(router.asked) | set(worker.asked) == {"GET"}


@pytest.mark.parametrize("spelling", ["{0}/", "{0}/v1", "{0}/v1/", "HTTP://{1}"])
def test_spellings_name_one_worker_and_reach_the_router_plain(world, put, spelling):
    worker, router = world(FakeWorker), world(FakeRouter)
    url = spelling.format(worker.url, worker.url.split("//")[1])
    assert put(router, url, "present")["worker"]["url"] == worker.url
    assert list(router.entries) == [worker.url]
    assert put(router, worker, "present")["changed"] is False
    assert put(router, url, "absent")["changed"] is True and not router.entries


def test_drain_waits_for_the_last_request(world, put):
    worker = world(FakeWorker, running=[2, 2, 1, 0, 1, 0])
    router = world(FakeRouter, [worker.url])
    result = put(router, worker, "drained")
    assert result["changed"] and result["worker"]["load"] == 0
    # The one that came after the first zero counted too.
    assert worker.running == [0]


def test_a_drain_that_takes_too_long_says_what_is_left(world, put):
    worker = world(FakeWorker, running=[5])
    router = world(FakeRouter, [worker.url])
    result = put(router, worker, "drained", drain_timeout=0.3)
    assert result["failed"] and result["failure_class"] == "drain_timeout" and result["changed"] is True
    assert (
        "5 are left" in result["msg"] and "state=present" in result["msg"] and result["worker"]["registered"] is False
    )
    assert result["worker"]["load"] == 5 and result["log_tail"] == []


def test_a_dead_worker_has_no_requests(world, put):
    url = unused()
    router = world(FakeRouter, [url])
    result = put(router, url, "drained")
    assert not result.get("failed") and result["changed"] and result["worker"]["load"] == 0 and not router.entries


def test_a_worker_that_cannot_be_counted_stays(world, put):
    worker = world(FakeWorker, routes=())
    router = world(FakeRouter, [worker.url])
    result = put(router, worker, "drained")
    assert result["failure_class"] == "drain_timeout" and result["changed"] is False and router.entries
    assert "none of its routes" in result["msg"] and "state=absent" in result["msg"]
    keyed = world(FakeWorker, key=WORKER_KEY)
    router._enter(keyed.url)
    result = put(router, keyed, "drained")
    assert (
        result["failure_class"] == "unauthorized" and "worker_api_key" in result["msg"] and keyed.url in router.entries
    )
    assert put(router, keyed, "drained", worker_api_key=WORKER_KEY)["changed"] is True


def test_a_worker_that_hangs_is_taken_out_and_the_drain_fails(world, put, monkeypatch):
    hangs = RunningRequests(None, "it did not answer within 30 s")
    monkeypatch.setattr(_router_worker, "ask_running", lambda client, timeout: hangs)
    worker = world(FakeWorker)
    router = world(FakeRouter, [worker.url])
    result = put(router, worker, "drained", drain_timeout=0.2)
    assert result["failure_class"] == "drain_timeout" and "could not be counted: it did not" in result["msg"]
    assert result["changed"] is True and not router.entries


def test_a_worker_is_not_registered_before_it_is_well(world, put):
    worker = world(FakeWorker, health=[503, 503, 200])
    router = world(FakeRouter)
    assert put(router, worker, "present")["changed"] is True and worker.health == [200]
    worker = world(FakeWorker, health=[503])
    result = put(router, worker, "present", healthy_timeout=0.2)
    assert result["failure_class"] == "router_failed" and "status 503" in result["msg"] and result["changed"] is False
    result = put(router, unused(), "present", healthy_timeout=0.2)
    assert "nothing listens" in result["msg"] and len(router.entries) == 1 and router.asked["POST"] == 1


@pytest.mark.parametrize("interface", ["uuid", "url"])
def test_present_waits_until_the_router_says_healthy(world, put, interface):
    worker = world(FakeWorker)
    router = world(FakeRouter, interface=interface, sick=3, slow=4)
    result = put(router, worker, "present")
    assert result["changed"] and result["worker"]["healthy"] is True
    router.entries[worker.url]["sick"] = 10**6
    result = put(router, worker, "present", healthy_timeout=0.3)
    assert result["failure_class"] == "router_failed" and "did not call" in result["msg"] and result["changed"] is False
    assert "'healthy_timeout'" in result["msg"] and result["worker"]["healthy"] is False
    assert result["worker"]["registered"] is True
    assert result["router"] == {"interface": "workers", "workers": 1, "healthy_workers": 0}


@pytest.mark.parametrize("interface", INTERFACES)
def test_the_router_alone_does_not_make_it_healthy(world, put, interface):
    url = unused()
    router = world(FakeRouter, [url], interface)
    result = put(router, url, "present", healthy_timeout=0.2)
    assert result["failure_class"] == "router_failed" and "was not well" in result["msg"] and result["changed"] is False


@pytest.mark.parametrize("interface", INTERFACES)
def test_a_router_that_refuses_is_quoted_at_once(world, put, interface):
    worker, router = world(FakeWorker), world(FakeRouter, interface=interface)
    router.refusal = f"no tokenizer for it, asked with {WORKER_KEY}"
    result = put(router, worker, "present", worker_api_key=WORKER_KEY, healthy_timeout=600)
    assert result["failure_class"] == "router_failed" and "no tokenizer" in result["msg"]
    assert WORKER_KEY not in json.dumps(result) and result["changed"] is True


def test_a_router_that_never_lists_it(world, put):
    worker, router = world(FakeWorker), world(FakeRouter, slow=10**6)
    result = put(router, worker, "present", healthy_timeout=0.3)
    assert result["failure_class"] == "router_failed" and "may still do so later" in result["msg"] and result["changed"]


def test_a_router_that_keeps_it(world):
    worker = world(FakeWorker)
    router = world(FakeRouter, [worker.url])
    router.stuck = True
    now = [0.0]
    api = RouterApi(_http_client.HttpClient(router.url), 60)
    kept = _router_worker.RouterWorker(
        api, worker.url, None, clock=lambda: now[0], sleep=lambda seconds: now.append(now.pop() + seconds)
    )
    with pytest.raises(Failure, match="still lists the worker .* 60 s after .*not found") as caught:
        kept.absent(check=False)
    assert caught.value.failure_class == "router_failed" and caught.value.result["worker"]["registered"] is True
    assert now[0] == 60


def test_keys_go_where_they_belong_and_are_never_shown(world, put):
    worker, router = world(FakeWorker, key=WORKER_KEY), world(FakeRouter, key=KEY)
    result = put(router, worker, "present", api_key=KEY, worker_api_key=WORKER_KEY)
    assert result["changed"] and router.bodies[0] == {"url": worker.url, "api_key": WORKER_KEY}
    results = [result, put(router, worker, "drained", api_key=KEY, worker_api_key=WORKER_KEY)]
    for keys in ({}, {"api_key": "sk-not-the-key"}):
        results.append(put(router, worker, "present", **keys))
        assert results[-1]["failure_class"] == "router_failed" and "api_key" in results[-1]["msg"]
    results.append(put(router, worker, "present", api_key=KEY, worker_api_key="sk-not-the-key"))
    assert results[-1]["failure_class"] == "unauthorized" and not router.entries
    assert not [key for key in (KEY, WORKER_KEY, "sk-not-the-key") if key in json.dumps(results)]


def test_one_key_does_for_both(world, put):
    worker, router = world(FakeWorker, key=KEY), world(FakeRouter, key=KEY)
    assert put(router, worker, "present", api_key=KEY)["changed"] and router.bodies[0]["api_key"] == KEY


def test_a_registration_survives_the_drain(world, put):
    worker, router = world(FakeWorker), world(FakeRouter)
    given = {"priority": 7, "cost": 2.5}
    put(router, worker, "present", registration=given)
    out = put(router, worker, "drained")
    assert out["registration"] == given
    put(router, worker, "present", registration=out["registration"])
    assert router.bodies[-1] == {"url": worker.url, **given}
    result = put(router, worker, "present", registration={"api_key": KEY})
    assert result["failed"] and "worker_api_key" in result["msg"]


def test_a_rank_is_removed_by_the_name_of_its_server(world, put):
    worker = world(FakeWorker)
    router = world(FakeRouter, [worker.url], ranks=2)
    assert put(router, worker, "absent")["changed"] and not router.entries and not router.queue
    assert "DELETE /workers/" + router.ids[worker.url] in router.paths


HOSTILE = {
    "empty": (200, b""),
    "html": (200, b"<html>welcome</html>"),
    "list": (200, []),
    "no_list": (200, {"workers": None}),
    "truncated": (200, b'{"workers": ['),
    "deep": (200, b'{"workers": ' + b"[" * 10**5),
    "server_error": (500, b"boom"),
    "redirect": (307, b""),
    "unprocessable": (422, {"detail": KEY}),
}


@pytest.mark.parametrize("kind", sorted(HOSTILE))
@pytest.mark.parametrize("state", ["present", "drained", "absent"])
def test_hostile_answers_of_the_router(world, put, kind, state):
    worker, router = world(FakeWorker), world(FakeRouter)
    router.fault = lambda method, path: HOSTILE[kind]
    result = put(router, worker, state, api_key=KEY)
    assert result["failed"] and result["failure_class"] == "router_failed" and router.url in result["msg"], result
    assert KEY not in json.dumps(result) and result["changed"] is False


def test_entries_of_wrong_types(world, put):
    worker, router = world(FakeWorker), world(FakeRouter)
    wrong = [None, 3, {"url": 7, "id": [], "is_healthy": "yes", "load": "many"}, {"load": -1, "url": "http://[bad"}]
    router.fault = lambda method, path: (200, {"workers": wrong}) if path == "/workers" else None
    assert put(router, worker, "absent")["changed"] is False
    router.fault = lambda method, path: (
        200,
        {"workers": [*wrong, {"url": worker.url, "is_healthy": True, "load": -1}]},
    )
    result = put(router, worker, "present")
    assert result["changed"] is False and result["worker"]["id"] is None and result["worker"]["load"] is None


@pytest.mark.parametrize("state", ["present", "drained", "absent"])
def test_no_router(world, put, state):
    worker, url = world(FakeWorker), unused()
    result = put(url, worker, state)
    assert result["failure_class"] == "router_failed" and "nothing listens" in result["msg"] and url in result["msg"]
    # A server of models is no router, and is not mistaken for one.
    result = put(worker, worker, state)
    assert result["failure_class"] == "router_failed" and "no sglang-router" in result["msg"]


def test_a_router_that_dies_on_the_way(world, put):
    worker, router = world(FakeWorker), world(FakeRouter, slow=10**6)
    router.fault = lambda method, path: (502, b"gone") if router.asked["POST"] and method == "GET" else None
    result = put(router, worker, "present")
    assert result["failure_class"] == "router_failed" and "502" in result["msg"] and result["changed"] is True


@pytest.mark.parametrize(
    ("option", "value"), [("router_url", "router:1"), ("worker_url", "grpc://w:1"), ("worker_url", "")]
)
def test_urls_that_are_none(put, option, value):
    urls = {"router_url": "http://127.0.0.1:1", "worker_url": "http://127.0.0.1:1", option: value}
    result = put(urls["router_url"], urls["worker_url"], "present")
    assert result["failure_class"] == "bad_request" and option in result["msg"]


def test_without_requests(put, monkeypatch):
    monkeypatch.setattr(_http_client, "HAS_REQUESTS", False)
    result = put("http://127.0.0.1:1", "http://127.0.0.1:1", "present")
    assert result["failure_class"] == "missing_dependency" and "requests" in result["msg"]
