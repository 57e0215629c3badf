# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The result of ``journal_assert``: masked, and small whatever the log holds."""

from __future__ import annotations

import datetime
import json
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._expectation import MOST_KEYS, Expectation, Verdict
from ansible_collections.llmops.sglang.plugins.module_utils._invocation_log import InvocationLog
from ansible_collections.llmops.sglang.plugins.module_utils._journal import cut
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask

LIMIT = 18 * 1024

# How much is kept of lines, texts in fields, keys and passing results: the first row with which the result is small enough.
_STEPS = (
    (400, 200, 60, True),
    (240, 120, 20, True),
    (120, 60, 8, True),
    (120, 60, 8, False),
    (60, 30, 4, False),
    (30, 15, 2, False),
)
# Of more results there is no room for what each has in any case.
_MOST_RESULTS = 100

EMPTY: dict[str, t.Any] = {
    "ok": False,
    "results": [],
    "results_left_out": 0,
    "invocation_id": "",
    "entries_scanned": 0,
    "first_entry_at": None,
    "covers_start": False,
    "suppressed": 0,
    "unattributed": 0,
    "unattributed_lines": [],
}
# The end of the year 9999.
_LAST_MOMENT_US = 253_402_300_800_000_000


def compose(
    log: InvocationLog,
    expectations: t.Sequence[Expectation],
    verdicts: t.Sequence[Verdict],
    mask: Mask,
    ended: bool = False,
    assumed: str = "",
) -> dict[str, t.Any]:
    """The module's result keys, under :data:`LIMIT` bytes as JSON.

    :arg assumed: on what it rests where all expectations hold, as the rest of a sentence.
    """
    failed = [verdict for verdict in verdicts if verdict.failure_class]
    said = " ".join(dict.fromkeys(verdict.msg for verdict in failed[:3]))
    if failed and ended:
        said += " The invocation has ended."
    where = "the rows" if log.invocation_id == "any" else f"invocation {log.invocation_id}"
    held = f"All {len(verdicts)} expectations hold in {where} of '{log.unit}'"
    pairs = list(zip(expectations, verdicts))
    if len(pairs) > _MOST_RESULTS:
        pairs = ([pair for pair in pairs if pair[1].failure_class] or pairs)[:_MOST_RESULTS]
    most = max(4, min(MOST_KEYS, 600 // max(len(pairs), 1)))
    entries = [expectation.result(verdict, most) for expectation, verdict in pairs]
    result = {
        **EMPTY,
        "ok": not failed,
        "failure_class": failed[0].failure_class if failed else "",
        "msg": said or (f"{held}; {assumed}." if assumed else f"{held}."),
        "invocation_id": log.invocation_id if log.invocation_id != "any" else "",
        "entries_scanned": log.entries_scanned,
        "first_entry_at": _utc(log.first_entry_us),
        "covers_start": log.covers_start,
        "suppressed": log.suppressed + log.suppressed_late,
        "unattributed": log.unattributed_count,
        "unattributed_lines": [line.text for line in log.unattributed],
        "log_tail": [line.text for line in log.tail if line.text.strip()][-10:] if failed else [],
    }
    # Masked before anything is cut: half a key must not stay because its other half is gone.
    result = {**mask.value(result), "results": entries}
    bounded = result
    for line_length, text_length, keys, passing in _STEPS:
        bounded = _bounded(result, line_length, text_length, keys, passing or not failed)
        if _size(bounded) <= LIMIT:
            break
    while _size(bounded) > LIMIT and len(bounded["results"]) > 1:
        bounded["results"] = bounded["results"][: len(bounded["results"]) // 2]
    return {**bounded, "results_left_out": len(verdicts) - len(bounded["results"])}


def _size(result: t.Mapping[str, t.Any]) -> int:
    return len(json.dumps(result))


def _bounded(result: dict[str, t.Any], line: int, text: int, keys: int, passing: bool) -> dict[str, t.Any]:
    return {
        **result,
        "msg": cut(result["msg"], 3 * line),
        "log_tail": [cut(entry, line) for entry in result["log_tail"]],
        "unattributed_lines": [cut(entry, line) for entry in result["unattributed_lines"]],
        "results": [
            {
                **entry,
                "title": cut(entry["title"], line),
                "line": cut(entry["line"], line),
                "traceback": [cut(frame, line) for frame in entry["traceback"][-keys:]],
                "fields": {cut(k, text): _small(v, text) for k, v in list(entry["fields"].items())[:keys]},
                "mismatches": [{k: _small(v, text) for k, v in m.items()} for m in entry["mismatches"][:keys]],
                "missing": [cut(key, text) for key in entry["missing"][:keys]],
                "seen_keys": [cut(key, text) for key in entry["seen_keys"][:keys]],
            }
            for entry in result["results"]
            if passing or not entry["ok"]
        ],
    }


def _small(value: t.Any, length: int) -> t.Any:
    """*value* where it is short, else its text cut to *length*."""
    if isinstance(value, str):
        return cut(value, length)
    if isinstance(value, (list, dict)) or (isinstance(value, int) and abs(value) > 10**18):
        text = json.dumps(value)
        return value if len(text) <= length else cut(text, length)
    return value


def _utc(microseconds: int) -> t.Optional[str]:
    # What no clock shows: a row may hold any number.
    if not 0 < microseconds < _LAST_MOMENT_US:
        return None
    moment = datetime.datetime.fromtimestamp(microseconds / 1_000_000, tz=datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
