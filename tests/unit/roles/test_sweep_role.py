# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role of a sweep goes back to, what it refuses, and what it asks of a point."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.tests.unit import role_variables

EARLY, LATE = "2026-11-30T07:00:00Z", "2026-11-30T09:00:00Z"
BEFORE = {
    "unit": {"state": "active"},
    "restart_cost": {"msg": "a restart follows; 7 requests are running now", "running_requests": 7},
}


def value(name, **variables):
    usual = {"sweep_began": False, "sweep_broken": "", "sweep_before": BEFORE, "sweep_planned": {"open_origin": None}}
    usual.update(sweep_history={"configurations": []}, sweep_server={"restart": "auto", "journal": {}, "wait": {}})
    return role_variables.of_role("sweep", name, **{**usual, **variables})


def kept(label="sweep-sweep", at=EARLY, on_host=False, proven=False):
    return {"label": label, "recorded_at": at, "on_host": on_host, "proven": proven}


def history(*configurations):
    return {"sweep_history": {"configurations": list(configurations)}}


@pytest.mark.parametrize(
    ("configurations", "expected"),
    [
        ([], False),
        # An earlier play was killed; a point is on the host, which nobody proved as a deployment.
        ([kept()], True),
        ([kept(), kept(None, EARLY, proven=True)], True),
        # It is on the host already, and a deployment of before looks the same.
        ([kept(on_host=True), kept(None, LATE, on_host=True, proven=True)], True),
        # A point that equals what was deployed some day.
        ([kept(at=LATE), kept(None, EARLY, on_host=True, proven=True)], True),
        # Somebody deployed since: that is what is to stay.
        ([kept(), kept(None, LATE, on_host=True, proven=True)], False),
        ([kept("sweep-other")], False),
    ],
)
def test_what_a_killed_play_kept_is_gone_back_to_unless_somebody_deployed_since(configurations, expected):
    assert value("sweep_origin_kept", **history(*configurations)) is expected


def test_what_the_host_ran_at_first_is_known_by_the_state():
    stopped = {"open": True, "there": True, "running": False}
    assert value("sweep_origin", **history(kept()), sweep_planned={"open_origin": stopped}) == stopped
    # Without a state, which another controller may have, a server that was kept ran.
    assert value("sweep_origin", **history(kept()))["running"] is True
    assert value("sweep_origin") == {"there": True, "running": True}


def test_where_there_was_no_server_none_is_left():
    none = {"open": True, "there": False, "running": False}
    assert value("sweep_origin_kept", sweep_planned={"open_origin": none}) is True
    assert value("sweep_unit_there", sweep_before={"unit": {"state": "not-found"}}) is False


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"sweep_server": {"restart": "never"}}, "'server_restart' is 'never'"),
        ({"sweep_server": {"restart": "if_idle"}}, "7 requests are running now"),
        (history(kept("sweep-other")), "still in 'sweep-other'"),
    ],
)
def test_what_must_not_be_restarted_is_refused(variables, said):
    assert len(value("sweep_obstacles", **variables)) == 1
    assert said in value("sweep_obstacles", **variables)[0]


def test_nothing_is_refused_without_a_reason():
    assert value("sweep_obstacles", **history(kept(), kept("mine"), kept(None))) == []
    idle = {**BEFORE, "restart_cost": {"msg": "", "running_requests": 0}}
    assert value("sweep_obstacles", sweep_server={"restart": "if_idle"}, sweep_before=idle) == []


def point(**speculative):
    server = {
        "wait": {"timeout": 9, "require_speculation": True},
        "journal": {"preset": ["dflash"], "preset_fields": {"draft_window_size": 2048}, "must_not_match": ["x"]},
    }
    benchmark = {"matrix": {"concurrency": [1], "min_acceptance_length": 2.5}, "coding": False}
    return {
        "sweep_server": server,
        "sweep_benchmark": benchmark,
        "server_speculative": speculative,
        "server_args": {"speculative_algorithm": None},
    }


def test_of_a_point_without_speculation_none_is_asked():
    linear = point(algorithm=None, draft_model_path=None)
    assert value("sweep_wait", **linear) == {"timeout": 9, "require_speculation": False}
    assert value("sweep_journal", **linear) == {"must_not_match": ["x"]}
    assert value("sweep_matrix", **linear)["min_acceptance_length"] is None


def test_a_point_is_asked_for_its_own_window():
    drafting = point(algorithm="DFLASH", draft_model_path="/d", draft_window_size=1024)
    assert value("sweep_wait", **drafting)["require_speculation"] is True
    assert value("sweep_journal", **drafting) == {"must_not_match": ["x"], "preset": ["dflash"]}
    assert value("sweep_matrix", **drafting)["min_acceptance_length"] == 2.5


@pytest.mark.parametrize(
    ("over", "expected"),
    [
        ({}, []),
        ({"became": {"invalid": ["a", "b"], "failed": ["c"]}}, ["invalid: a, b"]),
        ({"stopped": {"why": "failures", "msg": "3 runs failed"}}, ["3 runs failed"]),
        # The rest is run by the next play.
        ({"stopped": {"why": "time", "msg": "no time"}}, []),
    ],
)
def test_what_makes_a_sweep_fail_at_its_end(over, expected):
    became = {"measured": [], "failed": [], "invalid": [], "rejected": [], "not_run": []}
    over = {"stopped": None, **over, "became": {**became, **over.get("became", {})}}
    assert value("sweep_problems", sweep_over=over) == expected
