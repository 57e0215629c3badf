# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a sweep: what is drawn for which points, every text escaped, and a page also without plots."""

from __future__ import annotations

import io
import itertools
import pathlib
import re
import sys

import matplotlib.backends.backend_agg
import matplotlib.colors
import matplotlib.figure
import matplotlib.image
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.action import sweep_result as action
from ansible_collections.llmops.sglang.plugins.plugin_utils import _report_canvas
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_text import plain
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_figures import FIGURE_NAMES
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_maps import HeatMap, Place
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_scatter import Mark, Scatter, pareto
from ansible_collections.llmops.sglang.tests.unit import controller_task
from ansible_collections.llmops.sglang.tests.unit.benchmark_record import HOSTILE
from ansible_collections.llmops.sglang.tests.unit.report_page import Page, check_safe
from ansible_collections.llmops.sglang.tests.unit.sweep_state import (
    baselines,
    failed,
    measured,
    point,
    rejected,
    write,
)

WINDOWS, BLOCKS = (None, 1024, 2048, 4096), (8, 16, 32)


@pytest.fixture
def report(tmp_path, monkeypatch):
    """The result of a sweep, and its page."""

    def call(points, more=None, **options):
        options.setdefault("plots", False)
        path = write(tmp_path, points, **(more or {}))
        result = controller_task.run(action, monkeypatch, {"state": path, **options})
        if result.get("failed"):
            return result, None
        return result, Page(pathlib.Path(result["page"]).read_text(encoding="utf-8"))

    return call


def grid(folder):
    """Twelve points over two parameters: one that is dead, one that is wrong, one that is best."""
    for number, (window, block) in enumerate(itertools.product(WINDOWS, BLOCKS)):
        name, parameters = f"window {window}, block {block}", {"draft_window_size": window, "block_size": block}
        if number == 4:
            yield failed(name, parameters=parameters)
        elif number == 8:
            yield rejected(name, parameters=parameters)
        else:
            yield point(name, measured(folder, 1 + number / 30, acceptance=3 + number / 9), parameters=parameters)


def texts(page, figure):
    """The texts of a drawing, in its order."""
    svg = page.text[page.text.index(f'id="{figure}"') :]
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg[: svg.index("</figure>")])


def test_two_parameters_make_a_heat_map_with_its_failed_places_marked(report, tmp_path):
    result, page = report([*baselines(tmp_path), *grid(tmp_path)], plots=True)
    names = [pathlib.Path(path).name for path in result["plots"]]
    assert names == [f"report-{name}.png" for name in FIGURE_NAMES] and result["not_drawn"] == {}
    assert page.figures == dict.fromkeys(FIGURE_NAMES, 1)
    shown = texts(page, "points")
    for said in (
        "unset",
        "1024",
        "2048",
        "4096",
        "8",
        "16",
        "32",
        "draft_window_size",
        "block_size",
        "rejected",
        "memory",
    ):
        assert said in shown, said
    assert "output tokens/s, geometric mean over the cells" in shown
    # Ten measured places have a number.
    assert (
        sum(
            text in {f"{one['objective']:.0f}" for one in result["sweep_results"] if one["objective"]} for text in shown
        )
        >= 10
    )
    assert "Baselines: linear" in " ".join(page.words)
    check_safe(page)


def test_one_parameter_makes_bars_in_its_order_and_none_makes_bars_by_rank(report, tmp_path):
    points = [
        point(f"w{w}", measured(tmp_path, 1 + (w or 0) % 5 / 10), parameters={"draft_window_size": w})
        for w in (2048, None, 16, 513)
    ]
    shown = texts(report([*baselines(tmp_path), *points])[1], "points")
    ticks = [text for text in shown if text in ("2048", "unset", "16", "513")]
    # From below, as matplotlib writes them.
    assert ticks == ["2048", "513", "16", "unset"] and "draft_window_size" in shown
    names = [
        point(f"p{number}", measured(tmp_path, speed), kind="point") for number, speed in enumerate((1.1, 1.4, 0.9))
    ]
    shown = texts(report([*baselines(tmp_path), *names, failed("dead")])[1], "points")
    ticks = [text for text in shown if re.match(r"\d+: ", text)]
    assert ticks == ["6: dead", "1: linear", "5: p2", "2: dflash", "3: p0", "4: p1"] and "out_of_memory" in shown


def test_names_that_are_alike_where_they_are_cut_give_way_to_the_parameters(report, tmp_path):
    made = itertools.product((1024, 2048), (8, 16), (64, 128))
    keys = ("draft_window_size", "block_size", "tree_budget")
    points = [
        point(
            "draft_window_size=%d,block_size=%d,tree_budget=%d" % one,
            measured(tmp_path, 1.2),
            parameters=dict(zip(keys, one)),
        )
        for one in made
    ]
    shown = texts(report([*baselines(tmp_path), *points])[1], "points")
    assert {
        "1024, 8, 64",
        "2048, 16, 128",
        "2: dflash",
        "draft_window_size, block_size, tree_budget"[:39] + "\u2026",
    } <= set(shown)


def test_a_point_without_any_figure_draws_nothing_and_the_page_says_why(report, tmp_path):
    for points in ([], [failed("a"), rejected("b"), point("c")]):
        result, page = report(points, plots=True)
        assert result["plots"] == [] and set(result["not_drawn"]) == set(FIGURE_NAMES)
        assert set(page.figures.values()) <= {0} and "nothing to draw" in " ".join(page.words)


def test_failed_rejected_and_late_points_are_listed_with_their_causes(report, tmp_path):
    points = [
        *baselines(tmp_path),
        failed("dead", log_tail=["torch.OutOfMemoryError: no room"]),
        rejected("wrong"),
        point("late", msg="The time of the sweep was over."),
    ]
    said = report(points)[1].words
    for told in (
        "torch.OutOfMemoryError: no room",
        "out_of_memory",
        "The drafter's window of 4 is smaller than its block of 16.",
        "The time of the sweep was over.",
        "Rejected before any start",
        "Not run",
    ):
        assert told in said, told


def test_the_page_has_what_decided_and_what_goes_into_the_inventory(report, tmp_path):
    points = [*baselines(tmp_path), *grid(tmp_path)]
    result, page = report(points, constraints=["worst.acceptance_length >= `3.9`"])
    said = " ".join(page.words)
    assert result["sweep_winner"]["inventory"].splitlines()[1] in said
    assert "worst.acceptance_length >= `3.9`" in said and "not held by window None, block 8" in said
    assert "Evidence of the winner" in said and "of the baseline" in said and result["reason"] in said


@pytest.mark.parametrize("required", [True, False])
def test_without_matplotlib_the_page_has_no_plots_and_the_reason(report, tmp_path, monkeypatch, required):
    points = [*baselines(tmp_path), *grid(tmp_path)]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result, page = report(points, required=required, plots=True)
    if required:
        assert result["failed"] and result["failure_class"] == "missing_dependency" and sys.executable in result["msg"]
        assert not (tmp_path / "report.html").exists()
        return
    assert result["sweep_winner"]["name"] == "window 4096, block 32" and result["plots"] == []
    assert "'matplotlib'" in result["skipped_reason"] and result["skipped_reason"] in result["warnings"][0]
    assert "svg" not in page.tags and "'matplotlib'" in " ".join(page.words)
    assert set(result["not_drawn"]) == set(FIGURE_NAMES)


def hostile(folder):
    """Every text that a state may hold, as an enemy would have it."""
    more = {
        "parameters": {HOSTILE: HOSTILE, "b" * 400: "c" * 400},
        "msg": HOSTILE,
        "log_tail": [HOSTILE],
        "failure_class": HOSTILE,
    }
    winner = point(HOSTILE, measured(folder, 1.4), parameters={HOSTILE: 1, "b" * 400: [HOSTILE]})
    winner["overrides"] = {
        "speculative": {HOSTILE: HOSTILE},
        "args": {"x" * 600: "</pre>"},
        "environment": {"A": HOSTILE},
    }
    return [
        *baselines(folder),
        winner,
        point("y" * 3000, measured(folder, 1.1), kind=HOSTILE),
        failed(
            HOSTILE + "2",
            **{key: value for key, value in more.items() if key not in ("msg", "failure_class")},
            kind="grid",
        ),
        {**failed("f"), **more},
        {**rejected("r"), **more},
        {**point("n"), **more, "status": HOSTILE},
    ]


def test_hostile_texts_are_nothing_but_text(report, tmp_path):
    everywhere = {"name": HOSTILE, "host": HOSTILE, "definition_sha256": HOSTILE, "created_at": HOSTILE}
    result, page = report(hostile(tmp_path), everywhere, plots=True, constraints=["point.name != '</script><script>'"])
    check_safe(page)
    assert result["sweep_winner"]["name"] == HOSTILE.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass")
    assert len(result["plots"]) == 3 and plain(HOSTILE) in " ".join(page.words)
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", page.text)
    for text in (result["markdown"], result["reason"], *result["caveats"]):
        assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", text)
    assert len(result["markdown"]) < 20000


@pytest.mark.parametrize("speed", [1e-12, 1e-3, 1e9, 1e14])
def test_edge_figures_have_a_report(report, tmp_path, speed):
    page = report(
        [
            *baselines(tmp_path),
            point("odd", measured(tmp_path, speed), parameters={"w": 1}),
            point("x", measured(tmp_path, 1.0)),
        ]
    )[1]
    check_safe(page)
    assert not re.search(r"\bnan\b|\binf\b", " ".join(page.words), re.IGNORECASE)


def test_many_values_and_many_points_have_a_report(report, tmp_path):
    runs = measured(tmp_path, 1.1, repeats=1)
    points = [point(f"p{number}", runs, parameters={"a": number, "b": number % 2}) for number in range(80)]
    page = report([*baselines(tmp_path), *points])[1]
    check_safe(page)
    assert "more are in the table" in " ".join(page.words)


def test_an_open_loop_has_no_throughput_of_a_user(report, tmp_path):
    cells = ((60, None), (1024, None))
    result, dummy = report([*baselines(tmp_path, cells=cells), point("p", measured(tmp_path, 1.3, cells=cells))])
    assert result["sweep_winner"]["name"] == "p" and "number of streams" in result["not_drawn"]["pareto"]


def test_the_same_sweep_gives_the_same_page(report, tmp_path):
    points = [*baselines(tmp_path), *grid(tmp_path)]
    assert report(points)[1].text == report(points)[1].text


def test_the_winner_and_the_places_without_a_figure_can_be_told_without_colours():
    places = {(0, 0): Place(1.0), (1, 0): Place(2.0, kind="winner"), (2, 0): Place(None, "failed")}
    plot = HeatMap("points", "x", "x", "y", ["a", "b", "c"], ["d"], places, "tokens/s")
    pixels = matplotlib.image.imread(io.BytesIO(_report_canvas.png(plot, "")))[:, :, :3]
    for colour in (_report_canvas.PRINT.ink, _report_canvas.PRINT.grid):
        assert (abs(pixels - matplotlib.colors.to_rgb(colour)).max(axis=2) < 0.02).sum() > 200, colour
    bright, dark = (matplotlib.colors.to_rgb(matplotlib.colormaps["cividis"](share)) for share in (1.0, 0.0))
    weights = (0.2126, 0.7152, 0.0722)
    light = [sum(a * b for a, b in zip(colour, weights)) for colour in (bright, dark)]
    assert light[0] - light[1] > 0.6


MARKS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=20)


@settings(deadline=None, derandomize=True)
@given(MARKS)
def test_no_mark_beats_one_of_the_front_and_each_other_is_beaten(made):
    marks = [Mark(float(x), float(y)) for x, y in made]
    front = pareto(marks)

    def beaten(mark):
        return any(o.x >= mark.x and o.y >= mark.y and (o.x, o.y) != (mark.x, mark.y) for o in marks)

    assert {(one.x, one.y) for one in front} == {(one.x, one.y) for one in marks if not beaten(one)}
    assert [one.x for one in front] == sorted(one.x for one in front)


def test_labels_do_not_lie_on_each_other():
    crowd = [Mark(1 + number / 1000, 1 + number / 1000, str(number)) for number in range(30)]
    plot = Scatter("pareto", "x", "x", "y", [*crowd, Mark(9.0, 9.0, "far"), Mark(9.0, 1.0, "alone")])
    figure = matplotlib.figure.Figure(figsize=plot.size)
    canvas = matplotlib.backends.backend_agg.FigureCanvasAgg(figure)
    axes = figure.add_axes((0.1, 0.1, 0.8, 0.8))
    plot.fill(axes, _report_canvas.PRINT)
    canvas.draw()
    assert {"far", "alone"} < {text.get_text() for text in axes.texts} and len(axes.texts) < 20
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not [pair for pair in itertools.combinations(boxes, 2) if pair[0].overlaps(pair[1])]
