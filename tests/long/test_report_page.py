# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report in a real browser: no error, no figure that is missing, nothing wider than the window.

Chromium takes half a gigabyte, so it is installed for these tests alone, where it is not there.
"""

from __future__ import annotations

import html
import json
import pathlib
import re
import subprocess

import pytest
from debian_package import program

from ansible_collections.llmops.sglang.plugins.action import benchmark_report as action
from ansible_collections.llmops.sglang.plugins.plugin_utils import _record_archive, _record_history
from ansible_collections.llmops.sglang.tests.unit import controller_task
from ansible_collections.llmops.sglang.tests.unit.benchmark_record import EVIDENCE, HOSTILE, cell, record

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Runs in the page and leaves there what it saw.
LOOK = """
<script>
const seen = {errors: [], width: document.documentElement.scrollWidth, window: window.innerWidth, figures: {}, texts: []};
window.addEventListener("error", event => seen.errors.push(String(event.message)));
window.addEventListener("securitypolicyviolation", event => seen.errors.push(event.violatedDirective));
window.addEventListener("load", () => {
  for (const figure of document.querySelectorAll("figure")) {
    const svg = figure.querySelector("svg");
    const marks = svg ? [...svg.querySelectorAll("path, use")].filter(one => one.getBoundingClientRect().width > 0).length : 0;
    const box = svg ? svg.getBoundingClientRect() : {width: 0, height: 0};
    const outside = svg ? [...svg.querySelectorAll("text")].filter(one => {
      const text = one.getBoundingClientRect();
      return text.left < box.left - 2 || text.right > box.right + 2 || text.top < box.top - 2 || text.bottom > box.bottom + 2;
    }).map(one => one.textContent) : [];
    seen.figures[figure.id] = {marks, width: box.width, height: box.height, outside};
  }
  seen.scripts = document.scripts.length;
  seen.fetched = performance.getEntriesByType("resource").length;
  seen.background = getComputedStyle(document.body).backgroundColor;
  const out = document.createElement("pre");
  out.id = "seen";
  out.textContent = JSON.stringify(seen);
  document.body.append(out);
});
</script>
"""


@pytest.fixture(scope="session")
def browser():
    """A Chromium that starts."""
    return program("chromium", *BROWSERS)


@pytest.fixture
def look(browser, tmp_path, monkeypatch):
    """Make the report of *made* and open it in a window of this width; what a script in the page saw."""

    def call(made, width, baseline=None, dark=False):
        path = tmp_path / "20261129T201618Z_x_53e7f8a7.json"
        path.write_text(json.dumps(made), encoding="utf-8")
        options = {"record": str(path), "plots": False}
        if baseline:
            (tmp_path / "base.json").write_text(json.dumps(baseline), encoding="utf-8")
            options["baseline"] = [str(tmp_path / "base.json")]
        result = controller_task.run(action, monkeypatch, options)
        assert not result.get("failed"), result
        text = pathlib.Path(result["page"]).read_text(encoding="utf-8")
        return open_page(browser, tmp_path, text, width, dark)

    return call


def open_page(browser, folder, text, width, dark):
    # The page's own policy lets no script run, so that the one of this test needs another.
    text, changed = re.subn(r"<meta http-equiv=.Content-Security-Policy.[^>]*>", "", text)
    assert changed == 1
    (folder / "look.html").write_text(text.replace("</title>", f"</title>{LOOK}", 1), encoding="utf-8")
    # A window of Chromium is at least 500 wide, a frame in it is not.
    frame = f'<body style="margin:0"><iframe src="look.html" style="border:0;width:{width}px;height:3000px"></iframe>'
    frame += """<script>addEventListener("load", () => {
      const inner = document.querySelector("iframe").contentDocument.getElementById("seen");
      document.body.append(Object.assign(document.createElement("pre"), {id: "out", textContent: inner.textContent}));
    })</script>"""
    (folder / "frame.html").write_text(f"<!DOCTYPE html>{frame}", encoding="utf-8")
    words = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--allow-file-access-from-files",
        "--enable-logging=stderr",
    ]
    words += [f"--user-data-dir={folder / 'profile'}", f"--window-size={max(width, 600)},3000", "--dump-dom"]
    words += ["--blink-settings=preferredColorScheme=0"] if dark else []
    done = subprocess.run(
        [*words, f"file://{folder / 'frame.html'}"], capture_output=True, text=True, timeout=120, check=True
    )
    assert "CONSOLE" not in done.stderr, done.stderr
    return json.loads(html.unescape(re.search(r'<pre id="out">(.*?)</pre>', done.stdout, re.DOTALL).group(1)))


def history(folder):
    for number in range(12):
        made = record(started_at=1795983372.0 + number * 3600)
        invocation = EVIDENCE["invocation_id"] if number == 0 else f"{number:032x}"
        made["evidence_before"]["invocation_id"] = invocation
        stages = {"ready": 340.0 + number, "port_bound": 320.0}
        _record_history.add_start(
            str(folder), made, {"from_start": True, "invocation_id": invocation, "stages": stages}
        )


@pytest.mark.parametrize("width", [1280, 400])
def test_no_error_and_no_figure_missing(look, tmp_path, width):
    history(tmp_path)
    seen = look(record(), width, baseline=record(run_id="b" * 32))
    assert (seen["errors"], seen["fetched"], seen["scripts"]) == ([], 0, 1)
    assert list(seen["figures"]) == list(_record_archive.FIGURE_NAMES)
    for name, figure in seen["figures"].items():
        assert figure["marks"] > 10 and figure["width"] > 300 and figure["height"] > 180, (name, figure)
        assert figure["outside"] == [], (name, figure)
    assert seen["window"] == width and seen["width"] <= width


def test_the_page_follows_the_reader_s_colours(look):
    light, dark = (look(record([cell(60, 1)]), 1280, dark=dark)["background"] for dark in (False, True))
    assert (light, dark) == ("rgb(245, 246, 249)", "rgb(20, 23, 29)")


@pytest.mark.parametrize("width", [1280, 400])
def test_hostile_texts_run_nothing_and_fit(look, width):
    bad = cell(60, 8, 1, reasons=["errors"], errors={HOSTILE: 2}, error_samples={HOSTILE: "x" * 500})
    made = record([cell(60, 1), bad, cell(100000, 8)], label=HOSTILE + "y" * 300)
    for key in ("evidence_before", "evidence_after"):
        made[key] = {**EVIDENCE, "served_model": HOSTILE + "z" * 400}
    seen = look(made, width)
    # alert() would have been the end of a headless page; a second script would have been counted.
    assert (seen["errors"], seen["fetched"], seen["scripts"]) == ([], 0, 1)
    assert seen["width"] <= width


@pytest.mark.parametrize(
    "made",
    [record([cell(60, 1)]), record([cell(60, 1, reasons=["no_usage"])]), record([cell(c, 8) for c in range(1, 20)])],
)
def test_edge_records_fit(look, made):
    seen = look(made, 400)
    assert seen["errors"] == [] and seen["width"] <= 400
    assert all(figure["outside"] == [] for figure in seen["figures"].values()), seen["figures"]
