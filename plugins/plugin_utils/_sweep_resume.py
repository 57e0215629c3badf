# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What of a sweep is still to be run: the planned points with the runs of earlier plays that speak of the very same."""

from __future__ import annotations

import hashlib
import json
import os
import typing as t

from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_definition import Point

# Of the settings of a benchmark these change no figure.
_IDLE_SETTINGS = ("progress_interval", "results_dir", "label", "resume", "run_id", "slice_seconds")
_MOST_FORMER = 500
_WORDS = {
    "argv": "its command line",
    "environment_sha256": "its environment",
    "sglang_version": "the installed SGLang",
    "benchmark_sha256": "the settings of the benchmark",
}
_INPUTS = {"sglang": "the installed SGLang", "model": "the model", "drafter": "the drafter"}
Runs = list[dict[str, t.Any]]


def digest(value: t.Any) -> str:
    """The hash of plain data; the order of keys does not count."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def benchmark_sha256(settings: t.Mapping[str, t.Any]) -> str:
    """The hash of how points are measured.

    :arg settings: options of the benchmark by what they are of; a mapping or whatever else stands for none.
    """
    plain = {
        name: {k: v for k, v in one.items() if k not in _IDLE_SETTINGS} if isinstance(one, t.Mapping) else one
        for name, one in settings.items()
    }
    return digest(plain)


def judge(
    points: t.Sequence[Point],
    checked: t.Mapping[str, t.Mapping[str, t.Any]],
    environment: t.Mapping[str, t.Any],
    benchmark: str,
) -> list[Point]:
    """*points* as entries of a state: rejected, the same as an earlier one, or to be run.

    :arg checked: by the name of the point what server_unit says of it, ``argv``, ``sglang_version`` and ``inputs_sha256``, or
        ``failure_class`` and ``msg``.
    :arg environment: what the inventory sets.
    :arg benchmark: see :func:`benchmark_sha256`.
    """
    entries: list[Point] = []
    first: dict[str, str] = {}
    for point in points:
        said = checked[point["name"]]
        entry = {**point, "argv": None, "argv_sha256": None, "same_as": None, "status": "not_run", "evidence": None}
        entry.update(failure_class=None, msg="", log_tail=[], runs=[])
        if said.get("failure_class"):
            entry.update(status="rejected", failure_class=said["failure_class"], msg=said.get("msg") or "")
        else:
            argv = [str(word) for word in said["argv"]]
            variables = {**environment, **point["overrides"]["environment"]}
            evidence = {
                "argv": argv,
                "environment_sha256": digest({k: v for k, v in variables.items() if v is not None}),
                "sglang_version": said.get("sglang_version"),
                "benchmark_sha256": benchmark,
                "inputs_sha256": dict(said.get("inputs_sha256") or {}),
            }
            entry.update(argv=argv, argv_sha256=digest(argv), evidence=evidence)
            entry["same_as"] = first.get(_identity(evidence))
            first.setdefault(_identity(evidence), point["name"])
        entries.append(entry)
    return entries


def _identity(evidence: t.Mapping[str, t.Any]) -> str:
    return digest([evidence["argv"], evidence["environment_sha256"]])


def differences(before: t.Optional[t.Mapping[str, t.Any]], now: t.Mapping[str, t.Any]) -> list[str]:
    """In what a measurement with the evidence *before* would not be one of *now*, in words."""
    if before is None:
        return ["it was not planned then"]
    found = [words for key, words in _WORDS.items() if before.get(key) != now.get(key)]
    # A model of the hub is there only after its first start: what was not known is no change.
    old, new = before.get("inputs_sha256") or {}, now.get("inputs_sha256") or {}
    known = [key for key in old if key in new and old[key] != new[key]]
    return found + [_INPUTS.get(key, f"the {key}") for key in known if _INPUTS.get(key) not in found]


def take_over(
    entries: t.Sequence[Point], former: t.Sequence[Point], directory: str, retry_failed: bool
) -> tuple[list[Point], list[str]]:
    """Give *entries* the runs of *former* points of the same evidence, whatever those were called.

    :arg directory: where the relative paths of records start.
    :arg retry_failed: whether runs that failed are to be made again.
    :returns: the former points that have runs which no entry uses, and what does not count any more, in sentences.
    """
    # A state that somebody edited may hold anything: what is not whole does not count.
    former = [old for old in former if _is_whole(old)]
    told, used = [], set()
    for entry in entries:
        if entry["evidence"] is None or entry["same_as"]:
            continue
        for number, old in enumerate(former):
            if old.get("runs") and not differences(old.get("evidence"), entry["evidence"]):
                used.add(number)
                entry["runs"] = _joined(entry["runs"], old["runs"])
        lost = [run for run in entry["runs"] if run["status"] == "measured" and not _is_there(run, directory)]
        told += [f"{entry['name']} is measured again: the record '{run['record_path']}' is gone." for run in lost]
        entry["runs"] = [
            run
            for run in entry["runs"]
            if run not in lost and not (run["status"] == "failed" and (retry_failed or _lived(run)))
        ]
        namesake = next((old for old in former if old["name"] == entry["name"] and old.get("runs")), None)
        changed = differences(namesake.get("evidence"), entry["evidence"]) if namesake else []
        if changed and not entry["runs"]:
            told.append(f"{entry['name']} is measured again: {', '.join(changed)} changed.")
    left = [old for number, old in enumerate(former) if number not in used and old.get("runs")]
    return left[-_MOST_FORMER:], told


def _is_whole(old: t.Any) -> bool:
    """Whether a former point has all that is read of one."""
    if not isinstance(old, dict) or not isinstance(old.get("name"), str) or not isinstance(old.get("runs"), list):
        return False
    evidence = old.get("evidence")
    inputs = evidence.get("inputs_sha256") if isinstance(evidence, dict) else None
    if not isinstance(evidence, (dict, type(None))) or not isinstance(inputs, (dict, type(None))):
        return False
    return all(
        isinstance(run, dict)
        and isinstance(run.get("repeat"), int)
        and isinstance(run.get("status"), str)
        and "record_path" in run
        and isinstance(run["record_path"], (str, type(None)))
        and "\0" not in (run["record_path"] or "")
        for run in old["runs"]
    )


def _lived(run: t.Mapping[str, t.Any]) -> bool:
    """Whether a run failed for what its measurement met, such as other traffic, and its server did not die of it."""
    return run.get("stage") == "benchmark" and run.get("failure_class") == "condition_not_met"


def _joined(runs: Runs, more: Runs) -> Runs:
    """The runs by repeat; one that was measured goes before one that failed."""
    best: dict[int, dict[str, t.Any]] = {}
    for run in [*runs, *more]:
        there = best.get(run["repeat"])
        if there is None or (there["status"] != "measured" and run["status"] == "measured"):
            best[run["repeat"]] = run
    return [best[repeat] for repeat in sorted(best)]


def _is_there(run: t.Mapping[str, t.Any], directory: str) -> bool:
    return bool(run.get("record_path")) and os.path.isfile(os.path.join(directory, run["record_path"]))
