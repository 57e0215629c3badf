# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""A comparison as Markdown: the verdict, the cells, the speedup by concurrency, and in what the sides differ."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._markdown_text import as_text

_BUDGET = 12000
_CELL_HEAD = ("context", "concurrency", "runs", "baseline", "candidate", "speedup", "p", "verdict", "acceptance")


def markdown(result: t.Mapping[str, t.Any], baseline: str, candidate: str) -> str:
    """The tables for a module's *result*; *baseline* and *candidate* are the labels of the sides."""
    runs, spread = result["runs"], result["spread"]
    lines = [f"**{result['verdict']}**: {as_text(candidate)} against {as_text(baseline)}, by {result['metric']}", ""]
    lines += [f"- {as_text(reason)}" for reason in result["reasons"]]
    if result["geometric_mean_speedup"] is not None:
        lines.append(
            f"- speedup {result['geometric_mean_speedup']:.3f} (geometric mean over the cells, medians of "
            f"{runs['baseline']} and {runs['candidate']} runs), p = {_figure(result['p_value'], 4)}, "
            f"spread {_percent(spread['baseline'])} and {_percent(spread['candidate'])}"
        )
    if result["cells"]:
        lines += ["", *_table(_CELL_HEAD, [_cell_words(cell) for cell in result["cells"]])]
        lines += ["", *_table(("concurrency", "speedup", "acceptance"), _concurrency_words(result["by_concurrency"]))]
    if result["differences"]:
        head = ("differs", "baseline", "candidate", "where", "allowed")
        lines += ["", *_table(head, [_difference_words(one) for one in result["differences"]])]
    else:
        lines += ["", "The two sides differ in nothing that is recorded."]
    if result["caveats"]:
        lines += ["", "Mind:", "", *(f"- {as_text(caveat)}" for caveat in result["caveats"])]
    text = "\n".join(lines) + "\n"
    return text if len(text) <= _BUDGET else text[: text.rfind("\n", 0, _BUDGET) + 1] + "\n(cut)\n"


def _table(head: t.Sequence[str], rows: t.Sequence[t.Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return lines + [f"| {' | '.join(as_text(word) for word in row)} |" for row in rows]


def _cell_words(cell: t.Mapping[str, t.Any]) -> list[str]:
    return [
        "own" if cell["context"] is None else str(cell["context"]),
        _streams(cell["concurrency"]),
        f"{cell['baseline_runs']}/{cell['candidate_runs']}",
        _figure(cell["baseline"], 1),
        _figure(cell["candidate"], 1),
        _figure(cell["speedup"], 3),
        _figure(cell["p_value"], 4),
        cell["verdict"],
        _acceptance(cell),
    ]


def _concurrency_words(rows: t.Sequence[t.Mapping[str, t.Any]]) -> list[list[str]]:
    return [[_streams(row["concurrency"]), _figure(row["speedup"], 3), _acceptance(row)] for row in rows]


def _difference_words(one: t.Mapping[str, t.Any]) -> list[str]:
    return [
        one["name"],
        _value(one["baseline"]),
        _value(one["candidate"]),
        one["where"],
        "yes" if one["allowed"] else "no",
    ]


def _acceptance(row: t.Mapping[str, t.Any]) -> str:
    return f"{_figure(row['baseline_acceptance'], 2)} → {_figure(row['candidate_acceptance'], 2)}"


def _streams(concurrency: t.Optional[int]) -> str:
    return "open" if concurrency is None else str(concurrency)


def _value(value: t.Any) -> str:
    return "-" if value is None else value if isinstance(value, str) else json.dumps(value)


def _figure(number: t.Optional[float], digits: int) -> str:
    return "-" if number is None else f"{number:.{digits}f}"


def _percent(share: t.Optional[float]) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
