# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report: every figure that can be drawn, every text escaped, nothing that needs a network."""

from __future__ import annotations

import io
import itertools
import json
import pathlib
import re
import sys

import matplotlib.colors
import matplotlib.image
import pytest

from ansible_collections.llmops.sglang.plugins.action import benchmark_report as action
from ansible_collections.llmops.sglang.plugins.modules import benchmark_report as module
from ansible_collections.llmops.sglang.plugins.plugin_utils import (
    _record_archive,
    _record_history,
    _report_canvas,
    _report_figures,
    _report_plots,
)
from ansible_collections.llmops.sglang.plugins.plugin_utils._record_summary import speedups
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_text import plain
from ansible_collections.llmops.sglang.tests.unit import controller_task
from ansible_collections.llmops.sglang.tests.unit.benchmark_record import (
    EVIDENCE,
    HOSTILE,
    cell,
    distribution,
    record,
)
from ansible_collections.llmops.sglang.tests.unit.report_page import Page, check_safe

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def report(tmp_path, monkeypatch):
    """Make a report of *made*; its result and its page."""

    def call(made, baseline=None, baseline_paths=(), **options):
        path = tmp_path / "20261129T201618Z_x_53e7f8a7.json"
        path.write_text(json.dumps(made), encoding="utf-8")
        options.setdefault("plots", False)
        options["baseline"] = list(baseline_paths)
        if baseline:
            (tmp_path / "base.json").write_text(json.dumps(baseline), encoding="utf-8")
            options["baseline"].append(str(tmp_path / "base.json"))
        result = controller_task.run(action, monkeypatch, {"record": str(path), **options})
        if result.get("failed") or not result["page"]:
            return result, None
        return result, Page(pathlib.Path(result["page"]).read_text(encoding="utf-8"))

    call.folder = tmp_path
    return call


def nothing_known(**more):
    """A cell of which no figure is known."""
    empty = {name: distribution(None) for name in ("ttft_ms", "ttfo_ms", "tpot_ms", "chunk_gap_ms", "e2e_ms")}
    rates = dict.fromkeys(("output_tokens_per_second", "requests_per_second", "acceptance_length", "cached_share"))
    return cell(**{**empty, **rates, "acceptance_source": "unknown", "succeeded": 0, **more})


def starts(folder, count=3):
    for number in range(count):
        made = record(started_at=1795983372.0 + number * 3600)
        made["evidence_before"]["invocation_id"] = EVIDENCE["invocation_id"] if number == 0 else f"{number:032x}"
        waited = {
            "from_start": True,
            "invocation_id": made["evidence_before"]["invocation_id"],
            "stages": {"ready": 340.0 + number, "port_bound": 320.0},
        }
        assert _record_history.add_start(str(folder), made, waited)


def test_options_and_results_are_the_documented_ones():
    options, always = controller_task.documented(module)
    assert options == action.ActionModule.SPEC
    assert always == set(action.ActionModule.NOTHING)


def test_every_figure_is_there_as_a_plot_and_in_the_page(report):
    starts(report.folder)
    result, page = report(record(), record(run_id="b" * 32), plots=True)
    assert result["not_drawn"] == {} and page.figures == dict.fromkeys(_record_archive.FIGURE_NAMES, 1)
    names = [pathlib.Path(path).name for path in result["plots"]]
    assert names == [f"20261129T201618Z_x_53e7f8a7-{name}.png" for name in _record_archive.FIGURE_NAMES]
    for path in result["plots"]:
        data = pathlib.Path(path).read_bytes()
        assert data.startswith(PNG) and len(data) > 10000
    assert "The process of this record took 340.0 s." in page.text


def test_a_record_of_hostile_texts_is_nothing_but_text(report):
    bad = cell(60, 8, 1, reasons=["errors", "evidence_changed"], errors={HOSTILE: 2}, error_samples={HOSTILE: HOSTILE})
    bad["evidence_changes"] = [HOSTILE]
    made = record([cell(60, 1), bad, cell(1024, 1)], label=HOSTILE, run_id=HOSTILE, started=HOSTILE)
    made["engine"] = {"name": HOSTILE, "version": HOSTILE, "caveats": [HOSTILE]}
    made["options"] = {HOSTILE: HOSTILE, "nested": {HOSTILE: [HOSTILE]}}
    made["server"] = {"arguments": {HOSTILE: HOSTILE}}
    for key in ("evidence_before", "evidence_after"):
        made[key] = {
            **EVIDENCE,
            **dict.fromkeys(("served_model", "host", "sglang_version", "unit"), HOSTILE),
            HOSTILE: 1,
        }
    for one in made["cells"]:
        one["evidence_before"] = made["evidence_before"]
    result, page = report(made, made, plots=True)
    check_safe(page)
    assert plain(HOSTILE) in " ".join(page.words)
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", page.text)
    assert result["plots"] and "speedup" not in result["not_drawn"]


def test_a_page_of_all_figures_refers_to_nothing_outside(report):
    starts(report.folder)
    check_safe(report(record(), record(run_id="b" * 32))[1])


def test_a_record_without_a_valid_cell_says_why_and_draws_nothing(report):
    cells = [nothing_known(context=60, concurrency=n, reasons=["no_usage", "timeout"]) for n in (1, 8)]
    result, page = report(record(cells))
    assert result["plots"] == [] and set(result["not_drawn"]) == set(_record_archive.FIGURE_NAMES)
    assert set(page.figures.values()) == {0}
    said = " ".join(page.words)
    assert "0 of 2 cells valid" in said and "no_usage: the server did not report token counts" in said
    assert "No cell is valid" in said and "0 of 40 requests" in said


@pytest.mark.parametrize(
    "cells",
    [
        [cell(60, 1)],
        [cell(None, None)],
        [cell(None, 4), cell(60, 4)],
        [cell(60, 1, tpot_ms=distribution(None), acceptance_length=None, acceptance_source="unknown")],
        [cell(60, 1, ttft_ms=distribution(0.0), output_tokens_per_second=0, acceptance_length=0.0)],
        [cell(60, 1, ttft_ms=distribution(1e-9)), cell(60, 8, ttft_ms=distribution(1e12))],
        [cell(60, 1), nothing_known(context=60, concurrency=8), cell(1024, 8, reasons=["cached"])],
        [cell(context, streams) for context in range(1, 14) for streams in (1, 100000)],
    ],
    ids=["one", "open", "mixed", "null", "zero", "wide", "partly", "many"],
)
def test_edge_records_have_a_report(report, cells):
    result, page = report(record(cells), record(cells, run_id="b" * 32))
    assert "throughput" not in result["not_drawn"]
    check_safe(page)
    assert page.figures["throughput"] == 1
    assert not re.search(r"\bnan\b|\binf\b", " ".join(page.words), re.IGNORECASE)


def test_what_decides_the_figures_is_among_the_options_that_are_shown(report):
    """A server tells hundreds of arguments, and the page has room for some."""
    made = record([cell(60, 1)])
    made["server"]["arguments"] = {
        **{f"a_{number}": number for number in range(400)},
        "speculative_draft_window_size": 2048,
        "tp_size": 8,
        "model_path": "/models/m",
    }
    page = report(made)[1]
    names = [f"server.arguments.{name}" for name in ("speculative_draft_window_size", "tp_size", "model_path")]
    assert set(names) <= set(page.words)


def test_many_invalid_cells_do_not_make_a_page_without_end(report):
    cells = [nothing_known(context=c, concurrency=n, reasons=["errors"]) for c in range(1, 41) for n in range(1, 11)]
    page = report(record(cells))[1]
    assert "200 more are in the record." in " ".join(page.words)
    assert len(page.text) < 400000


def test_an_invalid_run_is_in_no_figure_and_no_median():
    fast = cell(60, 1, 1, speed=100, reasons=["client_saturated"])
    made = record([fast, cell(60, 1, 2), cell(60, 1, 3, speed=1.2)])
    found = {figure.name: figure for figure in _report_figures.figures(made, None, [])}
    (line,) = found["throughput"].plot.lines
    rates = [one["output_tokens_per_second"] for one in made["cells"][1:]]
    assert line.points == {1: (sum(rates) / 2, min(rates), max(rates))}


def test_the_speedup_is_that_of_the_medians():
    runs = (1, 2, 3)
    fast = record([cell(60, n, run, speed=2.0 if n == 1 else 1.25) for n in (1, 8) for run in runs])
    base = record([cell(60, n, run) for n in (1, 8, 32) for run in runs])
    assert speedups(fast, base) == {(60, 1): pytest.approx(2.0, rel=1e-3), (60, 8): pytest.approx(1.25, rel=1e-3)}
    assert speedups(record([cell(60, 1, reasons=["errors"])]), base) == {}


def test_several_records_make_one_baseline_and_the_record_itself_is_none(report):
    for number in range(3):
        made = record([cell(60, 1, speed=0.5)], run_id=f"{number}" * 32)
        (report.folder / f"2026110{number}T101500Z_base_{number}.json").write_text(json.dumps(made), encoding="utf-8")
    result, page = report(record([cell(60, 1)]), baseline_paths=[str(report.folder / "2026*.json")])
    assert "speedup" not in result["not_drawn"] and page.figures["speedup"] == 1
    assert "of the baseline" in " ".join(page.words)


def test_a_baseline_that_cannot_be_compared_makes_no_speedup(report):
    """What the comparison refuses must not stand in the page as a figure."""
    other = record([cell(60, 1, speed=0.5)], run_id="b" * 32)
    for part in (other, *other["cells"]):
        part["evidence_before"]["gpu"] = {**EVIDENCE["gpu"], "model": "NVIDIA L4"}
    result, page = report(record([cell(60, 1)]), baseline=other)
    assert "gpu" in result["not_drawn"]["speedup"] and "L4" in result["not_drawn"]["speedup"]
    assert page.figures["speedup"] == 0
    allowed, page = report(record([cell(60, 1)]), baseline=other, allow_differences=["gpu"])
    assert "speedup" not in allowed["not_drawn"] and page.figures["speedup"] == 1
    hostile = record(run_id="c" * 32, engine={"name": HOSTILE, "caveats": []})
    check_safe(report(record(), baseline=hostile)[1])


def test_a_baseline_that_is_not_there_is_named(report):
    result, dummy = report(record(), baseline_paths=["/none/*_base_*.json"])
    assert result["failed"] and result["failure_class"] == "bad_request" and "/none/*_base_*.json" in result["msg"]


@pytest.mark.parametrize("required", [True, False])
def test_without_matplotlib_the_package_and_the_interpreter_are_named(report, monkeypatch, required):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result, dummy = report(record(), required=required)
    told = result["msg"] if required else result["warnings"][0]
    assert "'matplotlib'" in told and sys.executable in told and "execution environment" in told
    assert bool(result.get("failed")) is required and result["page"] is None
    assert result.get("failure_class") == ("missing_dependency" if required else None)
    assert required or result["skipped_reason"]
    assert sorted(path.name for path in report.folder.iterdir()) == ["20261129T201618Z_x_53e7f8a7.json"]


def test_what_is_no_whole_record_has_no_report(report):
    result, dummy = report({**record(), "cells": []})
    assert result["failed"] and result["failure_class"] == "bad_request" and result["log_tail"] == []


def test_files_go_where_they_are_wanted_and_plots_can_be_left_out(report):
    result, dummy = report(record(), dest=str(report.folder / "pages"))
    assert result["page"] == str(report.folder / "pages" / "20261129T201618Z_x_53e7f8a7.html")
    assert result["plots"] == [] and len(list((report.folder / "pages").iterdir())) == 1


def test_the_same_record_gives_the_same_page(report):
    first, second = (report(record([cell(60, 1), cell(60, 8)]))[1].text for dummy in range(2))
    assert first == second


def luminance(colour):
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_a_line_below_another_can_be_seen():
    """An acceptance length is often the same in all contexts."""
    points = {1: (4.0, 4.0, 4.0), 2: (8.0, 8.0, 8.0)}
    lines = [_report_plots.Line(f"context {number}", points) for number in range(3)]
    plot = _report_plots.Plot("acceptance", "x", "x", "y", [(1, "1"), (2, "2")], lines)
    pixels = matplotlib.image.imread(io.BytesIO(_report_canvas.png(plot, "")))[200:, :, :3]
    for colour in _report_canvas.PRINT.lines[:3]:
        assert (abs(pixels - matplotlib.colors.to_rgb(colour)).max(axis=2) < 0.02).sum() > 20, colour


def test_texts_and_lines_can_be_read_in_light_and_dark():
    """Ratios of WCAG 2: 4.5 for text, 3 for what is drawn."""
    text = (pathlib.Path(_report_figures.__file__).parent / "report.css").read_text(encoding="utf-8")
    themes = [
        dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", block))
        for block in re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    ]
    assert len(themes) == 3 and len({frozenset(theme) for theme in themes}) == 1
    for theme in themes:
        for name, back in itertools.product(("ink", "muted"), ("page", "card")):
            assert contrast(theme[name], theme[back]) >= 4.5, (name, back)
        for name in ("good", "bad", "warn"):
            assert contrast(theme[name], theme[f"{name}-back"]) >= 4.5, name
        for number in range(1, 7):
            assert contrast(theme[f"line-{number}"], theme["card"]) >= 3, number
