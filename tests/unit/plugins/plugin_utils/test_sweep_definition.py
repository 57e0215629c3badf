# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a sweep tries: named points, grids, exclusions, and the baselines that they are held against."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_baselines import (
    baselines,
    refuse_hidden_speculation,
)
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_definition import expand, parameter_of, text_of
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_progress import ordered

VALUES = st.one_of(st.none(), st.booleans(), st.integers(-9, 9000), st.text(max_size=8), st.floats(0, 1))
NAMES = st.text("abcdefghij_", min_size=1, max_size=6)
PARAMETERS = st.one_of(NAMES, st.tuples(st.sampled_from(["args", "environment"]), NAMES).map(".".join))
GRIDS = st.dictionaries(PARAMETERS, st.lists(VALUES, min_size=1, max_size=3), max_size=3)


def names(points):
    return [point["name"] for point in points]


def test_a_grid_gives_each_combination_with_null_left_out():
    points, told = expand([], {"draft_window_size": [None, 2048], "args.tp_size": [4, 8]}, [])
    assert names(points) == [
        "draft_window_size=none,tp_size=4",
        "draft_window_size=none,tp_size=8",
        "draft_window_size=2048,tp_size=4",
        "draft_window_size=2048,tp_size=8",
    ]
    assert points[1]["overrides"] == {
        "speculative": {"draft_window_size": None},
        "args": {"tp_size": 8},
        "environment": {},
    }
    assert points[1]["parameters"] == {"draft_window_size": None, "tp_size": 8}
    assert not told


def test_parts_may_group_their_parameters():
    grouped = expand([], {"speculative": {"block_size": [8, 16]}, "args": {"tp_size": [4]}}, [])
    assert grouped == expand([], {"block_size": [8, 16], "args.tp_size": [4]}, [])


def test_one_name_in_two_parts_is_told_apart():
    points, dummy = expand([], {"args.window": [1], "speculative.window": [2]}, [])
    assert points[0]["parameters"] == {"args.window": 1, "speculative.window": 2}


def test_named_points_come_before_the_grid():
    points, dummy = expand([{"name": "mine", "environment": {"A": "1"}}], {"block_size": [8]}, [])
    assert names(points) == ["mine", "block_size=8"]
    assert [point["kind"] for point in points] == ["point", "grid"]


@pytest.mark.parametrize(
    ("exclusion", "left"),
    [
        ({"a": 1}, ["a=2,b=1", "a=2,b=2", "mine"]),
        ({"a": [1, 2], "b": 2}, ["a=1,b=1", "a=2,b=1", "mine"]),
        ({"speculative": {"a": "1"}, "b": 1}, ["a=1,b=2", "a=2,b=1", "a=2,b=2", "mine"]),
        ({"name": "mine"}, ["a=1,b=1", "a=1,b=2", "a=2,b=1", "a=2,b=2"]),
    ],
)
def test_an_exclusion_takes_what_sets_all_of_it(exclusion, left):
    points, told = expand([{"name": "mine"}], {"a": [1, 2], "b": [1, 2]}, [exclusion])
    assert sorted(names(points)) == left
    assert told == []


def test_an_exclusion_without_effect_is_told():
    assert "fits no point" in expand([{"name": "mine"}], {}, [{"windw": 3}])[1][0]


@pytest.mark.parametrize(
    ("named", "grid", "exclude", "said"),
    [
        ([{"args": {}}], {}, [], "no name"),
        ([{"name": "a"}, {"name": "a"}], {}, [], "taken"),
        ([{"name": "baseline"}], {}, [], "taken"),
        ([{"name": "a", "argss": {}}], {}, [], "nearest is args"),
        ([{"name": "a", "args": [1]}], {}, [], "must be a mapping"),
        ([{"name": "a\nb"}], {}, [], "not printable"),
        ([], {"block_size": 8}, [], "list of values"),
        ([], {"block_size": []}, [], "list of values"),
        ([], {"argz.tp_size": [1]}, [], "no parameter"),
        ([], {"args": [1]}, [], "must be a mapping"),
        ([], {"a": list(range(30)), "b": list(range(30))}, [], "900 combinations"),
        ([{"name": "a"}], {}, ["a"], "no mapping"),
    ],
)
def test_what_is_no_definition_is_refused(named, grid, exclude, said):
    with pytest.raises(Failure, match=said) as caught:
        expand(named, grid, exclude, ["baseline"])
    assert caught.value.failure_class == "bad_request"


@given(GRIDS, st.lists(st.dictionaries(NAMES, VALUES, min_size=1, max_size=2), max_size=2), st.integers(0, 99))
def test_whatever_is_swept_nothing_is_there_twice_or_excluded_and_the_order_is_the_same_each_time(grid, exclude, seed):
    points, dummy = expand([], grid, exclude)
    assert len(set(names(points))) == len(points)
    effects = [json.dumps(point["overrides"], sort_keys=True) for point in points]
    assert len(set(effects)) == len(points)
    assert all(name.isprintable() and len(name) <= 110 for name in names(points))
    for rule in exclude:
        for point in points:
            set_by = {(part, name): value for part, one in point["overrides"].items() for name, value in one.items()}
            wanted = {parameter_of(word): text_of(value) for word, value in rule.items()}
            assert not all(key in set_by and text_of(set_by[key]) == text for key, text in wanted.items())
    shuffled = ordered(points, "shuffled", seed)
    assert sorted(names(shuffled)) == sorted(names(points))
    assert shuffled == ordered(expand([], grid, exclude)[0], "shuffled", seed)


SERVER = {
    "speculative": {
        "algorithm": "DDTREE",
        "draft_model_path": "/draft",
        "draft_window_size": 2048,
        "tree_budget": 16,
        "block_size": 8,
    },
    "args": {"model_path": "/m", "max_running_requests": 32},
    "environment": {},
}
FORK = {"tree_budget": "--speculative-ddtree-budget"}


def baselines_of(grid, server=None, named=()):
    found = baselines(server or SERVER, expand(list(named), grid, [])[0], FORK)
    return {point["kind"].removeprefix("baseline_"): point["overrides"] for point in found}


def test_the_baselines_are_the_inventory_s_server_without_what_is_swept():
    found = baselines_of({"tree_budget": [8, 16], "args.max_running_requests": [8]})
    assert found["linear"]["speculative"] == dict.fromkeys(SERVER["speculative"])
    assert found["dflash"]["speculative"] == {"tree_budget": None, "algorithm": "DFLASH"}
    # The window that nobody sweeps stays, and so does the number of requests that the inventory allows.
    assert found["linear"]["args"] == found["dflash"]["args"] == {}


def test_a_window_that_is_swept_is_not_one_of_plain_dflash():
    assert baselines_of({"draft_window_size": [None, 1024]})["dflash"]["speculative"]["draft_window_size"] is None


def test_without_speculation_as_many_requests_run_as_with_it():
    server = {**SERVER, "args": {"model_path": "/m"}}
    assert baselines_of({"tree_budget": [8]}, server)["linear"]["args"] == {"max_running_requests": 48}


def test_of_another_drafter_there_is_no_baseline_with_dflash():
    server = {**SERVER, "speculative": {"algorithm": "EAGLE3", "draft_model_path": "/eagle"}}
    assert set(baselines_of({"num_steps": [1, 2]}, server)) == {"linear"}
    assert set(baselines_of({"args.tp_size": [1]}, {**SERVER, "speculative": {}})) == {"linear"}


def test_a_drafter_that_only_the_points_have_is_that_of_the_baseline():
    point = {"name": "drafted", "speculative": {"algorithm": "DFLASH", "draft_model_path": "/d", "block_size": 4}}
    found = baselines_of({}, {**SERVER, "speculative": {}}, [point])
    assert found["dflash"]["speculative"] == {"algorithm": "DFLASH", "draft_model_path": "/d"}


def test_arguments_of_speculation_are_taken_out_wherever_they_are():
    server = {**SERVER, "args": {**SERVER["args"], "speculative_num_steps": 3}}
    assert baselines_of({"tree_budget": [8]}, server)["linear"]["args"] == {"speculative_num_steps": None}
    with pytest.raises(Failure, match="server_extra_args"):
        refuse_hidden_speculation(["--speculative-algorithm", "DFLASH"])


def test_baselines_come_first_whatever_the_order():
    points = expand([], {"block_size": list(range(20))}, [])[0]
    every = [*points, *baselines(SERVER, points)]
    assert names(ordered(every, "shuffled", 1))[:2] == ["baseline-linear", "baseline-dflash"]
    assert names(ordered(points, "shuffled", 1)) != names(ordered(points, "shuffled", 2)) != names(points)
