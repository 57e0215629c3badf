# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and labels in a table are text: they make no heading, link, element, row or cell."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._benchmark_record import markdown
from ansible_collections.llmops.sglang.plugins.module_utils._compare_markdown import markdown as compared
from ansible_collections.llmops.sglang.plugins.module_utils._compare_report import nothing
from ansible_collections.llmops.sglang.plugins.module_utils._markdown_text import as_text
from ansible_collections.llmops.sglang.tests.unit.benchmark_record import cell, record

HOSTILE = "a\n# head <script>x</script> | `b` *c* [l](http://e) \\| \x1b[31m\u202e\ud800 end"
TEXT = r"a # head \<script>x\</script> \| \`b\` \*c\* [l]\(http://e) \\\| [31m ? end"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (HOSTILE, TEXT),
        ("block_size=8, window 2048 (new)", "block_size=8, window 2048 (new)"),
        ('["60x1", 3]', '["60x1", 3]'),
        (None, "None"),
    ],
)
def test_what_could_be_markup_is_text(text, shown):
    assert as_text(text) == shown


def test_a_record_s_table_is_not_changed_by_its_names():
    made = record([cell(60, 1)], label=HOSTILE)
    made["evidence_after"]["served_model"] = HOSTILE
    lines = markdown(made).encode().decode().splitlines()
    assert len(lines) == 5 and lines[0].count(TEXT) == 2


def test_a_label_without_end_leaves_the_table():
    assert "| 60 | 1 |" in markdown(record([cell(60, 1)], label="x" * 20000))


def test_the_table_names_another_client():
    other = {"name": "guidellm", "version": "0.8.1", "client": "guidellm", "caveats": ["late"]}
    assert "load by guidellm 0.8.1" in markdown(record([cell(60, 1)], engine=other))
    assert "load by" not in markdown(record([cell(60, 1)]))


def test_a_comparison_is_not_changed_by_its_names():
    result = {**nothing(), "verdict": "pass", "metric": "ttft_ms", "caveats": [HOSTILE], "reasons": [HOSTILE]}
    text = compared(result, HOSTILE, HOSTILE)
    assert text.count(TEXT) == 4 and len(text.splitlines()) == 9
