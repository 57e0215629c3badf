# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The site of the documentation: it builds without a warning, and no page of it is wider than its window in a real browser."""

from __future__ import annotations

import html
import json
import pathlib
import re
import subprocess

import pytest

from ansible_collections.llmops.sglang.tests.long.test_report_page import browser

CLONE = pathlib.Path(__file__).resolve().parents[2]
SITE = CLONE / ".build" / "docs"
# A fixture that this file uses.
__all__ = ["browser"]
# Runs in a page with all others in frames.
LOOK = """<script>addEventListener("load", () => {
  const seen = {};
  for (const frame of document.querySelectorAll("iframe")) {
    const text = frame.contentDocument.querySelector(".rst-content");
    seen[frame.getAttribute("src")] = {
      wider: frame.contentDocument.documentElement.scrollWidth - frame.contentWindow.innerWidth,
      letters: text ? text.textContent.trim().length : 0,
      lost: [...frame.contentDocument.querySelectorAll("img")].filter(one => !one.naturalWidth).length,
    };
  }
  document.body.append(Object.assign(document.createElement("pre"), {id: "seen", textContent: JSON.stringify(seen)}));
})</script>"""


@pytest.fixture(scope="module")
def pages():
    """Build the site; its pages by their paths."""
    done = subprocess.run(["make", "docs"], cwd=CLONE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(str(path.relative_to(SITE)) for path in SITE.rglob("*.html") if "_static" not in path.parts)


def test_every_guide_and_module_has_a_page(pages):
    guides = [f"docsite/{path.stem}.html" for path in (CLONE / "docs" / "docsite" / "rst").glob("*.rst")]
    modules = [f"{path.stem}_module.html" for path in (CLONE / "plugins" / "modules").glob("*.py")]
    roles = [f"{path.name}_role.html" for path in (CLONE / "roles").iterdir()]
    assert {"index.html", *guides, *modules, *roles} <= set(pages)


@pytest.mark.parametrize("width", [1200, 420])
def test_no_page_is_empty_or_wider_than_its_window(browser, tmp_path, pages, width):
    frames = "".join(f'<iframe width="{width}" height="900" src="{SITE.as_uri()}/{page}"></iframe>' for page in pages)
    look = tmp_path / "look.html"
    look.write_text(f"<!DOCTYPE html><body>{frames}{LOOK}", encoding="utf-8")
    words = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom"]
    done = subprocess.run(
        [*words, f"--user-data-dir={tmp_path / 'profile'}", look.as_uri()],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    seen = json.loads(html.unescape(re.search(r'<pre id="seen">(.*?)</pre>', done.stdout)[1]))
    assert len(seen) == len(pages)
    wrong = {page: one for page, one in seen.items() if one["wider"] > 0 or not one["letters"] or one["lost"]}
    assert wrong == {}
