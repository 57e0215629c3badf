# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeps for tests: a state and the records that it names, as the role leaves them."""

from __future__ import annotations

import itertools
import json

from ansible_collections.llmops.sglang.tests.unit.benchmark_record import cell, record

CELLS = tuple(itertools.product((60, 1024), (1, 8, 32)))
_NUMBERS = itertools.count(1)


def measured(folder, speed, repeats=3, noise=0.005, cells=CELLS, acceptance=4.0, coding=(9, 10), **more):
    """The runs of a point that is *speed* times as fast as the usual server, with their records in *folder*.

    :arg more: what the records have beside; ``arguments`` are the server's.
    """
    runs = []
    arguments = more.pop("arguments", {})
    change = more.pop("change", None)
    for repeat in range(1, repeats + 1):
        number = next(_NUMBERS)
        at = speed * (1 + noise * (repeat - 2))
        made = record(
            [cell(c, n, 1, at, cell_id=f"{number}-{c}-{n}") for c, n in cells], run_id=f"{number:032x}", **more
        )
        made["server"]["arguments"].update(arguments)
        for one in made["cells"]:
            one.update(began_at=1795983372.5 + number, acceptance_length=acceptance)
            # A run of its own has the noise of *speed* alone.
        if change:
            change(made, repeat)
        path = folder / f"20261129T201618Z_x_{number:08x}.json"
        path.write_text(json.dumps(made), encoding="utf-8")
        runs.append(run(repeat, path.name, coding))
    return runs


def run(repeat, path, coding=(9, 10), **more):
    told = {"passed": coding[0], "total": coding[1]} if coding else None
    return {
        "repeat": repeat,
        "status": "measured",
        "failure_class": None,
        "msg": "",
        "log_tail": [],
        "record_path": path,
        "start_elapsed": 300.0,
        "coding": told,
        "finished_at": 1795983400.0,
        **more,
    }


def point(name, runs=(), kind="grid", status=None, parameters=None, **more):
    parameters = parameters or {}
    return {
        "name": name,
        "kind": kind,
        "overrides": {"speculative": dict(parameters), "args": {}, "environment": {}},
        "parameters": parameters,
        "argv": ["python", "-m", "sglang.launch_server", "--name", name],
        "argv_sha256": f"{abs(hash(name)):064x}"[:64],
        "same_as": None,
        "status": status or ("measured" if runs else "not_run"),
        "failure_class": None,
        "msg": "",
        "log_tail": [],
        "runs": list(runs),
        **more,
    }


def failed(name, failure_class="out_of_memory", msg="The server ran out of GPU memory.", **more):
    gone = run(1, None, None, status="failed", failure_class=failure_class, msg=msg)
    return point(name, [gone], status="failed", failure_class=failure_class, msg=msg, **more)


def rejected(name, rule="The drafter's window of 4 is smaller than its block of 16.", **more):
    return point(name, status="rejected", failure_class="rule_violated", msg=rule, argv=None, **more)


def baselines(folder, dflash=1.0, linear=0.6, **more):
    """The two baselines, measured."""
    return [
        point("linear", measured(folder, linear, acceptance=None, **more), "baseline_linear"),
        point("dflash", measured(folder, dflash, **more), "baseline_dflash"),
    ]


def state(points, **more):
    return {
        "format": 1,
        "name": "window",
        "host": "gpu1",
        "definition_sha256": "ab" * 32,
        "evidence": {},
        "origin": {"history_label": "sweep-window"},
        "created_at": "2026-11-29T20:16:18Z",
        "seed": 0,
        "points": list(points),
        **more,
    }


def write(folder, points, **more):
    path = folder / "state.json"
    path.write_text(json.dumps(state(points, **more)), encoding="utf-8")
    return str(path)


def rows(result):
    """The entries of a result by name."""
    return {one["name"]: one for one in result["sweep_results"]}
