# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The part of a report that says what was measured: evidence before, after and of the baseline, and the options."""

from __future__ import annotations

import json
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.plugin_utils._record_summary import Record
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_text import row, table

_MOST_ROWS = 120
_DEEPEST = 5
# First what is looked for first.
_FIRST = (
    "unit",
    "invocation_id",
    "n_restarts",
    "main_pid",
    "argv_sha256",
    "sglang_version",
    "served_model",
    "model_path",
)


# Of the server's arguments, of which there are hundreds, those that decide the figures most.
_ARGUMENTS = re.compile(
    r"server\.arguments\.(speculative_.*|.*_size|model_path|dtype|quantization|kv_cache_dtype|context_length|max_running_requests|"
    r"mem_fraction_static|attention_backend|page_size|disable_radix_cache|disable_overlap_schedule)"
)


def evidence_table(record: Record, baseline: t.Optional[Record]) -> str:
    """What ran before the first and after the last cell, and of the baseline; what changed meanwhile is marked."""
    sides = [flat(record["evidence_before"]), flat(record["evidence_after"])]
    heads = ["", "before the first cell", "after the last cell"]
    if baseline is not None:
        sides.append(flat(baseline["evidence_after"]))
        heads.append("of the baseline")
    names = sorted({name for side in sides for name in side}, key=lambda name: (_place(name), name))
    rows = []
    for name in names[:_MOST_ROWS]:
        words = [side.get(name, "unknown") for side in sides]
        rows.append(row([name, *words], kind="differs" if words[0] != words[1] else ""))
    differs = any(side.get(name) != sides[0].get(name) for side in sides[1:2] for name in names)
    caption = "Marked rows changed while it was measured." if differs else "Nothing changed while it was measured."
    return table(heads, rows, caption)


def options_table(record: Record) -> str:
    """The options of the benchmark and the arguments of the server."""
    found = flat({**record["options"], "server": record.get("server") or {}, "client": record["client"]}, "not set")
    names = sorted(found, key=lambda name: name.startswith("server.arguments.") and not _ARGUMENTS.fullmatch(name))
    rows = [row([name, found[name]]) for name in names[:_MOST_ROWS]]
    left = len(found) - len(rows)
    return table(["option", "value"], rows, f"{left} more are in the record." if left > 0 else "", kind="stack")


def flat(value: t.Mapping[str, t.Any], null: str = "unknown", prefix: str = "") -> dict[str, str]:
    """A mapping without its nesting, as text: ``gpu.model``."""
    found: dict[str, str] = {}
    for key, one in value.items():
        name = f"{prefix}{key}"
        if isinstance(one, dict) and one and prefix.count(".") < _DEEPEST:
            found.update(flat(one, null, f"{name}."))
        elif one is None:
            found[name] = null
        else:
            found[name] = one if isinstance(one, str) else json.dumps(one)
    return found


def _place(name: str) -> int:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)
