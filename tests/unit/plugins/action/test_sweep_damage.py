# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a sweep makes of damage, of hostile and of many points, and that its winner holds whatever is asked."""

from __future__ import annotations

import json

import pytest
import yaml
from fault_rows import fault, told
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_decision import decide
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_expressions import Expression
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_gate import Comparison
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_objective import Objective
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_points import points_of
from ansible_collections.llmops.sglang.tests.unit.benchmark_record import HOSTILE
from ansible_collections.llmops.sglang.tests.unit.sweep_state import (
    CELLS,
    baselines,
    failed,
    measured,
    point,
    rows,
    run,
    state,
)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Runs by speed, measured once for all examples."""
    folder = tmp_path_factory.mktemp("records")
    return folder, {
        speed: measured(folder, speed, repeats=1, cells=CELLS[:2]) for speed in (0.5, 0.9, 1.0, 1.1, 1.3, 1.30001, 2.0)
    }


def test_several_releases_are_told_and_never_compared(sweep, tmp_path):
    def newer(made, repeat):
        for part in (made, *made["cells"]):
            for key in ("evidence_before", "evidence_after"):
                part[key]["sglang_version"] = "0.5.24"

    result = sweep([*baselines(tmp_path), point("new", measured(tmp_path, 1.5, change=newer))])
    assert result["sweep_winner"] is None and rows(result)["new"]["verdict"] == "not_comparable"
    assert "several releases of SGLang" in str(result["caveats"]) and "0.5.24 (new)" in str(result["caveats"])
    mixed = measured(tmp_path, 1.5, change=lambda made, repeat: newer(made, repeat) if repeat == 2 else None)
    result = sweep([*baselines(tmp_path), point("mixed", mixed)])
    assert result["sweep_winner"] is None and "within the candidate" in rows(result)["mixed"]["why_not"]


@pytest.mark.parametrize(
    ("damage", "text", "said"),
    [
        ("it is gone", None, "cannot be read"),
        ("it is empty", "", "no JSON"),
        ("it was cut off", '{"schema_version": 1', "no JSON"),
        ("it is a list", "[]", "does not hold"),
        ("it is no number of JSON", "NaN", "no number of JSON"),
        ("its second half is gone", "cut", "no JSON"),
        ("it has no cells", "empty", "cells"),
        ("one of its figures is none", "nan", "NaN is no number"),
    ],
)
def test_a_record_that_cannot_be_used_is_told_and_is_no_crash(sweep, tmp_path, damage, text, said):
    runs = measured(tmp_path, 1.5)
    path = tmp_path / runs[1]["record_path"]
    whole = json.loads(path.read_text())
    text = {
        "cut": path.read_text()[:5000],
        "empty": json.dumps({**whole, "cells": []}),
        "nan": json.dumps({**whole, "started_at": float("nan")}),
    }.get(text, text)
    path.unlink() if text is None else path.write_text(text)
    result = sweep([*baselines(tmp_path), point("spoilt", runs), point("fine", measured(tmp_path, 1.2))])
    assert not result.get("failed") and result["sweep_winner"]["name"] == "fine"
    why = rows(result)["spoilt"]["why_not"]
    assert "repeat 2" in why and said in str(result["caveats"]) and result["page"]
    fault("controller", f"A record of a sweep is damaged: {damage}", f"Its point is out: {why}")


def test_records_of_invalid_cells_alone_have_no_figure(sweep, tmp_path):
    def spoil(made, repeat):
        for cell in made["cells"]:
            cell.update(valid=False, reasons=["evidence_changed"])

    points = [*baselines(tmp_path, change=spoil), point("bad", measured(tmp_path, 1.5, change=spoil))]
    result = sweep(points)
    assert result["sweep_winner"] is None and "'dflash' cannot be used: 6 of 6 cells" in str(result["caveats"])
    assert rows(result)["bad"]["objective"] is None and "evidence_changed" in rows(result)["bad"]["why_not"]


@pytest.mark.parametrize(
    "spoilt",
    ["{", "[]", '{"format": 1}', '{"format": 2, "points": []}', '{"format": 1, "points": {}}', None],
)
def test_what_is_no_state_is_refused(sweep, tmp_path, spoilt):
    path = tmp_path / "state.json"
    if spoilt is not None:
        path.write_text(spoilt)
    result = sweep(str(path))
    assert result["failed"] and result["failure_class"] == "bad_request" and str(path) in result["msg"]
    told(result["failure_class"], result["msg"].replace(str(path), "state.json"))
    fault("controller", "The state of a sweep is no state" if spoilt else "The state of a sweep is gone")


@pytest.mark.parametrize("value", [None, 5, "x", [], {}, [None], {"a": [1]}, True, [[]], 1e400])
@pytest.mark.parametrize(
    "key", ["name", "kind", "overrides", "parameters", "argv", "same_as", "status", "msg", "runs", "log_tail"]
)
def test_a_spoilt_entry_of_the_state_is_no_crash(prepared, key, value):
    folder, by_speed = prepared
    baseline = point("dflash", by_speed[1.0], "baseline_dflash")
    entries = [baseline, point("odd", [run(1, "gone.json")]), point("fine")]
    entries[1][key] = value
    found = points_of(state([*entries, value]), str(folder))
    decided = decide(found, Objective(None, "highest"), [], lambda baseline, one: Comparison("improved", 1.1, 0.05))
    assert decided.winner is None and decided.reason


def test_the_inventory_of_the_winner_has_only_what_differs(sweep, tmp_path):
    best = point("best", measured(tmp_path, 1.3))
    best["overrides"] = {
        "speculative": {"draft_window_size": 2048, "block_size": 16},
        "args": {"note": "{{ 7 * 7 }}", "tp_size": 8, "quiet": None, "loud": None},
        "environment": {"SGLANG_X": "a: b\n# \x1b[31m"},
    }
    now = {"speculative": {"block_size": 16}, "args": {"tp_size": 8, "loud": True}}
    text = sweep([*baselines(tmp_path), best], current=now)["sweep_winner"]["inventory"]

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!unsafe", lambda loader, node: node.value)
    assert yaml.load(text, Loader) == {
        "server_speculative": {"draft_window_size": 2048},
        "server_args": {"note": "{{ 7 * 7 }}", "loud": None},
        "server_environment": {"SGLANG_X": "a: b\n# \x1b[31m"},
    }
    assert "note: !unsafe" in text and "\x1b" not in text
    again = sweep([*baselines(tmp_path), best], current=best["overrides"])
    assert again["sweep_winner"]["inventory"] == "" and "says already" in (tmp_path / "report.html").read_text()


def test_the_artifact_is_small_and_the_metrics_are_those_of_the_host_and_the_sweep(sweep, tmp_path):
    metrics = tmp_path / "sglang.prom"
    metrics.write_text(
        "# HELP llmops_sglang_benchmark_info x\n# TYPE llmops_sglang_benchmark_info gauge\n"
        'llmops_sglang_benchmark_info{host="gpu1",unit="u"} 1.0\nforeign 1\n'
        'llmops_sglang_sweep_points{host="gpu2",sweep="window",status="measured"} 4.0\n'
        'llmops_sglang_sweep_points{host="gpu1",sweep="window",status="failed"} 9.0\n'
    )
    long = "x" * 5000 + HOSTILE
    result = sweep(
        [*baselines(tmp_path), point(long, measured(tmp_path, 1.3)), failed(long + "2", msg=long)],
        more={"name": "window"},
        prometheus_file=str(metrics),
    )
    artifact = result["artifact"]
    assert len(json.dumps(artifact)) < 4000 and artifact["winner"].startswith("xxx") and artifact["page"]
    assert artifact["counts"]["failed"] == 1 and artifact["best_objective"] == result["sweep_winner"]["objective"]
    text = metrics.read_text()
    assert 'benchmark_info{host="gpu1",unit="u"} 1.0' in text and "# TYPE llmops_sglang_benchmark_info gauge" in text
    assert 'points{host="gpu2",sweep="window",status="measured"} 4.0' in text and "foreign" not in text
    assert 'points{host="gpu1",sweep="window",status="failed"} 1.0' in text and "9.0" not in text
    assert 'winner_speedup{host="gpu1",sweep="window",baseline="dflash"} 1.3' in text
    assert len({line for line in text.splitlines() if line.startswith("# HELP llmops_sglang_sweep_points")}) == 1


def test_a_large_sweep_stays_small(sweep, tmp_path):
    points = [failed(f"point {number}", msg="x" * 600) for number in range(300)]
    result = sweep([*baselines(tmp_path), *points, point("best", measured(tmp_path, 1.3))])
    assert result["sweep_winner"]["name"] == "best"
    assert result["results_omitted"] == 303 - len(result["sweep_results"])
    assert len(json.dumps(result)) < 100000


MADE_UP = st.lists(
    st.tuples(
        st.sampled_from([0.5, 0.9, 1.0, 1.1, 1.3, 1.30001, 2.0]),
        st.booleans(),
        st.sampled_from(["improved", "pass", "regressed", "inconclusive", "not_comparable"]),
        st.sampled_from(["measured", "measured", "measured", "failed", "rejected", "not_run"]),
    ),
    min_size=1,
    max_size=7,
)


@settings(deadline=None, derandomize=True, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=MADE_UP, order=st.randoms(use_true_random=False))
def test_the_winner_holds_everything_and_does_not_depend_on_the_order(prepared, made, order):
    folder, by_speed = prepared
    entries = [point("dflash", by_speed[1.0], "baseline_dflash")]
    verdicts, held = {}, {}
    for number, (speed, holds, verdict, status) in enumerate(made):
        name = f"point {number}"
        entries.append(
            point(name, by_speed[speed] if status == "measured" else (), status=status, parameters={"ok": holds})
        )
        verdicts[name], held[name] = verdict, holds and status == "measured"
    constraints = [Expression("point.parameters.ok", "constraints")]
    objective = Objective(None, "highest")

    def choose(entries):
        points = points_of(state(entries), str(folder))
        return decide(
            points,
            objective,
            constraints,
            lambda baseline, one: Comparison(verdicts.get(one.name), 1.1, 0.05, ("said",)),
        )

    first = choose(entries)
    order.shuffle(entries)
    second = choose(entries)
    assert (first.winner and first.winner.point.name) == (second.winner and second.winner.point.name)
    able = [name for name in held if held[name] and verdicts[name] == "improved"]
    assert (first.winner is None) == (not able)
    if first.winner:
        assert first.winner.point.name in able and not first.winner.unmet
        assert all(first.winner.objective >= one.objective for one in first.judged if one.point.name in able)
    else:
        assert first.reason.startswith("There is no winner")
