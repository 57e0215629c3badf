# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filing a record on the controller: whole or not at all, with its history, its metrics and its limits."""

from __future__ import annotations

import csv
import gzip
import json
import os
import pathlib
import re

import pytest

from ansible_collections.llmops.sglang.plugins.action import benchmark_archive as action
from ansible_collections.llmops.sglang.plugins.modules import benchmark_archive as module
from ansible_collections.llmops.sglang.plugins.plugin_utils import _record_archive, _shared_file
from ansible_collections.llmops.sglang.tests.unit import controller_task
from ansible_collections.llmops.sglang.tests.unit.benchmark_record import (
    EVIDENCE,
    HOSTILE,
    cell,
    coding_record,
    distribution,
    record,
)

STARTED = {
    "from_start": True,
    "invocation_id": EVIDENCE["invocation_id"],
    "stages": {"ready": 341.5, "port_bound": 322.0},
}


class Archive:
    """Files records that lie in an incoming directory, as the role does."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.monkeypatch = folder, monkeypatch
        self.dest, self.incoming = folder / "gpu1", folder / "gpu1" / ".incoming"

    def arrive(self, made, stem="20261129T201618Z_window-2048_53e7f8a7"):
        self.incoming.mkdir(parents=True, exist_ok=True)
        (self.incoming / f"{stem}.jsonl.gz").write_bytes(gzip.compress(b"{}\n"))
        (self.incoming / f"{stem}.md").write_text("| table |\n", encoding="utf-8")
        path = self.incoming / f"{stem}.json"
        path.write_text(made if isinstance(made, str) else json.dumps(made), encoding="utf-8")
        return str(path)

    def file(self, made=None, stem="20261129T201618Z_window-2048_53e7f8a7", host="gpu1", check_mode=False, **options):
        options = {"src": self.arrive(made or record(), stem), "dest": str(self.dest), **options}
        return controller_task.run(action, self.monkeypatch, options, check_mode, host)

    def names(self):
        return sorted(path.name for path in self.dest.iterdir() if not path.name.startswith(".") and path.is_file())

    def history(self, result):
        return sorted(pathlib.Path(result["history"]).iterdir())

    def rows(self, path):
        with open(path, encoding="utf-8", newline="") as handle:
            return list(csv.DictReader(handle))


@pytest.fixture
def archive(tmp_path, monkeypatch):
    return Archive(tmp_path, monkeypatch)


def test_options_and_results_are_the_documented_ones():
    options, always = controller_task.documented(module)
    assert options == action.ActionModule.SPEC
    assert always == set(action.ActionModule.NOTHING)


def test_a_record_is_filed_with_what_lies_beside_it(archive):
    result = archive.file()
    assert not result.get("failed"), result
    stem = "20261129T201618Z_window-2048_53e7f8a7"
    assert archive.names() == [f"{stem}.json", f"{stem}.jsonl.gz", f"{stem}.md"]
    assert result["record_path"] == str(archive.dest / f"{stem}.json")
    assert json.loads(pathlib.Path(result["record_path"]).read_text(encoding="utf-8")) == record()
    assert not archive.incoming.exists()
    assert result["changed"] is False and result["removed"] == []


def test_a_folder_of_the_user_s_own_stays(archive):
    archive.incoming = archive.folder / "fetched"
    assert archive.file()["record_path"] and list(archive.incoming.iterdir()) == []


def test_in_check_mode_nothing_is_touched(archive):
    result = archive.file(check_mode=True)
    assert result["skipped_reason"] and result["record_path"] is None and archive.names() == []


@pytest.mark.parametrize(
    "made", ["", "[]", json.dumps({**record(), "cells": []}), json.dumps({**record(), "run_id": 5})]
)
def test_what_does_not_hold_is_not_filed(archive, made):
    path = archive.arrive(made)
    options = {"src": path, "dest": str(archive.dest), "prometheus_file": str(archive.folder / "x.prom")}
    result = controller_task.run(action, archive.monkeypatch, options)
    assert result["failed"] and result["failure_class"] == "bad_request" and result["log_tail"] == []
    assert set(action.ActionModule.NOTHING) <= set(result)
    assert os.path.exists(path) and archive.names() == [] and not (archive.folder / "x.prom").exists()


def test_the_record_comes_last_so_that_one_that_is_seen_is_whole(archive, monkeypatch):
    path, moved = archive.arrive(record()), []
    monkeypatch.setattr(_record_archive.os, "replace", lambda source, target: moved.append(target))
    _record_archive.take_in(path, str(archive.dest))
    assert [re.sub(r".*53e7f8a7", "", one) for one in moved] == [".jsonl.gz", ".md", ".json"]


def test_a_directory_that_cannot_be_written_is_named(archive):
    (archive.folder / "gpu1").mkdir()
    (archive.folder / "file").touch()
    options = {"src": archive.arrive(record()), "dest": str(archive.folder / "file" / "gpu1")}
    result = controller_task.run(action, archive.monkeypatch, options)
    assert result["failed"] and result["failure_class"] == "write_failed" and "file/gpu1" in result["msg"]


def test_an_evaluation_is_filed_by_its_own_schema(archive):
    assert archive.file(json.dumps(coding_record()), kind="coding")["record_path"]
    wrong = archive.file(json.dumps(coding_record()))
    assert wrong["failed"] and "has no 'profile'" in wrong["msg"]


@pytest.mark.parametrize(("option", "value"), [("keep", 0), ("keep_days", 0), ("keep_days", float("nan"))])
def test_limits_that_make_no_sense_are_refused_before_anything_happens(archive, option, value):
    result = archive.file(**{option: value})
    assert result["failed"] and result["failure_class"] == "bad_request" and archive.names() == []


def stems(archive):
    return [name[:15] for name in archive.names() if name.endswith(".json")]


def three(archive, **options):
    for day in (1, 2, 3):
        result = archive.file(stem=f"2026110{day}T101500Z_x_0000000{day}", **options)
    return result


def test_the_newest_records_stay(archive):
    result = three(archive, keep=2)
    assert stems(archive) == ["20261102T101500", "20261103T101500"]
    assert result["removed"] == ["20261101T101500Z_x_00000001"]
    assert not [name for name in archive.names() if name.startswith("20261101")]


def test_all_that_was_made_of_a_record_goes_with_it_and_nothing_else(archive):
    archive.file(stem="20261101T101500Z_x_00000001")
    others = ["notes.md", "20261101T101500Z_x_00000001-mine.txt", "baseline.json", "2026-11-01.json", "starts.csv"]
    for name in [*others, "20261101T101500Z_x_00000001.html", "20261101T101500Z_x_00000001-ttft.png"]:
        (archive.dest / name).touch()
    archive.file(stem="20261102T101500Z_x_00000002", keep=1)
    assert sorted(others) == [name for name in archive.names() if not name.startswith("20261102")]


def test_old_records_go_by_their_age(archive):
    three(archive)
    now = 1793614500.0 + 86400 * 2  # two days after the second
    gone = _record_archive.let_go(str(archive.dest), None, 2.5, [], now)
    assert gone == ["20261101T101500Z_x_00000001"]
    assert _record_archive.let_go(str(archive.dest), None, None, [], now) == []


def test_the_record_just_filed_and_named_ones_stay_whatever_their_age(archive):
    archive.file(stem="20261109T101500Z_x_00000009")
    archive.file(stem="20261108T101500Z_base_00000008")
    result = archive.file(
        stem="20261101T101500Z_x_00000001", keep=1, keep_days=0.001, keep_records=[str(archive.dest / "*_base_*.json")]
    )
    assert stems(archive) == ["20261101T101500", "20261108T101500"], result


def test_what_a_link_names_stays(archive):
    """A link such as golden.json is how people name the baseline of the day."""
    archive.file(stem="20261101T101500Z_x_00000001")
    link = archive.dest / "golden.json"
    link.symlink_to("20261101T101500Z_x_00000001.json")
    archive.file(stem="20261102T101500Z_x_00000002", keep=1, keep_records=[str(link)])
    assert stems(archive) == ["20261101T101500", "20261102T101500", "golden.json"]
    assert json.loads(link.read_text(encoding="utf-8"))["schema_version"] == 1


def test_what_was_left_of_a_removal_that_was_cut_short_goes_too(archive):
    archive.file(stem="20261101T101500Z_x_00000001")
    (archive.dest / "20261101T101500Z_x_00000001.json").unlink()
    assert archive.file(stem="20261102T101500Z_x_00000002", keep=1)["removed"] == ["20261101T101500Z_x_00000001"]
    assert len(archive.names()) == 3


def test_the_history_has_a_file_a_cell_and_a_row_a_valid_run(archive):
    bad = [cell(60, 1, 1, reasons=["errors"]), cell(60, 1, 2), cell(1024, 8, 1)]
    result = archive.file(record(bad))
    assert [path.name for path in archive.history(result)] == [
        "context-1024_concurrency-8.csv",
        "context-60_concurrency-1.csv",
    ]
    [row] = archive.rows(archive.history(result)[1])
    assert row["run"] == "2" and float(row["ttft_ms"]) == pytest.approx(bad[1]["ttft_ms"]["mean"])
    assert row["time"] == "2026-11-29T20:19:32Z" and row["invocation_id"] == EVIDENCE["invocation_id"]


def test_each_figure_of_the_history_is_a_number_for_a_tool_that_reads_it(archive):
    """Such a tool turns every value of a metric's column into a float, and stops at one that is none."""
    archive.file(record([cell(60, 1, run) for run in (1, 2)]))
    later = archive.file(
        record([cell(60, 1, 1, speed=1.1), cell(60, 1, 2, reasons=["errors"], speed=1.1)], run_id="b" * 32)
    )
    rows = archive.rows(archive.history(later)[0])
    assert len(rows) == 3
    for figure in ("output_tokens_per_second", "ttft_ms", "tpot_ms", "acceptance_length"):
        assert all(float(row[figure]) > 0 for row in rows)
    assert [row["time"] for row in rows] == sorted(row["time"] for row in rows[:2]) + [rows[2]["time"]]


def test_a_record_that_is_filed_twice_is_in_the_history_once(archive):
    archive.file()
    path = archive.history(archive.file())[0]
    assert len(archive.rows(path)) == 3


def test_labels_have_histories_of_their_own_and_no_text_becomes_a_formula_or_a_path(archive):
    result = archive.file(record([cell(60, 1)], label='=HYPERLINK("x")\n/../../etc'))
    [path] = archive.history(result)
    assert path.resolve().is_relative_to(archive.dest / "history")
    [row] = archive.rows(path)
    assert row["label"] == '\'=HYPERLINK("x") /../../etc'
    assert archive.file(record([cell(60, 1)], label=""))["history"] == str(archive.dest / "history" / "unnamed")
    [open_loop] = archive.history(archive.file(record([cell(None, None)], label=HOSTILE)))
    assert open_loop.name == "context-own_concurrency-open.csv"


def test_a_history_that_is_something_else_is_put_aside(archive):
    """A spreadsheet may have saved it in its own way, or an earlier release with other columns."""
    [path] = archive.history(archive.file(record([cell(60, 1)])))
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    archive.file(record([cell(60, 1)]))
    assert [row["run"] for row in archive.rows(path)] == ["1"]
    [aside] = path.parent.glob("*.old")
    assert aside.read_text(encoding="utf-8") == "a,b\n1,2\n"


def test_a_history_that_cannot_be_read_is_not_replaced(archive, monkeypatch):
    [path] = archive.history(archive.file(record([cell(60, 1)])))
    before = path.read_bytes()

    def refuse(name, *words, **more):
        if str(name) == str(path):
            raise PermissionError(13, "Permission denied")
        return open(name, *words, **more)

    monkeypatch.setattr(_shared_file, "open", refuse, raising=False)
    result = archive.file(record([cell(60, 1, 2)]))
    assert result["failed"] and result["failure_class"] == "write_failed" and str(path) in result["msg"]
    assert path.read_bytes() == before


def test_a_record_without_a_valid_cell_leaves_no_history(archive):
    made = record([cell(60, 1, reasons=["no_usage"], ttft_ms=distribution(None), output_tokens_per_second=None)])
    result = archive.file(made)
    assert result["history"] is None and not (archive.dest / "history").exists()


@pytest.mark.parametrize(
    ("wait", "kept"),
    [
        (STARTED, True),
        ({**STARTED, "from_start": False}, False),
        ({**STARTED, "invocation_id": "0" * 32}, False),
        ({**STARTED, "stages": {"ready": None}}, False),
        ({"skipped": True}, False),
        ({}, False),
    ],
)
def test_only_a_start_that_was_seen_is_kept(archive, wait, kept):
    result = archive.file(wait=wait)
    assert result["start_kept"] is kept and (archive.dest / "starts.csv").exists() is kept


def test_each_start_is_kept_once(archive):
    archive.file(wait=STARTED)
    archive.file(wait={**STARTED, "stages": {"ready": 900.0}})
    other = {"evidence_before": {**EVIDENCE, "invocation_id": "b" * 32}}
    archive.file(record(**other), wait={**STARTED, "invocation_id": "b" * 32, "stages": {"ready": 350.0}})
    assert [row["ready"] for row in archive.rows(archive.dest / "starts.csv")] == ["341.5", "350.0"]


SAMPLE = re.compile(r'^llmops_sglang_benchmark_[a-z_]+\{([a-z0-9_]+="(\\.|[^"\\])*",?)+\} -?[0-9.e+-]+$')


def metrics(path):
    text = path.read_text(encoding="utf-8")
    names = re.findall(r"^# TYPE (\S+) gauge$", text, re.MULTILINE)
    assert len(names) == len(set(names)) and text.endswith("\n")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(SAMPLE.match(line) for line in lines), [line for line in lines if not SAMPLE.match(line)]
    assert len({line.rpartition(" ")[0] for line in lines}) == len(lines)
    return dict(line.rpartition(" ")[::2] for line in lines)


def test_metrics_are_in_base_units_and_of_the_last_record(archive):
    path = archive.folder / "node" / "llmops.prom"
    archive.file(prometheus_file=str(path))
    bad = [cell(60, 1, run, reasons=[] if run > 1 else ["errors", "timeout"]) for run in (1, 2, 3)]
    archive.file(record(bad, label=HOSTILE), prometheus_file=str(path), wait=STARTED)
    found = metrics(path)
    labels = 'host="gpu1",unit="sglang-k26.service"'
    prefix = "llmops_sglang_benchmark_"
    assert float(found[f'{prefix}ttft_seconds{{{labels},context="60",concurrency="1"}}']) == pytest.approx(
        (bad[1]["ttft_ms"]["mean"] + bad[2]["ttft_ms"]["mean"]) / 2000
    )
    assert found[f'{prefix}cells{{{labels},valid="false"}}'] == "1.0"
    assert found[f'{prefix}invalid_cells{{{labels},reason="timeout"}}'] == "1.0"
    assert found[f"{prefix}start_seconds{{{labels}}}"] == "341.5"
    assert not [line for line in found if 'context="1024"' in line]
    assert path.stat().st_mode & 0o444 == 0o444
    assert [one.name for one in path.parent.iterdir() if one.suffix != ".lock"] == ["llmops.prom"]


def test_hosts_share_a_file_of_metrics(archive):
    path = archive.folder / "llmops.prom"
    for host in ("gpu1", "gpu10", 'gpu"1', "gpu1"):
        archive.file(host=host, prometheus_file=str(path))
    found = metrics(path)
    infos = [line for line in found if "benchmark_info{" in line]
    assert [re.search(r'host="((\\.|[^"\\])*)"', line).group(1) for line in infos] == ["gpu10", 'gpu\\"1', "gpu1"]


def test_units_of_a_host_share_a_file_of_metrics(archive):
    path = archive.folder / "llmops.prom"
    archive.file(prometheus_file=str(path))
    archive.file(record(evidence_after={**EVIDENCE, "unit": "sglang-k26"}), prometheus_file=str(path))
    archive.file(record(evidence_after={**EVIDENCE, "unit": None}), prometheus_file=str(path))
    assert len([line for line in metrics(path) if "benchmark_info{" in line]) == 3


def test_the_artifact_of_a_job_is_small_whatever_the_record_holds(archive):
    cells = [cell(c, n) for c in range(1, 60) for n in (1, 2, 3)]
    made = record(cells, label=HOSTILE * 50)
    made["evidence_after"]["served_model"] = HOSTILE * 50
    result = archive.file(made)
    found = result["artifact"]
    assert len(json.dumps(found)) <= 4000 and len(json.dumps(result)) < 20000
    assert len(found["figures"]) + found["figures_omitted"] == 59 * 3 and found["figures"]
    assert "\0" not in found["label"] and found["label"].encode()
    assert (found["cells_valid"], found["cells_invalid"], found["record_path"]) == (177, 0, result["record_path"])


def test_a_file_is_replaced_in_one_step_and_no_draft_stays(tmp_path, monkeypatch):
    target = tmp_path / "f"
    _shared_file.write_shared(str(target), b"old")

    def broken(source, dest):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_shared_file.os, "replace", broken)
    with pytest.raises(_shared_file.Failure, match="No space left"):
        _shared_file.write_shared(str(target), b"new")
    assert target.read_bytes() == b"old" and os.listdir(tmp_path) == ["f"]
